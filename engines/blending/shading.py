"""How a lamp shades skin: the light that makes a painted face look lit as the head it lies on.

Under any distant lamps the brightness of a matt surface lies within a hundredth of the first nine
spherical harmonics of its normals (Basri and Jacobs 2003; Ramamoorthi and Hanrahan 2001). So nine
numbers tell how a face is lit, side light and shade of brows and jaw included, and nothing of whose
it is: the normals are the mean face's, turned as its subject's. Their quotient for a head and for
what is painted over it is a smooth gain (Shashua and Riklin-Raviv 2001, the quotient image). Hue
follows the same harmonics, more stiffly, and parts of a face that are redder in most people by a
number each.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import LUMA

__all__ = ["egg_normals", "harmonics", "shading_between"]

_DARK: Final = 6.0
"""Grey levels added before two are divided: what a codec leaves of black tells no light."""
_STIFF: Final = np.array([0, 0.01, 0.01, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02], np.float32)
_STIFF_HUE: Final = np.array([0, 0.02, 0.02, 0.02, 0.04, 0.04, 0.04, 0.04, 0.04], np.float32)
_STIFF_PART: Final = 0.03
"""What holds the terms of brightness and hue, and those of parts, at zero, shares of the places."""
_OUTLYING: Final = (1.5, 1.0, 0.8, 0.6, 0.6)
"""Natural logarithm of the gain beside the fitted one, round after round, from which a place is
none of the lamp's: hair, glasses, a hand."""
_FAINT: Final = 1e-3
_MOST: Final = (-1.1, 0.8)
"""Logarithms of gains between which all lie."""

Float32 = NDArray[np.float32]


def egg_normals(side: int) -> Float32:
    """Normals of an egg that looks at the camera and fills a crop, float32[side, side, 3]."""
    step = (np.arange(side, dtype=np.float32) + 0.5) / side
    x, y = np.meshgrid((step - 0.5) * 1.6, (step - 0.5) * 1.3)
    z = np.sqrt(np.maximum(1 - x * x - y * y, np.float32(0.05)))
    normals = np.stack([x, y, -z], axis=-1)
    return np.asarray(normals / np.linalg.norm(normals, axis=-1, keepdims=True), np.float32)


def harmonics(normals: Float32) -> Float32:
    """Spherical harmonics to the second order, without their factors: float32[..., 9].

    Args:
        normals: float32[..., 3], unit vectors in the crop's axes.
    """
    x, y, z = normals[..., 0], normals[..., 1], normals[..., 2]
    terms = [np.ones_like(x), x, y, z + 1, x * y, x * z, y * z, x * x - y * y, 3 * z * z - 1]
    return np.stack(terms, axis=-1).astype(np.float32)


def shading_between(
    painted: Float32,
    head: Float32,
    normals: Float32,
    weight: Float32,
    parts: Float32 | None = None,
) -> Float32:
    """By what a painted face is multiplied to be lit as a head, float32[S, S, 3].

    Found by robust least squares (Tukey's biweight) on the logarithm of their quotient.

    Args:
        painted: float32[S, S, 3] BGR, 0 to 255.
        head: the same places of the head.
        normals: float32[S, S, 3], where the skin faces.
        weight: float32[S, S] in [0, 1], where both are skin; not all of it 0.
        parts: float32[S, S, K] in [0, 1], parts of the face whose hue may differ; none without.

    >>> lamp = np.linspace(60, 200, 16, dtype=np.float32)[None, :, None] * np.ones((16, 1, 3))
    >>> flat, sure = np.full((16, 16, 3), 110, np.float32), np.ones((16, 16), np.float32)
    >>> gain = shading_between(flat, lamp.astype(np.float32), egg_normals(16), sure)
    >>> bool(np.abs(gain[8] * 110 - lamp[8]).max() < 25)
    True
    """
    terms = harmonics(normals).reshape(-1, 9)
    known = np.flatnonzero(weight > _FAINT)
    quotient = (np.maximum(head, 0) + _DARK) / (np.maximum(painted, 0) + _DARK)
    quotient = np.asarray(np.log(quotient).reshape(-1, 3)[known], np.float32)
    luma = np.asarray(quotient @ LUMA, np.float32)
    stiff, stiff_hue = _STIFF, _STIFF_HUE
    if parts is not None:
        terms = np.concatenate([terms, parts.reshape(len(terms), -1)], axis=1)
        more = np.full(parts.shape[2], _STIFF_PART, np.float32)
        stiff, stiff_hue = np.append(stiff, more), np.append(stiff_hue, more)
    shown, counts = terms[known], weight.ravel()[known]
    bright = np.zeros(terms.shape[1], np.float32)
    bright[0] = np.median(luma)
    held = counts
    for outlying in _OUTLYING:
        away = np.square((luma - shown @ bright) / np.float32(outlying))
        close = np.square(np.maximum(1 - away, 0))
        held = np.asarray(counts * close + np.float32(_FAINT), np.float32)
        bright = _fitted(shown, luma, held, stiff)
    hue = np.asarray(quotient - luma[:, None], np.float32)
    tint = _fitted(shown, hue, held, stiff_hue)
    gain = (terms @ bright)[:, None] + terms @ tint
    return np.asarray(np.exp(np.clip(gain, *_MOST)).reshape(head.shape), np.float32)


def _fitted(shown: Float32, wanted: Float32, held: Float32, stiff: Float32) -> Float32:
    """Least-squares terms [K] or [K, 3] of what is wanted, held near zero."""
    scaled = (shown * held[:, None]).T
    found = np.linalg.solve(scaled @ shown + np.diag(stiff * held.sum()), scaled @ wanted)
    return np.asarray(found, np.float32)
