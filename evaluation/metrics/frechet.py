"""Fréchet distance of two sets of faces in a recogniser's or another feature space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["frechet_distance"]

_RIDGE = 1e-6


def frechet_distance(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Squared Fréchet distance of Gaussians fitted to two samples (Dowson & Landau, 1982).

    Args:
        first: (N, D) features, N ≥ 2.
        second: (M, D) features, M ≥ 2; with fewer samples than dimensions the figure is
            biased upwards, so compare only figures of equal sample sizes.

    Returns:
        0 for equal distributions; no upper end.

    Raises:
        ValueError: fewer than two samples.

    >>> sample = np.random.default_rng(0).normal(size=(100, 3))
    >>> round(frechet_distance(sample, sample + 2), 3)
    12.0
    """
    if len(first) < 2 or len(second) < 2:
        message = "a distribution needs two samples or more"
        raise ValueError(message)
    shift = first.mean(axis=0) - second.mean(axis=0)
    ridge = _RIDGE * np.eye(first.shape[1])
    left = np.cov(first, rowvar=False) + ridge
    right = np.cov(second, rowvar=False) + ridge
    root = _square_root(left)
    cross = np.linalg.eigvalsh(root @ right @ root)
    trace = float(np.trace(left) + np.trace(right) - 2 * np.sqrt(np.maximum(cross, 0)).sum())
    return float(shift @ shift) + max(trace, 0.0)


def _square_root(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T, np.float64)
