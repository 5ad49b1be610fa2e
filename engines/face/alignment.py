"""Where a face lies: the kveil crop, the ArcFace crop, and crops cut straight from planes.

All maps are 2×3 similarity transforms on pixel coordinates whose first pixel has its centre
at (0.5, 0.5); `crop_from_frame` takes a point of the frame to a point of the crop.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.pictures import BgrImage, Picture
from engines.types import Landmarks

__all__ = [
    "ARCFACE_SIZE",
    "IDENTITY_AXES",
    "IDENTITY_CENTRE",
    "Similarity",
    "arcface_from_landmarks",
    "crop_from_picture",
    "identity_distance",
    "identity_mask",
    "inverse_of",
    "kveil_from_landmarks",
    "luma_from_picture",
    "moved",
    "near_identity",
    "scale_of",
    "similarity_from_points",
    "sized_region",
]

Similarity = NDArray[np.float32]
"""(2, 3) float32: rotation and uniform scale, then shift."""

ARCFACE_SIZE: Final = 112
EYES: Final = np.array([[0.30, 0.37], [0.70, 0.37]], np.float64)
"""Eyes as seen from left to right in the kveil crop, fractions of its side."""
IDENTITY_CENTRE: Final = (0.50, 0.53)
IDENTITY_AXES: Final = (0.30, 0.42)
"""Semi-axes of the oval, in fractions of the crop's side, from forehead to chin and across the
outer corners of the eyes. Every patch must be opaque on all of it, whatever painted it; the
cheeks beyond, whose place depends on the pose, are the painter's to hide."""

# Five points of the 112 px crop on which ArcFace recognisers are trained.
_ARCFACE: Final = 0.5 + np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ],
    np.float64,
)
_CORNERS: Final = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.float64)
_FINE: Final = 0.7
"""Pixels of a crop per pixel of the frame up to which the frame is averaged down first."""
_LEAST_SPREAD_PX: Final = 1e-3


def similarity_from_points(
    source: NDArray[np.floating], target: NDArray[np.floating]
) -> Similarity:
    """Least-squares similarity without reflection (Umeyama 1991, eqs. 40–42).

    Args:
        source: (N, 2) points, px, N ≥ 2.
        target: (N, 2) where they should go, px.

    Returns:
        (2, 3) float32 map from source to target.

    Raises:
        EngineFault: the points are not finite or coincide.

    >>> points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> similarity_from_points(points, points * 2 + 1)[0, [0, 2]].tolist()
    [2.0, 1.0]
    """
    # As complex numbers: on a handful of points arrays would cost several times as much.
    start, end = (
        np.ascontiguousarray(one, np.float64).view(np.complex128).ravel().tolist()
        for one in (source, target)
    )
    start_mean, end_mean = sum(start) / len(start), sum(end) / len(end)
    if not (cmath.isfinite(start_mean) and cmath.isfinite(end_mean)):
        raise EngineFault("face landmarks are not finite; the face cannot be aligned")
    # In the plane the optimum is the least-squares ratio Σ conj(s)·t / Σ |s|².
    spread, ratio = 0.0, 0j
    for before, after in zip(start, end, strict=True):
        away = before - start_mean
        spread += away.real**2 + away.imag**2
        ratio += away.conjugate() * (after - end_mean)
    if spread < _LEAST_SPREAD_PX**2:
        raise EngineFault("face landmarks coincide; the face cannot be aligned")
    ratio /= spread
    shift = end_mean - ratio * start_mean
    return np.array(
        [[ratio.real, -ratio.imag, shift.real], [ratio.imag, ratio.real, shift.imag]], np.float32
    )


def kveil_from_landmarks(landmarks_px: Landmarks, size: int) -> Similarity:
    """Map from the frame to the kveil crop: eyes at (0.30, 0.37) and (0.70, 0.37).

    Args:
        landmarks_px: (5, 2) float32, px of the frame.
        size: side of the crop, px.

    Returns:
        (2, 3) float32 `crop_from_frame`.

    Raises:
        EngineFault: the eyes are not finite or coincide.

    >>> points = np.array([[30, 37], [70, 37], [50, 60], [36, 80], [64, 80]], np.float32)
    >>> bool(np.allclose(kveil_from_landmarks(points, 100), np.eye(2, 3), atol=1e-4))
    True
    """
    return similarity_from_points(landmarks_px[:2], EYES * size)


def arcface_from_landmarks(landmarks_px: Landmarks, size: int = ARCFACE_SIZE) -> Similarity:
    """Map from the frame to the five-point crop of ArcFace recognisers.

    Args:
        landmarks_px: (5, 2) float32, px of the frame.
        size: side of the crop, px; the template is scaled from 112.

    Returns:
        (2, 3) float32 `crop_from_frame`.

    Raises:
        EngineFault: the landmarks are not finite or coincide.
    """
    return similarity_from_points(landmarks_px, _ARCFACE * (size / ARCFACE_SIZE))


def inverse_of(similarity: Similarity) -> Similarity:
    """The map back: `frame_from_crop` of a `crop_from_frame`.

    >>> there = np.array([[2, 0, 4], [0, 2, 6]], np.float32)
    >>> inverse_of(there).tolist()
    [[0.5, 0.0, -2.0], [0.0, 0.5, -3.0]]
    """
    (a, b, x), (c, d, y) = similarity.astype(np.float64).tolist()
    size = a * d - b * c
    a, b, c, d = d / size, -b / size, -c / size, a / size
    # Adding 0 makes -0 a 0.
    return np.array([[a, b, 0.0 - a * x - b * y], [c, d, 0.0 - c * x - d * y]], np.float32) + 0


def moved(similarity: Similarity, points: NDArray[np.floating]) -> NDArray[np.float32]:
    """Points (..., 2) taken through a map.

    >>> moved(np.array([[2, 0, 1], [0, 2, 0]], np.float32), np.array([[3.0, 4.0]])).tolist()
    [[7.0, 8.0]]
    """
    if points.dtype == np.float32 and similarity.dtype == np.float32 and points.size:
        # Products with so few columns take numpy several times as long.
        there = cv2.transform(points.reshape(-1, 1, 2), similarity)
        return np.asarray(there, np.float32).reshape(points.shape)
    return np.asarray(points @ similarity[:, :2].T + similarity[:, 2], np.float32)


def identity_distance(points: NDArray[np.floating], size: int) -> NDArray[np.float32]:
    """How far points lie from the middle of the identity oval; at most 1 inside it.

    Args:
        points: (..., 2) px of a kveil crop of side `size`.
        size: side of that crop, px.

    >>> identity_distance(np.array([[50.0, 53.0], [80.0, 53.0]]), 100).round(3).tolist()
    [0.0, 1.0]
    """
    centre = np.array(IDENTITY_CENTRE, np.float32) * size
    axes = np.array(IDENTITY_AXES, np.float32) * size
    return np.asarray(np.linalg.norm((points - centre) / axes, axis=-1), np.float32)


def near_identity(
    crop_from_frame: Similarity, size: int, height: int, width: int, most: float = 1.0
) -> NDArray[np.bool_]:
    """Which pixels of a window have their centres within a distance of the identity oval's middle.

    In each row they lie between the two roots of a quadratic (`identity_distance` squared).

    Args:
        crop_from_frame: map from the window, px from its top left corner, to a kveil crop.
        size: side of that crop, px.
        height: rows of the window.
        width: columns of the window.
        most: greatest distance, as `identity_distance` tells it.

    Returns:
        bool[height, width].

    >>> near_identity(np.eye(2, 3, dtype=np.float32), 8, 8, 8).sum(axis=1).tolist()
    [0, 2, 4, 4, 4, 4, 4, 2]
    """
    unit = crop_from_frame.astype(np.float64) / size
    unit[:, 2] -= IDENTITY_CENTRE
    across, down, shift = (unit / np.array(IDENTITY_AXES)[:, None]).T
    rest = down * (np.arange(height)[:, None] + 0.5) + shift
    square = float(across @ across)
    middle = -(rest @ across) / square
    room = middle**2 - ((rest**2).sum(axis=1) - most**2) / square
    half = np.sqrt(np.maximum(room, 0)) + np.where(room >= 0, 1e-9, -np.inf)
    columns = np.arange(width) + 0.5
    return np.asarray(
        (columns >= (middle - half)[:, None]) & (columns <= (middle + half)[:, None]), np.bool_
    )


@lru_cache(maxsize=256)
def identity_mask(size: int) -> NDArray[np.bool_]:
    """The identity oval of a kveil crop: size×size bool, true where a patch must be opaque.

    The array is shared and cannot be written.

    >>> mask = identity_mask(64)
    >>> bool(mask[32, 32]), bool(mask[0, 0])
    (True, False)
    """
    steps = np.arange(size, dtype=np.float32) + 0.5
    x, y = np.meshgrid(steps, steps)
    mask = np.asarray(identity_distance(np.stack([x, y], -1), size) <= 1, np.bool_)
    mask.flags.writeable = False
    return mask


def sized_region(box: NDArray[np.floating], picture: Picture) -> tuple[int, int, int, int] | None:
    """The window of a picture around a box, on the chroma grid and clipped to the frame.

    Args:
        box: x0 y0 x1 y1 px, finite.
        picture: gives size and grid.

    Returns:
        top, left, height, width px, or None where the box lies wholly outside.

    Raises:
        EngineFault: the box is not finite.
    """
    x0, y0, x1, y1 = box.tolist()
    if not all(map(math.isfinite, (x0, y0, x1, y1))):
        raise EngineFault("a face box is not finite; cover the whole frame")
    down, right = picture.grid
    limit_x, limit_y = picture.width, picture.height
    if x1 <= 0 or y1 <= 0 or x0 >= limit_x or y0 >= limit_y:
        return None
    left = math.floor(max(x0, 0.0) / right) * right
    top = math.floor(max(y0, 0.0) / down) * down
    end_x = min(math.ceil(min(x1, limit_x) / right) * right, limit_x)
    end_y = min(math.ceil(min(y1, limit_y) / down) * down, limit_y)
    if end_x <= left or end_y <= top:
        return None
    return top, left, end_y - top, end_x - left


def crop_from_picture(picture: Picture, crop_from_frame: Similarity, size: int) -> BgrImage:
    """Cuts an aligned crop from the planes; only the face's surroundings are converted.

    Args:
        picture: the frame's pixels; not changed.
        crop_from_frame: (2, 3) float32.
        size: side of the crop, px.

    Returns:
        size×size×3 uint8 BGR, owned by the caller; where the crop leaves the frame, the frame's rim
        is repeated.

    Raises:
        EngineFault: the map is not finite or not invertible.
    """
    crop = _cut(picture, crop_from_frame, size, picture.region_bgr)
    return np.zeros((size, size, 3), np.uint8) if crop is None else crop


def luma_from_picture(
    picture: Picture, crop_from_frame: Similarity, size: int
) -> NDArray[np.uint8]:
    """The brightness of what `crop_from_picture` cuts, size×size uint8; raises what it raises."""
    crop = _cut(picture, crop_from_frame, size, picture.region_luma)
    return np.zeros((size, size), np.uint8) if crop is None else crop


def _cut(
    picture: Picture,
    crop_from_frame: Similarity,
    size: int,
    pixels_of: Callable[[int, int, int, int, tuple[int, int]], NDArray[np.uint8]],
) -> NDArray[np.uint8] | None:
    """A crop of what is read of the picture's windows; None where it lies outside."""
    scale = scale_of(crop_from_frame)
    if not np.isfinite(crop_from_frame).all() or scale < 1e-6:
        raise EngineFault("the crop's map is not a similarity; the face cannot be aligned")
    step = max(1, int(1 / scale))
    seen = moved(inverse_of(crop_from_frame), _CORNERS * size)
    box = np.concatenate([seen.min(0) - step, seen.max(0) + step])
    region = sized_region(box, picture)
    if region is None:
        return None
    top, left, height, width = region
    step = min(step, height, width)
    height, width = height - height % step, width - width % step
    local = shifted(crop_from_frame, left, top)
    small = _reduced_size(height, width, scale, step)
    local[:, 0] *= width / small[1]
    local[:, 1] *= height / small[0]
    pixels = pixels_of(top, left, height, width, small)
    source, rim = to_integer_centres(local), cv2.BORDER_REPLICATE
    return np.asarray(cv2.warpAffine(pixels, source, (size, size), borderMode=rim), np.uint8)


def shifted(similarity: Similarity, left: float, top: float) -> Similarity:
    """The same map for points counted from (left, top)."""
    result = similarity.astype(np.float64)
    result[:, 2] += result[:, :2] @ np.array([left, top], np.float64)
    return result.astype(np.float32)


def to_integer_centres(similarity: Similarity) -> NDArray[np.float64]:
    """The map in OpenCV's coordinates, where the first pixel's centre is (0, 0)."""
    result = similarity.astype(np.float64)
    result[:, 2] += result[:, :2] @ np.array([0.5, 0.5]) - 0.5
    return result


def scale_of(similarity: Similarity) -> float:
    """Pixels of the target per pixel of the source.

    >>> scale_of(np.array([[0, -2, 4], [2, 0, 6]], np.float32))
    2.0
    """
    return float(np.hypot(similarity[0, 0], similarity[1, 0]))


def _reduced_size(height: int, width: int, scale: float, step: int) -> tuple[int, int]:
    """To which a region much finer than the crop is averaged, so that warping does not alias.

    Whole pixels are averaged where there are two or more, which is many times as quick.
    """
    if step > 1:
        return height // step, width // step
    if scale > _FINE:
        return height, width
    return max(1, round(height * scale)), max(1, round(width * scale))
