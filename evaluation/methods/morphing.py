"""A face between two faces: landmarks and pixels of both, blended over triangles (FPSP 2023)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["morph"]

Image = NDArray[np.uint8]
Points = NDArray[np.float32]


def morph(
    image: Image,
    points: Points,
    other: Image,
    other_points: Points,
    share: float,
    pixel_share: float | None = None,
) -> Image:
    """Blends two faces in shape (Eq. 12) and in pixels (Eq. 13) over Delaunay triangles.

    Args:
        image: S×S×3 uint8.
        points: (P, 2) float32 landmarks, px.
        other: S×S×3 uint8.
        other_points: (P, 2) float32, in the same order.
        share: of the other face in shape, k of Eq. 12, 0…1.
        pixel_share: of the other face in pixels, t of Eq. 13, 0…1; `share` when None.

    Returns:
        S×S×3 uint8.
    """
    size = image.shape[0]
    mixed = share if pixel_share is None else pixel_share
    source, target = _with_border(points, size), _with_border(other_points, size)
    between = ((1 - share) * source + share * target).astype(np.float32)
    triangles = _triangles(between, size)
    owner = _owners(between, triangles, size)
    first = _warped(image, between, source, triangles, owner)
    second = _warped(other, between, target, triangles, owner)
    blend = (1 - mixed) * first.astype(np.float32) + mixed * second
    return np.clip(np.rint(blend), 0, 255).astype(np.uint8)


def _with_border(points: Points, size: int) -> Points:
    end, half = size - 1, (size - 1) / 2
    places = (0, half, end)
    border = [(x, y) for y in places for x in places if (x, y) != (half, half)]
    inside = np.clip(points, 1, size - 2)
    return np.concatenate([inside, np.array(border, np.float32)]).astype(np.float32)


def _triangles(points: Points, size: int) -> NDArray[np.int64]:
    """(T, 3) indices into `points`."""
    from scipy.spatial import Delaunay

    return np.asarray(Delaunay(points / size).simplices, np.int64)


def _owners(points: Points, triangles: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Number of the triangle on each pixel, size×size."""
    drawn = np.zeros((size, size), np.int32)
    fixed = np.rint(points[triangles] * 16).astype(np.int32)
    for number, corners in enumerate(fixed):
        cv2.fillConvexPoly(drawn, corners, float(number), cv2.LINE_8, 4)
    return drawn


def _warped(
    image: Image,
    between: Points,
    source: Points,
    triangles: NDArray[np.int64],
    owner: NDArray[np.int32],
) -> Image:
    """The image with each triangle moved by the affine map of its corners (Eq. 1)."""
    corners = np.concatenate([between[triangles], np.ones((len(triangles), 3, 1))], axis=2)
    flat = np.abs(np.linalg.det(corners)) < 1e-6
    corners[flat] = np.eye(3)
    affine = np.linalg.solve(corners, source[triangles].astype(np.float64))
    affine[flat] = np.eye(3)[:, :2]
    steps = np.arange(image.shape[0], dtype=np.float64)
    x, y = np.meshgrid(steps, steps)
    place = np.stack([x, y, np.ones_like(x)], axis=2)
    where = np.einsum("hwi,hwij->hwj", place, affine[owner]).astype(np.float32)
    moved = cv2.remap(
        image, where[..., 0], where[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(moved, np.uint8)
