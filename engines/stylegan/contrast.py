"""How much a face stands out from the light on it, and about as much for a surrogate.

In haze, against the light or on a poor lens a face shows little contrast, and a crisp one in its
place looks pasted on; under hard light a soft one looks like a veil. One number per subject tells
how much there is. A surrogate of more is drawn towards the light on it; one of less is drawn away
from it, but by a tenth at most: lines, beards and glasses of the subject make contrast too, and
would make skin look old.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.errors import EngineFault
from engines.stylegan.drawing import brightness
from engines.stylegan.light import face_field

__all__ = ["UNBOUNDED", "contrast_under_light", "with_contrast"]

UNBOUNDED: Final = 1.0
"""More contrast than any face has: the surrogate's own stays."""

_DARKEST: Final = 1.1
"""Added to brightness in [-1, 1] before it is divided: black is divided too."""
_LEAST: Final = 0.05
"""Contrast that every face has; below it only blurs are measured."""
_ALLOWED: Final = 1.1
"""How much more a surrogate may have than its subject."""
_BOUNDS: Final = (0.3, 1.1)
"""Shares of its own contrast between which a surrogate's ends up."""
_FAINT: Final = 1e-6
_MEAN: Final = np.full((1, 3), 1 / 3, np.float32)

Float32 = npt.NDArray[np.float32]


def contrast_under_light(small: Float32, light: Float32, inside: Float32) -> float:
    """Deviation of a face's brightness from that of its light, a share of it.

    Args:
        small: float32[S, S, 3] in [-1, 1].
        light: float32[2, 4, 4, 3] in [-1, 1], of face and surroundings.
        inside: float32[S, S] in [0, 1], 1 on the face.

    >>> stripes = np.zeros((64, 64, 3), np.float32)
    >>> stripes[::2] = 0.11
    >>> lamp = np.full((2, 4, 4, 3), 0.0, np.float32)
    >>> round(contrast_under_light(stripes, lamp, np.ones((64, 64), np.float32)), 3)
    0.05
    """
    weight = np.square(inside)
    field = cv2.transform(face_field(light, inside.shape), _MEAN)
    ratio = (cv2.transform(small, _MEAN) + _DARKEST) / (field + _DARKEST)
    total = float(weight.sum()) + _FAINT
    mean = float((ratio * weight).sum()) / total
    return float(np.sqrt((np.square(ratio - mean) * weight).sum() / total))


def with_contrast(
    pixels: Float32, small: Float32, light: Float32, inside: Float32, contrast: float
) -> float:
    """Draws a painted face towards its light or away, in place, to the contrast asked for.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255; changed.
        small: float32[s, s, 3] in [-1, 1], the same painted face reduced.
        light: float32[2, 4, 4, 3] BGR in [-1, 1] under which it was painted.
        inside: float32[s, s] in [0, 1], 1 on the painted face.
        contrast: of the subject, as `contrast_under_light` tells it.

    Returns:
        The share of its contrast that it has afterwards.

    Raises:
        EngineFault: the contrast is not a number.
    """
    if not np.isfinite(contrast):
        raise EngineFault("the face's contrast could not be read; the face is covered")
    if contrast >= UNBOUNDED:
        return 1.0
    wanted = max(contrast, _LEAST) / max(contrast_under_light(small, light, inside), _FAINT)
    share = float(np.clip(max(wanted, min(_ALLOWED * wanted, 1.0)), *_BOUNDS))
    field = np.float32(127.5) * np.clip(face_field(light, inside.shape) + 1, 0, 2)
    wide = cv2.resize(field, pixels.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    if share < 1:
        cv2.addWeighted(pixels, share, wide, 1 - share, 0, dst=pixels)
    else:  # Brightness alone: painted lips would become purple.
        away = brightness(np.asarray(pixels - wide, np.float32)) * np.float32(share - 1)
        cv2.add(pixels, cv2.merge([away] * 3), dst=pixels)
    return share
