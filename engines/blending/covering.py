"""Covers over all faces of a frame that get one: painted from the picture, then written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.blending.covers import Cover, ellipses_over, grown_box
from engines.blending.muted_cover import CELLS, Ellipses, Figure, figure
from engines.errors import EngineFault
from engines.face.alignment import sized_region
from engines.pictures import BgrImage, Picture
from engines.types import Box, Landmarks, Track

__all__ = ["cover_faces", "covered_region"]

_SURE_SCORE: Final = 0.5
_AROUND: Final = 1.6
"""Size of the region in which colours are looked for over the size of the cover."""

Window = tuple[int, int, int, int]
"""Top, left, height and width in the picture, px."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one face's cover lies.

    Attributes:
        outer: the cover.
        inner: the face's box; None where no part of it is in the picture.
        landmarks: (5, 2) px of `outer`.
        box: (4,) x0 y0 x1 y1 px of `outer`.
        is_sure: the detector is rather sure of the face.
    """

    outer: Window
    inner: Window | None
    landmarks: Landmarks
    box: Box
    is_sure: bool


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
    if cover.is_soft:
        _write_soft(picture, tracks, max(margin, 1.0))
        return
    found = [_place(picture, track, margin) for track in tracks]
    places = [place for place in found if place is not None]
    places.sort(key=lambda one: (one.is_sure, -one.outer[2] * one.outer[3]))
    _write_painted(picture, places, cover)


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


def _write_soft(picture: Picture, tracks: Sequence[Track], margin: float) -> None:
    """Writes soft covers, all painted before the first is written."""
    boxes = [_sound_box(track) for track in tracks]
    made: list[tuple[Window, Figure]] = []
    for place, (track, box) in enumerate(zip(tracks, boxes, strict=True)):
        region = _widened(_region(track, margin), _AROUND)
        window = sized_region(region, picture)
        if window is None:
            continue
        shift = np.tile(np.array([window[1], window[0]], np.float64), 2)
        over = ellipses_over(box, track.face.landmarks_px, margin)
        over = Ellipses(over.face - shift, over.head - shift)
        others = [
            (other - shift).astype(np.float32) for other in boxes[:place] + boxes[place + 1 :]
        ]
        colours = picture.region_bgr(*window, scaled=(CELLS, CELLS))
        made.append((window, figure(colours, window[2], window[3], over, others)))
    for (top, left, _, _), one in made:
        picture.blend(top, left, one.pixels.astype(np.float32), one.alpha)


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
    box = _sound_box(track)
    outer = sized_region(_region(track, margin), picture)
    if outer is None:
        return None
    shift = np.array([outer[1], outer[0]], np.float32)
    return _Place(
        outer,
        sized_region(box, picture),
        (track.face.landmarks_px - shift).astype(np.float32),
        (box - np.tile(shift, 2)).astype(np.float32),
        track.face.score >= _SURE_SCORE,
    )


def _sound_box(track: Track) -> NDArray[np.float64]:
    """A face's box x0 y0 x1 y1 px.

    Raises:
        EngineFault: it is not finite or empty.
    """
    box = track.face.box_px.astype(np.float64)
    if not np.isfinite(box).all() or box[2] <= box[0] or box[3] <= box[1]:
        raise EngineFault("a face box is not finite or empty; cover the whole frame")
    return box


def _widened(region: NDArray[np.floating], factor: float) -> NDArray[np.float64]:
    middle, half = (region[:2] + region[2:]) / 2, (region[2:] - region[:2]) / 2 * factor
    return np.concatenate([middle - half, middle + half]).astype(np.float64)
