"""What a recording says besides its pictures, and what of it may leave.

By default nothing does: titles, places, times, device names, chapters, text and telemetry
tracks all tell who was where. Cover pictures, thumbnails and embedded previews never pass,
not even on request, since they show faces that nobody covered. Sound is copied only in
codings that bring no such text along, and of a colour profile pass the colours.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer

__all__ = [
    "PICTURE_TRACKS",
    "bare_profile",
    "copied_metadata",
    "is_bare_sound",
    "passing_tags",
    "tells_text",
]

PICTURE_TRACKS: Final = ("timed_id3",)
"""Codings of data whose packets may be cover pictures."""

# Facts about the input's own file layout; they would be lies in the output.
_LAYOUT_TAGS: Final = frozenset(
    {"major_brand", "minor_version", "compatible_brands", "encoder", "duration", "software"}
)
_PICTURE_WORDS: Final = ("picture", "cover", "artwork", "thumb", "preview", "apic", "covr", "image")
_LONGEST_WORD: Final = 500
"""Longer ones, in characters, are no text but coded data."""

_SOUND_SETUP_BYTES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "aac": 16,
        "mp2": 32,
        "mp3": 32,
        "ac3": 16,
        "eac3": 32,
        "dts": 32,
        "truehd": 32,
        "mlp": 32,
        "alac": 36,
        "flac": 34,
        "amr_nb": 17,
        "amr_wb": 17,
    }
)
"""Codings whose setup holds numbers alone, and its largest usual size. Others, such as Vorbis
and Speex, keep titles, places and cover pictures in it."""
_RAW_SOUND_SETUP_BYTES: Final = 32
_OPUS_SETUP_BYTES: Final = 19
_OPUS_FAMILY: Final = 18
_TEXT_STARTS: Final[Mapping[str, bytes]] = MappingProxyType(
    {"mp2": b"ID3", "mp3": b"ID3", "aac": b"ID3", "opus": b"OpusTags", "flac": b"fLaC"}
)

_ICC_HEADER: Final = 128
_ICC_SIGNATURE: Final = b"acsp"
_MOST_ICC_TAGS: Final = 100
# Of the header pass: version, class, spaces; the signature; intent and white point. Maker,
# model, creator, platform, flags and time of making do not.
_ICC_KEPT: Final = ((8, 24), (36, 40), (64, 80))
_ICC_DATE: Final = struct.pack(">6H", 2000, 1, 1, 0, 0, 0)
_ICC_TAGS: Final = frozenset(
    (
        *(b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC", b"gTRC", b"bTRC", b"kTRC", b"wtpt", b"bkpt"),
        *(b"chad", b"A2B0", b"A2B1", b"A2B2", b"B2A0", b"B2A1", b"B2A2"),
    )
)
_ICC_ENOUGH: Final = (
    frozenset((b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC", b"gTRC", b"bTRC")),
    frozenset((b"kTRC",)),
    frozenset((b"A2B0",)),
)
_ICC_PARAMETERS: Final = (1, 3, 4, 5, 7)
_ICC_NAME: Final = "Colour profile"
_ICC_RIGHTS: Final = "No copyright, use freely"
"""As the standard wants both; the text of the original does not pass."""


def passing_tags(tags: dict[str, str], *, keep: bool) -> dict[str, str]:
    """The tags that pass: all but pictures and the file layout's when `keep`, else none.

    >>> passing_tags({"title": "Anna", "major_brand": "isom"}, keep=True)
    {'title': 'Anna'}
    >>> passing_tags({"title": "Anna", "METADATA_BLOCK_PICTURE": "AAAA"}, keep=True)
    {'title': 'Anna'}
    >>> passing_tags({"title": "Anna", "location": "+48.1+011.5/"}, keep=False)
    {}
    """
    if not keep:
        return {}
    return {
        name: value
        for name, value in tags.items()
        if name.lower() not in _LAYOUT_TAGS and not _is_picture(name, value)
    }


def _is_picture(name: str, value: str) -> bool:
    """Whether a tag holds, or describes, a picture; unknown names are judged by their value."""
    if any(word in name.lower() for word in _PICTURE_WORDS):
        return True
    return any(len(word) > _LONGEST_WORD for word in value.split())


def copied_metadata(source: InputContainer, output: OutputContainer, *, keep: bool) -> None:
    """Copies tags and chapters to an output whose header is not yet written, if asked to."""
    output.metadata.update(passing_tags(source.metadata, keep=keep))
    if keep:
        chapters = source.chapters()
        for chapter in chapters:
            chapter["metadata"] = passing_tags(chapter["metadata"], keep=True)
        output.set_chapters(chapters)


def is_bare_sound(track: AudioStream) -> bool:
    """Whether a track's setup, which a copy carries whole, has no room for text or pictures."""
    codec, setup = track.codec_context.codec.canonical_name, track.codec_context.extradata or b""
    if codec == "opus":
        return len(setup) == _opus_setup_bytes(setup)
    if codec.startswith(("pcm_", "adpcm_")):
        return len(setup) <= _RAW_SOUND_SETUP_BYTES
    return len(setup) <= _SOUND_SETUP_BYTES.get(codec, -1)


def _opus_setup_bytes(setup: bytes) -> int:
    """Size of an Opus header without anything behind it (RFC 7845, section 5.1)."""
    if len(setup) < _OPUS_SETUP_BYTES or setup[_OPUS_FAMILY] == 0:
        return _OPUS_SETUP_BYTES
    return _OPUS_SETUP_BYTES + 2 + setup[9]


def tells_text(track: AudioStream, packet: bytes) -> bool:
    """Whether a packet of sound is, or begins with, a header that holds text."""
    start = _TEXT_STARTS.get(track.codec_context.codec.canonical_name)
    return start is not None and packet.startswith(start)


def bare_profile(profile: bytes) -> bytes | None:
    """An ICC profile (ICC.1) with what describes colours, and nothing that tells of a device.

    Makers keep serial numbers and names in private tags and in the description.

    Returns:
        The profile made anew, None where it cannot be read or holds no colours that are known.
    """
    tags = dict(_colour_tags(profile))
    if not any(enough <= tags.keys() for enough in _ICC_ENOUGH):
        return None
    texts = _texts(profile[8])
    header = bytearray(_ICC_HEADER)
    for start, end in _ICC_KEPT:
        header[start:end] = profile[start:end]
    header[24:36] = _ICC_DATE
    return _assembled(header, texts | tags)


def _colour_tags(profile: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(signature, content) of each tag that describes colours and can be read."""
    if len(profile) < _ICC_HEADER + 4 or profile[36:40] != _ICC_SIGNATURE:
        return
    (count,) = struct.unpack_from(">I", profile, _ICC_HEADER)
    table = profile[_ICC_HEADER + 4 : _ICC_HEADER + 4 + 12 * count]
    if count > _MOST_ICC_TAGS or len(table) < 12 * count:
        return
    for name, offset, size in struct.iter_unpack(">4sII", table):
        content = _numbers(profile[offset : offset + size]) if name in _ICC_TAGS else None
        if content is not None:
            yield name, content


def _numbers(content: bytes) -> bytes | None:
    """A tag's content without anything behind its numbers; None where it is of no known type."""
    size = len(content)
    kind = content[:4]
    if size < 12:
        return None
    if kind == b"XYZ ":
        wanted = 20
    elif kind == b"sf32":
        wanted = 8 + 36
    elif kind == b"curv":
        wanted = 12 + 2 * int.from_bytes(content[8:12], "big")
    elif kind == b"para":
        shape = int.from_bytes(content[8:10], "big")
        wanted = 12 + 4 * _ICC_PARAMETERS[shape] if shape < len(_ICC_PARAMETERS) else size + 1
    elif kind in (b"mft1", b"mft2"):
        wanted = _table_bytes(content)
    else:
        wanted = size if kind in (b"mAB ", b"mBA ") else size + 1
    return kind + bytes(4) + content[8:wanted] if wanted <= size else None


def _table_bytes(content: bytes) -> int:
    """Size of a look-up table of 8 or 16 bits a number (ICC.1, 10.10 and 10.11)."""
    inputs, outputs, points = content[8], content[9], content[10]
    grid: int = points**inputs * outputs
    if content[:4] == b"mft1":
        return 48 + 256 * (inputs + outputs) + grid
    if len(content) < 52:
        return 52
    rows, columns = (int.from_bytes(content[at : at + 2], "big") for at in (48, 50))
    return 52 + 2 * (rows * inputs + grid + columns * outputs)


def _texts(version: int) -> dict[bytes, bytes]:
    """The two texts that every profile must have, in the types of its version."""
    if version >= 4:
        return {b"desc": _localized(_ICC_NAME), b"cprt": _localized(_ICC_RIGHTS)}
    name, rights = (text.encode("ascii") + b"\0" for text in (_ICC_NAME, _ICC_RIGHTS))
    # Behind the ASCII text: no Unicode (language, count), no script (code, count, 67 bytes).
    described = b"desc" + struct.pack(">II", 0, len(name)) + name + bytes(4 + 4 + 2 + 1 + 67)
    return {b"desc": described, b"cprt": b"text" + bytes(4) + rights}


def _localized(text: str) -> bytes:
    coded = text.encode("utf-16-be")
    return b"mluc" + struct.pack(">III2s2sII", 0, 1, 12, b"en", b"US", len(coded), 28) + coded


def _assembled(header: bytearray, tags: Mapping[bytes, bytes]) -> bytes:
    """A profile of a header, whose size is filled in, and tags; equal contents are kept once."""
    places: dict[bytes, int] = {}
    body, start = b"", _ICC_HEADER + 4 + 12 * len(tags)
    for content in tags.values():
        if content not in places:
            places[content] = start + len(body)
            body += content + bytes(-len(content) % 4)
    table = b"".join(
        struct.pack(">4sII", name, places[content], len(content)) for name, content in tags.items()
    )
    header[:4] = struct.pack(">I", start + len(body))
    return bytes(header) + struct.pack(">I", len(tags)) + table + body
