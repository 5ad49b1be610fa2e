"""Eigenfaces (Turk & Pentland, 1991) as k-Same 2003 uses it: Figures 6–9."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["FaceSpace", "face_space", "reduced_rows", "rows_from_images"]

Rows = NDArray[np.float32]
"""(N, P) float32, one face per row."""


def rows_from_images(images: NDArray[np.uint8]) -> Rows:
    """Flattens (N, …) uint8 images to (N, P) float32 rows, 0…255."""
    return images.reshape(len(images), -1).astype(np.float32)


def reduced_rows(images: NDArray[np.uint8], most_px: int = 64) -> Rows:
    """Rows of pictures scaled down to `most_px` on the long side: enough to compare faces.

    >>> reduced_rows(np.zeros((2, 128, 64, 3), np.uint8)).shape
    (2, 6144)
    """
    longest = max(images.shape[1:3])
    if longest <= 1.5 * most_px:
        return rows_from_images(images)
    height, width = (max(1, round(side * most_px / longest)) for side in images.shape[1:3])
    small = [cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA) for image in images]
    return rows_from_images(np.stack(small).astype(np.uint8))


@dataclass(frozen=True, slots=True)
class FaceSpace:
    """A mean face and the directions in which faces differ most.

    Attributes:
        mean: (P,) float32, 0…255.
        basis: (C, P) float32, orthonormal rows, largest variance first.
        variances: (C,) float64 variance along each row.
    """

    mean: NDArray[np.float32]
    basis: NDArray[np.float32]
    variances: NDArray[np.float64]

    def project(self, rows: Rows) -> Rows:
        """Weights of (N, P) faces in the space, (N, C) (Figure 8)."""
        return np.asarray((rows - self.mean) @ self.basis.T, np.float32)

    def face(self, weights: Rows) -> Rows:
        """Faces of (N, C) weights, (N, P) float32; may leave 0…255."""
        return np.asarray(weights @ self.basis + self.mean, np.float32)

    def scores(self, probes: Rows, gallery: Rows) -> NDArray[np.float32]:
        """(P, G) negative Euclidean distances of projected faces: larger is nearer."""
        first, second = self.project(probes), self.project(gallery)
        squared = (first**2).sum(1)[:, None] + (second**2).sum(1)[None] - 2 * first @ second.T
        return np.asarray(-np.sqrt(np.maximum(squared, 0)), np.float32)


def face_space(training: Rows, components: int | None = None) -> FaceSpace:
    """Principal components of training faces by the snapshot method (Figure 7).

    Args:
        training: (M, P) faces, M ≥ 2.
        components: directions to keep, largest first; all M − 1 when None. Fewer blur more.

    Raises:
        ValueError: fewer than two faces.

    >>> faces = np.array([[0, 0, 0], [2, 0, 0], [4, 0, 0]], np.float32)
    >>> face_space(faces).basis.round(3).tolist()
    [[1.0, 0.0, 0.0]]
    """
    if len(training) < 2:
        message = "a face space needs two training faces or more"
        raise ValueError(message)
    mean = training.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = (training - mean).astype(np.float64)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    order = np.argsort(values)[::-1]
    # Directions below rounding noise would be normalised into arbitrary ones.
    order = order[values[order] > max(float(values.max()), 1.0) * 1e-9][:components]
    basis = (vectors[:, order].T @ centred) / np.sqrt(values[order])[:, None]
    signs = np.sign(basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)])
    variances = values[order] / (len(training) - 1)
    return FaceSpace(mean, (basis * signs[:, None]).astype(np.float32), variances)
