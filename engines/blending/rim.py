"""Matches a painted face to its head along the rim, and leaves hair on the forehead in front.

Light that the generator paints is coarse, so a painted face may be darker or redder than the head
around it, and lit from elsewhere. It is multiplied to be lit as the head is, see
`engines.blending.shading`. What differs otherwise right at the rim of the mask, where a chin throws
its shade, is spread a little way inwards by normalised convolution (Knutsson and Westin 1993).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.beside_hair import Strands, fringe_over, strands_beside, with_hair_over
from engines.blending.head_skin import COARSE, RIM, lit_skin_of, ruddy_parts, skin_of
from engines.blending.occlusion import along_edges
from engines.blending.patches import Patch, identity_mask_of
from engines.blending.shading import egg_normals, shading_between
from engines.face.crop_regions import disc, inside_of
from engines.pictures import BgrImage, Picture
from engines.stylegan.drawing import brightness, rise, spread_near

__all__ = ["HeadRim", "RimMatch", "head_rim_of", "matched_at_rim", "rim_match_of"]

_WORKED: Final = 96
"""Side at which the difference is spread, px; it is smooth."""
_SPREAD: Final = 0.04
"""Deviation of the blur by which it is spread, a share of the side."""
_NEAR: Final = (0.0, 0.022)
_NEAR_BROWS: Final = (0.03, 0.07)
"""Distances from the identity outline between which hair comes to lie in front, shares of the side,
elsewhere and above brows, which are dark, and reach farther than landmarks tell."""
_LEAST_NEAR_PX: Final = 3.0
"""Pixels over which it does at least; fewer show steps."""
_EYES: Final = (0.36, 0.42)
_BESIDE: Final = (0.0, 0.04)
"""Heights, and distances from the outline's sides, between which the one goes over into the other,
shares of the side."""
_SPOTS: Final = 0.02
_SOFT: Final = 0.01
"""Radius of spots and deviation of the soft rim of hair that is left in front, shares of the
side."""
_GUIDED: Final = 160
_REACH: Final = 0.02
"""Side at which the rim is drawn to the edges of the head, px at most, and how far it may move, a
share of the side. Larger follows jaws and strands that lie farther off, and glasses."""
_RIM_SOFT: Final = 0.005
_LEAST_SOFT_PX: Final = 2.2
"""Deviation of the softness of the identity outline: a share of the side, px at least."""
_SURELY: Final = (0.5, 0.9)
"""Certainties between which a place of the rim begins to count as skin."""
_UNEVEN: Final = 10.0
_UNEVEN_HUE: Final = 6.0
"""Grey levels of brightness and of hue by which it may change beyond that in one place. More lets
the shadow of hair and ears creep into cheeks, and tints foreheads that shine."""
_REACHED: Final = (0.0, 0.08)
"""Distances from the rim, shares of the side, between which what is uneven along it fades."""
_LEAST_RIM: Final = 6.0
"""Every second places of skin without which a face stays as it was painted."""
_LEAST_LEVEL: Final = 30.0
"""Grey level below which no place of a painted face counts, where it is made brighter."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RimMatch:
    """How a painted face and its head go together along the rim; it changes slowly.

    Attributes:
        gain: float32[s / 2, s / 2, 3] by which the face is multiplied to be lit as its head; None
            where too little of both is skin.
        bare: float32[s, s], how surely places of the head are skin, without spots.
        fringe: float32[s, s], how surely hair hangs over the forehead there.
        strands: hair over the face; None without.
    """

    gain: Float32 | None
    bare: Float32
    fringe: Float32
    strands: Strands | None


@dataclass(frozen=True, slots=True)
class HeadRim:
    """What a head shows along the rim of patches over it, whoever they show; of side `_WORKED`.

    Attributes:
        original: float32[s, s, 3], the head.
        alpha: float32[s, s] of the patch.
        within: bool[s, s], its identity outline.
        bare: float32[s, s], how surely places of the head are skin, without spots.
        fringe: float32[s, s], how surely hair hangs over the forehead there.
        sure: float32[s, s], how surely they are, as seen in the picture.
        lit: float32[s / 2, s / 2], the same within the outline whatever falls on it.
    """

    original: Float32
    alpha: Float32
    within: NDArray[np.bool_]
    bare: Float32
    fringe: Float32
    sure: Float32
    lit: Float32


def head_rim_of(picture: Picture, patch: Patch, head: BgrImage) -> HeadRim:
    """Looks at the head around a patch.

    Args:
        picture: the frame as it came.
        patch: at any size; its pixels do not count.
        head: uint8[S, S, 3] what the patch's crop shows of the picture.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    place = patch.crop_from_frame * np.float32(_WORKED / patch.alpha.shape[0])
    seen = inside_of(picture, place, _WORKED)
    original, alpha = _reduced(head), _reduced(patch.alpha)
    within = identity_mask_of(patch, _WORKED)
    must = within.astype(np.float32)
    skin = skin_of(original, alpha, must)
    bare = np.asarray(cv2.morphologyEx(skin, cv2.MORPH_CLOSE, disc(_SPOTS * _WORKED)), np.float32)
    lit = lit_skin_of(original, alpha, must * seen)
    sure = rise(skin, *_SURELY) * seen
    return HeadRim(original, alpha, within, bare, fringe_over(within, bare), sure, lit)


def rim_match_of(head: HeadRim, patch: Patch) -> RimMatch:
    """Compares a patch with the head around it.

    Args:
        head: around the patch.
        patch: painted, at any size.
    """
    original, alpha, must = head.original, head.alpha, head.within.astype(np.float32)
    rim = ((alpha > RIM[0]) & (alpha < RIM[1])).astype(np.float32)
    painted = _reduced(patch.pixels)
    either = _both_skin(painted, head.sure, alpha, must)
    np.maximum(either, head.lit * lit_skin_of(painted, alpha, must), out=either)
    if either.sum() < _LEAST_RIM:
        return RimMatch(None, head.bare, head.fringe, None)
    parts = ruddy_parts(must[COARSE])
    gain = shading_between(painted[COARSE], original[COARSE], _normals_of(patch), either, parts)
    gain *= _left_at_rim(original[COARSE], painted[COARSE] * gain, (rim * head.sure)[COARSE])
    strands = strands_beside(head.within, original, head.bare, head.fringe)
    return RimMatch(gain, head.bare, head.fringe, strands)


def matched_at_rim(patch: Patch, head: BgrImage, match: RimMatch) -> Patch:
    """The patch in the tone of the head around it, behind the hair on its forehead.

    Args:
        patch: painted, at any size.
        head: uint8[S, S, 3] what the patch's crop shows of the picture.
        match: of this patch, or of one of the same face a few frames before.
    """
    size, alpha = patch.alpha.shape[0], _behind_hair(patch, match, head)
    if match.gain is None:
        return replace(patch, alpha=alpha)
    gain = cv2.resize(match.gain, (size, size), interpolation=cv2.INTER_LINEAR)
    pixels = np.asarray(cv2.multiply(gain, patch.pixels, dst=gain), np.float32)
    np.clip(pixels, 0, 255, out=pixels)
    if match.strands is not None:
        pixels = with_hair_over(pixels, head, match.strands)
    return replace(patch, pixels=pixels, alpha=alpha)


def _both_skin(painted: Float32, sure: Float32, alpha: Float32, must: Float32) -> Float32:
    """How surely a head, and what is painted over it, are skin, at every second place."""
    own = skin_of(painted[COARSE], alpha[COARSE], must[COARSE])
    return np.asarray(sure[COARSE] * rise(own, *_SURELY) * (alpha[COARSE] > RIM[0]), np.float32)


def _normals_of(patch: Patch) -> Float32:
    """Where a patch's skin faces, at every second place."""
    side = _WORKED // 2
    if patch.normals is None:
        return egg_normals(side)
    way = cv2.INTER_LINEAR
    return np.asarray(cv2.resize(patch.normals, (side, side), interpolation=way), np.float32)


def _reduced(picture: Float32 | BgrImage) -> Float32:
    small = cv2.resize(picture, (_WORKED, _WORKED), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32)


def _left_at_rim(original: Float32, lit: Float32, rim: Float32) -> Float32:
    """By what a face in its light is multiplied beyond that, next to its rim: float32[S, S, 3].

    Args:
        original: float32[S, S, 3], the head.
        lit: of the same shape, what is painted over it, under the head's light.
        rim: float32[S, S] in [0, 1], where the head is skin and the painted face ends.
    """
    if rim.sum() < _LEAST_RIM:
        return np.ones_like(lit)
    tone = spread_near(_uneven(original - lit), rim, _SPREAD * len(rim)) * _nearness(rim)
    return np.asarray(1 + tone / np.maximum(lit, _LEAST_LEVEL), np.float32)


def _uneven(left: Float32) -> Float32:
    """What is left of a difference float32[S, S, 3] beside its plane, as far as it counts."""
    grey = brightness(left)[..., None]
    hue = np.clip(left - grey, -_UNEVEN_HUE, _UNEVEN_HUE)
    return np.asarray(np.clip(grey, -_UNEVEN, _UNEVEN) + hue, np.float32)


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


def _behind_hair(patch: Patch, match: RimMatch, head: BgrImage) -> Float32:
    """Alpha without what is no skin, along the head's edges; the identity outline stays opaque.

    Args:
        patch: of any size.
        match: of the same crop; its gain does not count.
        head: uint8[S, S, 3] what the crop shows of the picture.
    """
    size, bare = patch.alpha.shape[0], match.bare
    side = min(size, _GUIDED)
    must = identity_mask_of(patch, side)
    away = cv2.distanceTransform(1 - must.astype(np.uint8), cv2.DIST_L2, 3) / side
    away = np.asarray(away, np.float32)
    hanging = cv2.resize(match.fringe, (side, side), interpolation=cv2.INTER_LINEAR)
    above = _above_brows(must) * (1 - hanging)
    beside = rise(away, _NEAR[0], max(_NEAR[1], _LEAST_NEAR_PX / size))
    near = 1 - beside * (1 - above) - rise(away, *_NEAR_BROWS) * above
    soft = cv2.GaussianBlur(bare, (0, 0), _SOFT * len(bare))
    seen = cv2.resize(soft, (side, side), interpolation=cv2.INTER_LINEAR)
    shown = along_edges(np.maximum(seen, near), brightness(head), _REACH * side)
    must = identity_mask_of(patch, size)
    soft = cv2.GaussianBlur(must.astype(np.float32), (0, 0), max(_RIM_SOFT * size, _LEAST_SOFT_PX))
    alpha = np.minimum(np.maximum(patch.alpha * shown, 2 * soft), patch.alpha)
    alpha[must] = 1.0
    return np.asarray(alpha, np.float32)
