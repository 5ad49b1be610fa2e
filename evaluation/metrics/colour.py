"""Colour as the eye tells it apart: CIE L*a*b* and the difference ΔE2000."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage

__all__ = ["Lab", "ciede2000", "lab_from_bgr"]

Lab = NDArray[np.float64]
"""(…, 3) L* 0…100, a*, b*, under D65."""

_KNEE: Final = 25.0**7


def lab_from_bgr(pixels: BgrImage) -> Lab:
    """L*a*b* of H×W×3 uint8 BGR pixels that are coded as sRGB.

    >>> lab_from_bgr(np.full((1, 1, 3), 255, np.uint8)).round().tolist()
    [[[100.0, 0.0, 0.0]]]
    """
    scaled = pixels.astype(np.float32) / 255
    return np.asarray(cv2.cvtColor(scaled, cv2.COLOR_BGR2LAB), np.float64)


def ciede2000(first: Lab, second: Lab) -> NDArray[np.float64]:
    """Colour difference ΔE2000 (Sharma, Wu and Dalal 2005, Eq. 2 to 22; all weights are 1).

    Args:
        first: (…, 3) L*a*b*.
        second: (…, 3) L*a*b*, of a shape that broadcasts with `first`.

    Returns:
        (…) ≥ 0; 1 is about the least difference that the eye tells in patches side by side.

    >>> white, grey = np.array([100.0, 0, 0]), np.array([50.0, 0, 0])
    >>> float(ciede2000(white, white)), bool(ciede2000(white, grey) > 30)
    (0.0, True)
    """
    chroma = (np.hypot(first[..., 1], first[..., 2]) + np.hypot(second[..., 1], second[..., 2])) / 2
    stretch = 1.5 - 0.5 * _saturation(chroma)
    chroma_1, hue_1 = _chroma_and_hue(first, stretch)
    chroma_2, hue_2 = _chroma_and_hue(second, stretch)
    is_grey = chroma_1 * chroma_2 == 0
    turn = np.where(is_grey, 0.0, _shorter_turn(hue_2 - hue_1))
    hue = np.where(is_grey, hue_1 + hue_2, _mean_hue(hue_1, hue_2))
    lightness = (first[..., 0] + second[..., 0]) / 2 - 50
    chroma = (chroma_1 + chroma_2) / 2
    scale_l = 1 + 0.015 * lightness**2 / np.sqrt(20 + lightness**2)
    off_l = (second[..., 0] - first[..., 0]) / scale_l
    off_c = (chroma_2 - chroma_1) / (1 + 0.045 * chroma)
    off_h = 2 * np.sqrt(chroma_1 * chroma_2) * np.sin(np.radians(turn) / 2)
    off_h = off_h / (1 + 0.015 * chroma * _hue_weight(hue))
    bend = 60 * np.exp(-(((hue - 275) / 25) ** 2))
    rotation = -2 * _saturation(chroma) * np.sin(np.radians(bend))
    squares = off_l**2 + off_c**2 + off_h**2 + rotation * off_c * off_h
    return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float64)


def _saturation(chroma: NDArray[np.float64]) -> NDArray[np.float64]:
    power = chroma**7
    return np.asarray(np.sqrt(power / (power + _KNEE)), np.float64)


def _chroma_and_hue(
    lab: Lab, stretch: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chroma and hue, degrees 0…360, after a* was stretched; the hue of grey is 0."""
    red = stretch * lab[..., 1]
    hue = np.degrees(np.arctan2(lab[..., 2], red)) % 360
    return np.hypot(red, lab[..., 2]), np.where((red == 0) & (lab[..., 2] == 0), 0.0, hue)


def _shorter_turn(turn: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(turn - 360 * (turn > 180) + 360 * (turn < -180), np.float64)


def _mean_hue(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The hue half way along the shorter arc, degrees."""
    total = first + second
    across = np.where(total < 360, total + 360, total - 360)
    return np.where(np.abs(first - second) <= 180, total, across) / 2


def _hue_weight(hue: NDArray[np.float64]) -> NDArray[np.float64]:
    angles = (hue - 30, 2 * hue, 3 * hue + 6, 4 * hue - 63)
    first, second, third, fourth = (np.cos(np.radians(angle)) for angle in angles)
    weight = 1 - 0.17 * first + 0.24 * second + 0.32 * third - 0.20 * fourth
    return np.asarray(weight, np.float64)
