"""Which encoder writes the pictures, in which pixel format, and why.

An encoder is used only after it proved that it works here: software encoders by opening
with the very size and format, hardware encoders by coding a few pictures that must decode.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

import av
from av.codec.context import CodecContext
from av.video.codeccontext import VideoCodecContext

from engines.pictures import Layout
from stream.containers import Codec, Container
from stream.errors import OutputNotWritable
from stream.planes import format_of_picture, picture_format
from stream.probe import MediaProbe

__all__ = ["EncodeSettings", "EncoderChoice", "choose_encoder", "encodes", "hardware_encoders"]

os.environ.setdefault("SVT_LOG", "1")


@dataclass(frozen=True, slots=True)
class EncodeSettings:
    """How the output is to be written.

    Attributes:
        encoder: `auto` (hardware where it passes its test, else software), `software`, or
            the name of an encoder such as `libx264` or `h264_nvenc`.
        codec: `same` (the input's own where the container can hold it) or a coding.
        crf: constant quality; larger is smaller and worse. None: the encoder's default
            of ours, visually close to the input.
        preset: speed preset of the encoder; slower is smaller. None: ours. Encoders that
            number their presets disregard a name.
        audio: `copy` (transcoded where the container cannot hold it) or `drop`.
        keep_metadata: keep titles, places, times, chapters, text and data
            tracks; cover pictures
            and thumbnails never pass, since they show faces.
        overwrite: replace an existing output.
        image_quality: 1…100, for JPEG and WebP.
        threads: encoder threads, 0 for as many as there are processors.
        is_marked: tell in the metadata that faces are synthetic, see `stream.marking`.
    """

    encoder: str = "auto"
    codec: Codec | Literal["same"] = "same"
    crf: int | None = None
    preset: str | None = None
    audio: Literal["copy", "drop"] = "copy"
    keep_metadata: bool = False
    overwrite: bool = False
    image_quality: int = 95
    threads: int = 0
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """The encoder that was chosen.

    Attributes:
        name: the encoder's name.
        codec: the coding it writes.
        pixel_format: the pixel format it is given.
        options: its options.
        quality: fixed quantiser of codecs that have one, else None.
        is_hardware: it runs on a GPU or a media engine.
        reason: why this one, in one line, for the report.
    """

    name: str
    codec: Codec
    pixel_format: str
    options: tuple[tuple[str, str], ...]
    quality: int | None
    is_hardware: bool
    reason: str


_SOFTWARE: Final[dict[Codec, str]] = {
    "h264": "libx264",
    "hevc": "libx265",
    "av1": "libsvtav1",
    "vp9": "libvpx-vp9",
    "vp8": "libvpx",
    "mjpeg": "mjpeg",
    "gif": "gif",
}
_HARDWARE: Final[dict[Codec, tuple[str, ...]]] = {
    "h264": ("h264_nvenc", "h264_qsv", "h264_videotoolbox"),
    "hevc": ("hevc_nvenc", "hevc_qsv", "hevc_videotoolbox"),
    "av1": ("av1_nvenc", "av1_qsv"),
}
_NUMBERED_PRESETS: Final = ("libsvtav1", "libvpx-vp9", "libvpx")
_INNER_OPTIONS: Final = {
    "libx264": "x264-params",
    "libx265": "x265-params",
    "libsvtav1": "svtav1-params",
}
_HARDWARE_FORMATS: Final = ("yuv420p", "nv12", "p010le")
_MJPEG_QUANTISER: Final = 3
_LAMBDA: Final = 118
"""FFmpeg's FF_QP2LAMBDA: global quality is the quantiser times this."""
_TEST_PICTURES: Final = 5
_TEST_RATE: Final = Fraction(25)


def choose_encoder(
    probe: MediaProbe, container: Container, settings: EncodeSettings
) -> EncoderChoice:
    """The first encoder that works, the truest to the input first.

    The order is: planes and bit depth kept before resolution of colour lost before bit
    depth lost; within that the input's own coding, then the container's order.

    Raises:
        OutputNotWritable: none works, or the one asked for does not.
    """
    height, width = probe.coded_size
    for codec, name, pixel_format in _candidates(probe, container, settings):
        is_hardware = name not in _SOFTWARE.values()
        options = _options(name, settings, probe)
        test = _passes_test_encode if is_hardware else encodes
        if test(name, pixel_format, width, height, options, probe.shape.rate):
            quality = _MJPEG_QUANTISER * _LAMBDA if codec == "mjpeg" else None
            reason = _reason(probe, codec, name, pixel_format, settings, is_hardware)
            return EncoderChoice(name, codec, pixel_format, options, quality, is_hardware, reason)
    asked = settings.encoder if settings.encoder not in ("auto", "software") else settings.codec
    wanted = "no encoder" if asked == "same" else f"{asked} does not work here, and nothing else"
    raise OutputNotWritable(
        f"{wanted} can write {width}×{height} {probe.pixel_format} into {container.muxer}; "
        "choose another file ending, or --set output.encoder=auto"
    )


def _candidates(
    probe: MediaProbe, container: Container, settings: EncodeSettings
) -> Iterator[tuple[Codec, str, str]]:
    """(codec, encoder, pixel format), best first."""
    pairs = [
        (codec, name)
        for codec in _codecs(probe, container, settings)
        for name in _names(codec, settings)
    ]
    for pixel_format in _formats(probe):
        for codec, name in pairs:
            spelled = _spelled(name, pixel_format)
            if spelled is not None:
                yield codec, name, spelled


def _codecs(probe: MediaProbe, container: Container, settings: EncodeSettings) -> list[Codec]:
    if settings.codec != "same":
        return [codec for codec in container.codecs if codec == settings.codec]
    return sorted(container.codecs, key=lambda codec: codec != probe.codec)


def _names(codec: Codec, settings: EncodeSettings) -> tuple[str, ...]:
    software, hardware = (_SOFTWARE[codec],), _HARDWARE.get(codec, ())
    if settings.encoder == "auto":
        return hardware + software
    if settings.encoder == "software":
        return software
    is_own = settings.encoder == _SOFTWARE[codec] or settings.encoder.startswith(f"{codec}_")
    return (settings.encoder,) if is_own else ()


def _formats(probe: MediaProbe) -> Iterator[str]:
    """Pixel formats from the truest to the plainest, by our names."""
    layout: Layout = probe.layout
    if layout in ("bgr", "gray"):
        layout = "yuv420"
    yuv: tuple[Layout, ...] = ("yuv420", "yuv422", "yuv444")
    depths = [depth for depth in (12, 10, 8) if depth <= probe.bit_depth]
    layouts = [known for known in yuv if known == layout]
    layouts += [known for known in yuv[::-1] if known not in layouts]
    for depth in depths:
        for known in layouts:
            yield format_of_picture(known, depth)


@lru_cache(maxsize=64)
def _known_formats(name: str) -> tuple[str, ...]:
    try:
        codec = av.Codec(name, "w")
    except (ValueError, av.FFmpegError):
        return ()
    return tuple(form.name for form in codec.video_formats or ())


def _spelled(name: str, pixel_format: str) -> str | None:
    """The encoder's own spelling of a pixel format, None where it cannot take it."""
    known = _known_formats(name)
    if name == "gif":
        return "pal8" if "pal8" in known and pixel_format == "yuv444p" else None
    if name == "mjpeg":
        full = pixel_format.replace("yuv4", "yuvj4")
        return full if full in known else None
    if name not in _SOFTWARE.values():
        return _hardware_spelling(known, pixel_format)
    return pixel_format if pixel_format in known else None


def _hardware_spelling(known: tuple[str, ...], pixel_format: str) -> str | None:
    for spelling in _HARDWARE_FORMATS:
        if spelling in known and picture_format(spelling) == picture_format(pixel_format):
            return spelling
    return None


def _options(name: str, settings: EncodeSettings, probe: MediaProbe) -> tuple[tuple[str, str], ...]:
    crf, preset = settings.crf, _preset(name, settings.preset)
    inner = probe.light.parameters(name) if probe.light is not None else {}
    if name == "libx264" and probe.fields:
        inner[probe.fields] = "1"
    if name == "libx264":
        chosen = {"crf": str(20 if crf is None else crf), "preset": preset or "veryfast"}
    elif name == "libx265":
        chosen = {"crf": str(22 if crf is None else crf), "preset": preset or "superfast"}
        inner["log-level"] = "none"
    elif name == "libsvtav1":
        chosen = {"crf": str(28 if crf is None else crf), "preset": preset or "9"}
    elif name in ("libvpx-vp9", "libvpx"):
        chosen = {"crf": str(28 if crf is None else crf), "b": "0" if name[-1] == "9" else "8M"}
        chosen |= {"deadline": "realtime", "cpu-used": preset or "6"}
        if name == "libvpx-vp9":
            chosen["row-mt"] = "1"
    elif name.endswith("_nvenc"):
        chosen = {"rc": "vbr", "cq": str(22 if crf is None else crf), "preset": preset or "p4"}
    elif name.endswith("_qsv"):
        chosen = {"global_quality": str(22 if crf is None else crf)}
    elif name == "gif":
        # Every picture brings its own colours, so that segments can be joined. And it is
        # written whole: the encoder compares places in palettes, not colours, and would leave
        # out as unchanged what has changed.
        chosen = {"global_palette": "0", "gifflags": "-offsetting-transdiff"}
    else:
        chosen = {}
    if inner:
        words = ":".join(f"{key}={value}" for key, value in sorted(inner.items()))
        chosen[_INNER_OPTIONS[name]] = words
    return tuple(sorted(chosen.items()))


def _preset(name: str, asked: str | None) -> str | None:
    """The preset asked for, None where the encoder does not know it."""
    is_number = asked is not None and asked.removeprefix("-").isdigit()
    return asked if is_number == (name in _NUMBERED_PRESETS) else None


def _reason(
    probe: MediaProbe,
    codec: Codec,
    name: str,
    pixel_format: str,
    settings: EncodeSettings,
    is_hardware: bool,
) -> str:
    kind = "hardware, passed a test encode" if is_hardware else "software"
    if settings.encoder == "auto" and not is_hardware and codec in _HARDWARE:
        kind = "software, since no hardware encoder passed a test encode"
    parts = [f"{name} ({kind})"]
    if codec != probe.codec and codec == settings.codec:
        parts.append(f"{codec} was asked for")
    elif codec != probe.codec:
        parts.append(f"{probe.codec} is not written into this container in this format")
    elif name == "libx265":
        parts.append("the input's own coding; --codec h264 is several times as fast")
    if pixel_format == "pal8":
        return "; ".join(parts)
    _, depth = picture_format(pixel_format)
    if depth < probe.bit_depth:
        parts.append(f"{depth} of {probe.bit_depth} bits are kept")
    height, width = probe.coded_size
    if (height % 2 or width % 2) and picture_format(pixel_format)[0] == "yuv444":
        parts.append(f"4:4:4 since {width}×{height} is odd")
    return "; ".join(parts)


@lru_cache(maxsize=256)
def encodes(
    name: str,
    pixel_format: str,
    width: int,
    height: int,
    options: tuple[tuple[str, str], ...],
    rate: Fraction = _TEST_RATE,
) -> bool:
    """Whether an encoder opens for pictures of this size, format and rate a second.

    >>> encodes("libx264", "yuv420p", 64, 48, ()), encodes("libx264", "yuv420p", 33, 48, ())
    (True, False)
    """
    try:
        _opened(name, pixel_format, width, height, options, rate)
    except (av.FFmpegError, ValueError):
        return False
    return True


def _opened(
    name: str,
    pixel_format: str,
    width: int,
    height: int,
    options: tuple[tuple[str, str], ...],
    rate: Fraction,
) -> VideoCodecContext:
    context = CodecContext.create(name, "w")
    assert isinstance(context, VideoCodecContext)
    context.width, context.height, context.pix_fmt = width, height, pixel_format
    context.time_base, context.framerate = 1 / rate, rate
    context.options = dict(options)
    context.thread_count = 1
    context.open()
    return context


@lru_cache(maxsize=64)
def _passes_test_encode(
    name: str,
    pixel_format: str,
    width: int,
    height: int,
    options: tuple[tuple[str, str], ...],
    rate: Fraction = _TEST_RATE,
) -> bool:
    """Whether pictures coded by it here and now can be decoded again, all of them."""
    try:
        context = _opened(name, pixel_format, width, height, options, rate)
        decoder = CodecContext.create(context.codec.canonical_name, "r")
        assert isinstance(decoder, VideoCodecContext)
        decoder.extradata = context.extradata
        packets = []
        for pts in range(_TEST_PICTURES):
            frame = av.VideoFrame(width, height, pixel_format)
            for plane in frame.planes:
                plane.update(bytes([96 + pts]) * plane.buffer_size)
            frame.pts, frame.time_base = pts, 1 / rate
            packets += context.encode(frame)
        packets += context.encode(None)
        pictures = [image for packet in packets for image in decoder.decode(packet)]
        pictures += decoder.decode(None)
    except (av.FFmpegError, ValueError, NotImplementedError):
        return False
    sizes = {(image.width, image.height) for image in pictures}
    return len(pictures) == _TEST_PICTURES and sizes == {(width, height)}


def hardware_encoders() -> dict[str, bool]:
    """Every hardware encoder that is built in, and whether it passes a test encode here."""
    return {
        name: any(
            _passes_test_encode(name, spelling, 640, 480, ())
            for spelling in _HARDWARE_FORMATS
            if spelling in _known_formats(name)
        )
        for names in _HARDWARE.values()
        for name in names
        if _known_formats(name)
    }
