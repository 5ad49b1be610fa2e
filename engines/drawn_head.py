"""The surrogate's head around its painted face: hair, forehead, ears and neck over smooth ground.

What of the subject's hair is left takes on the surrogate's brightness first; then ears and neck are
drawn, hair over them, and skin up to the hairline, on which hair casts a shadow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.forehead import forehead_colour, forehead_weight
from engines.hair_cap import HairCap, alike, hair_cap, strand_levels, surrogate_hair
from engines.hair_reading import (
    bare_above,
    hair_colour,
    hair_share,
    told_from_wall,
    walls_behind,
)
from engines.neck_and_ears import cheeks_of, draw_ears, draw_neck
from engines.painted_head import MIDDLING, Surrounded, Trait
from engines.patches import Patch
from engines.stylegan.drawing import laid_over, rise

__all__ = ["SHADOW", "Drawn", "Seen", "Worn", "head_drawn", "shade_under_hair", "worn_by"]

SHADOW: Final = np.float32(0.25)
"""Brightness of the shadow that hair casts over that of the mean skin."""
_SHADE: Final = 0.25
_SHADE_REACH: Final = 0.10
_FOREHEAD: Final = (0.5, 0.3)
"""How much of a forehead's colour next to the hair gives way to that shadow, how far below the
hairline that ends, a share of the patch's side, and the heights of the outline below its top
between which there is no forehead any more."""

Float32 = NDArray[np.float32]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Seen:
    """The picture around a face.

    Attributes:
        around: float32[S, S, 3] BGR, 0…255, a crop of it.
        known: bool[S, S], where it may be read.
    """

    around: Float32
    known: Bool


@dataclass(frozen=True, slots=True)
class Worn:
    """What is known of a surrogate whose face was painted.

    Attributes:
        traits: float32[HEAD_TRAITS] of its head, 0…1.
        skin: float32[3] BGR, mean of its face.
        cheeks: float32[2, 3] BGR of both sides, see `cheeks_of`.
        painted: float32[S, S, 3] BGR, the face where it lies in the crop around it.
    """

    traits: Float32
    skin: Float32
    cheeks: Float32
    painted: Float32


@dataclass(frozen=True, slots=True)
class Drawn:
    """A head drawn around a face.

    Attributes:
        pixels: float32[S, S, 3] BGR, 0…255.
        hairline: float32[S, S], px below it; hair where negative.
        locks: float32[S, S], how strong strands are, grey levels.
    """

    pixels: Float32
    hairline: Float32
    locks: Float32


def worn_by(patch: Patch, outline: Float32, painted: Float32) -> Worn:
    """What a patch tells of its surrogate.

    Args:
        patch: the face.
        outline: float32[M, 2] of it, shares of the patch's side.
        painted: float32[S, S, 3], its pixels where they lie in the crop around it.
    """
    traits = MIDDLING if patch.head is None else patch.head
    quarter = patch.pixels.shape[0] // 4
    skin = np.array(cv2.mean(patch.pixels[quarter:-quarter, quarter:-quarter])[:3], np.float32)
    return Worn(traits, skin, cheeks_of(patch.pixels, outline), painted)


def head_drawn(
    flat: Float32, texture: tuple[Float32, Float32], seen: Seen, lie: Surrounded, worn: Worn
) -> Drawn:
    """Draws a surrogate's head.

    Args:
        flat: float32[S, S, 3], the crop without detail; changed.
        texture: float32[S, S] each, how strong strands would be there, grey levels, and strands.
        seen: the crop as it was cut.
        lie: where the painted face lies in it.
        worn: whose it is.
    """
    strength, strands = texture
    bare = bare_above(seen.around, seen.known, lie.corners, worn.skin)
    cap = hair_cap(lie.head, worn.traits, len(flat), lie.unit, bare)
    hair = hair_colour(seen.around, seen.known, cap.above, worn.skin)
    own = surrogate_hair(hair, worn.traits, worn.skin)
    same = alike(flat, hair, lie.unit)
    locks = strength * same
    flat += cv2.merge([locks * strands] * 3)
    flat += _recolouring(flat, seen, lie, cap, same, (hair, own))
    draw_ears(flat, lie, worn.cheeks, worn.traits, same)
    draw_neck(flat, locks, lie, worn.cheeks, worn.traits)
    locks += cap.share_of(same) * (np.float32(strand_levels(own)) - locks)
    bald = forehead_weight(lie, cap, float(worn.traits[Trait.HAIR_LOW]))
    forehead = forehead_colour(worn.painted, lie, worn.skin)
    forehead = laid_over(forehead, SHADOW * worn.skin, shade_under_hair(lie, cap.hairline))
    pixels = laid_over(cap.drawn_over(flat, own, same), forehead, bald)
    return Drawn(pixels, cap.hairline, np.asarray(locks * (1 - bald), np.float32))


def _recolouring(
    flat: Float32,
    seen: Seen,
    lie: Surrounded,
    cap: HairCap,
    same: Float32,
    colours: tuple[Float32, Float32],
) -> Float32:
    """What makes the subject's hair as bright as the surrogate's: float32[S, S, 3], to be added."""
    hair, own = colours
    walls = walls_behind(seen.around, seen.known, lie.corners)
    weight = cap.fading * np.float32(told_from_wall(walls, hair))
    weight *= np.maximum(same, hair_share(flat, hair, walls))
    return np.asarray(cv2.merge([weight * level for level in own - hair]), np.float32)


def shade_under_hair(lie: Surrounded, hairline: Float32) -> Float32:
    """How dark hair makes the forehead below it: float32[S, S], `_SHADE` at the hairline.

    Args:
        lie: where the face lies.
        hairline: float32[S, S], px below it.
    """
    reach = _SHADE_REACH * lie.unit
    forehead = rise(lie.down(slice(None)), *_FOREHEAD) * (hairline > -reach)
    return np.asarray(_SHADE * forehead * (1 - rise(hairline, 0, reach)), np.float32)
