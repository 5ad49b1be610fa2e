"""Temporal quality of an anonymized face, relative to the original's own noise."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["flicker_ratio", "identity_variance", "jitter_ratio", "template_spread"]
__all__ += ["warp_error_ratio"]

Crops = Sequence[NDArray[np.uint8]]
_FLOOR = 1e-3
_JITTER_FLOOR = 1e-5


def flicker_ratio(original: Crops, anonymized: Crops) -> float:
    """Mean change of brightness between frames, anonymized ÷ original.

    Args:
        original: aligned crops of one face in consecutive frames, each H×W×3 uint8 BGR.
        anonymized: the same places of the anonymized frames.

    Returns:
        1 when the surrogate is as steady as the person; larger flickers. 1 with fewer than
        two frames.

    >>> still = [np.zeros((8, 8, 3), np.uint8)] * 3
    >>> flicker_ratio(still, still)
    1.0
    """
    return _mean_change(anonymized) / _mean_change(original)


def _mean_change(crops: Crops) -> float:
    means = np.array([crop.astype(np.float32).mean() for crop in crops])
    return float(np.abs(np.diff(means)).mean()) + _FLOOR if len(means) > 1 else _FLOOR


def jitter_ratio(original: NDArray[np.float32], anonymized: NDArray[np.float32]) -> float:
    """How landmarks tremble, anonymized ÷ original.

    Trembling is the mean length of the second difference: steady motion has none.

    Args:
        original: (N, P, 2) landmarks of consecutive frames, in one coordinate system.
        anonymized: (N, P, 2) of the same frames.

    Returns:
        1 when the surrogate is as steady as the person; 1 with fewer than three frames.

    >>> line = np.arange(5, dtype=np.float32)[:, None, None].repeat(2, axis=2)
    >>> jitter_ratio(line, line)
    1.0
    """
    if len(original) < 3:
        return 1.0
    both = [np.linalg.norm(np.diff(one, 2, axis=0), axis=2) for one in (anonymized, original)]
    return float((both[0].mean() + _JITTER_FLOOR) / (both[1].mean() + _JITTER_FLOOR))


def template_spread(units: NDArray[np.float32]) -> float:
    """1 − length of the mean of (N, D) unit vectors: 0 when all are one.

    >>> template_spread(np.array([[1, 0], [1, 0]], np.float32))
    0.0
    """
    return 1 - float(np.linalg.norm(units.mean(axis=0)))


def identity_variance(units: NDArray[np.float32]) -> float:
    """Variance of a recogniser's distance between the frames of a track and their mean.

    Args:
        units: (N, D) unit vectors of one track.

    Returns:
        Variance of the cosine distance, 0…1; 0 when every frame shows the same face to
        the same degree.

    >>> identity_variance(np.array([[1, 0], [1, 0]], np.float32))
    0.0
    """
    mean = units.mean(axis=0)
    mean = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return float(np.var(1 - units @ mean))


def warp_error_ratio(original: Crops, anonymized: Crops) -> float:
    """Error after motion compensation with the original's flow, anonymized ÷ original.

    The flow (Farnebäck, 2003) is that of the original, so a surrogate that moves with the
    person has a ratio near 1 and one that swims or jumps a larger one.
    """
    if len(original) < 2:
        return 1.0
    errors = np.zeros(2)
    for place in range(1, len(original)):
        flow = _flow(original[place], original[place - 1])
        for side, crops in enumerate((original, anonymized)):
            errors[side] += _error(crops[place - 1], crops[place], flow)
    errors += _FLOOR
    return float(errors[1] / errors[0])


def _flow(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Where each pixel of `target` was in `source`, (H, W, 2) px."""
    first, second = (cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) for image in (target, source))
    initial = np.zeros((*first.shape, 2), np.float32)
    flow = cv2.calcOpticalFlowFarneback(first, second, initial, 0.5, 3, 15, 3, 5, 1.2, 0)
    return np.asarray(flow, np.float32)


def _error(
    source: NDArray[np.uint8], target: NDArray[np.uint8], flow: NDArray[np.float32]
) -> float:
    height, width = target.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    moved = cv2.remap(source, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR)
    inner = np.s_[height // 8 : -height // 8, width // 8 : -width // 8]
    return float(cv2.absdiff(moved, target)[inner].mean())
