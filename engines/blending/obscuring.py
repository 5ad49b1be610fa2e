"""The drawings behind the covers: each takes a crop, landmarks and box, and paints over it.

Every function takes the crop (h×w×3 uint8 BGR, unchanged) and, where it needs them,
landmarks ((5, 2) float32, px of the crop) and box ((4,) float32, px of the crop), and gives
a new h×w×3 uint8 BGR array.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.crop_regions import finite_box, middle_of_box
from engines.pictures import BgrImage
from engines.types import Box, Landmarks

__all__ = [
    "bar_mask",
    "blackout",
    "blur",
    "cartoon",
    "ellipse",
    "laplace",
    "mosaic",
    "mouth_only",
    "mouth_only_bw",
    "negative",
    "negative_bw",
    "noise_bw",
    "noise_grey",
    "ordinal",
    "solid",
    "t_mask",
    "threshold",
]

_PAINT_BGR: Final = (200, 150, 20)
"""Colour of the solid cover. No skin and no grey comes near it; nor does the same with blue and red
exchanged, which hides what is painted like the cover."""
_CLEARLY_DIFFERENT: Final = 36.0
_MASK: Final = (0, 0, 0)

_BLOCKS_ACROSS: Final = 8
"""k-Same pixelates a face 99 px wide in blocks of 15, 20 and 30 px; 8 across is in between."""
_ORDINAL_LEVELS: Final = 5
_THRESHOLD: Final = 118
"""The threshold at which k-Same 2003 saw naive recognition peak (fig. 15)."""
_NOISY_SHARE: Final = 0.45
_FLIPPED_SHARE: Final = 0.25
_LAPLACE_SCALE: Final = 51.0
"""Noise scale in grey levels: sensitivity 255 over a budget of 5 per pixel."""


def solid(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:  # noqa: ARG001
    """One colour, that differs from any content by 32 levels on average.

    Content in the cover's own colour (an already covered face) gets it with blue and red
    exchanged; the central half of the box decides.

    >>> crop = np.full((40, 40, 3), 110, np.uint8)
    >>> box = np.array([0, 0, 40, 40], np.float32)
    >>> painted = solid(crop, np.full((5, 2), np.nan, np.float32), box)
    >>> int(np.abs(painted.astype(int) - 110).mean()) > 32
    True
    """
    height, width = crop.shape[:2]
    middle = middle_of_box(box, height, width)
    painted = np.full((height, width, 3), _PAINT_BGR, np.uint8)
    difference = _mean_difference(painted[middle], crop[middle])
    if difference >= _CLEARLY_DIFFERENT:
        return painted
    exchanged = np.ascontiguousarray(painted[..., ::-1])
    is_better = _mean_difference(exchanged[middle], crop[middle]) > difference
    return exchanged if is_better else painted


def ellipse(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """The colour of `solid` inside the ellipse around the box; the corners are left."""
    height, width = crop.shape[:2]
    x, y = _pixel_centres(height, width)
    x0, y0, x1, y1 = finite_box(box, height, width)
    across, down = (x1 - x0) / np.sqrt(2), (y1 - y0) / np.sqrt(2)
    inside = ((x - (x0 + x1) / 2) / across) ** 2 + ((y - (y0 + y1) / 2) / down) ** 2 <= 1
    return np.where(inside[..., None], solid(crop, landmarks, box), crop)


def blackout(crop: BgrImage) -> BgrImage:
    """One colour: k-Same's BlackOut."""
    return np.zeros_like(crop)


def bar_mask(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """A band over the eyes: k-Same's bar mask, FPSP's blindfold."""
    points = _finite_landmarks(landmarks, box, crop.shape[0], crop.shape[1])
    painted = crop.copy()
    _draw_bar(painted, points)
    return painted


def t_mask(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """A band over the eyes and one over the nose: k-Same's T mask."""
    points = _finite_landmarks(landmarks, box, crop.shape[0], crop.shape[1])
    painted = crop.copy()
    _draw_bar(painted, points)
    eyes, nose = points[:2].mean(0), points[2]
    thickness = max(2, round(0.55 * float(np.linalg.norm(points[1] - points[0]))))
    tip = eyes + 1.25 * (nose - eyes)
    cv2.line(painted, _at(eyes), _at(tip), _MASK, thickness)
    return painted


def mouth_only(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """All but mouth and chin black, the rest grey: k-Same's mouth-only."""
    return _mouth_of(_grey(crop), landmarks, box)


def mouth_only_bw(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """All but mouth and chin black, the rest black and white."""
    return _mouth_of(_black_or_white(crop), landmarks, box)


def mosaic(crop: BgrImage) -> BgrImage:
    """Square blocks replaced by their mean: k-Same's pixelation, FPSP's mosaic."""
    height, width = crop.shape[:2]
    block = max(1, round(max(height, width) / _BLOCKS_ACROSS))
    size = (max(1, -(-width // block)), max(1, -(-height // block)))
    small = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    large = cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(large, np.uint8)


def blur(crop: BgrImage) -> BgrImage:
    """Gaussian blur with a standard deviation of a tenth of the crop."""
    sigma = max(crop.shape[:2]) / 10
    return np.asarray(cv2.GaussianBlur(crop, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE))


def cartoon(crop: BgrImage) -> BgrImage:
    """Flat colours and dark outlines, as in FPSP."""
    smooth = cv2.bilateralFilter(crop, 9, 60, 9)
    flat = (smooth // 32) * 32 + 16
    block = max(3, (min(crop.shape[:2]) // 8) | 1)
    outline = cv2.adaptiveThreshold(
        cv2.cvtColor(smooth, cv2.COLOR_BGR2GRAY),
        255,
        cv2.ADAPTIVE_THRESH_MEAN_C,
        cv2.THRESH_BINARY,
        block,
        4,
    )
    return np.where(outline[..., None] > 0, flat, 0).astype(np.uint8)


def laplace(
    crop: BgrImage,
    *,
    scale: float = _LAPLACE_SCALE,
    noise: np.random.Generator | None = None,
) -> BgrImage:
    """Laplace noise on every sample, the differentially private cover of FPSP.

    Args:
        crop: h×w×3 uint8 BGR.
        scale: of the noise, grey levels; larger hides more.
        noise: where the noise comes from; fresh from the operating system where None, so
            that nobody can subtract it.
    """
    source = noise if noise is not None else np.random.default_rng()
    noisy = crop + source.laplace(0.0, scale, crop.shape)
    return np.asarray(np.clip(np.rint(noisy), 0, 255), np.uint8)


def negative(crop: BgrImage) -> BgrImage:
    """Grey value x becomes 255 − x."""
    return 255 - _grey(crop)


def negative_bw(crop: BgrImage) -> BgrImage:
    """Black becomes white and white black."""
    return 255 - _black_or_white(crop)


def threshold(crop: BgrImage) -> BgrImage:
    """Grey values from 118 up become white, the others black."""
    return _black_or_white(crop)


def ordinal(crop: BgrImage) -> BgrImage:
    """Grey values in five bins, each shown by its number scaled to 0…255."""
    bins = (_grey(crop).astype(np.int32) * _ORDINAL_LEVELS) // 256
    return (bins * 255 // (_ORDINAL_LEVELS - 1)).astype(np.uint8)


def noise_grey(crop: BgrImage) -> BgrImage:
    """A fixed set of grey pixels replaced by random values; the same set in every crop."""
    chosen = _chosen_pixels(crop.shape[0], crop.shape[1], _NOISY_SHARE)
    values = np.random.default_rng().integers(0, 256, crop.shape[:2], np.uint8)
    return np.where(chosen[..., None], values[..., None], _grey(crop))


def noise_bw(crop: BgrImage) -> BgrImage:
    """A fixed set of black or white pixels flipped; the same set in every crop."""
    image = _black_or_white(crop)
    chosen = _chosen_pixels(crop.shape[0], crop.shape[1], _FLIPPED_SHARE)
    return np.where(chosen[..., None], 255 - image, image)


def _chosen_pixels(height: int, width: int, share: float) -> NDArray[np.bool_]:
    """k-Same perturbs the same positions in every image: a fixed seed is its definition."""
    return np.random.default_rng(2003).random((height, width)) < share


def _finite_landmarks(
    landmarks: Landmarks, box: Box, height: int, width: int
) -> NDArray[np.float64]:
    """The landmarks, or where they are in a typical face where they are unusable."""
    if landmarks.shape == (5, 2) and np.isfinite(landmarks).all():
        return np.clip(landmarks.astype(np.float64), -1e4, 1e4)
    x0, y0, x1, y1 = finite_box(box, height, width)
    typical = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]])
    return np.asarray(np.array([x0, y0]) + typical * np.array([x1 - x0, y1 - y0]), np.float64)


def _draw_bar(image: BgrImage, points: NDArray[np.float64]) -> None:
    right, left = points[0], points[1]
    apart = left - right
    thickness = max(2, round(0.6 * float(np.linalg.norm(apart))))
    cv2.line(image, _at(right - 0.4 * apart), _at(left + 0.4 * apart), _MASK, thickness)


def _at(point: NDArray[np.float64]) -> tuple[int, int]:
    return int(np.floor(point[0])), int(np.floor(point[1]))


def _mouth_of(image: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """Keeps what lies below half-way between nose tip and mouth, turned with the face."""
    height, width = image.shape[:2]
    points = _finite_landmarks(landmarks, box, height, width)
    mouth = points[3:].mean(0)
    downwards = mouth - points[:2].mean(0)
    edge = (points[2] + mouth) / 2
    x, y = _pixel_centres(height, width)
    below = (x - edge[0]) * downwards[0] + (y - edge[1]) * downwards[1] > 0
    return np.where(below[..., None], image, 0).astype(np.uint8)


def _pixel_centres(height: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return x, y


def _grey(crop: BgrImage) -> BgrImage:
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    return np.repeat(np.asarray(grey, np.uint8)[..., None], 3, axis=2)


def _black_or_white(crop: BgrImage) -> BgrImage:
    return np.where(_grey(crop) >= _THRESHOLD, 255, 0).astype(np.uint8)


def _mean_difference(image: BgrImage, other: BgrImage) -> float:
    return float(cv2.norm(image, other, cv2.NORM_L1)) / image.size
