"""What each kind of output file can hold, and how its muxer is told to keep our clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from stream.errors import UsageRefused

__all__ = ["Codec", "Container", "container_of", "muxer_options", "video_endings"]

Codec = Literal["h264", "hevc", "vp9", "vp8", "av1", "mjpeg", "gif"]


@dataclass(frozen=True, slots=True)
class Container:
    """One kind of output file.

    Attributes:
        muxer: the muxer's name.
        codecs: video codings it takes, the preferred one first.
        audio: audio encoder to fall back on, empty where it holds no sound.
        sounds: sound codings that it takes and players find; empty where its muxer knows.
        holds_rotation: it can carry a display matrix.
        holds_early_times: decoding times before the first picture, and sound before zero,
            survive; else no B-frames are used and early sound is cut.
        holds_mark: its metadata can tell that faces are synthetic.
    """

    muxer: str
    codecs: tuple[Codec, ...]
    audio: str = ""
    sounds: tuple[str, ...] = ()
    holds_rotation: bool = False
    holds_early_times: bool = False
    holds_mark: bool = False


_MP4: Final = Container(
    "mp4",
    ("h264", "hevc", "av1", "vp9", "mjpeg"),
    "aac",
    holds_rotation=True,
    holds_early_times=True,
    holds_mark=True,
)
_MOV: Final = replace(_MP4, muxer="mov", codecs=("h264", "hevc", "mjpeg"))
_MATROSKA: Final = Container(
    "matroska",
    ("h264", "hevc", "av1", "vp9", "vp8", "mjpeg"),
    "aac",
    holds_rotation=True,
    holds_mark=True,
)
_WEBM: Final = replace(_MATROSKA, muxer="webm", codecs=("vp9", "av1", "vp8"), audio="libopus")
_TS: Final = Container(
    "mpegts", ("h264", "hevc"), "aac", sounds=("aac", "mp2", "mp3", "mp3float", "ac3", "eac3")
)
_AVI: Final = Container("avi", ("h264", "mjpeg"), "libmp3lame", holds_mark=True)

_BY_ENDING: Final[Mapping[str, Container]] = MappingProxyType(
    {
        ".mp4": _MP4,
        ".m4v": _MP4,
        ".mov": _MOV,
        ".qt": _MOV,
        ".mkv": _MATROSKA,
        ".webm": _WEBM,
        ".ts": _TS,
        ".mts": _TS,
        ".m2ts": _TS,
        ".avi": _AVI,
        ".flv": Container("flv", ("h264",), "aac", holds_mark=True),
        ".3gp": Container("3gp", ("h264",), "aac", holds_rotation=True, holds_early_times=True),
        ".gif": Container("gif", ("gif",)),
        ".h264": Container("h264", ("h264",)),
        ".264": Container("h264", ("h264",)),
        ".avc": Container("h264", ("h264",)),
        ".h265": Container("hevc", ("hevc",)),
        ".265": Container("hevc", ("hevc",)),
        ".hevc": Container("hevc", ("hevc",)),
        ".ivf": Container("ivf", ("vp9", "av1", "vp8")),
        ".mjpeg": Container("mjpeg", ("mjpeg",)),
        ".mjpg": Container("mjpeg", ("mjpeg",)),
    }
)


def video_endings() -> frozenset[str]:
    """File name endings, in lower case, under which a video can be written."""
    return frozenset(_BY_ENDING)


def container_of(path: Path) -> Container:
    """The kind of file that a name's ending asks for.

    >>> container_of(Path("out.MKV")).muxer
    'matroska'

    Raises:
        UsageRefused: the ending is not known.
    """
    found = _BY_ENDING.get(path.suffix.lower())
    if found is None:
        known = " ".join(sorted(_BY_ENDING))
        ending = path.suffix or "a name without ending"
        message = f"cannot write {ending} as video; use one of: {known}"
        raise UsageRefused(message)
    return found


def muxer_options(
    container: Container, time_base: Fraction, *, keep_metadata: bool = False
) -> dict[str, str]:
    """Options under which timestamps pass unchanged and no trace of the writer is left.

    `bitexact` leaves out the muxer's name and the time of writing, so that the same
    pictures always give the same file.

    >>> muxer_options(container_of(Path("a.ts")), Fraction(1, 90000))["mpegts_copyts"]
    '1'
    """
    options = {"fflags": "+bitexact"}
    if container.muxer in ("mp4", "mov", "3gp"):
        # A start that is not zero is stored in the movie's ticks: they must be as fine as
        # the track's.
        ticks = str(_ticks(time_base))
        options |= {"video_track_timescale": ticks, "movie_timescale": ticks}
        options["movflags"] = "+faststart" + ("+use_metadata_tags" if keep_metadata else "")
    elif container.muxer == "mpegts":
        options |= {"mpegts_copyts": "1", "avoid_negative_ts": "make_non_negative"}
    return options


def _ticks(time_base: Fraction) -> int:
    """Ticks a second in which the time base's instants are whole, within the field's range."""
    ticks = time_base.denominator
    return ticks if ticks < 1 << 31 else 90_000
