"""How much a face stands out from the light on it, and no more than the subject's for a surrogate.

In haze, against the light or on a poor lens a face shows little contrast, and a crisp one in its
place looks pasted on. One number per subject tells how much there is; a surrogate of more is drawn
towards the light on it. One of less stays, so that lines, beards and glasses of the subject, which
make contrast too, are not told by it.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.errors import EngineFault
from engines.stylegan.light import field_from_light

__all__ = ["UNBOUNDED", "calmed", "contrast_under_light"]

UNBOUNDED: Final = 1.0
"""More contrast than any face has."""

_DARKEST: Final = 1.1
"""Added to brightness in [-1, 1] before it is divided: black is divided too."""
_LEAST: Final = 0.05
"""Contrast that every face has; below it only blurs are measured."""
_ALLOWED: Final = 1.1
"""How much more a surrogate may have than its subject."""
_MOST_CALMED: Final = 0.3
"""Share of its contrast that a surrogate keeps at least."""
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
    field = cv2.transform(field_from_light(light, inside), _MEAN)
    ratio = (cv2.transform(small, _MEAN) + _DARKEST) / (field + _DARKEST)
    total = float(weight.sum()) + _FAINT
    mean = float((ratio * weight).sum()) / total
    return float(np.sqrt((np.square(ratio - mean) * weight).sum() / total))


def calmed(
    pixels: Float32, small: Float32, light: Float32, inside: Float32, contrast: float
) -> float:
    """Draws a painted face towards its light, in place, until it has the contrast asked for.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255; changed.
        small: float32[s, s, 3] in [-1, 1], the same painted face reduced.
        light: float32[2, 4, 4, 3] BGR in [-1, 1] under which it was painted.
        inside: float32[s, s] in [0, 1], 1 on the painted face.
        contrast: of the subject, as `contrast_under_light` tells it.

    Returns:
        The share of its contrast that is left, at most 1.

    Raises:
        EngineFault: the contrast is not a number.
    """
    if not np.isfinite(contrast):
        raise EngineFault("the face's contrast could not be read; the face is covered")
    own = contrast_under_light(small, light, inside)
    share = _ALLOWED * max(contrast, _LEAST) / max(own, _FAINT)
    if share >= 1:
        return 1.0
    share = max(share, _MOST_CALMED)
    field = np.clip(field_from_light(light, inside) + 1, 0, 2)
    towards = np.float32(127.5 * (1 - share)) * field
    side = (pixels.shape[1], pixels.shape[0])
    wide = cv2.resize(towards, side, interpolation=cv2.INTER_LINEAR)
    cv2.scaleAdd(pixels, share, wide, dst=pixels)
    return share
