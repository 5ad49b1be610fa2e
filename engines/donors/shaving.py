"""Shaves donors: moustaches and tufts would sit on everybody who wears them, beside other hair.

A subject's own beard goes on below the jaw, or there is none: a donor's, which ends at the chin, in
tufts as often as not, looks glued on. Strokes around the mouth tell a beard. Darkness alone does
not: jaws of shaved people lie in shade as well, and skin put there would end in a line across the
cheeks. Who has no more than a shade keeps it. Instead of hair comes the mean face's shading in the
tone of the donor's skin around it, with pores as strong as those of the donor's cheeks. The mean
face is what the generator paints of the middle of its latents, so no picture of anybody is in it.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.blending.grain import grain
from engines.donors.skin import away_from_lips, bare_of_features, off_features, within_outline
from engines.stylegan.drawing import LUMA, ramp, rise, spread
from engines.stylegan.topology import NOSE_BASE_SLICE

__all__ = ["shaved"]

_BELOW: Final = (-0.02, 0.03)
"""Distances below the nose between which hair begins to count, shares of the side, as others."""
_TOLD: Final = 0.2
"""How far above it skin still tells the tone of what is put instead."""
_RIM: Final = (0.0, 0.03)
"""Distances within the outline between which hair counts."""
_LIPS: Final = 0.002
"""How far around lips everything is lips."""
_BESIDE_LIPS: Final = (0.006, 0.055)
"""Distances from lips between which strokes tell a beard."""
_BROAD: Final = 0.012
_FINE: Final = 0.006
_SOFT: Final = 0.018
"""Deviations of the blurs beyond which brightness is a tone, below which it is a stroke, and by
which shaved skin goes over into the rest. Sharper shows a line on cheeks."""
_MOST: Final = 0.75
"""The quantile that is told of places beside lips."""
_BEARD: Final = (0.049, 0.052)
_DARKNESS: Final = 0.1
"""Strokes, texture units, between which somebody becomes one who is shaved, and what it adds to
them to be darker than the mean face. Less shaves women with strong folds."""
_DARKER: Final = (0.03, 0.1)
_FAINT_STROKES: Final = (0.012, 0.022)
_STROKES: Final = (0.024, 0.04)
"""How much darker than the mean face places with faint strokes are, how strong these are, and how
strong others are, texture units, between which they are hair."""
_AROUND: Final = 7
"""Side of the square, px, by which hair is widened: it reaches beyond its strokes."""
_SURELY: Final = 1.6
"""What hair counts, at most wholly: of thin hair no rest stays."""
_SHADE: Final = 0.03
_MOST_SHADE: Final = 0.1
"""How much darker than the mean face shaved skin is, and how much a donor's tone may add."""
_TONES: Final = ((0.03, 1.0), (0.08, 0.1), (0.2, 0.001))
_UNSURE: Final = 0.001
"""Deviations of the blurs that spread a donor's tone, with what they count, and what hair does."""
_PORES: Final = 0.8

Float32 = npt.NDArray[np.float32]


def shaved(texture: Float32, usual: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] without moustache and beard; the same where there is none.

    Args:
        texture: RGB in even light, around 0.
        usual: the same of the mean face.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    strokes, darker = _strokes(texture), _darker(texture, usual)
    beard = ramp(_beard(strokes, darker, points), *_BEARD)
    if beard == 0:
        return texture
    inside = rise(within_outline(points, size), *_RIM)
    hair = _hair(strokes, darker, points) * inside * np.float32(beard)
    told = off_features(points, size) * (_below_nose(points, size) > -_TOLD)
    told = inside * told * np.clip(1 - 1.5 * hair, 0, 1) ** 3
    known = np.maximum(told, _UNSURE * inside).astype(np.float32)
    tone = np.maximum(spread(texture - usual, known, _TONES), -_MOST_SHADE) - _SHADE
    skin = usual + tone + (_pores(texture, points) * grain((size, size), (0, 0)))[..., None]
    no_lips = cv2.GaussianBlur(away_from_lips(points, size, _LIPS), (0, 0), _FINE * size)
    return np.asarray(texture + (hair * no_lips)[..., None] * (skin - texture), np.float32)


def _below_nose(points: Float32, size: int) -> Float32:
    """How far below the nose rows lie: float32[size, 1], shares of the side."""
    rows = (np.arange(size, dtype=np.float32)[:, None] + np.float32(0.5)) / np.float32(size)
    return np.asarray(rows - np.float32(points[NOSE_BASE_SLICE, 1].max()), np.float32)


def _strokes(texture: Float32) -> Float32:
    """How strong the finest details are, float32[S, S] texture units."""
    size, luma = len(texture), texture @ LUMA[::-1]
    fine = np.abs(luma - cv2.GaussianBlur(luma, (0, 0), _FINE * size))
    return np.asarray(cv2.GaussianBlur(fine, (0, 0), _BROAD * size), np.float32)


def _darker(texture: Float32, usual: Float32) -> Float32:
    """How much darker it is than the mean face, float32[S, S] texture units."""
    apart = np.asarray((usual - texture) @ LUMA[::-1], np.float32)
    return np.asarray(cv2.GaussianBlur(apart, (0, 0), _BROAD * len(texture)), np.float32)


def _beard(strokes: Float32, darker: Float32, points: Float32) -> float:
    """How much of a beard there is around the mouth, texture units."""
    size = len(strokes)
    free = away_from_lips(points, size, 0.0).astype(np.uint8)
    away = cv2.distanceTransform(free, cv2.DIST_L2, 5) / size
    near = (away > _BESIDE_LIPS[0]) & (away < _BESIDE_LIPS[1]) & (_below_nose(points, size) > 0)
    dark = float(np.quantile(darker[near], _MOST))
    return float(np.quantile(strokes[near], _MOST)) + _DARKNESS * max(dark, 0.0)


def _hair(strokes: Float32, darker: Float32, points: Float32) -> Float32:
    """How surely places are hair: float32[S, S] in [0, 1]."""
    size = len(strokes)
    below = rise(_below_nose(points, size), *_BELOW)
    found = rise(darker, *_DARKER) * rise(strokes, *_FAINT_STROKES) + rise(strokes, *_STROKES)
    found = np.minimum(found, 1) * below * away_from_lips(points, size, 0.0)
    wide = cv2.dilate(np.asarray(found, np.float32), np.ones((_AROUND, _AROUND), np.uint8))
    soft = np.minimum(_SURELY * cv2.GaussianBlur(wide, (0, 0), _SOFT * size), 1)
    return np.asarray(soft * below, np.float32)


def _pores(texture: Float32, points: Float32) -> float:
    """Deviation of the finest details of cheeks and forehead, texture units."""
    size = len(texture)
    luma = texture @ LUMA[::-1]
    fine = np.abs(luma - cv2.GaussianBlur(luma, (0, 0), 1.0))
    skin = bare_of_features(points, size) & (within_outline(points, size) > _RIM[1])
    return _PORES * float(np.median(fine[skin])) / 0.6745
