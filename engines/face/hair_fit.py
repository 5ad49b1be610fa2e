"""How well a surrogate goes with the head that wears it: its brows, its beard, its furrows.

Hair, neck and the beard below a jaw stay as they are: black brows under fair hair, a moustache on
a shaved man, and a face that is modelled harder than its head look put on. How dark the places of
brows and beards are beside cheeks tells the first two, how strong its details are the last.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import EYES
from engines.stylegan.drawing import brightness
from engines.types import Landmarks

__all__ = ["SUITS", "misfits", "shades", "suitability_costs"]

_BROWS: Final = ((-0.75, -0.42, -0.22, -0.12), (0.22, -0.42, 0.75, -0.12))
_CHEEKS: Final = ((-0.62, 0.4, -0.38, 0.62), (0.38, 0.4, 0.62, 0.62))
"""Left, top, right and bottom from between the eyes."""
_LIP: Final = ((-0.3, -0.3, 0.3, -0.14),)
_CHIN: Final = ((-0.3, 0.16, 0.3, 0.38),)
"""The same from between the corners of the mouth. In distances of the eyes, as all of them."""
_FACE: Final = ((-0.8, -0.25, 0.8, 1.1),)
"""The part whose details count: from between the eyes, too, below the brows and above the chin."""
_DETAILS: Final = (0.012, 0.05)
"""Deviations of the blurs between which they lie, shares of the side: folds, shadows, marks."""
_DARK: Final = 0.3
"""Quantile of the brightness that tells a place: brows fill less than half of theirs."""
_STRONG: Final = 0.7
"""Quantile of the strength that tells details: eyes and mouth are fewer than the rest."""
_WEIGHTS: Final = np.array([1.0, 1.0, 0.7, 0.8], np.float32)
"""Of brows, upper lip, chin, which has a shadow, too, and details."""
_FAINT: Final = 8.0
_FAINTLY: Final = 0.05
"""Grey levels that are added, so that all faces in the dark are much alike, and how many of them
to details."""

SUITS: Final = 0.45
"""Misfit up to which a surrogate goes with a head. Smaller tries more of them on."""
_LITTLE: Final = 0.1
"""Cosine up to which all resemble equally little: the least alike of many is an odd face."""
_FOR_HAIR: Final = 0.1
"""How much more alike, as a cosine, one surrogate may be than another for a misfit that is less by
one. Larger: brows and beards that go with the head; surrogates more alike."""

Float32 = NDArray[np.float32]
Boxes = tuple[tuple[float, float, float, float], ...]


def shades(crops: NDArray[np.uint8], landmarks: Landmarks) -> Float32:
    """How dark brows, upper lip and chin are beside cheeks, and how strong details are.

    Args:
        crops: uint8[N, S, S, 3] BGR kveil crops.
        landmarks: float32[5, 2] of a face in all of them, px.

    Returns:
        float32[N, 4] logarithms.
    """
    side = crops.shape[1]
    middle = EYES.mean(axis=0) * side
    mouth = landmarks[3:].astype(np.float64).mean(axis=0)
    grey = np.stack([brightness(one) for one in crops])
    fine = np.abs(np.stack([_details(one) for one in grey]))
    places = ((_BROWS, middle), (_LIP, mouth), (_CHIN, mouth))
    cheeks = _level(grey, _CHEEKS, middle, 0.5) + _FAINT
    levels = [_level(grey, boxes, origin, _DARK) + _FAINT for boxes, origin in places]
    levels.append(_level(fine, _FACE, middle, _STRONG) + _FAINTLY * _FAINT)
    return np.stack([np.log(level / cheeks) for level in levels], axis=1).astype(np.float32)


def misfits(worn: Float32, own: Float32) -> Float32:
    """How much the shades float32[N, 4] of surrogates differ from the subject's own: float32[N].

    Details that are fainter than the subject's do not count.

    >>> worn = np.float32([[-0.5, 0, 0, -4], [-0.25, 0, 0, -2]])
    >>> misfits(worn, np.float32([[-0.25, 0, 0, -3]])).round(2).tolist()
    [0.25, 0.800000011920929]
    """
    apart = np.abs(worn - own)
    apart[:, 3] = np.maximum(worn - own, 0)[:, 3]
    return np.asarray(apart @ _WEIGHTS, np.float32)


def suitability_costs(likeness: Float32, unfit: Float32) -> Float32:
    """What surrogates are chosen by that do not resemble too much, the least first: float32[N].

    Args:
        likeness: cosines with the subject, float32[N]; infinite where one could not be painted.
        unfit: their misfits, float32[N], or infinite.

    >>> costs = suitability_costs(np.float32([0.25, 0.1]), np.float32([0.1, 0.5]))
    >>> [f"{cost:.3f}" for cost in costs]
    ['0.260', '0.150']
    """
    misfit = np.where(np.isfinite(unfit), unfit, 0)
    return np.asarray(np.maximum(likeness, _LITTLE) + _FOR_HAIR * misfit, np.float32)


def _details(grey: Float32) -> Float32:
    """What lies between two blurs of a picture float32[S, S]."""
    small, large = (cv2.GaussianBlur(grey, (0, 0), share * len(grey)) for share in _DETAILS)
    return np.asarray(small - large, np.float32)


def _level(
    grey: Float32, boxes: Boxes, origin: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """The mean over boxes of a quantile of what lies in each, grey levels float64[N]."""
    side = grey.shape[1]
    apart = float(EYES[1, 0] - EYES[0, 0]) * side
    found = []
    for box in boxes:
        place = np.tile(origin, 2) + np.array(box) * apart
        left, top, right, bottom = np.clip(np.rint(place), 0, side).astype(int)
        part = grey[:, top : max(bottom, top + 1), left : max(right, left + 1)]
        if part.size:
            found.append(np.quantile(part.reshape(len(grey), -1), share, axis=1))
    return np.mean(found, axis=0) if found else np.zeros(len(grey))
