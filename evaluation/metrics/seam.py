"""Whether the rim of a painted area can be seen (P4): edges and colour steps across it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from evaluation.metrics.colour import Lab, lab_from_bgr

__all__ = ["Seam", "seam"]

_RING: Final = 0.03
"""Half the width of the ring around the rim over the size of the mask; at least 2 px."""
_STEP: Final = 0.05
"""Distance of the colours compared from the rim, over the size of the mask; at least 3 px."""
_GRADIENT_FLOOR: Final = 1.0
"""Energy, (grey levels per px)², added to both sides so that flat rings have the ratio 1."""
_STEP_FLOOR: Final = 0.5
"""Step, L*a*b* units, added to both sides so that flat rings have the ratio 1."""


@dataclass(frozen=True, slots=True)
class Seam:
    """The rim of a painted area, anonymized ÷ original; 1 is as before, larger is a seam.

    Attributes:
        gradient: mean square of the luma's slope across the rim.
        step: mean difference of the colours just inside and just outside the rim.
    """

    gradient: float
    step: float


def seam(original: BgrImage, anonymized: BgrImage, mask: NDArray[np.bool_]) -> Seam | None:
    """Compares the rim of a mask before and after.

    Args:
        original: H×W×3 uint8 BGR.
        anonymized: H×W×3 uint8 BGR, the same place.
        mask: H×W, what was painted.

    Returns:
        The ratios; None where the mask has no rim inside the picture.

    >>> grey, mask = np.full((64, 64, 3), 90, np.uint8), np.zeros((64, 64), np.bool_)
    >>> mask[16:48, 16:48] = True
    >>> seam(grey, grey, mask)
    Seam(gradient=1.0, step=1.0)
    """
    size = float(np.sqrt(mask.sum()))
    outside_px = _signed_distance(mask)
    rows, columns = np.nonzero(np.abs(outside_px) <= max(2.0, _RING * size))
    if not len(rows) or not mask.any():
        return None
    across = _normals(outside_px)[rows, columns]
    ring = (rows, columns, across)
    step_px = max(3.0, _STEP * size)
    gradients = [_gradient_energy(image, ring) for image in (original, anonymized)]
    is_rim = np.abs(outside_px[rows, columns]) <= 1
    rim = (rows[is_rim], columns[is_rim], across[is_rim])
    steps = [_colour_step(lab_from_bgr(image), rim, step_px) for image in (original, anonymized)]
    return Seam(
        (gradients[1] + _GRADIENT_FLOOR) / (gradients[0] + _GRADIENT_FLOOR),
        (steps[1] + _STEP_FLOOR) / (steps[0] + _STEP_FLOOR),
    )


Ring = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]
"""Rows, columns and (N, 2) unit vectors x, y across the rim, of N pixels."""


def _signed_distance(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Distance from the rim, px: positive outside the mask."""
    inner, outer = (
        cv2.distanceTransform(side.astype(np.uint8), cv2.DIST_L2, 5) for side in (mask, ~mask)
    )
    return np.asarray(outer - inner, np.float64)


def _normals(outside_px: NDArray[np.float64]) -> NDArray[np.float64]:
    """(H, W, 2) unit vectors x, y that point out of the mask."""
    down, right = np.gradient(np.asarray(cv2.GaussianBlur(outside_px, (0, 0), 2.0), np.float64))
    vectors = np.stack([right, down], axis=-1)
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-9), np.float64)


def _gradient_energy(image: BgrImage, ring: Ring) -> float:
    rows, columns, across = ring
    luma = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.float64)
    down, right = (np.asarray(np.gradient(luma, axis=axis), np.float64) for axis in (0, 1))
    slope = right[rows, columns] * across[:, 0] + down[rows, columns] * across[:, 1]
    return float((slope**2).mean())


def _colour_step(lab: Lab, rim: Ring, step_px: float) -> float:
    rows, columns, across = rim
    smooth = np.asarray(cv2.GaussianBlur(lab, (0, 0), 1.0), np.float64)
    sides = []
    for sign in (-1, 1):
        x = np.rint(columns + sign * step_px * across[:, 0]).astype(int)
        y = np.rint(rows + sign * step_px * across[:, 1]).astype(int)
        sides.append(smooth[y.clip(0, lab.shape[0] - 1), x.clip(0, lab.shape[1] - 1)])
    return float(np.linalg.norm(sides[1] - sides[0], axis=1).mean())
