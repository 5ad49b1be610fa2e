"""What becomes of samples that no encoder of the output keeps, in words."""

from __future__ import annotations

from typing import Final

from engines.pictures import Layout
from stream.media.planes import picture_format
from stream.media.reading.probe import MediaProbe
from stream.media.writing.encoders import EncoderChoice

__all__ = ["lost_samples"]

_NAMES: Final[dict[Layout, str]] = {
    "yuv420": "4:2:0",
    "yuv422": "4:2:2",
    "yuv444": "4:4:4",
    "bgr": "RGB",
    "gray": "grey",
}
_CHROMA: Final[dict[Layout, int]] = {"yuv420": 1, "yuv422": 2, "yuv444": 4, "bgr": 5, "gray": 0}
"""Order of what is told of colours; samples in RGB are rounded on their way to any other."""


def lost_samples(probe: MediaProbe, choice: EncoderChoice) -> tuple[str, ...]:
    """Bits, colours and coding that are not the input's, one line each."""
    if choice.pixel_format == "pal8":
        return () if probe.codec == "gif" else ("256 colours are kept of each picture",)
    notes: tuple[str, ...] = ("opacity is left out",) if probe.has_opacity else ()
    layout, depth = picture_format(choice.pixel_format)
    if _CHROMA[layout] < _CHROMA[probe.layout]:
        notes += (f"colours come as {_NAMES[layout]} instead of {_NAMES[probe.layout]}",)
    if depth < probe.bit_depth:
        notes += (f"{depth} of {probe.bit_depth} bits are kept",)
    if choice.codec != probe.codec:
        notes += (f"pictures are coded as {choice.codec} instead of {probe.codec}",)
    return notes
