"""Fine strands and grain on what is drawn around a face.

Surroundings are computed coarsely, see `engines.surroundings`, and would look out of focus next to
a large painted face. Nothing of what is added comes from the picture: strands are the surrogate's,
focus and grain those that its face was given.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, scale_of, shifted, to_integer_centres
from engines.combed_hair import combing_of, fine_strands_on
from engines.grain import grain
from engines.painted_head import MIDDLING, Head
from engines.patches import Finish, Patch, Placed

__all__ = ["add_detail"]

_GAIN: Final = 1.0
"""Of fine strands over coarse ones."""
_SHARP: Final = 0.3
_CLEAN: Final = 0.5
"""Blur, px of the frame, and grain, grey levels, from which on they show."""
_UNFINISHED: Final = Finish(0.0, 0.0, (0, 0))

Float32 = NDArray[np.float32]


def add_detail(
    placed: Placed, head: Head, patch: Patch, locks: Float32, crop_from_frame: Similarity
) -> None:
    """Adds strands and grain to surroundings, in place.

    Args:
        placed: the surroundings of a face in a window of the frame; its pixels are changed.
        head: where the face lies in the coarse crop.
        patch: the face itself, gives traits and finish.
        locks: float32[S, S] of that crop, how strong strands are there, grey levels.
        crop_from_frame: map to that crop.
    """
    traits = MIDDLING if patch.head is None else patch.head
    finish = _UNFINISHED if patch.finish is None else patch.finish
    shape = placed.layer.shape[:2]
    crop_from_window = shifted(crop_from_frame, placed.left, placed.top)
    detail = fine_strands_on(head, combing_of(traits), crop_from_window, shape)
    if detail is not None:
        detail *= np.float32(_GAIN) * _spread(locks, crop_from_window, shape)
        blur = finish.blur * len(patch.pixels) / scale_of(patch.crop_from_frame)
        if blur > _SHARP:
            detail = np.asarray(cv2.GaussianBlur(detail, (0, 0), blur), np.float32)
    if finish.grain > _CLEAN:
        noise = np.float32(finish.grain) * grain(shape, finish.seed)
        detail = noise if detail is None else detail + noise
    if detail is not None:
        cv2.add(
            placed.layer, cv2.merge([detail, detail, detail, np.zeros_like(detail)]), placed.layer
        )
        np.clip(placed.layer, 0, 255, out=placed.layer)  # of alpha it leaves everything


def _spread(locks: Float32, crop_from_window: Similarity, shape: tuple[int, int]) -> Float32:
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    place = to_integer_centres(crop_from_window)
    return np.asarray(cv2.warpAffine(locks, place, shape[::-1], flags=flags), np.float32)
