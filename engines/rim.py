"""Matches a painted face to its head along the rim, and leaves hair on the forehead in front.

Light that the generator paints is coarse, so a painted face may be darker or redder than the head
around it. Where both are skin, the plane on which most of their difference lies is found by robust
least squares, and the painting is multiplied so that its skin changes by it: nine numbers, as many
as the light that was read tells, so nothing of the subject's features comes with it. What differs
from that plane right at the rim of the mask, where a chin throws its shade, is spread a little way
inwards by normalised convolution (Knutsson and Westin 1993).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.crop_regions import inside_of
from engines.head_skin import RIM, skin_of
from engines.patches import Patch, identity_mask_of
from engines.pictures import BgrImage, Picture
from engines.stylegan.drawing import brightness, rise

__all__ = ["matched_at_rim"]

_WORKED: Final = 96
"""Side at which the difference is spread, px; it is smooth."""
_SPREAD: Final = 0.04
"""Deviation of the blur by which it is spread, a share of the side."""
_NEAR: Final = (0.0, 0.015)
_NEAR_BROWS: Final = (0.03, 0.07)
"""Distances from the identity outline between which hair comes to lie in front, shares of the side,
elsewhere and above brows, which are dark, and reach farther than landmarks tell."""
_EYES: Final = (0.36, 0.42)
_BESIDE: Final = (0.0, 0.04)
"""Heights, and distances from the outline's sides, between which the one goes over into the other,
shares of the side."""
_SPOTS: Final = 0.02
_SOFT: Final = 0.01
"""Radius of spots and deviation of the soft rim of hair that is left in front, shares of the
side."""
_SURELY: Final = (0.5, 0.9)
"""Certainties between which a place of the rim begins to count as skin."""
_MOST: Final = 60.0
"""Grey levels by which a painted face is changed at most."""
_MOST_GAIN: Final = 2.0
"""How many times as bright or as dark it may become."""
_UNEVEN: Final = 10.0
_UNEVEN_HUE: Final = 6.0
"""Grey levels of brightness and of hue by which it may change otherwise in one place. More lets
the shadow of hair and ears creep into cheeks, and tints foreheads that shine."""
_OUTLYING: Final = 40.0
"""Distance from the plane of a difference, grey levels, from which a place of the rim is none of
the lamp's."""
_TILT: Final = 0.05
_ROUNDS: Final = 4
"""What holds the plane level, and how often it is fitted anew."""
_REACHED: Final = (0.0, 0.08)
"""Distances from the rim, shares of the side, between which what is uneven along it fades."""
_FAINT: Final = 1e-3
_COARSE: Final = np.s_[::2, ::2]
_LEAST_RIM: Final = 12.0
"""Places of the rim, px of `_WORKED`, without which a face stays as it was painted."""

Float32 = NDArray[np.float32]


def matched_at_rim(picture: Picture, patch: Patch, head: BgrImage) -> Patch:
    """The patch in the tone of the head around it, behind the hair on its forehead.

    Args:
        picture: the frame as it came.
        patch: painted, at any size.
        head: uint8[S, S, 3] what the patch's crop shows of the picture.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    size = patch.alpha.shape[0]
    seen = inside_of(picture, patch.crop_from_frame, size)
    original, painted, alpha = (
        _reduced(one) for one in (head.astype(np.float32), patch.pixels, patch.alpha)
    )
    must = _reduced(identity_mask_of(patch, size).astype(np.float32))
    skin = skin_of(original, alpha, must)
    rim = ((alpha > RIM[0]) & (alpha < RIM[1])).astype(np.float32)
    if not seen.all():
        rim *= _reduced(seen.astype(np.float32))
    sure = rise(skin, *_SURELY)
    both = _both_skin(painted, sure, alpha, must)
    tone = _tone(original - painted, both, rim * sure)
    gain = _gain(painted[_COARSE], tone, both)
    pixels = np.asarray(cv2.resize(gain, (size, size), interpolation=cv2.INTER_LINEAR), np.float32)
    pixels *= patch.pixels
    np.clip(pixels, 0, 255, out=pixels)
    return replace(patch, pixels=pixels, alpha=_behind_hair(patch, skin))


def _both_skin(painted: Float32, sure: Float32, alpha: Float32, must: Float32) -> Float32:
    """How surely a head, and what is painted over it, are skin, at every second place."""
    own = skin_of(painted[_COARSE], alpha[_COARSE], must[_COARSE])
    return np.asarray(sure[_COARSE] * rise(own, *_SURELY) * (alpha[_COARSE] > RIM[0]), np.float32)


def _reduced(picture: Float32) -> Float32:
    size = (_WORKED, _WORKED)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)


def _tone(difference: Float32, skin: Float32, rim: Float32) -> Float32:
    """What must be added to a painted face, float32[S, S, 3].

    Light differs by a plane, found by robust least squares (Tukey's biweight); what differs
    otherwise along the rim, such as the shade of ears and hair, changes what is next to it alone.

    Args:
        difference: float32[S, S, 3], head without painted face.
        skin: float32[S / 2, S / 2] in [0, 1], where both are skin.
        rim: float32[S, S] in [0, 1], where the head is and the painted face ends.
    """
    if skin.sum() < _LEAST_RIM:
        return np.zeros_like(difference)
    tone = _plane(difference, skin)
    if rim.sum() >= _LEAST_RIM:
        tone = tone + _spread(_uneven(difference - tone), rim) * _nearness(rim)
    return np.asarray(np.clip(tone, -_MOST, _MOST), np.float32)


def _gain(painted: Float32, tone: Float32, skin: Float32) -> Float32:
    """By what a painted face is multiplied so that its skin gains a tone, float32[S, S, 3].

    As light does: dark brows stay dark under more of it.
    """
    sure = skin > 0.5
    level = np.median(painted[sure if sure.any() else skin >= 0], axis=0)
    gain = 1 + tone / np.maximum(level, 1.0).astype(np.float32)
    return np.asarray(np.clip(gain, 1 / _MOST_GAIN, _MOST_GAIN), np.float32)


def _plane(difference: Float32, weight: Float32) -> Float32:
    """The plane that most of a difference float32[S, S, 3] lies on, of the same shape.

    Args:
        difference: what is told apart.
        weight: float32[S / 2, S / 2], how much every second place of it counts.
    """
    side = len(difference)
    known = np.flatnonzero(weight > _FAINT)
    shown, counts = _plane_terms(side // 2)[known], weight.ravel()[known]
    wanted = difference[_COARSE].reshape(-1, 3)[known]
    found = np.zeros((3, 3), np.float32)
    found[0] = np.median(wanted, axis=0)
    level = np.diag(np.array([0, _TILT, _TILT], np.float32)) * counts.sum()
    for _ in range(_ROUNDS):
        away = np.square(wanted - shown @ found).sum(axis=1) / np.float32(_OUTLYING**2)
        held = counts * np.square(np.maximum(1 - away, 0)) + np.float32(_FAINT)
        scaled = (shown * held[:, None]).T
        found = np.linalg.solve(scaled @ shown + level, scaled @ wanted)
    return np.asarray((_plane_terms(side) @ found).reshape(side, side, 3), np.float32)


@lru_cache(maxsize=4)
def _plane_terms(side: int) -> Float32:
    """1, x and y in [-1, 1] of every place, float32[side * side, 3], shared."""
    step = np.linspace(-1, 1, side, dtype=np.float32)
    across, down = np.meshgrid(step, step)
    return np.stack([np.ones_like(across), across, down], axis=2).reshape(-1, 3)


def _uneven(left: Float32) -> Float32:
    """What is left of a difference float32[S, S, 3] beside its plane, as far as it counts."""
    grey = brightness(left)[..., None]
    hue = np.clip(left - grey, -_UNEVEN_HUE, _UNEVEN_HUE)
    return np.asarray(np.clip(grey, -_UNEVEN, _UNEVEN) + hue, np.float32)


def _spread(values: Float32, weight: Float32) -> Float32:
    """Values float32[S, S, 3] at all places near where they are known."""
    both = cv2.merge([*cv2.split(values * weight[..., None]), weight])
    soft = cv2.GaussianBlur(both, (0, 0), _SPREAD * len(weight))
    return np.asarray(soft[..., :3] / np.maximum(soft[..., 3:], np.float32(1e-6)), np.float32)


def _nearness(weight: Float32) -> Float32:
    """1 where a rim is known, less and less beyond: float32[S, S, 1]."""
    far = cv2.distanceTransform((weight < 0.5).astype(np.uint8), cv2.DIST_L2, 3) / len(weight)
    return (1 - rise(np.asarray(far, np.float32), *_REACHED))[..., None]


def _above_brows(must: NDArray[np.bool_]) -> Float32:
    """1 above the brows of what must be hidden, 0 beside and below them: float32[S, S]."""
    size = len(must)
    steps = (np.arange(size, dtype=np.float32) + 0.5) / np.float32(size)
    columns = steps[must.any(axis=0)]
    if not len(columns):
        return np.zeros(must.shape, np.float32)
    inside = np.minimum(steps - columns[0], columns[-1] - steps)
    return np.outer(1 - rise(steps, *_EYES), rise(inside, *_BESIDE))


def _behind_hair(patch: Patch, skin: Float32) -> Float32:
    """Alpha without what is no skin; the identity outline stays opaque.

    Args:
        patch: of any size.
        skin: float32[s, s] of the same crop, as coarse as it is worked on.
    """
    size, side = patch.alpha.shape[0], skin.shape[0]
    must = identity_mask_of(patch, size)
    away = cv2.distanceTransform(1 - must.astype(np.uint8), cv2.DIST_L2, 3) / size
    away = np.asarray(away, np.float32)
    above = _above_brows(must)
    near = 1 - rise(away, *_NEAR) * (1 - above) - rise(away, *_NEAR_BROWS) * above
    spots = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * round(_SPOTS * side) + 1,) * 2)
    bare = cv2.morphologyEx(skin, cv2.MORPH_CLOSE, spots)
    soft = cv2.GaussianBlur(bare, (0, 0), _SOFT * side)
    seen = cv2.resize(soft, (size, size), interpolation=cv2.INTER_LINEAR)
    alpha = patch.alpha * np.maximum(seen, near)
    alpha[must] = 1.0
    return np.asarray(alpha, np.float32)
