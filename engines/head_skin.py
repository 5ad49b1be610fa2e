"""Where a head shows bare skin, and where hair, background or what else is around a face."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import LUMA, brightness, rise

__all__ = ["RIM", "skin_of"]

RIM: Final = (0.02, 0.9)
"""Alpha between which a place belongs to the rim of a patch."""
_CHEEKS: Final = (0.45, 0.72)
"""Heights between which the opaque part of a patch lies on cheeks, shares of the side."""
_DARKER: Final = (0.3, 0.55)
_BRIGHTER: Final = (0.6, 1.0)
"""Between which shares less or more than the cheeks' brightness a place becomes no skin."""
_HUE: Final = (18.0, 36.0)
"""Differences of colour from the cheeks', grey levels in that light, between which too."""
_BARE: Final = 0.75
"""How bright a forehead is at least, share of the cheeks' brightness, that is not behind hair."""
_MIDDLE: Final = (0.3, 0.7)
_STRIP: Final = 0.06
"""Quantiles of a face's columns between which its forehead is looked at, and the height of what is
looked at, share of the side."""

Float32 = NDArray[np.float32]


def skin_of(head: Float32, alpha: Float32, must: Float32) -> Float32:
    """How surely places of the head are skin: float32[S, S].

    That is what looks like its cheeks in another light, or like the forehead above its brows, which
    may shine, or be less red. A forehead much darker than the cheeks is taken for hair.

    Args:
        head: float32[S, S, 3].
        alpha: float32[S, S] of the patch.
        must: float32[S, S], 1 within its identity outline.
    """
    rim = (alpha > RIM[0]) & (alpha < RIM[1])
    if not rim.any():
        return np.ones(alpha.shape, np.float32)
    rows = np.arange(len(head))[:, None] / len(head)
    cheeks = (alpha >= 1) & (rows > _CHEEKS[0]) & (rows < _CHEEKS[1])
    typical = np.asarray(np.median(head[cheeks if cheeks.any() else rim], axis=0), np.float32)
    skin = _likeness(head, typical)
    forehead = np.asarray(np.median(head[_forehead(must)], axis=0), np.float32)
    if forehead @ LUMA > _BARE * (typical @ LUMA):
        np.maximum(skin, _likeness(head, forehead), out=skin)
    return skin


def _forehead(must: Float32) -> NDArray[np.bool_]:
    """A strip above the middle of what must be hidden: bool[S, S], never empty."""
    side = len(must)
    columns = np.flatnonzero(must.max(axis=0) > 0.5)
    if not len(columns):
        return np.ones(must.shape, np.bool_)
    first, last = np.quantile(columns, _MIDDLE).astype(int)
    tops = (must[:, first : last + 1] > 0.5).argmax(axis=0)
    rows = np.arange(side)[:, None]
    strip = np.zeros(must.shape, np.bool_)
    strip[:, first : last + 1] = (rows < tops) & (rows >= tops - _STRIP * side)
    return strip if strip.any() else np.ones(must.shape, np.bool_)


def _likeness(head: Float32, typical: Float32) -> Float32:
    """How surely places of a head are skin of a typical colour [3] in another light."""
    ratio = brightness(head) / max(float(typical @ LUMA), 1.0)
    hue = np.abs(head - typical * ratio[..., None]).max(axis=2)
    unlike = (
        rise(np.asarray(1 - ratio, np.float32), *_DARKER),
        rise(np.asarray(ratio - 1, np.float32), *_BRIGHTER),
        rise(np.asarray(hue, np.float32), *_HUE),
    )
    return np.asarray(1 - np.maximum.reduce(unlike), np.float32)
