"""How bright a recording was mastered (HDR10): read from its first frame, told to encoders."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import av

from stream.media.side_data import integers_beside

__all__ = ["MasteringDisplay", "MasteringLight", "light_of"]

_CHROMATICITY_UNIT: Final = 50_000
_LUMINANCE_UNIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class MasteringDisplay:
    """The display that the pictures were graded on (SMPTE ST 2086).

    Attributes:
        red, green, blue, white: chromaticities x, y (CIE 1931).
        luminance: darkest and brightest, cd/m².
    """

    red: tuple[Fraction, Fraction]
    green: tuple[Fraction, Fraction]
    blue: tuple[Fraction, Fraction]
    white: tuple[Fraction, Fraction]
    luminance: tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class MasteringLight:
    """The static HDR10 metadata of a recording.

    Attributes:
        display: the mastering display, None where untold.
        content: brightest pixel and brightest frame average (MaxCLL, MaxFALL), cd/m².
    """

    display: MasteringDisplay | None = None
    content: tuple[int, int] | None = None

    def parameters(self, encoder: str) -> dict[str, str]:
        """The encoder's own words for it; empty for encoders that cannot write it.

        >>> light = MasteringLight(content=(1000, 400))
        >>> light.parameters("libx265"), light.parameters("mjpeg")
        ({'max-cll': '1000,400'}, {})
        """
        names = _NAMES.get(encoder)
        if names is None:
            return {}
        told = {}
        if self.display is not None:
            told[names[0]] = _spelled(self.display, is_decimal=encoder == "libsvtav1")
        if self.content is not None:
            told[names[1]] = f"{self.content[0]},{self.content[1]}"
        return told


_NAMES: Final = {
    "libx264": ("mastering-display", "cll"),
    "libx265": ("master-display", "max-cll"),
    "libsvtav1": ("mastering-display", "content-light"),
}


def light_of(image: av.VideoFrame) -> MasteringLight | None:
    """What a decoded frame tells of its mastering, None where it tells nothing."""
    display = _display(integers_beside(image, "MASTERING_DISPLAY_METADATA"))
    content = integers_beside(image, "CONTENT_LIGHT_LEVEL")
    levels = (content[0], content[1]) if len(content) >= 2 and any(content[:2]) else None
    return MasteringLight(display, levels) if display or levels else None


def _display(values: list[int]) -> MasteringDisplay | None:
    """From FFmpeg's AVMasteringDisplayMetadata: ten rationals and two flags."""
    if len(values) < 22 or not (values[20] and values[21]) or not all(values[1:20:2]):
        return None
    told = [Fraction(values[at], values[at + 1]) for at in range(0, 20, 2)]
    red, green, blue, white, luminance = (
        (first, second) for first, second in zip(told[::2], told[1::2], strict=True)
    )
    return MasteringDisplay(red, green, blue, white, luminance)


def _spelled(display: MasteringDisplay, *, is_decimal: bool) -> str:
    """G(x,y)B(x,y)R(x,y)WP(x,y)L(brightest,darkest)."""

    def number(value: Fraction, unit: int) -> str:
        return f"{float(value):.6g}" if is_decimal else str(round(value * unit))

    def point(value: tuple[Fraction, Fraction]) -> str:
        return ",".join(number(part, _CHROMATICITY_UNIT) for part in value)

    darkest, brightest = (number(part, _LUMINANCE_UNIT) for part in display.luminance)
    return (
        f"G({point(display.green)})B({point(display.blue)})R({point(display.red)})"
        f"WP({point(display.white)})L({brightest},{darkest})"
    )
