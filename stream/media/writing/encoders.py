"""Which encoder writes the pictures, in which pixel format, and why.

An encoder is used only after it proved that it works here: software encoders by opening
with the very size and format, hardware encoders by coding a few pictures that must decode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engines.pictures import Layout
from stream.errors import OutputNotWritable
from stream.media.containers import Codec, Container
from stream.media.planes import format_of_picture, picture_format
from stream.media.reading.probe import MediaProbe
from stream.media.writing.encoder_options import EncodeSettings, encoder_options
from stream.media.writing.encoder_proof import Coding, encodes, known_formats, passes_test_encode

__all__ = [
    "SOFTWARE",
    "EncoderChoice",
    "choose_encoder",
    "encoder_names",
    "encoder_spelling",
    "hardware_encoders",
    "is_hardware",
]


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


SOFTWARE: Final[dict[Codec, str]] = {
    "h264": "libx264",
    "hevc": "libx265",
    "av1": "libsvtav1",
    "vp9": "libvpx-vp9",
    "vp8": "libvpx",
    "mjpeg": "mjpeg",
    "gif": "gif",
}
"""The encoder of each coding that needs no hardware."""
_HARDWARE: Final[dict[Codec, tuple[str, ...]]] = {
    "h264": ("h264_nvenc", "h264_qsv", "h264_videotoolbox"),
    "hevc": ("hevc_nvenc", "hevc_qsv", "hevc_videotoolbox"),
    "av1": ("av1_nvenc", "av1_qsv"),
}


_HARDWARE_FORMATS: Final = ("yuv420p", "nv12", "p010le")
_MJPEG_QUANTISER: Final = 3
_LAMBDA: Final = 118
"""FFmpeg's FF_QP2LAMBDA: global quality is the quantiser times this."""


def choose_encoder(
    probe: MediaProbe, container: Container, settings: EncodeSettings
) -> EncoderChoice:
    """The first encoder that works, the truest to the input first.

    The order is: planes and bit depth kept before resolution of colour lost before bit
    depth lost; within that the input's own coding, then the container's order.

    Raises:
        OutputNotWritable: none works, or the one asked for does not.
    """
    if settings.codec not in ("same", *container.codecs):
        raise OutputNotWritable(
            f"{container.muxer} holds {', '.join(container.codecs)} and not {settings.codec}; "
            "choose another --codec or another file ending"
        )
    height, width = probe.coded_size
    for codec, name, pixel_format in _candidates(probe, container, settings):
        options = encoder_options(name, settings, probe)
        test = passes_test_encode if is_hardware(name) else encodes
        if test(Coding(name, pixel_format, width, height, options, probe.shape.rate)):
            quality = _MJPEG_QUANTISER * _LAMBDA if codec == "mjpeg" else None
            reason = _reason(probe, codec, name, pixel_format, settings)
            return EncoderChoice(
                name, codec, pixel_format, options, quality, is_hardware(name), reason
            )
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
        for name in encoder_names(codec, settings.encoder)
    ]
    for pixel_format in _formats(probe):
        for codec, name in pairs:
            spelled = encoder_spelling(name, pixel_format)
            if spelled is not None:
                yield codec, name, spelled


def _codecs(probe: MediaProbe, container: Container, settings: EncodeSettings) -> list[Codec]:
    if settings.codec != "same":
        return [codec for codec in container.codecs if codec == settings.codec]
    return sorted(container.codecs, key=lambda codec: codec != probe.codec)


def encoder_names(codec: Codec, wanted: str) -> tuple[str, ...]:
    """Encoders of a coding to try, in this order.

    Args:
        codec: the coding.
        wanted: `auto`, `software`, or the name of one; see `EncodeSettings.encoder`.

    >>> encoder_names("h264", "software"), encoder_names("vp8", "h264_nvenc")
    (('libx264',), ())
    """
    software, hardware = (SOFTWARE[codec],), _HARDWARE.get(codec, ())
    if wanted == "auto":
        return hardware + software
    if wanted == "software":
        return software
    is_own = wanted == SOFTWARE[codec] or wanted.startswith(f"{codec}_")
    return (wanted,) if is_own else ()


def is_hardware(name: str) -> bool:
    """Whether an encoder of these names runs on a GPU or a media engine."""
    return name not in SOFTWARE.values()


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


def encoder_spelling(name: str, pixel_format: str) -> str | None:
    """The encoder's own spelling of a pixel format, None where it cannot take it."""
    known = known_formats(name)
    if name == "gif":
        return "pal8" if "pal8" in known and pixel_format == "yuv444p" else None
    if name == "mjpeg":
        full = pixel_format.replace("yuv4", "yuvj4")
        return full if full in known else None
    if is_hardware(name):
        return _hardware_spelling(known, pixel_format)
    return pixel_format if pixel_format in known else None


def _hardware_spelling(known: tuple[str, ...], pixel_format: str) -> str | None:
    for spelling in _HARDWARE_FORMATS:
        if spelling in known and picture_format(spelling) == picture_format(pixel_format):
            return spelling
    return None


def _reason(
    probe: MediaProbe,
    codec: Codec,
    name: str,
    pixel_format: str,
    settings: EncodeSettings,
) -> str:
    kind = "hardware, passed a test encode" if is_hardware(name) else "software"
    if settings.encoder == "auto" and not is_hardware(name) and codec in _HARDWARE:
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


def hardware_encoders() -> dict[str, bool]:
    """Every hardware encoder that is built in, and whether it passes a test encode here."""
    return {
        name: any(
            passes_test_encode(Coding(name, spelling, 640, 480))
            for spelling in _HARDWARE_FORMATS
            if spelling in known_formats(name)
        )
        for names in _HARDWARE.values()
        for name in names
        if known_formats(name)
    }
