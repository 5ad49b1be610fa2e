"""A donor's texture: what a portrait shows, without hair, beard, background and light."""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.donors.bare_temples import with_bare_temples
from engines.donors.folds import with_faint_folds
from engines.donors.mending import mended
from engines.donors.shaving import shaved
from engines.donors.skin import (
    away_from_features,
    away_from_lips,
    bare_skin,
    off_features,
    within_outline,
)
from engines.donors.texture_rim import with_filled_rim
from engines.stylegan.drawing import LUMA, rise, spread_near
from engines.stylegan.light import (
    contrast_from_field,
    field_from_light,
    light_from_picture,
    softened,
)
from engines.stylegan.masks import oval_from_points
from engines.stylegan.sizes import SOFT_SIZE
from engines.stylegan.topology import MESH_POINTS, NOSE_BASE_SLICE, POINTS
from engines.stylegan.warp import TextureFrame, image_place_of_texture, owners

__all__ = ["evened", "fresh", "photographed", "rosy", "tempered", "texture_of", "unlit"]

_BROAD: Final = 0.03
"""Deviation of the blur beyond which brightness is gloss or shade and no feature, a share."""
_FINE: Final = 0.01
"""Deviation of the blur within which it is a pore or a hair."""
_GREYED: Final = 0.6
"""Share of the colour of such patches that is taken away far from the features."""
_MOST_GLOSS: Final = 0.22
_MOST_SHADE: Final = 0.5
"""How much brighter and darker than even skin such patches may be, texture units. Larger makes
people less alike, and look lit by lamps that are not there, or painted."""
_FAR: Final = (0.03, 0.14)
"""Distances from the features between which skin becomes calm, shares of the side."""
_RIM: Final = (0.0, 0.07)
"""Distances within the outline between which skin becomes plain: ears and hair begin there."""
_CALMED: Final = 0.2
"""Share of gloss and shade that is taken away there. More would shave the sides of beards."""
_MOST_MODELLED: Final = 0.15
"""Deviation of the brightness of skin above the lips at most, texture units; half of portraits have
less. Larger makes people less alike; shades of noses and glints look painted in another light."""
_PALE: Final = 0.1
"""How much more blue than green lips may be where they are hardly red, texture units."""
_LIPS_SOFT: Final = 0.008
"""Deviation of the blur of lips' rim, share of the side."""
_GREENER: Final = 0.015
"""How much greener than cheeks and forehead skin may be, texture units. Larger leaves chins beside
red lips green, and stubble grey."""
_TINT: Final = 0.015
"""Deviation of the blur beyond which colour is a tint, share of the side."""
_TO_RED: Final = np.array([LUMA[1], -LUMA[2], 0], np.float32) / np.float32(LUMA[1] + LUMA[2])
"""What makes an RGB colour redder and less green by 1, as bright as it was."""
_WELL_INSIDE: Final = 0.05
"""Distance within the outline from which that is told, share of the side."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def texture_of(crop: UInt8, points: Float32, frame: TextureFrame, usual: Float32) -> Float32:
    """A portrait's texture without hair, beard, background and light, float32[3, S, S] RGB.

    Args:
        crop: uint8[C, C, 3] BGR kveil crop.
        points: float32[POINTS, 3] of its face.
        frame: the canonical face.
        usual: float32[3, S, S] RGB, the texture of the mean face.
    """
    seen = photographed(crop, points, frame, usual.shape[1])
    skin = bare_skin(seen, frame.points)[:, :, ::-1].astype(np.float32) / np.float32(127.5) - 1
    even = evened(unlit(skin, frame.points), frame.points)
    bare = shaved(mended(even, frame.points), usual.transpose(1, 2, 0), frame.points)
    bare = fresh(rosy(tempered(bare, frame.points), frame.points), frame.points)
    worn = _for_other_heads(np.ascontiguousarray(bare[:, :, ::-1]), frame.points)
    return np.ascontiguousarray(worn[:, :, ::-1].transpose(2, 0, 1))


def _for_other_heads(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] BGR, around 0, without what its own head alone explains."""
    return with_filled_rim(with_bare_temples(with_faint_folds(texture, points), points), points)


def photographed(crop: UInt8, points: Float32, frame: TextureFrame, size: int) -> UInt8:
    """A portrait on the canonical face as it was photographed, uint8[size, size, 3] BGR.

    Args:
        crop: uint8[S, S, 3] BGR kveil crop.
        points: float32[POINTS, 3] of its face.
        frame: the canonical face.
        size: of the result, px.
    """
    owner = owners(frame.points, frame.triangles, size)
    x, y = cv2.split(image_place_of_texture(points, frame, owner) * crop.shape[0] - 0.5)
    border = cv2.BORDER_REPLICATE
    return np.asarray(cv2.remap(crop, x, y, cv2.INTER_LINEAR, borderMode=border), np.uint8)


def unlit(skin: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] without the light that a face has in the mean, place by place.

    Lips are red by themselves: counted as light, they would leave chins green.

    Args:
        skin: RGB in [-1, 1].
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size, mean = len(skin), np.zeros((POINTS, 3), np.float32)
    mean[:MESH_POINTS, :2] = points[:MESH_POINTS]
    inside = softened(oval_from_points(mean, SOFT_SIZE), size)
    light = light_from_picture(skin, inside, inside * away_from_lips(points, size))
    field = field_from_light(light, inside)
    return (skin - field) / contrast_from_field(field)


def evened(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] in even light, around 0, with its features and its beard.

    A lamp's gloss on dark skin is far brighter than the skin, and would glow in another light. What
    is brighter or darker on one side of a face alone is light or shade of the portrait, and so is
    what lies far from the features: it would be a blotch on another head.

    Args:
        texture: RGB, of a face that is the same on both sides of its middle.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    broad = cv2.GaussianBlur(texture, (0, 0), _BROAD * size)
    middling = np.asarray(cv2.GaussianBlur(texture, (0, 0), _FINE * size) - broad, np.float32)
    most = np.where(broad > 0, _MOST_GLOSS, _MOST_SHADE).astype(np.float32)
    shared = _on_both_sides(most * np.tanh(broad / most))
    shared = np.asarray(cv2.GaussianBlur(shared, (0, 0), _BROAD * size / 2), np.float32)
    away = rise(away_from_features(points, size), *_FAR)[..., None]
    grey = (shared @ LUMA[::-1])[..., None]
    shared += _GREYED * away * (grey - shared)
    blotches = away * (middling - _on_both_sides(middling))
    even = texture + shared * (1 - _CALMED * away) - broad - blotches
    inside = rise(within_outline(points, size), *_RIM)[..., None]
    return np.asarray(even * inside, np.float32)


def tempered(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] whose skin is modelled no harder than most people's.

    What a lamp, oil or age made of a portrait's skin meets the light of another head, and is too
    much there. Eyes, brows and lips stay as they are.

    Args:
        texture: RGB in even light, around 0.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    skin = off_features(points, size)
    rows = (np.arange(size)[:, None] + 0.5) / size
    told = (skin > 0.5) & (rows < points[NOSE_BASE_SLICE, 1].max())
    told &= within_outline(points, size) > _WELL_INSIDE
    modelled = float((texture @ LUMA[::-1])[told].std())
    share = min(1.0, _MOST_MODELLED / max(modelled, 1e-6))
    return np.asarray(texture * (1 - (1 - share) * skin[..., None]), np.float32)


def rosy(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] whose lips are no bluer than they are red.

    Lips of dark skin, and painted ones, would be lilac on another head.

    Args:
        texture: RGB in even light, around 0.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    lips = 1 - cv2.GaussianBlur(away_from_lips(points, size, 0.0), (0, 0), _LIPS_SOFT * size)
    red, green, blue = cv2.split(texture)
    bluer = np.maximum(blue - green - np.maximum(red - green, _PALE), 0)
    return np.asarray(np.dstack([red, green, blue - lips * bluer]), np.float32)


def fresh(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] whose skin is nowhere much greener than on cheeks and forehead.

    Args:
        texture: RGB in even light, around 0.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    skin = off_features(points, size) * (within_outline(points, size) > _RIM[1] / 3)
    skin = np.asarray(skin, np.float32)
    broad = spread_near(texture[..., 0] - texture[..., 1], skin, _TINT * size)
    rows = (np.arange(size)[:, None] + 0.5) / size
    usual = float(np.median(broad[(skin > 0.5) & (rows < points[NOSE_BASE_SLICE, 1].max())]))
    greener = np.maximum(usual - _GREENER - broad, 0) * skin
    return np.asarray(texture + greener[..., None] * _TO_RED, np.float32)


def _on_both_sides(texture: Float32) -> Float32:
    """What both sides of a texture float32[S, S, 3] have of it, the lesser of the two."""
    mirrored = texture[:, ::-1]
    shared = np.sign(texture) * np.minimum(np.abs(texture), np.abs(mirrored))
    shared[texture * mirrored < 0] = 0
    return np.asarray(shared, np.float32)
