"""How pictures cover a sphere (360°) and show two eyes (3D): read from frames, told to muxers.

The library writes such tags for a track that was made after another one, and for no other. So the
head of a Matroska file that holds nothing else is made and read: its track is the template.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, NamedTuple

import av
from av.container import InputContainer

from stream.media.containers import Codec
from stream.media.side_data import integers_beside

__all__ = ["Projection", "Sphere", "hide_second_tags", "projection_of", "template_of"]

_WHOLE, _CUBE, _PART = 0, 1, 2
"""FFmpeg's AVSphericalProjection: equirectangular, a cube map, a part of an equirectangular one."""
_KINDS: Final = MappingProxyType({_WHOLE: 1, _CUBE: 2, _PART: 1})
"""The same in Matroska's ProjectionType."""
_STEREO_MODES: Final = MappingProxyType(
    {1: (1, 11), 2: (3, 2), 3: (13, 14), 4: (5, 4), 6: (7, 6), 7: (9, 8)}
)
"""Matroska's StereoMode by FFmpeg's AVStereo3DType: left eye first, right eye first."""
_STEREO_KEPT: Final = MappingProxyType(
    {
        "mp4": frozenset((1, 3)),
        "webm": frozenset(range(12)),
        "matroska": frozenset(range(15)),
    }
)
"""StereoModes by muxer: MP4 knows them side by side and one above the other."""
_CODINGS: Final[dict[Codec, bytes]] = {
    "h264": b"V_MPEG4/ISO/AVC",
    "hevc": b"V_MPEGH/ISO/HEVC",
    "av1": b"V_AV1",
    "vp9": b"V_VP9",
    "vp8": b"V_VP8",
    "mjpeg": b"V_MJPEG",
}
_SPHERE_FIELDS: Final = 9
_DEGREE: Final = 1 << 16
_PATH_TO_SECOND: Final = (
    *((b"moov", 0), (b"trak", 0), (b"mdia", 0), (b"minf", 0), (b"stbl", 0), (b"stsd", 8)),
    *((b"", 78), (b"vexu", 0)),
)
"""Boxes of MP4 that lead to a description, and bytes of each before its first inner one."""


class _Box(NamedTuple):
    """A box of MP4: its name, and where it, its content and what follows begin."""

    name: bytes
    start: int
    inside: int
    end: int


@dataclass(frozen=True, slots=True)
class Sphere:
    """How pictures cover a sphere (FFmpeg's AVSphericalMapping).

    Attributes:
        kind: 0 equirectangular, 1 a cube map, 2 a part of an equirectangular one; others are
            known to no muxer.
        pose: yaw, pitch and roll, degrees times 65536.
        bounds: what the whole is wider than the part at the left, top, right and bottom, as
            a share of it times 2³².
        padding: around each face of a cube, px.
    """

    kind: int
    pose: tuple[int, int, int] = (0, 0, 0)
    bounds: tuple[int, int, int, int] = (0, 0, 0, 0)
    padding: int = 0


@dataclass(frozen=True, slots=True)
class Projection:
    """What a player must know to show a 360° or 3D recording.

    Attributes:
        sphere: None for a flat picture.
        stereo: FFmpeg's AVStereo3DType and whether the right eye comes first; None for one eye.
    """

    sphere: Sphere | None = None
    stereo: tuple[int, bool] | None = None

    @property
    def names(self) -> frozenset[str]:
        """What there is, in words."""
        told = {"360° projection": self.sphere, "stereo layout": self.stereo}
        return frozenset(name for name, value in told.items() if value is not None)

    def kept_in(self, muxer: str) -> Projection:
        """As much of it as a kind of file keeps.

        >>> Projection(Sphere(0), (1, True)).kept_in("mp4")
        Projection(sphere=Sphere(kind=0, pose=(0, 0, 0), bounds=(0, 0, 0, 0), padding=0), \
stereo=None)
        """
        modes = _STEREO_KEPT.get(muxer, frozenset())
        is_known = bool(modes) and self.sphere is not None and self.sphere.kind in _KINDS
        return replace(
            self,
            sphere=self.sphere if is_known else None,
            stereo=self.stereo if self._mode in modes and self._mode else None,
        )

    @property
    def _mode(self) -> int:
        """Matroska's StereoMode, 0 for one eye and where there is no word for it."""
        if self.stereo is None or self.stereo[0] not in _STEREO_MODES:
            return 0
        return _STEREO_MODES[self.stereo[0]][self.stereo[1]]

    def element(self) -> bytes:
        """The same in Matroska's words: StereoMode and Projection (RFC 9559)."""
        stereo = _element("53b8", _number(self._mode))
        if self.sphere is None:
            return stereo
        left, top, right, bottom = self.sphere.bounds
        bounds = (
            (0, self.sphere.padding) if self.sphere.kind == _CUBE else (top, bottom, left, right)
        )
        parts = [
            _element("7671", _number(_KINDS[self.sphere.kind])),
            _element("7672", struct.pack(f">I{len(bounds)}I", 0, *bounds)),
        ]
        for name, angle in zip(("7673", "7674", "7675"), self.sphere.pose, strict=True):
            parts.append(_element(name, struct.pack(">d", angle / _DEGREE)))
        return stereo + _element("7670", *parts)


def projection_of(image: av.VideoFrame) -> Projection | None:
    """What a decoded frame tells of it, None for a flat picture for both eyes."""
    sphere, stereo = integers_beside(image, "SPHERICAL"), integers_beside(image, "STEREO3D")
    found = Projection(
        _sphere(sphere) if len(sphere) >= _SPHERE_FIELDS else None,
        (stereo[0], bool(stereo[1] & 1)) if len(stereo) >= 2 and stereo[0] else None,
    )
    return found if found.names else None


def template_of(projection: Projection, codec: Codec) -> InputContainer:
    """A file in memory whose one track has this projection and coding; it holds no picture."""
    video = _element(
        "e0", _element("b0", _number(2)), _element("ba", _number(2)), projection.element()
    )
    ids = [_element(name, _number(1)) for name in ("d7", "73c5", "83")]
    track = _element("ae", *ids, _element("86", _CODINGS[codec]), video)
    head = _element("1a45dfa3", _element("4282", b"matroska")) + _element(
        "18538067",
        _element("1549a966", _element("2ad7b1", _number(1_000_000))),
        _element("1654ae6b", track),
        _element("1f43b675", _element("e7", _number(0))),
    )
    return av.open(io.BytesIO(head), "r", format="matroska")


def hide_second_tags(path: Path) -> None:
    """Makes MP4's second description (`vexu`) free space, where it stands in the file.

    The library writes it beside `st3d` and `sv3d`, has no place in it for the layout of two eyes
    and for the pose, and reads it in their stead.
    """
    with path.open("r+b") as file:
        for box in list(_found(file, 0, path.stat().st_size, _PATH_TO_SECOND)):
            file.seek(box.start + 4)
            file.write(b"free")


def _sphere(fields: list[int]) -> Sphere:
    kind, yaw, pitch, roll, left, top, right, bottom, padding = fields[:_SPHERE_FIELDS]
    left, top, right, bottom, padding = (
        one % (1 << 32) for one in (left, top, right, bottom, padding)
    )
    return Sphere(kind, (yaw, pitch, roll), (left, top, right, bottom), padding)


def _element(name: str, *content: bytes) -> bytes:
    """One element of Matroska (RFC 8794), its length in eight bytes."""
    inner = b"".join(content)
    return bytes.fromhex(name) + (1 << 56 | len(inner)).to_bytes(8, "big") + inner


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _found(
    file: BinaryIO, start: int, end: int, path: Sequence[tuple[bytes, int]]
) -> Iterator[_Box]:
    """The boxes of MP4 between two places that a path of names leads to; no name is any."""
    (wanted, head), *rest = path
    for box in _boxes(file, start, end):
        if wanted not in (b"", box.name):
            continue
        if rest:
            yield from _found(file, box.inside + head, box.end, rest)
        else:
            yield box


def _boxes(file: BinaryIO, start: int, end: int) -> Iterator[_Box]:
    while start + 8 <= end:
        file.seek(start)
        size, name = struct.unpack(">I4s", file.read(8))
        inside = start + 8
        if size == 1:  # it stands behind the name
            (size,) = struct.unpack(">Q", file.read(8))
            inside += 8
        if size < inside - start:
            return
        yield _Box(name, start, inside, start + size)
        start += size
