"""What each kind of output file can hold, and how its muxer is told to keep our clock."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import av
from av.audio.stream import AudioStream
from av.stream import Stream

from stream.errors import UsageRefused

__all__ = [
    "Codec",
    "Container",
    "can_copy",
    "container_of",
    "has_unnamed_channels",
    "muxer_options",
    "video_endings",
]

Codec = Literal["h264", "hevc", "vp9", "vp8", "av1", "mjpeg", "gif"]


@dataclass(frozen=True, slots=True)
class Container:
    """One kind of output file.

    Attributes:
        muxer: the muxer's name.
        codecs: video codings it takes, the preferred one first.
        audio: audio encoder to fall back on, empty where it holds no sound.
        sounds: sound codings that it takes and players find; empty where its muxer knows.
        holds_sound_times: sound may start late and pause; else it lasts from the start
            without a gap, and whatever is copied slips.
        holds_rotation: it can carry a display matrix.
        holds_early_times: decoding times before the first picture, and sound before zero,
            survive; else no B-frames are used and early sound is cut.
        holds_mark: its metadata can tell that faces are synthetic.
        holds_tracks: several picture tracks, each with times of its own.
    """

    muxer: str
    codecs: tuple[Codec, ...]
    audio: str = ""
    sounds: tuple[str, ...] = ()
    holds_sound_times: bool = True
    holds_rotation: bool = False
    holds_early_times: bool = False
    holds_mark: bool = False
    holds_tracks: bool = False


_MP4: Final = Container(
    "mp4",
    ("h264", "hevc", "av1", "vp9", "mjpeg"),
    "aac",
    holds_rotation=True,
    holds_early_times=True,
    holds_mark=True,
    holds_tracks=True,
)
_MOV: Final = replace(_MP4, muxer="mov", codecs=("h264", "hevc", "mjpeg"))
_MATROSKA: Final = Container(
    "matroska",
    ("h264", "hevc", "av1", "vp9", "vp8", "mjpeg"),
    "aac",
    holds_rotation=True,
    holds_mark=True,
    holds_tracks=True,
)
_WEBM: Final = replace(_MATROSKA, muxer="webm", codecs=("vp9", "av1", "vp8"), audio="libopus")
_TS: Final = Container(
    "mpegts",
    ("h264", "hevc"),
    "aac",
    sounds=("aac", "mp2", "mp3", "ac3", "eac3"),
    holds_tracks=True,
)
_AVI: Final = Container(
    "avi",
    ("h264", "mjpeg"),
    "libmp3lame",
    sounds=("mp3", "pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "ac3"),
    holds_sound_times=False,
    holds_mark=True,
)
_FLV: Final = Container("flv", ("h264",), "aac", sounds=("aac", "mp3"), holds_mark=True)
_UNNAMED_CHANNELS: Final = " channels"
"""How the library spells a layout of which only the number of channels is known."""

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
        ".flv": _FLV,
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


def can_copy(track: Stream, container: Container) -> bool:
    """Whether a container takes a track's coding as it is, tried on a header in memory."""
    if isinstance(track, AudioStream):
        if container.sounds and track.codec_context.codec.canonical_name not in container.sounds:
            return False
        # Which channels are where stands in its very last box: no header would fail.
        if container.muxer == "mp4" and has_unnamed_channels(track):
            return False
    try:
        with av.open(io.BytesIO(), "w", format=container.muxer) as trial:
            trial.add_stream_from_template(track)
            trial.start_encoding()
    except (av.FFmpegError, ValueError, OSError):
        return False
    return True


def has_unnamed_channels(track: AudioStream) -> bool:
    """Whether only the number of a track's channels is known, not which is left or right."""
    return track.codec_context.layout.name.endswith(_UNNAMED_CHANNELS)


def muxer_options(
    container: Container,
    *time_bases: Fraction,
    keep_metadata: bool = False,
    has_projection: bool = False,
) -> dict[str, str]:
    """Options under which timestamps pass unchanged and no trace of the writer is left.

    Args:
        container: kind of the output.
        time_bases: seconds per tick of each picture track.
        keep_metadata: tags of any name pass.
        has_projection: a track is tagged as 360° or 3D, which MP4's standard leaves to others.

    `bitexact` leaves out the muxer's name and the time of writing, so that the same
    pictures always give the same file.

    >>> muxer_options(container_of(Path("a.ts")), Fraction(1, 90000))["mpegts_copyts"]
    '1'
    """
    options = {"fflags": "+bitexact"}
    if container.muxer in ("mp4", "mov", "3gp"):
        # A start that is not zero is stored in the movie's ticks: they must be as fine as
        # the track's.
        ticks = str(_ticks(time_bases))
        options |= {"video_track_timescale": ticks, "movie_timescale": ticks}
        options["movflags"] = "+faststart" + ("+use_metadata_tags" if keep_metadata else "")
        options |= {"strict": "unofficial"} if has_projection else {}
    elif container.muxer == "mpegts":
        options |= {"mpegts_copyts": "1", "avoid_negative_ts": "make_non_negative"}
    return options


def _ticks(time_bases: Sequence[Fraction]) -> int:
    """Ticks a second in which all tracks' instants are whole, within the field's range."""
    ticks = math.lcm(*(base.denominator for base in time_bases))
    return ticks if ticks < 1 << 31 else 90_000
