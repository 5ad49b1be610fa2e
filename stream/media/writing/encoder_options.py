"""How an output is to be written, and how each encoder is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from stream.media.containers import Codec
from stream.media.reading.probe import MediaProbe

__all__ = ["EncodeSettings", "encoder_options"]

_NUMBERED_PRESETS: Final = ("libsvtav1", "libvpx-vp9", "libvpx")
_INNER_OPTIONS: Final = {
    "libx264": "x264-params",
    "libx265": "x265-params",
    "libsvtav1": "svtav1-params",
}


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
        is_marked: tell in the metadata that faces are synthetic, see `stream.media.marking`.
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


def encoder_options(
    name: str, settings: EncodeSettings, probe: MediaProbe
) -> tuple[tuple[str, str], ...]:
    """An encoder's options by its own names, sorted.

    Args:
        name: of the encoder.
        settings: what is wanted.
        probe: light and fields of the input, which its pictures are marked with.
    """
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
