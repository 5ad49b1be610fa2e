"""Covers over all faces of a frame that get one: painted from the picture, then written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.alignment import sized_region
from engines.covers import Cover, Layers, grown_box
from engines.crop_regions import middle_of_box
from engines.errors import EngineFault
from engines.muted_cover import differs_clearly
from engines.pictures import BgrImage, Picture
from engines.types import Box, Landmarks, Track

__all__ = ["cover_faces", "covered_region"]

_SURE_SCORE: Final = 0.5
_FEATHER: Final = 0.08
"""How far ground goes over into the picture beyond a cover's region, shares of its sides."""
_SMALL: Final = 1 / 20
"""Side of a box, as a share of the picture's shorter side, below which a find is small."""

_SEEN: Final = 1
_CUT: Final = 2

Window = tuple[int, int, int, int]
"""Top, left, height and width in the picture, px."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one face's cover lies.

    Attributes:
        outer: the cover.
        around: the cover and as far as its ground goes over into the picture.
        inner: the face's box; None where no part of it is in the picture.
        landmarks: (5, 2) px of `outer`.
        box: (4,) x0 y0 x1 y1 px of `outer`.
        is_sure: the detector is rather sure of the face.
        shows_face: its figure is shown even where ground alone would hide it.
        cut: whether the picture ends before the cover and its ground do, above, on the left, below
            and on the right.
    """

    outer: Window
    around: Window
    inner: Window | None
    landmarks: Landmarks
    box: Box
    is_sure: bool
    shows_face: bool
    cut: tuple[bool, bool, bool, bool]


def cover_faces(picture: Picture, tracks: Sequence[Track], cover: Cover, margin: float) -> None:
    """Covers faces; where covers overlap, no margin lies on another face's box.

    A cover is to show itself whole on its face. Where boxes overlap too, a sure face lies above
    a doubtful one, else the smaller on top: it stands before the larger one or beside it. What
    is shown of a face is painted from the picture as it was, so none depends on another.

    Args:
        picture: edited in place.
        tracks: the faces to cover.
        cover: what to draw.
        margin: width of a cover over width of the face's box, at least 1.

    Raises:
        EngineFault: a box is not finite or empty, or the cover gave no picture of its size.
    """
    found = [_place(picture, track, margin) for track in tracks]
    places = [place for place in found if place is not None]
    places.sort(key=lambda one: (one.is_sure, -one.outer[2] * one.outer[3]))
    if cover.layers is None:
        _write_painted(picture, places, cover)
    else:
        _write_layers(picture, places, cover.layers, cover.name)


def covered_region(picture: Picture, track: Track, margin: float) -> Window | None:
    """The window that a face's cover takes; None outside the picture.

    Raises:
        EngineFault: the box is not finite.
    """
    return sized_region(_region(track, margin), picture)


def _region(track: Track, margin: float) -> Box:
    """The region x0 y0 x1 y1 px that a face's cover takes, beyond the picture too."""
    face = track.face
    return grown_box(face.box_px.astype(np.float64), max(margin, 1.0), face.landmarks_px)


def _write_painted(picture: Picture, places: Sequence[_Place], cover: Cover) -> None:
    """Writes whole covers, then the boxes of those on which another cover may lie."""
    crops = [picture.region_bgr(*place.outer) for place in places]
    painted = [
        _sound(cover.paint(crop, place.landmarks, place.box), place.outer, cover.name)
        for crop, place in zip(crops, places, strict=True)
    ]
    for place, crop, pixels in zip(places, crops, painted, strict=True):
        top, left, _, _ = place.outer
        if cover.is_partial:
            drawn = (crop != pixels).any(axis=2).astype(np.float32)
            picture.blend(top, left, pixels.astype(np.float32), drawn)
        else:
            picture.overwrite(top, left, pixels)
    if cover.is_partial:
        return
    for place, pixels in zip(places, painted, strict=True):
        others = (other.outer for other in places if other is not place)
        if place.inner and any(_meet(place.inner, other) for other in others):
            top, left, height, width = place.inner
            down, right = top - place.outer[0], left - place.outer[1]
            part = pixels[down : down + height, right : right + width]
            picture.overwrite(top, left, np.ascontiguousarray(part))


def _write_layers(picture: Picture, places: Sequence[_Place], layers: Layers, name: str) -> None:
    """Writes every ground, each from what is around it by then, and figures on them.

    Most finds that the tracker has not confirmed are lamps, hands or backs of heads, which look odd
    with a face: they get ground alone, where that clearly differs from what it hides. Small ones do
    not catch the eye, and to recognisers small blanks look like anybody: those keep the face.
    """
    crops = [picture.region_bgr(*place.outer) for place in places]
    # Grounds run on from what is around them: where that is another's face, its colour is.
    for place, crop in zip(places, crops, strict=True):
        others = (other.around for other in places if other is not place)
        if place.inner and any(_meet(place.inner, other) for other in others):
            top, left, height, width = place.inner
            tone = crop[middle_of_box(place.box, *crop.shape[:2])].mean(axis=(0, 1))
            picture.overwrite(top, left, np.full((height, width, 3), tone, np.uint8))
    shown = []
    for place, crop in zip(places, crops, strict=True):
        top, left, height, width = place.around
        cells = picture.region_bgr(*place.around, scaled=(layers.cells, layers.cells))
        _clear_cut_sides(cells, place.cut)
        ground = _sound(layers.ground(cells, height, width), place.around, name)
        picture.blend(top, left, ground.astype(np.float32), _feather(place))
        if place.shows_face or not _hides(ground, crop, place):
            shown.append((place, crop))
    for place, crop in shown:
        figure = layers.figure(crop, place.landmarks, place.box)
        picture.blend(*place.outer[:2], figure.pixels.astype(np.float32), figure.alpha)


def _clear_cut_sides(cells: BgrImage, cut: tuple[bool, bool, bool, bool]) -> None:
    """Gives the sides of a region that the picture's edge cuts the mean colour of the others.

    Along an edge that cuts a face, the outermost cells are the face itself.

    Args:
        cells: N×N×3 uint8 BGR, changed.
        cut: see `_Place`.
    """
    if not any(cut):
        return
    marks = np.zeros(cells.shape[:2], np.uint8)
    for wanted in (False, True):
        sides = (marks[0], marks[:, 0], marks[-1], marks[:, -1])
        for side, is_cut in zip(sides, cut, strict=True):
            if is_cut == wanted:
                side[:] = _CUT if is_cut else _SEEN
    around = cells[marks == _SEEN] if (marks == _SEEN).any() else cells.reshape(-1, 3)
    cells[marks == _CUT] = np.rint(around.mean(axis=0))


def _hides(ground: BgrImage, crop: BgrImage, place: _Place) -> bool:
    """Whether the middle of a box differs clearly from the ground that is laid over it."""
    rows, columns = middle_of_box(place.box, *crop.shape[:2])
    down, right = place.outer[0] - place.around[0], place.outer[1] - place.around[1]
    laid = ground[
        rows.start + down : rows.stop + down, columns.start + right : columns.stop + right
    ]
    return differs_clearly(laid, crop[rows, columns])


def _feather(place: _Place) -> NDArray[np.float32]:
    """How opaque ground is: float32 as `around`, 1 on the cover, falling to 0 beside it."""
    sides = []
    for axis in (0, 1):
        places = np.arange(place.around[axis + 2]) + place.around[axis] + 0.5
        first, size = place.outer[axis], place.outer[axis + 2]
        beyond = np.maximum(np.maximum(first - places, places - first - size), 0)
        sides.append(np.clip(1 - beyond / max(_FEATHER * size, 1), 0, 1).astype(np.float32))
    return np.asarray(np.minimum.outer(*sides), np.float32)


def _sound(pixels: BgrImage, window: Window, name: str) -> BgrImage:
    """What a cover gave, if it is a picture of the window's size."""
    if pixels.shape != (*window[2:], 3) or pixels.dtype != np.uint8:
        raise EngineFault(f"cover {name} gave {pixels.shape} {pixels.dtype}")
    return pixels


def _meet(first: Window, second: Window) -> bool:
    apart_down = first[0] >= second[0] + second[2] or second[0] >= first[0] + first[2]
    apart_right = first[1] >= second[1] + second[3] or second[1] >= first[1] + first[3]
    return not (apart_down or apart_right)


def _place(picture: Picture, track: Track, margin: float) -> _Place | None:
    box = track.face.box_px.astype(np.float64)
    if not np.isfinite(box).all() or box[2] <= box[0] or box[3] <= box[1]:
        raise EngineFault("a face box is not finite or empty; cover the whole frame")
    region = _region(track, margin)
    outer = sized_region(region, picture)
    wider = np.tile(_FEATHER * (region[2:] - region[:2]), 2) * np.array([-1, -1, 1, 1])
    around = sized_region(region + wider, picture)
    if outer is None or around is None:
        return None
    shift = np.array([outer[1], outer[0]], np.float32)
    return _Place(
        outer,
        around,
        sized_region(box, picture),
        (track.face.landmarks_px - shift).astype(np.float32),
        (box - np.tile(shift, 2)).astype(np.float32),
        track.face.score >= _SURE_SCORE,
        track.is_confirmed or min(box[2:] - box[:2]) < _SMALL * min(picture.height, picture.width),
        _cut_by(picture, region + wider),
    )


def _cut_by(picture: Picture, region: NDArray[np.floating]) -> tuple[bool, bool, bool, bool]:
    """On which sides a region x0 y0 x1 y1 reaches beyond the picture, see `_Place`."""
    x0, y0, x1, y1 = (float(value) for value in region)
    return y0 < 0, x0 < 0, y1 > picture.height, x1 > picture.width
