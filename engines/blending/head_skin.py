"""Where a head shows bare skin, and where hair, background or what else is around a face."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import LUMA, brightness, rise

__all__ = ["COARSE", "RIM", "lit_skin_of", "ruddy_parts", "skin_of"]

RIM: Final = (0.02, 0.9)
"""Alpha between which a place belongs to the rim of a patch."""
COARSE: Final = np.s_[::2, ::2]
"""Every second place: as many as tell the light."""
_CHEEKS: Final = (0.45, 0.72)
"""Heights between which the opaque part of a patch lies on cheeks, shares of the side."""
_DARKER: Final = (0.3, 0.55)
_BRIGHTER: Final = (0.6, 1.0)
"""Between which shares less or more than the cheeks' brightness a place becomes no skin."""
_HUE: Final = (18.0, 36.0)
"""Differences of colour from the cheeks', grey levels in that light, between which too."""
_ANY_DARKER: Final = (0.55, 0.75)
_ANY_BRIGHTER: Final = (1.0, 1.6)
_ANY_HUE: Final = (36.0, 60.0)
"""The same of skin under lamps from aside or of other colours, for what is surely a face."""
_BARE: Final = 0.75
"""How bright a forehead is at least, share of the cheeks' brightness, that is not behind hair."""
_MIDDLE: Final = (0.3, 0.7)
_STRIP: Final = 0.06
"""Quantiles of a face's columns between which its forehead is looked at, and the height of what is
looked at, share of the side."""
_DOWN: Final = np.array([[0.9, 0.1], [0.5, 0.13]], np.float32)
_ALONG: Final = np.array([[0.5, 0.22], [0.15, 0.15], [0.85, 0.15]], np.float32)
"""Where chin and cheeks, and where chin and both cheeks lie within the identity outline, down and
along it, and their deviations."""

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
    cheeks = _cheeks(alpha)
    typical = np.asarray(np.median(head[cheeks if cheeks.any() else rim], axis=0), np.float32)
    skin = _likeness(head, typical)
    forehead = np.asarray(np.median(head[_forehead(must)], axis=0), np.float32)
    if forehead @ LUMA > _BARE * (typical @ LUMA):
        np.maximum(skin, _likeness(head, forehead), out=skin)
    return skin


def lit_skin_of(head: Float32, alpha: Float32, must: Float32) -> Float32:
    """How surely places within the identity outline are skin, whatever falls on it.

    Args:
        head: float32[S, S, 3], or what is painted over it.
        alpha: float32[S, S] of the patch.
        must: float32[S, S], 1 within its identity outline.

    Returns:
        float32[S / 2, S / 2], of every second place.
    """
    cheeks = _cheeks(alpha)
    if not cheeks.any():
        return np.zeros_like(must[COARSE])
    typical = np.asarray(np.median(head[cheeks], axis=0), np.float32)
    limits = _ANY_DARKER, _ANY_BRIGHTER, _ANY_HUE
    return must[COARSE] * _likeness(head[COARSE], typical, limits)


def ruddy_parts(must: Float32) -> Float32:
    """Chin and cheeks, which are redder than the rest, or covered with stubble.

    Args:
        must: float32[S, S], 1 within the identity outline.

    Returns:
        float32[S, S, 2] in [0, 1].

    >>> face = np.zeros((32, 32), np.float32)
    >>> face[4:28, 6:26] = 1
    >>> chin, cheek = ruddy_parts(face)[25, 16], ruddy_parts(face)[16, 9]
    >>> bool(chin[0] > 0.9 > 0.1 > chin[1]), bool(cheek[1] > 0.9 > 0.1 > cheek[0])
    (True, True)
    """
    down, along = _bumps(must.max(axis=1), _DOWN), _bumps(must.max(axis=0), _ALONG)
    chin, cheeks = np.outer(down[0], along[0]), np.outer(down[1], along[1] + along[2])
    return np.stack([chin, cheeks], axis=-1)


def _bumps(line: Float32, places: Float32) -> Float32:
    """Bell curves float32[K, S] at places [K, 2] between the first and last above one half."""
    known = np.flatnonzero(line > 0.5)
    first, last = (known[0], known[-1]) if len(known) else (0, 0)
    share = (np.arange(len(line)) - first) / max(last - first, 1)
    away = (share - places[:, :1]) / places[:, 1:]
    return np.asarray(np.exp(np.square(away) / -2), np.float32)


def _cheeks(alpha: Float32) -> NDArray[np.bool_]:
    """Where the opaque part of a patch float32[S, S] lies on cheeks."""
    rows = np.arange(len(alpha))[:, None] / len(alpha)
    return np.asarray((alpha >= 1) & (rows > _CHEEKS[0]) & (rows < _CHEEKS[1]), np.bool_)


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


def _likeness(
    head: Float32,
    typical: Float32,
    limits: tuple[tuple[float, float], ...] = (_DARKER, _BRIGHTER, _HUE),
) -> Float32:
    """How surely places of a head are skin of a typical colour [3] in another light."""
    ratio = brightness(head) / max(float(typical @ LUMA), 1.0)
    # A largest along a last axis of three would take several times as long.
    blue, green, red = cv2.split(np.abs(head - typical * ratio[..., None]))
    hue = np.maximum(np.maximum(blue, green), red)
    # The curve rises with the share of the way between the limits: the largest has the largest.
    unlike = np.full(hue.shape, 0, np.float32)
    for difference, (start, end) in zip((1 - ratio, ratio - 1, hue), limits, strict=True):
        share = (difference - np.float32(start)) * np.float32(1 / (end - start))
        np.maximum(unlike, share, out=unlike)
    return np.asarray(1 - rise(unlike, 0.0, 1.0), np.float32)
