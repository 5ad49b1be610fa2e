"""Opens a local file, and nothing that it may point to, and reads what it says of itself."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.codec.context import CodecContext
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from engines.pictures import Layout
from stream.errors import InputUnreadable, UsageRefused, reading
from stream.media.ends import StreamShape
from stream.media.light import light_of
from stream.media.planes import colour_tags, picture_format
from stream.media.projection import projection_of
from stream.media.reading.avi_index import end_before_wrong_index
from stream.media.reading.decoder_bounds import MAX_PIXELS, decoder_bound, unseen_at_opening
from stream.media.reading.inputs import opened_file
from stream.media.reading.matroska import seconds_of_tag
from stream.media.reading.probe import Fields, MediaProbe, quarter_turns, turned_matrix
from stream.media.side_data import integers_beside
from stream.media.stills import IMAGE_ENDINGS

__all__ = [
    "chosen_video",
    "has_decoder",
    "opened_input",
    "probe_of",
    "upright_format",
    "video_tracks",
]

# Formats that hold their own media. Playlists and scripts (hls, dash, concat, image
# sequences, sdp) are left out: they make a file read other files or hosts.
_FORMATS: Final = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,mpegts,mpeg,mpegvideo,avi,flv,asf,mxf,ogg,nut,"
    "ivf,obu,av1,h264,hevc,vvc,m4v,mjpeg,mjpeg_2000,gif,apng,yuv4mpegpipe,dv,rm,swf,wtv"
)
_OPTIONS: Final = {"protocol_whitelist": "file", "format_whitelist": _FORMATS}
_LATE_TRACKS: Final = (b"FLV", b"\x00\x00\x01\xba")
"""How files begin whose tracks become known after the opening: FLV and MPEG programs."""
_PACKET_BYTES: Final = 188
_SYNC_BYTE: Final = 0x47
_BOTTOM_FIRST: Final = (3, 4)
"""FFmpeg's AV_FIELD_BB and AV_FIELD_TB: coded and shown, or only shown, bottom field first."""
_FALLBACK_RATE: Final = Fraction(25)


def opened_input(path: Path, max_pixels: int = MAX_PIXELS) -> InputContainer:
    """Opens a local media file, and nothing that it may point to.

    Args:
        path: the file.
        max_pixels: larger pictures are not decoded to find out what the file holds.

    Raises:
        InputUnreadable: missing, empty, a folder, no rights, or not a media file.
        UsageRefused: a pipe, a device or a socket.
    """
    with reading(path.name):
        if path.is_dir():
            raise InputUnreadable(f"cannot read {path.name}: it is a folder; name a file")
        with opened_file(path) as file:
            start = file.read(5 * _PACKET_BYTES)
            if not start:
                raise InputUnreadable(f"cannot read {path.name}: the file is empty")
        hidden = unseen_at_opening() if start.startswith(_LATE_TRACKS) else {}
        part, end = "", end_before_wrong_index(path)
        if end is not None:
            part = f"subfile,,start,0,end,{end},,:"
            hidden = hidden | {"protocol_whitelist": "subfile,file"}
        try:
            return av.open(
                f"{part}file:{path.absolute()}",
                "r",
                format=_told_format(start),
                options=decoder_bound(max_pixels),
                container_options=_OPTIONS | hidden,
                metadata_errors="replace",
            )
        except av.ArgumentError:  # of a format that is not let in
            raise InputUnreadable(
                f"cannot read {path.name}: it is no video of a kind that is read, and of pictures "
                f"only {' '.join(sorted(IMAGE_ENDINGS))} are; convert it first"
            ) from None


def _told_format(start: bytes) -> str | None:
    """The format where the library guesses wrong: short MPEG-TS looks like an MPEG program."""
    marks = start[::_PACKET_BYTES]
    is_ts = len(marks) > 1 and set(marks) == {_SYNC_BYTE}
    return "mpegts" if is_ts else None


def chosen_video(container: InputContainer, name: str, wanted: int | None = None) -> VideoStream:
    """The video track asked for, or the one that players take.

    That is one that the file calls the default, of several the largest, and the first of equals.
    Previews often come first and small.

    Args:
        container: the open file.
        name: of the file, for messages.
        wanted: number of the track, from 1, without cover pictures and thumbnails.

    Raises:
        InputUnreadable: there is none, or its codec is unknown.
        UsageRefused: there is no track of this number.
    """
    tracks = video_tracks(container)
    if not tracks:
        has_audio = len(container.streams.audio) > 0
        what = "it holds sound but no video" if has_audio else "it holds no video"
        raise InputUnreadable(f"cannot read {name}: {what}")
    if wanted is not None and wanted > len(tracks):
        raise UsageRefused(
            f"{name} has no video track {wanted}; --video-track takes 1 to {len(tracks)}"
        )
    known = [track for track in tracks if has_decoder(track)]
    chosen = tracks[wanted - 1] if wanted is not None else max(known, key=_rank, default=tracks[0])
    if not has_decoder(chosen):
        raise InputUnreadable(f"cannot read {name}: its video codec is not supported")
    return chosen


def video_tracks(container: InputContainer) -> list[VideoStream]:
    """Video tracks that are not a cover picture or a thumbnail."""
    hidden = av.stream.Disposition.attached_pic | av.stream.Disposition.timed_thumbnails
    return [track for track in container.streams.video if not track.disposition & hidden]


def _rank(track: VideoStream) -> tuple[bool, int]:
    is_default = bool(track.disposition & av.stream.Disposition.default)
    return is_default, track.codec_context.width * track.codec_context.height


def probe_of(
    path: Path,
    container: InputContainer,
    stream: VideoStream,
    image: av.VideoFrame,
    *,
    has_timestamps: bool,
    is_upright: bool,
    rotation: int = 0,
) -> MediaProbe:
    """What the file and its first frame say of the format.

    Args:
        path: the file.
        container: the file, open.
        stream: its video track.
        image: the first decoded frame.
        has_timestamps: whether that frame came with a time.
        is_upright: whether frames are to be turned upright.
        rotation: degrees clockwise by which they are turned besides what the file says.
    """
    matrix = turned_matrix(_display_matrix(image), rotation)
    layout, bit_depth, turns = upright_format(image, rotation)
    if not is_upright:
        (layout, bit_depth), turns = picture_format(image.format.name), 0
    # Without timestamps the demuxer's average is its own default; the codec may know better.
    known = (stream.average_rate, stream.guessed_rate)
    rates = [_sound_rate(rate) for rate in (known if has_timestamps else known[::-1])]
    rate = next((rate for rate in rates if rate is not None), _FALLBACK_RATE)
    height, width = image.height, image.width
    if turns % 2:
        height, width = width, height
    time_base = stream.time_base if has_timestamps and stream.time_base else 1 / rate
    seconds = _duration_s(container, stream)
    return MediaProbe(
        path=path,
        kind="video",
        container=container.format.name,
        codec=_codec_name(stream),
        pixel_format=image.format.name,
        layout=layout,
        bit_depth=bit_depth,
        shape=StreamShape(height, width, rate, time_base, _frame_count(stream, rate, seconds)),
        colour=colour_tags(image),
        sample_aspect=_sample_aspect(stream),
        display_matrix=matrix,
        turns=turns,
        has_timestamps=has_timestamps,
        duration_s=seconds,
        dropped=_dropped(container, stream),
        track=stream.index,
        lost=_lost_tracks(container, stream),
        fields=_fields(stream, image),
        light=light_of(image),
        has_opacity=_has_opacity(stream, image),
        projection=projection_of(image),
    )


def upright_format(image: av.VideoFrame, rotation: int = 0) -> tuple[Layout, int, int]:
    """What a decoded frame is turned upright in: layout, bits, and quarter turns anticlockwise.

    Args:
        image: the frame.
        rotation: degrees clockwise by which it is turned besides what it says itself.
    """
    turns = quarter_turns(turned_matrix(_display_matrix(image), rotation))
    layout, bit_depth = picture_format(image.format.name)
    if layout == "yuv422" and turns % 2:
        layout = "yuv444"
    return layout, bit_depth, turns


def has_decoder(track: Stream) -> bool:
    """Whether the track's coding is known; where not, the library leaves its context out."""
    context: CodecContext | None = track.codec_context
    return context is not None


def _has_opacity(stream: VideoStream, image: av.VideoFrame) -> bool:
    """Whether pictures may be transparent; in GIF that says only what has not changed."""
    tags = {name.lower(): value for name, value in stream.metadata.items()}
    is_told = any(part.is_alpha for part in image.format.components)
    return tags.get("alpha_mode") == "1" or (is_told and _codec_name(stream) != "gif")


def _sample_aspect(stream: VideoStream) -> Fraction:
    """Pixel shape by the container, else by the decoder."""
    told = stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio
    return told or Fraction(1)


def _sound_rate(rate: Fraction | None) -> Fraction | None:
    """The rate, unless it is absent or a clock tick mistaken for one."""
    return rate if rate is not None and 0 < rate <= 1000 else None


def _codec_name(stream: VideoStream) -> str:
    return stream.codec_context.codec.canonical_name


def _fields(stream: VideoStream, image: av.VideoFrame) -> Fields:
    """Shown first; of an interlaced picture without a known order the top field."""
    if not image.interlaced_frame:
        return ""
    return "bff" if stream.codec_context.field_order in _BOTTOM_FIRST else "tff"


def _display_matrix(image: av.VideoFrame) -> tuple[int, ...] | None:
    values = integers_beside(image, "DISPLAYMATRIX")
    return tuple(values[:9]) if len(values) >= 9 else None


def _duration_s(container: InputContainer, stream: VideoStream) -> float | None:
    if stream.duration is not None and stream.time_base:
        return float(stream.duration * stream.time_base)
    noted = seconds_of_tag(stream.metadata.get("DURATION", ""))
    if noted is not None:
        return noted
    if container.duration is not None and not container.streams.audio:
        return container.duration / av.time_base
    return None


def _frame_count(stream: VideoStream, rate: Fraction, seconds: float | None) -> int | None:
    if stream.frames:
        return stream.frames
    return round(seconds * float(rate)) if seconds is not None else None


def _lost_tracks(container: InputContainer, stream: VideoStream) -> tuple[str, ...]:
    """Told where the file shows more than the one track that is read."""
    tracks = video_tracks(container)
    if len(tracks) < 2:
        return ()
    taken = [track.index for track in tracks].index(stream.index) + 1
    size = f"{stream.codec_context.width}×{stream.codec_context.height}"
    return (
        f"video track {taken} of {len(tracks)} ({size}) is taken, the rest left out; "
        "--video-track takes another, or all",
    )


def _dropped(container: InputContainer, stream: VideoStream) -> tuple[str, ...]:
    """Tracks and tags that do not pass, by kind and name, never by value."""
    kinds = [
        track.type
        for track in container.streams
        if track.index != stream.index and track.type != "audio"
    ]
    found = [f"{kind} track" for kind in kinds]
    found += [f"tag {name}" for name in sorted(container.metadata)]
    if container.chapters():
        found.append("chapters")
    return tuple(found)
