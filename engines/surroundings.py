"""Continues what is around a swapped face up to it, and gives its head the surrogate's hairline.

A stranger's face on an untouched head is still recognised more often than by chance: where hair
begins tells people apart. So that is read (`engines.hairline`), and the surrogate's hair is drawn
from where its own begins into the subject's, see `engines.reshaping`; the rest of the head stays as
it is, and skin runs on from the face, see `engines.seam`. Only the composite itself is looked at,
in which every face has been replaced or covered: nothing can bring one back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import (
    Similarity,
    crop_from_picture,
    inverse_of,
    moved,
    scale_of,
    sized_region,
    to_integer_centres,
)
from engines.crop_regions import inside_of, within_boxes
from engines.ears import NO_EARS, ears_of
from engines.forehead import forehead_distances, forehead_tone, is_forehead, shading
from engines.hair_sources import sources_of
from engines.hair_strands import combed, middle_of
from engines.hair_tone import HairColour, brow_colour, hair_colour, tone_beyond, toned_hair
from engines.hairline import Hair, hair_from_stack
from engines.head_layer import Fields, crispness, fields_from_rays, head_layer, narrowed
from engines.head_memory import HeadMemory, Reading
from engines.head_traits import Trait
from engines.hidden_hair import amount_of, with_hidden
from engines.natural_hair import natural_hair
from engines.patches import Patch, Placed
from engines.pictures import Picture
from engines.polar import (
    CELL,
    GRID,
    MIDDLE,
    UP,
    along,
    bounds,
    distances,
    grid_from_rays,
    hidden_radii,
    outline_radii,
    rays_from_grid,
    seen_along,
    within,
)
from engines.reshaping import Rim, filled_radii, rim_of, tapered
from engines.seam import contour_of, neighbours_of, toned
from engines.stylegan.drawing import rise
from engines.types import Box

__all__ = ["continued", "grid_place"]

_TREMBLES: Final = 0.01
"""How far a patch's rim moves from frame to frame of a steady face, shares of its side."""
_INSIDE: Final = 0.06
"""How far inside its rim a painted face is looked at for its colour."""
_UNLIKE: Final = 0.008
_RADII: Final = 2
"""Mean difference of a reading of hair from those before that is looked into at once; of where it
begins and ends, as most places are never hair."""
_FOLLOWED: Final = 0.5
"""Share of the way from what was drawn around a head to what is read of it in a third frame."""
_HEIGHT: Final = rise(UP, 0.3, 0.7)
"""How much of a painted face's end is a forehead's, float32[RAYS]."""
_MIDDLE: Final = np.array(MIDDLE, np.float32)
_RIM: Final = np.ones((5, 5), np.uint8)
"""Cells around another face's box that are of its colour in part."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a face, as if no other face were there.

    Attributes:
        crop: float32[GRID, GRID, 3] BGR.
        rays: float32[RAYS, STEPS, 3], the same along rays.
        clear: bool[RAYS, STEPS], which places of rays are truly seen.
    """

    crop: Float32
    rays: Float32
    clear: NDArray[np.bool_]


def continued(picture: Picture, patch: Patch, others: Sequence[Box]) -> Placed | None:
    """The surroundings of one face, to be blended over the picture.

    Args:
        picture: the composite, with every face already replaced or covered; not changed.
        patch: the face's patch as it was placed, with an outline.
        others: boxes x0 y0 x1 y1 px of the frame of the other faces; nothing changes there, and
            covers that lie there are not taken for hair.

    Returns:
        Pixels and weights in a window of the frame; None without an outline, or where the
        window lies outside the frame.

    Raises:
        EngineFault: the patch is not placed by a similarity, or reading its hair failed.
    """
    if patch.outline is None:
        return None
    place, outline = grid_place(patch), outline_radii(patch.outline)
    memory = HeadMemory() if patch.memory is None else patch.memory

    def planned() -> tuple[Fields, Float32]:
        return _planned(picture, patch, memory, place, outline, others)

    fields, end = memory.while_still(outline, planned, _between)
    region = _region(picture, place, end)
    if region is None:
        return None
    return head_layer(picture, place, region, fields, others, patch.softness_px)


def _between(before: tuple[Fields, Float32], now: tuple[Fields, Float32]) -> tuple[Fields, Float32]:
    """What happens around a head, part of the way from what did before, and how far rays reach."""
    share = np.float32(_FOLLOWED)
    end = before[1] + share * (now[1] - before[1])
    return before[0].followed_by(now[0], _FOLLOWED), np.maximum(end, now[1])


def _planned(
    picture: Picture,
    patch: Patch,
    memory: HeadMemory,
    place: Similarity,
    outline: Float32,
    others: Sequence[Box],
) -> tuple[Fields, Float32]:
    """What happens around a face, and how far rays reach there.

    Args:
        picture: the composite.
        patch: as it was placed.
        memory: of its head.
        place: map from the frame to the grid around it.
        outline: float32[RAYS], radius of the painted face.
        others: boxes of other faces.
    """
    hidden = _hidden(patch, memory, outline)
    around = _around(picture, place, hidden, others)
    painted = rays_from_grid(_painted(patch))
    face = tapered(filled_radii(outline, hidden, painted))
    face = outline + memory.steadied(Reading.FILLED, face - outline)
    # Foreheads end at hairlines, which brows and a noisy outline do not move.
    face += _HEIGHT * (memory.steadied(Reading.FACE, face) - face)
    hair = _hair(patch, memory, around, hidden, painted, outline)
    rim = rim_of(face, hidden, hair, patch.head)
    sources = sources_of(rim)
    colour = None if hair is None else _colour(memory)
    strands, cropped, middle = np.zeros((*around.clear.shape, 4), np.float32), 0.0, 0.0
    seen = along(around.rays, sources.distance)
    tone = np.zeros_like(seen)
    if hair is not None and patch.head is not None and colour is not None:
        strands = np.stack([*combed(rim.painted, patch.head), sources.drawn], axis=2)
        cropped, middle = float(patch.head[Trait.CROPPED]), middle_of(patch.head)
        tone = _tone(memory, around.rays, hair, rim, colour)
        seen = seen + (colour.mean + tone - seen) * strands[..., 3:]
    sides = neighbours_of(seen, painted, rim.face, rim.painted)
    seam = toned(seen, sides, rim.painted)
    seam += (tone - seam) * strands[..., 3:]
    ends, skin = rise(distances() / rim.end[:, None], 1.0, 0.9), forehead_distances(rim)
    ears = NO_EARS
    if hair is not None:
        found = ears_of(around.rays, painted, hair, rim.painted, hidden)
        ears = memory.steadied(Reading.EARS, found)
    crisp = crispness(float(CELL) / scale_of(place), patch.softness_px)
    contour = 1 + (contour_of(sides, crisp) - 1) * (1 - rim.altered)
    beyond = narrowed(distances() - rim.painted[:, None], contour)
    fields = fields_from_rays(
        sources.distance - distances(),
        np.stack([beyond, ends], axis=2),
        strands,
        seam,
        np.stack([skin - distances(), is_forehead(rim), shading(rim)], axis=2),
        forehead_tone(painted, skin, rim),
        ears,
        colour,
        cropped,
        middle,
    )
    return fields, rim.end


def _around(picture: Picture, place: Similarity, hidden: Float32, others: Sequence[Box]) -> _Around:
    """See `_Around`; behind the edge of the frame and other faces, rays go on as before."""
    crop = crop_from_picture(picture, place, GRID).astype(np.float32)
    inside = inside_of(picture, place, GRID)
    beside = np.asarray(cv2.dilate(within_boxes(others, place, GRID), _RIM), np.uint8)
    if not beside.any():
        clear = seen_along(inside)
        return _Around(crop, within(rays_from_grid(crop), clear), clear)
    beside[grid_from_rays(hidden[:, None] - distances()) > 0] = 0
    clear = seen_along(inside * (1 - beside))
    rays = within(rays_from_grid(crop), clear)
    return _Around(np.where(beside[..., None] > 0, grid_from_rays(rays), crop), rays, clear)


def _colour(memory: HeadMemory) -> HairColour | None:
    """What colour the hair has, steadied in between readings; None before the first."""
    known = memory.known(Reading.SEEN)
    return None if known is None else HairColour(*memory.steadied(Reading.COLOUR, known))


def _keep_colour(memory: HeadMemory, colour: HairColour | None) -> None:
    """Keeps what colour a reading's hair has, by far the most of where most is seen.

    A thin rim of hair is half of what is behind it; and looked at in another frame than it was read
    in, hair may have moved.
    """
    if colour is not None:
        memory.weighed(Reading.SEEN, colour.stacked(), colour.seen**2)


def _tone(memory: HeadMemory, around: Float32, hair: Hair, rim: Rim, colour: HairColour) -> Float32:
    """What is added to drawn hair for it to go over into the subject's: float32[RAYS, STEPS, 3]."""
    tone = memory.steadied(Reading.TONE, tone_beyond(around, hair, rim, colour))
    return toned_hair(tone, rim)


def grid_place(patch: Patch) -> Similarity:
    """Map from the frame to the grid around a patch."""
    place = patch.crop_from_frame * np.float32(CELL / patch.alpha.shape[0])
    place[:, 2] += np.float32(GRID / 2) - CELL * _MIDDLE
    return np.asarray(place, np.float32)


def _hidden(patch: Patch, memory: HeadMemory, outline: Float32) -> Float32:
    """How far the patch reaches, and a little farther: its rim trembles with the landmarks."""
    hidden = hidden_radii(patch.alpha)
    steady = outline + memory.steadied(Reading.PATCH, hidden - outline)
    return np.asarray(np.maximum(hidden, steady + np.float32(_TREMBLES)), np.float32)


def _painted(patch: Patch) -> Float32:
    """A patch's pixels in the grid, the outermost beyond it: float32[GRID, GRID, 3]."""
    side = round(float(CELL))
    small = cv2.resize(patch.pixels, (side, side), interpolation=cv2.INTER_AREA)
    scale = np.float32(CELL / side)
    lies = np.array([[scale, 0, 0], [0, scale, 0]], np.float32)
    lies[:, 2] = np.float32(GRID / 2) - CELL * _MIDDLE
    mode = cv2.BORDER_REPLICATE
    place = to_integer_centres(lies)
    return np.asarray(cv2.warpAffine(small, place, (GRID, GRID), borderMode=mode), np.float32)


def _hair(
    patch: Patch,
    memory: HeadMemory,
    around: _Around,
    hidden: Float32,
    painted: Float32,
    outline: Float32,
) -> Hair | None:
    """Where the subject's hair is, read now and then and steadied in between; None to leave it."""
    reader = patch.hair
    if patch.head is None or reader is None:
        return None

    def read() -> Float32:
        inside = distances() < (outline - np.float32(_INSIDE))[:, None]
        skin = painted[inside].mean(axis=0)
        found = natural_hair(reader.read(around.crop, hidden, skin), around.rays, skin)
        amount = memory.most(Reading.AMOUNT, amount_of(found))
        if memory.known(Reading.SEEN) is None:  # until more of it is seen, hair is as brows are
            _keep_colour(memory, brow_colour(painted, outline))
        _keep_colour(memory, hair_colour(around.rays, found, around.clear))
        return with_hidden(found, amount, hidden, around.rays, skin).stacked()

    return hair_from_stack(memory.renewed(Reading.HAIR, read, _UNLIKE, _RADII))


def _region(picture: Picture, place: Similarity, end: Float32) -> tuple[int, int, int, int] | None:
    """Top, left, height and width of the window that rays reach; None outside the frame."""
    reach = bounds(end) * CELL
    left, top, right, bottom = np.float32(GRID / 2) + reach
    corners = np.array([[left, top], [right, top], [left, bottom], [right, bottom]], np.float32)
    seen = moved(inverse_of(place), corners)
    return sized_region(np.concatenate([seen.min(0), seen.max(0)]), picture)
