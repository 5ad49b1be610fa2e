"""Whether painted skin has the colour of the skin beside it (P5)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.types import Landmarks
from evaluation.metrics.colour import Lab, ciede2000, lab_from_bgr

__all__ = ["skin_difference"]

_RADIUS: Final = 0.14
"""Of each patch, over the distance from the eyes to the mouth."""
_CHEEK_OUT: Final = 0.1
"""How far a cheek lies outside the line from the eye to the corner of the mouth, same unit."""
_REFERENCES: Final = (-0.75, -0.95, 1.75, 2.0)
"""Foreheads and necks: where they lie below the middle of the eyes, same unit."""
_MOST_APART: Final = 20.0
"""ΔE2000 in the original from which a place is hair or cloth, and no skin to compare with."""
_LEAST_PIXELS: Final = 12
_LEAST_SHARE: Final = 0.5
"""Share of a patch that must be painted (cheek) or unchanged (forehead and neck)."""


def skin_difference(
    original: BgrImage, anonymized: BgrImage, mask: NDArray[np.bool_], landmarks_px: Landmarks
) -> float | None:
    """ΔE2000 between painted cheeks and unchanged forehead or neck, minus the original's.

    Args:
        original: H×W×3 uint8 BGR.
        anonymized: H×W×3 uint8 BGR, the same place.
        mask: H×W, what was painted.
        landmarks_px: (5, 2) of the original, in these pixels.

    Returns:
        0 is as before; more is a cheek of another colour; less is one nearer to its
        surroundings than the original's. The mean over the pairs of patches that can be
        compared; None without any.
    """
    before, after = lab_from_bgr(original), lab_from_bgr(anonymized)
    eyes, mouth = landmarks_px[:2].mean(axis=0), landmarks_px[3:].mean(axis=0)
    unit = float(np.linalg.norm(mouth - eyes))
    radius = _RADIUS * unit
    painted = [_patch(mask, middle, radius) for middle in _cheeks(landmarks_px, unit)]
    visible = [_patch(~mask, eyes + (mouth - eyes) * at, radius) for at in _REFERENCES]
    pairs = [
        (cheek, other)
        for cheek in painted
        for other in visible
        if cheek is not None and other is not None and _between(before, cheek, other) < _MOST_APART
    ]
    if not pairs:
        return None
    return float(np.mean([_between(after, *pair) - _between(before, *pair) for pair in pairs]))


Patch = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows and columns of its pixels."""


def _cheeks(landmarks_px: Landmarks, unit: float) -> list[NDArray[np.float64]]:
    """Middles of the cheeks that are turned to the camera."""
    points = landmarks_px.astype(np.float64)
    middles = [(points[0] + points[3]) / 2, (points[1] + points[4]) / 2]
    across = middles[1] - middles[0]
    across = across / max(float(np.linalg.norm(across)), 1e-9)
    sides = [-across, across]
    return [
        middle + _CHEEK_OUT * unit * out
        for middle, out in zip(middles, sides, strict=True)
        if float((middle - points[2]) @ out) > 2 * _RADIUS * unit
    ]


def _patch(wanted: NDArray[np.bool_], middle: NDArray[np.floating], radius: float) -> Patch | None:
    """The wanted pixels of a disc; None where too few of it are."""
    x0, y0 = np.floor(middle - radius).astype(int).tolist()
    side = int(2 * radius) + 2
    rows, columns = np.mgrid[y0 : y0 + side, x0 : x0 + side]
    is_disc = np.hypot(columns + 0.5 - middle[0], rows + 0.5 - middle[1]) <= radius
    height, width = wanted.shape
    is_inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    rows, columns = rows[is_disc & is_inside], columns[is_disc & is_inside]
    is_wanted = wanted[rows, columns]
    if is_wanted.sum() < max(_LEAST_PIXELS, _LEAST_SHARE * is_disc.sum()):
        return None
    return rows[is_wanted], columns[is_wanted]


def _between(lab: Lab, first: Patch, second: Patch) -> float:
    """ΔE2000 of the medians of two patches."""
    return float(ciede2000(np.median(lab[first], axis=0), np.median(lab[second], axis=0)))
