"""Whether a picture of a place still shows the face that was to be hidden there.

A surrogate stands in its subject's light and tone, so levels alone do not tell them apart: what
lies between two blurs does.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.patches import Patch
from engines.face.alignment import Similarity, moved, scale_of
from engines.pictures import BgrImage
from engines.stylegan.drawing import brightness, laid_over
from engines.types import Face

__all__ = [
    "CENTRAL",
    "HARDLY_CHANGED",
    "MOST_ALIKE",
    "central_part",
    "likeness",
    "likeness_under",
]

HARDLY_CHANGED: Final = "hardly changed"
"""Why a face is covered that a surrogate would not hide."""
CENTRAL: Final = 0.5
"""Of a face's box the share, about its middle, in which a patch must show another face."""
MOST_ALIKE: Final = 0.93
"""Likeness from which a patch shows the face that it should hide: others' faces reach 0.8, and 0.9
out of focus; a face that is blurred, lit otherwise or noisy 0.95."""
_FAINT: Final = (4.0, 2.0)
"""Mean difference, grey levels, from which details alone count, and up to which least is asked."""
_FAINTER: Final = 0.2
"""By how much more alike pictures count that hardly differ in their levels. Larger: more faces in
the dark are covered, where others differ by no more."""
_COMPARED: Final = 48
"""Side at which details are compared, px."""
_FINE: Final = 1.0
_COARSE: Final = 6.0
"""Deviations of the blurs between which details lie, px."""


def likeness(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """How much two pictures of one place show the same, -1 to 1; 1 where they are one.

    It is the correlation of their details, and more in the dark, where any two are nearly black.

    Args:
        before: uint8[H, W, 3] BGR.
        after: the same size.

    >>> noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    >>> likeness(noise, noise), likeness(noise, noise[::-1].copy()) < 0.5
    (1.0, True)
    """
    change = float(cv2.absdiff(before, after).mean())
    faint = np.clip((_FAINT[0] - change) / (_FAINT[0] - _FAINT[1]), 0, 1)
    one, other = _details(before), _details(after)
    length = float(np.sqrt(np.square(one).sum() * np.square(other).sum()))
    alike = float((one * other).sum()) / length if length > 0 else float(change < _FAINT[1])
    return min(1.0, alike + _FAINTER * float(faint))


def likeness_under(face: Face, patch: Patch, head: BgrImage) -> float:
    """The likeness of a face and of a patch over it, about the middle of its box.

    Args:
        face: in frame pixels.
        patch: lies over it.
        head: uint8[S, S, 3] what the patch's crop shows of the picture.
    """
    part = central_part(face, patch.crop_from_frame, len(head))
    before = head[part]
    after = laid_over(before.astype(np.float32), patch.pixels[part], patch.alpha[part])
    return likeness(before, np.asarray(after.round(), np.uint8))


def central_part(face: Face, crop_from_frame: Similarity, size: int) -> tuple[slice, slice]:
    """Rows and columns of a crop of side `size` px that show the middle of a face's box."""
    box = face.box_px.reshape(2, 2)
    half = max(float((box[1] - box[0]).mean()) * CENTRAL / 2 * scale_of(crop_from_frame), 1.0)
    middle = moved(crop_from_frame, box.mean(axis=0, keepdims=True))[0]
    low = np.clip(np.round(middle - half), 0, size - 1).astype(int)
    high = np.maximum(np.clip(np.round(middle + half), 0, size).astype(int), low + 1)
    return slice(low[1], high[1]), slice(low[0], high[0])


def _details(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What lies between two blurs of a picture's luma, without its mean."""
    side = (_COMPARED, _COMPARED)
    small = np.asarray(
        cv2.resize(brightness(picture), side, interpolation=cv2.INTER_AREA), np.float32
    )
    band = cv2.GaussianBlur(small, (0, 0), _FINE) - cv2.GaussianBlur(small, (0, 0), _COARSE)
    return np.asarray(band - band.mean(), np.float32)
