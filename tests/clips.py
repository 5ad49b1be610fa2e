"""Tiny clips whose pixels say which frame they are, in a code that no codec can blur."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

__all__ = ["Clip", "click_time_s", "decoded", "made_clip", "number_in", "written_number"]

_COLUMNS, _ROWS = 6, 2
_DARK, _LIGHT = 60, 190
_QUARTERS = {
    0: None,
    90: (0, -65536, 0, 65536, 0, 0, 0, 0, 1 << 30),
    180: (-65536, 0, 0, 0, -65536, 0, 0, 0, 1 << 30),
    270: (0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30),
}


@dataclass(frozen=True)
class Clip:
    """How a clip is to be made.

    `times` are in ticks of `time_base`; without them frames follow at `rate` a second.
    `rotation` is the anticlockwise angle in degrees that a player turns it by.
    """

    height: int = 64
    width: int = 96
    frames: int = 24
    rate: int = 25
    codec: str = "libx264"
    pixel_format: str = "yuv420p"
    muxer: str | None = None
    times: tuple[int, ...] | None = None
    time_base: Fraction = Fraction(1, 12800)
    options: Mapping[str, str] = field(default_factory=dict)
    muxer_options: Mapping[str, str] = field(default_factory=dict)
    rotation: int = 0
    tags: tuple[int, int, int, int] | None = None
    sample_aspect: Fraction | None = None
    sound: str | None = None
    click_s: float = 0.5
    metadata: Mapping[str, str] = field(default_factory=dict)
    has_chapters: bool = False

    def ticks(self) -> tuple[int, ...]:
        """Time of each frame."""
        if self.times is not None:
            return self.times
        return tuple(round(Fraction(i, self.rate) / self.time_base) for i in range(self.frames))


def written_number(number: int, height: int, width: int) -> NDArray[np.uint8]:
    """Grey picture, height × width uint8, of 12 large cells that spell a number below 4096."""
    rows = np.arange(height) * _ROWS // height
    columns = np.arange(width) * _COLUMNS // width
    bits = (number >> (rows[:, None] * _COLUMNS + columns)) & 1
    return np.where(bits == 1, _LIGHT, _DARK).astype(np.uint8)


def number_in(grey: NDArray[np.uint8]) -> int:
    """The number that a grey picture spells, read in the middle of each cell."""
    height, width = grey.shape
    number = 0
    for row in range(_ROWS):
        for column in range(_COLUMNS):
            y, x = (2 * row + 1) * height // (2 * _ROWS), (2 * column + 1) * width // (2 * _COLUMNS)
            cell = grey[max(0, y - 2) : y + 3, max(0, x - 2) : x + 3]
            number |= int(cell.mean() > (_DARK + _LIGHT) / 2) << (row * _COLUMNS + column)
    return number


def made_clip(path: Path, clip: Clip) -> Path:
    """Writes a clip and returns its path."""
    options = {"video_track_timescale": str(clip.time_base.denominator)}
    if path.suffix != ".mp4" and path.suffix != ".mov":
        options = {}
    options |= dict(clip.muxer_options)
    if clip.rotation or clip.metadata:
        options.setdefault("movflags", "use_metadata_tags")
    if path.suffix not in (".mp4", ".mov"):
        options.pop("movflags", None)
    with av.open(str(path), "w", format=clip.muxer, container_options=options) as output:
        video = _video_track(output, clip)
        sound = _sound_track(output, clip) if clip.sound else None
        output.metadata.update(clip.metadata)
        if clip.has_chapters:
            chapter = {"id": 1, "start": 0, "end": 500, "time_base": Fraction(1, 1000)}
            output.set_chapters([chapter | {"metadata": {"title": "at home"}}])  # type: ignore[list-item]
        for number, pts in enumerate(clip.ticks()):
            frame = numbered_frame(number, clip)
            frame.pts, frame.time_base = pts, clip.time_base
            output.mux(video.encode(frame))
        if sound is not None:
            _write_click(output, sound, clip)
        last = video.encode(None)
        for packet in last if clip.frames <= 2 else ():
            packet.dts = packet.pts  # which x265 leaves unset in streams as short
        output.mux(last)
    return path


def numbered_frame(number: int, clip: Clip) -> av.VideoFrame:
    """A codec's frame that spells a number."""
    grey = written_number(number, clip.height, clip.width)
    frame = av.VideoFrame.from_ndarray(np.dstack([grey, grey, grey]), format="rgb24")
    return frame.reformat(format=clip.pixel_format)


def _video_track(output: OutputContainer, clip: Clip) -> VideoStream:
    options = dict(clip.options)
    if clip.codec == "libx265":
        options.setdefault("x265-params", "log-level=none")
    video = output.add_stream(clip.codec, rate=clip.rate, options=options)
    assert isinstance(video, VideoStream)
    context = video.codec_context
    context.width, context.height = clip.width, clip.height
    context.pix_fmt, context.time_base = clip.pixel_format, clip.time_base
    video.time_base = clip.time_base
    matrix = _QUARTERS[clip.rotation]
    if matrix is not None:
        video.set_display_matrix(matrix)
    if clip.sample_aspect is not None:
        context.sample_aspect_ratio = clip.sample_aspect
    if clip.tags is not None:
        context.color_primaries, context.color_trc, context.colorspace, context.color_range = (
            clip.tags
        )
    return video


def _sound_track(output: OutputContainer, clip: Clip) -> AudioStream:
    assert clip.sound is not None
    sound = output.add_stream(clip.sound, rate=48000)
    assert isinstance(sound, AudioStream)
    sound.codec_context.layout = "mono"
    return sound


def _write_click(output: OutputContainer, sound: AudioStream, clip: Clip) -> None:
    """Silence with one click, as long as the pictures."""
    samples = round(float(clip.ticks()[-1] * clip.time_base + Fraction(1, 25)) * 48000)
    wave = np.zeros((1, samples), np.float32)
    start = round(clip.click_s * 48000)
    wave[0, start : start + 48] = 0.9
    for offset in range(0, samples, 1024):
        part = np.ascontiguousarray(wave[:, offset : offset + 1024])
        frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, offset, Fraction(1, 48000)
        output.mux(sound.encode(frame))
    output.mux(sound.encode(None))


@dataclass(frozen=True)
class Decoded:
    """What a file holds, as any player would find it."""

    numbers: list[int]
    times_s: list[Fraction]
    sizes: set[tuple[int, int]]
    first: av.VideoFrame
    pixel_format: str
    codec: str


def decoded(path: Path) -> Decoded:
    """Reads a whole clip with the codec library alone, none of our code."""
    with av.open(str(path)) as source:
        track = source.streams.video[0]
        frames = list(source.decode(track))
        time_base = track.time_base or Fraction(1, 25)
        codec = track.codec_context.codec.canonical_name
    times = [
        Fraction(number, 25) if frame.pts is None else frame.pts * time_base
        for number, frame in enumerate(frames)
    ]
    greys = [np.asarray(frame.to_ndarray(format="gray"), np.uint8) for frame in frames]
    return Decoded(
        [number_in(grey) for grey in greys],
        times,
        {(frame.height, frame.width) for frame in frames},
        frames[0],
        frames[0].format.name,
        codec,
    )


def click_time_s(path: Path) -> float:
    """When the click is heard, s: place of the loudest sample."""
    loudest, when = 0.0, -1.0
    with av.open(str(path)) as source:
        for frame in source.decode(audio=0):
            wave = np.abs(np.asarray(frame.to_ndarray(), np.float64))
            if wave.dtype != np.float64 or wave.size == 0:
                continue
            place = int(wave.max(axis=0).argmax())
            if wave.max() > loudest and frame.pts is not None and frame.time_base is not None:
                loudest = float(wave.max())
                when = float(frame.pts * frame.time_base) + place / frame.sample_rate
    return when


def content_of(path: Path) -> list[tuple[str, int | None, str]]:
    """Everything a player gets: kind, pts and digest of each decoded picture and coded sound.

    Coded pictures are no measure: of the same pictures x264 now and then makes other bytes,
    which decode alike.
    """
    return [
        (kind, pts, hashlib.sha256(values.data).hexdigest()) for kind, pts, values in _played(path)
    ]


def apart(one: Path, other: Path) -> float:
    """How far two clips are apart: the largest mean difference of two pictures, grey levels.

    Of the same pictures x264 now and then makes others that decode a little differently, too; a
    cover that is missing, or a frame that was lost, is far more. Infinite where places in time,
    sizes or sounds differ.
    """
    first, second = _played(one), _played(other)
    if [(kind, pts, values.shape) for kind, pts, values in first] != [
        (kind, pts, values.shape) for kind, pts, values in second
    ]:
        return float("inf")
    pairs = [(kind, a, b) for (kind, _, a), (_, _, b) in zip(first, second, strict=True)]
    if not all(np.array_equal(a, b) for kind, a, b in pairs if kind == "sound"):
        return float("inf")
    pictures = [(a.astype(np.int16), b) for kind, a, b in pairs if kind == "picture"]
    return max(float(np.abs(a - b).mean()) for a, b in pictures)


def _played(path: Path) -> list[tuple[str, int | None, NDArray[np.uint8]]]:
    """Decoded pictures, uint8[3, H, W], and coded sounds, uint8[N], by kind and place in time."""
    found: list[tuple[str, int | None, NDArray[np.uint8]]] = []
    with av.open(str(path)) as container:
        for packet in container.demux():
            if packet.stream.type == "audio":
                found.append(("sound", packet.pts, np.frombuffer(bytes(packet), np.uint8)))
            elif isinstance(packet.stream, VideoStream):
                for frame in packet.stream.decode(packet):
                    pixels = np.ascontiguousarray(frame.to_ndarray(format="yuv444p"), np.uint8)
                    found.append(("picture", frame.pts, pixels))
    return sorted(found, key=lambda one: (one[0], one[1] or 0))
