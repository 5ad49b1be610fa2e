"""Takes strands of hair, glints of glasses and frown lines off the skin of donors' textures.

They would be on everybody who wears the donor, as dashes and stitches. Three things tell them from
skin: what one side of the face has and the other has not; what is far darker or lighter than skin
on the forehead and at the temples, where brows are no longer; and upright lines above the eyes,
since furrows of age run across. All of them are long: moles stay. Instead comes the skin around
them, with the pores of the other side.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.donors.skin import bare_of_features
from engines.face.crop_regions import disc
from engines.stylegan.drawing import LUMA, spread
from engines.stylegan.topology import BROW_LEFT_SLICE

__all__ = ["mended"]

_LONE: Final = (0.03, 0.13)
"""How much more than the other side's a difference from skin begins to count, and is sure."""
_PLAIN: Final = (0.16, 0.34)
"""The same of what both sides have, above the eyes."""
_LEAST: Final = 0.07
"""Difference from skin below which nothing counts. Texture units, as the others."""
_LINE: Final = (0.035, 0.07)
"""How far upright lines stand out where they begin to count, and are sure."""
_WIDEST: Final = 0.04
"""Width of a line at most, share of the side."""
_SHORTEST: Final = (0.04, 0.045)
"""Lengths of what is taken away, and of lines, shares of the side; smaller takes moles, too."""
_ODD: Final = 0.12
"""Difference from skin beyond which a place has no part in telling what skin is."""
_OFF: Final = 0.035
"""How far apart both sides may have the same, share of the side."""
_BLUR: Final = 0.003
_AROUND: Final = 0.01
"""How far around what is found skin is replaced, share of the side."""
_PORES: Final = 0.008
"""Deviation of the blur below which skin is pores, share of the side."""
_SKIN: Final = ((0.03, 1.0), (0.1, 0.01))
_FILLS: Final = ((0.012, 1.0), (0.03, 0.1), (0.08, 0.01))
"""Deviations of the blurs that tell what skin is, and that fill, with what they count."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def mended(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] without what lies on its skin.

    Args:
        texture: RGB in even light, around 0.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    skin = bare_of_features(points, size)
    skin &= skin[:, ::-1]
    rows = (np.arange(size)[:, None] + 0.5) / size
    above = skin & (rows < points[BROW_LEFT_SLICE, 1].max())
    luma = cv2.GaussianBlur(texture @ LUMA[::-1], (0, 0), _BLUR * size)
    plain = _plain_skin(texture, skin)
    found = np.zeros((size, size), np.bool_)
    for sign in (1, -1):
        difference = np.asarray(np.maximum(sign * (plain - luma), 0) * skin, np.float32)
        found |= _strands(difference, above) | _lines(np.asarray(sign * luma, np.float32), above)
    return _filled(texture, skin, found)


def _plain_skin(texture: Float32, skin: Mask) -> Float32:
    """How bright skin is without what is odd on it, float32[S, S]."""
    first = spread(texture, skin.astype(np.float32), _SKIN)
    usual = skin & (np.abs((first - texture) @ LUMA[::-1]) < _ODD)
    return np.asarray(spread(texture, usual.astype(np.float32), _SKIN) @ LUMA[::-1], np.float32)


def _strands(difference: Float32, above: Mask) -> Mask:
    """Long places that differ from skin float32[S, S], most of all those of one side alone."""
    side = 2 * round(_OFF * len(difference) / 2) + 1
    others = cv2.dilate(np.ascontiguousarray(difference[:, ::-1]), np.ones((side, side), np.uint8))
    lone = difference - others
    begun = (difference > _LEAST) & ((lone > _LONE[0]) | (above & (difference > _PLAIN[0])))
    sure = (lone > _LONE[1]) | (above & (difference > _PLAIN[1]))
    return _long(begun, sure, _SHORTEST[0])


def _lines(luma: Float32, above: Mask) -> Mask:
    """Dark upright lines of a picture float32[S, S]."""
    across = np.ones((1, 2 * round(_WIDEST * len(luma) / 2) + 1), np.uint8)
    depth = (cv2.morphologyEx(luma, cv2.MORPH_CLOSE, across) - luma) * above
    return _long(depth > _LINE[0], depth > _LINE[1], _SHORTEST[1])


def _long(begun: Mask, sure: Mask, least: float) -> Mask:
    """Connected places of either kind that are long enough and somewhere sure."""
    _, parts, boxes, _ = cv2.connectedComponentsWithStats((begun | sure).astype(np.uint8))
    lengths = boxes[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]].max(axis=1)
    kept = [part for part in np.unique(parts[sure]) if lengths[part] >= least * len(begun)]
    return np.isin(parts, kept)


def _filled(texture: Float32, skin: Mask, found: Mask) -> Float32:
    """The texture with the skin around what was found, and with the other side's pores."""
    size = len(texture)
    wide = cv2.dilate(found.astype(np.uint8), disc(_AROUND * size)) > 0
    known = (skin & ~wide).astype(np.float32)
    fill = spread(texture, known, _FILLS)
    other = np.ascontiguousarray(texture[:, ::-1])
    pores = other - cv2.GaussianBlur(other, (0, 0), _PORES * size)
    fill += pores * known[:, ::-1, None]
    share = cv2.GaussianBlur((wide & skin).astype(np.float32), (0, 0), _AROUND * size / 2)
    return np.asarray(texture + share[..., None] * (fill - texture), np.float32)
