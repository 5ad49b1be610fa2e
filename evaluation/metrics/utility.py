"""What an anonymized set is still good for, beside being looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["landmark_error", "pose_error_deg"]


def landmark_error(
    original: NDArray[np.float32], anonymized: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Normalised mean error of landmarks: mean distance ÷ distance of the outer eye corners.

    Args:
        original: (N, 68, 2) px, in the iBUG order.
        anonymized: (N, 68, 2) px of the same crop.

    Returns:
        (N,) ≥ 0; about 0.03 is the noise of a good detector.

    >>> points = np.zeros((1, 68, 2), np.float32)
    >>> points[0, 45, 0] = 10
    >>> round(float(landmark_error(points, points + np.float32(1))[0]), 3)
    0.141
    """
    distance = np.linalg.norm(original - anonymized, axis=2).mean(axis=1)
    eyes = np.linalg.norm(original[:, 36] - original[:, 45], axis=1)
    return np.asarray(distance / np.maximum(eyes, 1e-6), np.float32)


def pose_error_deg(
    original: NDArray[np.float32], anonymized: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Mean absolute error of (N, 3) yaw, pitch and roll in degrees; returns (N,)."""
    return np.asarray(np.abs(original - anonymized).mean(axis=1), np.float32)
