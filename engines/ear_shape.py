"""The picture of an ear that nobody has: its outline, and how light lies on it.

Drawn from curves through points set by hand, as anatomy names its parts: the helix around it, the
antihelix within, the tragus before the hollow of the concha, the lobe below. Ridges and hollows
are a height, which light from above and the shade in hollows turn into brightness.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

__all__ = ["EAR_SIZE", "ear_picture"]

Float32 = NDArray[np.float32]

EAR_SIZE: Final = (192, 96)
"""Height and width of the picture, px."""
_OUTLINE: Final = (
    "0.02,0.16 0.12,0.06 0.32,0.005 0.58,0.01 0.82,0.07 0.97,0.19 0.99,0.32 0.93,0.46 0.84,0.60 "
    "0.74,0.74 0.66,0.86 0.54,0.96 0.34,0.995 0.16,0.96 0.04,0.86 -0.05,0.70 -0.05,0.30 0.02,0.16"
)
"""Points x,y that a curve passes through, as SVG writes them: shares of the picture's width from
the cheek outwards, and of its height downwards."""
_HELIX: Final = (
    "0.22,0.40 0.14,0.26 0.20,0.13 0.42,0.07 0.66,0.09 "
    "0.84,0.19 0.88,0.32 0.82,0.46 0.70,0.60 0.60,0.70"
)
_ANTIHELIX: Final = "0.42,0.22 0.58,0.30 0.62,0.42 0.56,0.55 0.44,0.66 0.30,0.70"
_TRAGUS: Final = "0.05,0.42 0.10,0.50 0.08,0.60"
_GROOVE: Final = "0.34,0.16 0.60,0.17 0.76,0.26 0.76,0.38 0.66,0.52"
_RIDGES: Final = ((_HELIX, 1.0), (_ANTIHELIX, 0.8), (_TRAGUS, 0.8))
"""Curves that stand out, and how far."""
_CONCHA: Final = (0.30, 0.53, 0.17, 0.12)
_LOBE: Final = (0.34, 0.86, 0.22, 0.09)
"""Middle and deviations of what is hollow and what is round."""
_WIDE: Final = 0.07
_SOFT: Final = 0.037
"""Width of a ridge and the deviation of its blur, shares of the picture's width."""
_POINTS: Final = 160


@lru_cache(maxsize=1)
def ear_picture() -> tuple[Float32, Float32]:
    """An ear on the right side of a picture, the cheek at its left; shared, so not to be changed.

    Returns:
        How bright it is, a share of its skin's brightness, float32[EAR_SIZE] about 1; and where it
        is, float32[EAR_SIZE] in [0, 1].
    """
    height, width = EAR_SIZE
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height)
    where = _filled(_OUTLINE)
    concha = _mound(x, y, _CONCHA)
    high = sum((much * _ridge(curve, _WIDE, _SOFT) for curve, much in _RIDGES), -0.7 * concha)
    high = np.asarray(high + 0.5 * _mound(x, y, _LOBE), np.float32)
    slope = cv2.Sobel(high, cv2.CV_32F, 0, 1, ksize=5) / 16 * (height / 80)
    hollow = cv2.GaussianBlur(high, (0, 0), _SOFT * 2 * width) - high
    shade = 0.97 + 0.16 * np.clip(slope, -1, 1) - 0.22 * concha
    shade -= np.where(hollow > 0, 0.30, 0.10) * hollow
    shade -= 0.20 * _ridge(_GROOVE, 0.045, 0.028)
    edge = cv2.distanceTransform((where > 0.5).astype(np.uint8), cv2.DIST_L2, 5) / width
    shade -= 0.22 * np.exp(-((edge / 0.05) ** 2))
    shade -= np.exp(-((x / 0.15) ** 2)) * (0.18 + 0.12 * np.exp(-(((y - 0.5) / 0.25) ** 2)))
    return np.clip(shade, 0.45, 1.15).astype(np.float32), where


def _curve(points: str) -> NDArray[np.int32]:
    """A smooth curve through points, px of the picture doubled: int32[N, 2]."""
    pairs = np.array([pair.split(",") for pair in points.split()], np.float64)
    is_closed = bool((pairs[0] == pairs[-1]).all())
    lengths = np.hypot(*np.diff(pairs, axis=0).T).cumsum()
    spline = make_interp_spline(
        np.concatenate([[0], lengths]),
        pairs,
        k=min(3, len(pairs) - 1),
        bc_type="periodic" if is_closed else None,
    )
    found = spline(np.linspace(0, lengths[-1], _POINTS)) * (2 * np.array(EAR_SIZE[::-1]))
    return np.asarray(np.round(found), np.int32)


def _filled(curve: str) -> Float32:
    """What a closed curve encloses, float32[EAR_SIZE] in [0, 1]."""
    return _halved(cv2.fillPoly(_canvas(), [_curve(curve)], 1.0))


def _ridge(curve: str, width: float, soft: float) -> Float32:
    """A line along a curve, softened: float32[EAR_SIZE] in [0, 1]."""
    thick = max(round(width * 2 * EAR_SIZE[1]), 1)
    drawn = _halved(cv2.polylines(_canvas(), [_curve(curve)], False, 1.0, thick))
    return np.asarray(cv2.GaussianBlur(drawn, (0, 0), soft * EAR_SIZE[1]), np.float32)


def _mound(
    x: NDArray[np.float64], y: NDArray[np.float64], about: tuple[float, float, float, float]
) -> NDArray[np.float64]:
    """A round height about a middle, with deviations: float64[EAR_SIZE] in [0, 1]."""
    return np.exp(-(((x - about[0]) / about[2]) ** 2) - ((y - about[1]) / about[3]) ** 2)


def _canvas() -> Float32:
    return np.zeros((2 * EAR_SIZE[0], 2 * EAR_SIZE[1]), np.float32)


def _halved(canvas: cv2.typing.MatLike) -> Float32:
    size = (EAR_SIZE[1], EAR_SIZE[0])
    return np.asarray(cv2.resize(canvas, size, interpolation=cv2.INTER_AREA), np.float32)
