"""Shaves donors: moustaches and tufts would sit on everybody who wears them, beside other hair.

A subject's own beard goes on below the jaw, or there is none: a donor's, which ends at the chin, in
tufts as often as not, looks glued on. What is darker below the nose than on the mean face, or full
of strokes, is hair. Instead comes the mean face's shading in the donor's own tone, a little darker,
with pores as strong as those of the donor's cheeks. The mean face is what the generator paints of
the middle of its latents, so no picture of anybody is in it.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.blending.grain import grain
from engines.donors.skin import away_from_lips, bare_of_features, within_outline
from engines.stylegan.drawing import LUMA, ramp, rise, spread
from engines.stylegan.topology import NOSE_BASE_SLICE

__all__ = ["shaved"]

_BELOW: Final = (-0.005, 0.02)
"""Distances below the nose between which hair begins to count, shares of the side, as others."""
_RIM: Final = (0.0, 0.03)
"""Distances within the outline between which it does."""
_LIPS: Final = 0.003
"""How far around lips everything is lips."""
_BROAD: Final = 0.012
_FINE: Final = 0.006
"""Deviations of the blurs beyond which brightness is a tone, and below which it is a stroke."""
_DARKER: Final = (0.04, 0.14)
_STROKES: Final = (0.05, 0.1)
"""How much darker than the mean face, and how full of strokes, texture units, hair begins and
surely is."""
_HAIRY: Final = (0.36, 0.48)
"""Shares of the place that are hair between which somebody becomes one who is shaved. Less shaves
shadows of mouths and chins."""
_SURELY: Final = 1.4
"""What the share of hair counts, at most wholly: of thin hair no rest stays."""
_SHADE: Final = 0.05
_MOST_SHADE: Final = 0.12
"""How much darker than the mean face shaved skin is, and how much a donor's tone may add."""
_TONES: Final = ((0.04, 1.0), (0.12, 0.1), (0.3, 0.001))
_UNSURE: Final = 0.001
"""Deviations of the blurs that spread a donor's tone, with what they count, and what hair does."""
_PORES: Final = 0.8

Float32 = npt.NDArray[np.float32]


def shaved(texture: Float32, usual: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] without moustache and beard.

    Args:
        texture: RGB in even light, around 0.
        usual: the same of the mean face.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    place = _below_nose(points, size)
    hair = _hair(texture, usual, place)
    share = float(hair.sum() / max(place.sum(), 1.0))
    hair *= np.float32(ramp(share, *_HAIRY))
    if not hair.any():
        return texture
    inside = rise(within_outline(points, size), *_RIM)
    known = np.maximum(place - hair, _UNSURE * inside).astype(np.float32)
    tone = np.maximum(spread(texture - usual, known, _TONES), -_MOST_SHADE) - _SHADE
    skin = usual + tone + (_pores(texture, points) * grain((size, size), (0, 0)))[..., None]
    return np.asarray(texture + hair[..., None] * (skin - texture), np.float32)


def _below_nose(points: Float32, size: int) -> Float32:
    """Where beards grow: float32[size, size] in [0, 1]."""
    rows = (np.arange(size, dtype=np.float32)[:, None] + np.float32(0.5)) / np.float32(size)
    rows -= np.float32(points[NOSE_BASE_SLICE, 1].max())
    below = rise(rows, *_BELOW)
    no_lips = cv2.GaussianBlur(away_from_lips(points, size, _LIPS), (0, 0), _FINE * size)
    return np.asarray(below * no_lips * rise(within_outline(points, size), *_RIM), np.float32)


def _hair(texture: Float32, usual: Float32, place: Float32) -> Float32:
    """How surely places are hair: float32[S, S] in [0, 1]."""
    size = len(texture)
    own = texture @ LUMA[::-1]
    apart = np.asarray(usual @ LUMA[::-1] - own, np.float32)
    darker = np.asarray(cv2.GaussianBlur(apart, (0, 0), _BROAD * size), np.float32)
    fine = np.abs(own - cv2.GaussianBlur(own, (0, 0), _FINE * size))
    strokes = np.asarray(cv2.GaussianBlur(fine, (0, 0), _BROAD * size), np.float32)
    found = np.minimum(rise(darker, *_DARKER) + rise(strokes, *_STROKES), 1) * place
    wide = cv2.dilate(found, np.ones((5, 5), np.uint8))
    soft = cv2.GaussianBlur(wide, (0, 0), _BROAD * size) * place
    return np.minimum(np.asarray(_SURELY * soft, np.float32), 1)


def _pores(texture: Float32, points: Float32) -> float:
    """Deviation of the finest details of cheeks and forehead, texture units."""
    size = len(texture)
    luma = texture @ LUMA[::-1]
    fine = np.abs(luma - cv2.GaussianBlur(luma, (0, 0), 1.0))
    skin = bare_of_features(points, size) & (within_outline(points, size) > _RIM[1])
    return _PORES * float(np.median(fine[skin])) / 0.6745
