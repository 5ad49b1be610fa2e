"""How strong the fine details of a face are, on its skin and on its features, and others as strong.

Skin is most of a face, lashes, brows and the lines of lips are few and strong: they are told apart.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import brightness, filled_around
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
)

__all__ = [
    "FLAT",
    "fine_of",
    "fine_share",
    "fineness",
    "on_features",
    "strength",
    "with_fine_details",
    "with_luma",
]

_PORES: Final = 12.0
"""Grey levels from which fine details are lashes, lips and lines, and stay."""
_FEATURES: Final = (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
)
"""Parts of a face whose fine details are hair and lines, and are compared by themselves."""
_FEATURES_SIDE: Final = 96
"""Side at which these are told, px."""
_FINE_PX: Final = 1.5
"""Deviation of the blur that takes fine details away: periods up to 8 px."""
_LESS_FINE_PX: Final = 4.0
_UNSEEN: Final = 0.7
"""Deviation of fine details, grey levels, below which they are rounding and blocks of a codec."""
FLAT: Final = 0.3
"""Deviation of fine details, grey levels, below which there are none."""
_TYPICAL: Final = 0.6
_DEVIATIONS: Final = 0.8416
"""Quantile of the magnitude of fine details, and a standard normal variable's."""

Float32 = NDArray[np.float32]


def with_fine_details(
    pixels: Float32, points: Float32 | None, crispness: float, features: float
) -> Float32:
    """A painted face whose fine details are stronger, or fainter: float32[S, S, 3].

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 2] of the face, shares of the side; None where all is skin.
        crispness: what they are multiplied by on skin; below 1 those alone that are faint.
        features: the same of brows, eyes and lips, besides a crispness above 1.
    """
    fine = fine_of(brightness(pixels))
    skin = np.full_like(fine, crispness - 1)
    if crispness < 1:
        skin *= cv2.exp(-np.square(fine / np.float32(_PORES)))
    if points is not None:
        off = _off_features(points, len(fine))
        drawn = features * max(crispness, 1.0) - 1
        skin = skin * off + np.float32(drawn) * (1 - off)
    return with_luma(pixels, skin * fine)


def on_features(points: Float32, size: int) -> NDArray[np.bool_]:
    """Where brows, eyes and lips are: bool[S, S]."""
    return np.asarray(_off_features(points, size) < 0.5, np.bool_)


def _off_features(points: Float32, size: int) -> Float32:
    """Where neither brows, eyes nor lips are: float32[S, S], 0 on them, 1 elsewhere.

    Args:
        points: float32[POINTS, 2] of the face, shares of the side.
        size: S, px.
    """
    drawn = np.zeros((_FEATURES_SIDE, _FEATURES_SIDE), np.uint8)
    for part in _FEATURES:
        drawn = np.maximum(drawn, filled_around(points[part] * _FEATURES_SIDE, drawn.shape))
    soft = cv2.GaussianBlur(cv2.dilate(drawn, np.ones((3, 3), np.uint8)), (0, 0), 1.0)
    off = cv2.resize(soft, (size, size), interpolation=cv2.INTER_LINEAR)
    return np.asarray(1 - off / np.float32(255), np.float32)


def with_luma(pixels: Float32, levels: Float32) -> Float32:
    """Pixels float32[S, S, 3] lighter by float32[S, S] grey levels."""
    # Broadcasting along a last axis of three would take several times as long.
    lighter = np.asarray(cv2.add(pixels, cv2.merge([levels] * 3)), np.float32)
    return np.clip(lighter, 0, 255, out=lighter)


def fine_share(luma: Float32, noise: float, where: NDArray[np.bool_]) -> float:
    """How strong the finest details are beside less fine ones; 0 where there are none.

    Whatever the contrast, it falls with every blur.
    """
    if not where.any():
        return 0.0
    small, large = (cv2.GaussianBlur(luma, (0, 0), one) for one in (_FINE_PX, _LESS_FINE_PX))
    square = float((luma - small)[where].var()) - noise**2
    less = float((small - large)[where].var())
    return float(np.sqrt(square / less)) if square > _UNSEEN**2 and less > 0 else 0.0


def fineness(fine: Float32, noise: float, where: NDArray[np.bool_]) -> float:
    """Deviation of the fine details but for noise, grey levels; 0 where there are none.

    It is told by their quantile: lines, glasses and lashes are few, skin is most.
    """
    if not where.any():
        return 0.0
    typical = float(np.quantile(np.abs(fine[where]), _TYPICAL)) / _DEVIATIONS
    square = typical**2 - noise**2
    return float(np.sqrt(square)) if square > FLAT**2 else 0.0


def strength(fine: Float32, noise: float, where: NDArray[np.bool_]) -> float:
    """Root mean square of the fine details but for noise, grey levels; 0 where there are none."""
    if not where.any():
        return 0.0
    square = float(np.square(fine[where]).mean()) - noise**2
    return float(np.sqrt(square)) if square > FLAT**2 else 0.0


def fine_of(luma: Float32) -> Float32:
    """The fine details of a picture float32[H, W], of periods up to 8 px."""
    return np.asarray(luma - cv2.GaussianBlur(luma, (0, 0), _FINE_PX), np.float32)
