"""What was painted over a face, told by the pixels that changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.types import Face
from evaluation.bare import is_bare
from evaluation.touch import changed_pixels
from evaluation.under_cover import is_under_cover

__all__ = ["Window", "is_swapped", "painted_area", "window_around"]

_HEAD: Final = 1.9
"""Side of the window over the size of the face's box: paint may reach over the box."""
_CLOSED: Final = 0.12
"""Gaps up to this share of the face's size, where paint happens to have the old colour."""
_NOISE_PX: Final = 3

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of a frame.

    Attributes:
        rows: of the frame.
        columns: of the frame.
    """

    rows: slice
    columns: slice

    def cut(self, image: BgrImage) -> BgrImage:
        """The pixels, not copied."""
        return image[self.rows, self.columns]

    def moved(self, face: Face) -> Face:
        """The face in the window's pixels."""
        corner = np.array([self.columns.start, self.rows.start], np.float32)
        box = face.box_px - np.concatenate([corner, corner])
        return Face(box, face.landmarks_px - corner, face.score)


def window_around(face: Face, height: int, width: int, factor: float = _HEAD) -> Window:
    """The square around a face, as far as the frame reaches.

    Args:
        face: px of the frame.
        height: of the frame, px.
        width: of the frame, px.
        factor: side of the square over the longer side of the box.

    >>> face = Face(np.array([0, 10, 20, 30], np.float32), np.zeros((5, 2), np.float32), 1.0)
    >>> window_around(face, 100, 100, 2.0)
    Window(rows=slice(0, 40, None), columns=slice(0, 30, None))
    """
    middle = (face.box_px[:2] + face.box_px[2:]).astype(np.float64) / 2
    half = float((face.box_px[2:] - face.box_px[:2]).max()) * factor / 2
    x0, y0 = np.floor(middle - half).clip(0, [width, height]).astype(int).tolist()
    x1, y1 = np.ceil(middle + half).clip(0, [width, height]).astype(int).tolist()
    return Window(slice(y0, y1), slice(x0, x1))


def is_swapped(original: BgrImage, anonymized: BgrImage, face: Face) -> bool:
    """Whether the middle of a face is another's and shows no cover.

    Args:
        original: H×W×3 uint8 BGR.
        anonymized: H×W×3 uint8 BGR, the same place.
        face: as found in the original, in these pixels.
    """
    is_left = is_bare(original, anonymized, face.box_px)
    return not is_left and not is_under_cover(anonymized, face)


def painted_area(original: BgrImage, anonymized: BgrImage, face: Face) -> Mask:
    """The one changed place, without holes, that shares the most pixels with a face's box.

    Args:
        original: H×W×3 uint8 BGR; a window around the face is enough.
        anonymized: H×W×3 uint8 BGR, the same place.
        face: as found in the original, in these pixels.

    Returns:
        H×W; nothing where the box holds no change.
    """
    changed = changed_pixels(original, anonymized).astype(np.uint8)
    size = face.size_px
    clean = cv2.morphologyEx(changed, cv2.MORPH_OPEN, _disc(_NOISE_PX))
    closed = cv2.morphologyEx(clean, cv2.MORPH_CLOSE, _disc(round(_CLOSED * size) | 1))
    count, marks = cv2.connectedComponents(closed)
    x0, y0, x1, y1 = (max(0, round(float(value))) for value in face.box_px)
    shares = np.bincount(marks[y0:y1, x0:x1].ravel(), minlength=count)
    shares[0] = 0
    if not shares.any():
        return np.zeros(changed.shape, np.bool_)
    own = (marks == int(shares.argmax())).astype(np.uint8)
    outlines, _ = cv2.findContours(own, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return np.asarray(cv2.drawContours(own, outlines, -1, 1, cv2.FILLED) > 0)


def _disc(width_px: int) -> NDArray[np.uint8]:
    shape = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width_px, width_px))
    return np.asarray(shape, np.uint8)
