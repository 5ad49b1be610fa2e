"""The contract of every face detector, and the network input that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.types import Face

__all__ = [
    "BatchDetector",
    "Candidates",
    "Detector",
    "PreparedDetector",
    "faces_from_candidates",
    "kept",
    "padded",
    "padded_size",
]

Floats = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)


class Detector(Protocol):
    """Finds faces in one image; safe to call from several threads."""

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        """Finds faces at the image's own scale.

        Args:
            image_bgr: H×W×3 uint8 BGR, any size from 1×1; not changed.
            min_score: faces below are left out; lower finds more faces and more false ones.

        Returns:
            Faces in pixels of this image, best first; boxes may reach over its edge.

        Raises:
            EngineFault: the network raised, hung, or returned NaN.
        """


@runtime_checkable
class PreparedDetector(Protocol):
    """A detector that takes a while to get ready for a new size of image."""

    def prepare(self, height: int, width: int) -> None:
        """Gets ready for images of this size; safe to call from several threads.

        Raises:
            EngineError: the network cannot be loaded for it.
        """


@runtime_checkable
class BatchDetector(Protocol):
    """A detector that looks at several images at once in less time than at one after the other."""

    def detect_all(
        self, images_bgr: Sequence[BgrImage], *, min_score: float
    ) -> list[tuple[Face, ...]]:
        """Finds in each image the faces that `Detector.detect` finds in it.

        Args:
            images_bgr: at least one, all of one size.
            min_score: see `Detector.detect`.

        Raises:
            EngineFault: the network raised, hung, or returned NaN.
        """


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a detector's heads say before overlapping boxes are thinned out.

    Attributes:
        boxes: (N, 4) float32 x0 y0 x1 y1 px.
        landmarks: (N, 5, 2) float32 px.
        scores: (N,) float32, 0…1.
    """

    boxes: Floats
    landmarks: Floats
    scores: Floats


def padded_size(height: int, width: int, step: int) -> tuple[int, int]:
    """The next multiples of `step`.

    >>> padded_size(33, 64, 32)
    (64, 64)
    """
    return height + -height % step, width + -width % step


def padded(image_bgr: BgrImage, step: int) -> BgrImage:
    """The image with black added below and to the right, up to multiples of `step`.

    >>> padded(np.zeros((33, 64, 3), np.uint8), 32).shape
    (64, 64, 3)
    """
    rows, columns = padded_size(image_bgr.shape[0], image_bgr.shape[1], step)
    below, right = rows - image_bgr.shape[0], columns - image_bgr.shape[1]
    if not below and not right:
        return image_bgr
    border = cv2.copyMakeBorder(image_bgr, 0, below, 0, right, cv2.BORDER_CONSTANT)
    return np.asarray(border, np.uint8)


def kept(boxes: Floats, scores: Floats, max_overlap: float) -> NDArray[np.intp]:
    """Greedy non-maximum suppression.

    Args:
        boxes: (N, 4) float32 x0 y0 x1 y1 px.
        scores: (N,) float32.
        max_overlap: intersection over union from which the lower score goes; larger keeps
            more doubles, smaller loses faces that touch.

    Returns:
        Indices of the boxes that stay, best first.

    >>> boxes = np.array([[0, 0, 9, 9], [0, 0, 10, 10], [50, 50, 60, 60]], np.float32)
    >>> kept(boxes, np.array([0.5, 0.9, 0.7], np.float32), 0.4).tolist()
    [1, 2]
    """
    order = np.argsort(-scores, kind="stable")
    if order.size < 2:
        return order
    ranked = boxes[order]
    overlaps = overlaps_of(ranked, ranked) >= max_overlap
    stays = np.ones(order.size, np.bool_)
    for i in range(order.size):
        if stays[i]:
            stays[i + 1 :] &= ~overlaps[i, i + 1 :]
    return order[stays]


def overlaps_of(boxes: NDArray[Real], others: NDArray[Real]) -> NDArray[Real]:
    """Intersection over union of (N, 4) boxes with each of (M, 4) other ones: (N, M), 0…1.

    >>> overlaps_of(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])).round(3).tolist()
    [[0.333]]
    """
    shared = _shared_areas(boxes, others)
    total = areas_of(boxes)[:, None] + areas_of(others)[None, :] - shared
    return np.asarray(shared / np.maximum(total, 1e-9), boxes.dtype)


def shares_inside(boxes: Floats, others: Floats) -> Floats:
    """[i, j]: which part of the other box j lies inside box i: (N, M) float32, 0…1."""
    shared = _shared_areas(boxes, others)
    return np.asarray(shared / np.maximum(areas_of(others)[None], 1e-9), np.float32)


def _shared_areas(boxes: NDArray[Real], others: NDArray[Real]) -> NDArray[Real]:
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.asarray(np.prod(np.maximum(high - low, 0), axis=2))


def areas_of(boxes: NDArray[Real]) -> NDArray[Real]:
    """Areas of (N, 4) boxes: (N,) px², 0 where inside out."""
    return np.asarray(np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1), boxes.dtype)


def faces_from_candidates(
    candidates: Candidates, height: int, width: int, max_overlap: float
) -> tuple[Face, ...]:
    """Thins out overlapping candidates and drops what lies in the padding.

    Args:
        candidates: from the heads, in pixels of the padded image.
        height: rows of the image without padding.
        width: columns of the image without padding.
        max_overlap: see `kept`.
    """
    boxes = candidates.boxes
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    is_sound = np.isfinite(boxes).all(1) & (boxes[:, 2:] > boxes[:, :2]).all(1)
    inside = is_sound & (centres < np.array([width, height], np.float32)).all(1)
    indices = np.flatnonzero(inside)
    chosen = indices[kept(boxes[indices], candidates.scores[indices], max_overlap)]
    return tuple(
        Face(
            boxes[i].astype(np.float32),
            candidates.landmarks[i].astype(np.float32),
            min(1.0, float(candidates.scores[i])),
        )
        for i in chosen
    )
