"""What of a portrait would be on everybody who wears it: glasses, a fringe, a hard shadow.

Four simple measures on the canonical face, where every feature has its place. They were chosen on
92 generated portraits that had been left out of the bundled donors, and 98 of those, by what an
eye saw. Pictures are uint8[S, S, 3] BGR as `engines.donors.textures.photographed` gives them,
points float32[>= MESH_POINTS, 2] of the same frame, texture units.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.donors.skin import skin_beside_features, within_outline
from engines.stylegan.drawing import LUMA
from engines.stylegan.topology import BROW_LEFT_SLICE, EYE_LEFT_SLICE, EYE_RIGHT_SLICE

__all__ = ["bridge_line", "hidden_cheeks", "hidden_forehead", "one_sided_light"]

_BRIDGE: Final = (0.12, -0.27, 0.25)
"""Where glasses rest: half its width, and its top and bottom from between the eyes. In distances of
the eyes, as the others are."""
_FOREHEAD: Final = (0.52, 0.21, 0.013)
"""Just above the brows: half its width, and how far above them it begins and ends."""
_CHEEKS: Final = (0.07, 0.64)
"""Heights below the eyes."""
_WITHIN: Final = 0.06
"""How far within the outline skin is looked at, share of the side: beyond is hair."""
_FINE: Final = 1 / 256
_BROAD: Final = 6 / 256
"""Deviations of blurs, shares of the side."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def bridge_line(picture: UInt8, points: Float32) -> float:
    """The sharpest line across the bridge of the nose, shares of the face's brightness per px."""
    size = len(picture)
    x, y, apart = _between_eyes(points)
    half, top, bottom = (part * apart for part in _BRIDGE)
    slopes = cv2.Sobel(_brightness(picture, points, _FINE), cv2.CV_32F, 0, 1) / 8
    rows, columns = _span(y + top, y + bottom, size), _span(x - half, x + half, size)
    return float(np.abs(slopes[rows, columns].mean(axis=1)).max()) * size / 256


def hidden_forehead(picture: UInt8, points: Float32) -> float:
    """How much of what is just above the brows is no skin, 0 to 1: a fringe, a hat, a shadow."""
    x, _, apart = _between_eyes(points)
    half, above, below = (part * apart for part in _FOREHEAD)
    top = float(points[BROW_LEFT_SLICE, 1].min())
    across, down = _places(len(picture))
    there = (np.abs(across - x) < half) & (down > top - above) & (down < top - below)
    return 1 - float(np.nanmean(skin_beside_features(picture, points)[there]))


def hidden_cheeks(picture: UInt8, points: Float32) -> float:
    """How much of the cheeks looks unlike their middle, 0 to 1: in a hard shadow, or painted."""
    _, y, apart = _between_eyes(points)
    above, below = (part * apart for part in _CHEEKS)
    _, down = _places(len(picture))
    there = (down > y + above) & (down < y + below) & _is_within(picture, points)
    return 1 - float(np.nanmean(skin_beside_features(picture, points)[there]))


def one_sided_light(picture: UInt8, points: Float32) -> float:
    """How much the halves of a face differ in broad light, beyond an even slope.

    A deviation, as a share of the face's brightness.
    """
    broad = _brightness(picture, points, _BROAD)
    there = _is_within(picture, points)
    across = _places(len(picture))[0][there] - 0.5
    differs = (broad - broad[:, ::-1])[there]
    slope = float(differs @ across) / float(across @ across)
    return float(np.sqrt(np.mean((differs - slope * across) ** 2)))


def _brightness(picture: UInt8, points: Float32, blur: float) -> Float32:
    """Luma in shares of the typical one between eyes and mouth, float32[S, S], blurred."""
    size = len(picture)
    luma = picture.astype(np.float32) @ LUMA
    x, y, apart = _between_eyes(points)
    rows, columns = (
        _span(y + 0.33 * apart, y + 0.58 * apart, size),
        _span(x - 0.5 * apart, x + 0.5 * apart, size),
    )
    typical = max(float(np.median(luma[rows, columns])), 5.0)
    return np.asarray(cv2.GaussianBlur(luma, (0, 0), blur * size) / typical, np.float32)


def _between_eyes(points: Float32) -> tuple[float, float, float]:
    """Place between the eyes, and their distance, texture units."""
    left, right = points[EYE_LEFT_SLICE, :2].mean(axis=0), points[EYE_RIGHT_SLICE, :2].mean(axis=0)
    x, y = ((left + right) / 2).tolist()
    return x, y, float(np.hypot(*(right - left)))


def _is_within(picture: UInt8, points: Float32) -> Mask:
    return np.asarray(within_outline(points, len(picture)) > _WITHIN, np.bool_)


def _places(size: int) -> tuple[Float32, Float32]:
    steps = (np.arange(size, dtype=np.float32) + 0.5) / np.float32(size)
    across, down = np.meshgrid(steps, steps)
    return across, down


def _span(start: float, end: float, size: int) -> slice:
    return slice(round(start * size), round(end * size))
