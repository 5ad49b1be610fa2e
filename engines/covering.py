"""Covers over all faces of a frame that get one: painted from the picture, then written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.alignment import sized_region
from engines.covers import Cover, grown_box
from engines.errors import EngineFault
from engines.pictures import BgrImage, Picture
from engines.types import Track

__all__ = ["cover_faces"]

_SURE_SCORE: Final = 0.5


@dataclass(frozen=True, slots=True)
class _PaintedCover:
    """One face's cover, made but not yet written.

    Attributes:
        outer: top, left, height, width of the cover in the picture, px.
        inner: the same of the face's box; None where no part of it is in the picture.
        pixels: height×width×3 uint8 BGR of the cover.
        drawn: height×width float32, 1 where the cover changes the picture; None: everywhere.
        is_sure: the detector is rather sure of the face.
    """

    outer: tuple[int, int, int, int]
    inner: tuple[int, int, int, int] | None
    pixels: BgrImage
    drawn: NDArray[np.float32] | None
    is_sure: bool

    def write(self, picture: Picture) -> None:
        """Writes the whole cover."""
        top, left, _, _ = self.outer
        if self.drawn is None:
            picture.overwrite(top, left, self.pixels)
        else:
            picture.blend(top, left, self.pixels.astype(np.float32), self.drawn)

    def write_inner(self, picture: Picture) -> None:
        """Writes the part on the face's box once more."""
        if self.inner is None:
            return
        top, left, height, width = self.inner
        down, right = top - self.outer[0], left - self.outer[1]
        part = self.pixels[down : down + height, right : right + width]
        picture.overwrite(top, left, np.ascontiguousarray(part))


def cover_faces(picture: Picture, tracks: Sequence[Track], cover: Cover, margin: float) -> None:
    """Covers faces; where covers overlap, no margin lies on another face's box.

    A cover is to show itself whole on its face. Where boxes overlap too, a sure face lies above
    a doubtful one, else the smaller on top: it stands before the larger one or beside it. All
    covers are painted from the picture as it was, so none depends on another.

    Args:
        picture: edited in place.
        tracks: the faces to cover.
        cover: what to draw.
        margin: width of a cover over width of the face's box, at least 1.

    Raises:
        EngineFault: a box is not finite or empty, or the cover gave no picture of its size.
    """
    painted = [_painted_cover(picture, track, cover, margin) for track in tracks]
    placed = [one for one in painted if one is not None]
    placed.sort(key=lambda one: (one.is_sure, -one.outer[2] * one.outer[3]))
    for one in placed:
        one.write(picture)
    if cover.is_partial:
        return
    for one in placed:
        inner = one.inner
        if inner and any(_meet(inner, other.outer) for other in placed if other is not one):
            one.write_inner(picture)


def _meet(first: tuple[int, int, int, int], second: tuple[int, int, int, int]) -> bool:
    apart_down = first[0] >= second[0] + second[2] or second[0] >= first[0] + first[2]
    apart_right = first[1] >= second[1] + second[3] or second[1] >= first[1] + first[3]
    return not (apart_down or apart_right)


def _painted_cover(
    picture: Picture, track: Track, cover: Cover, margin: float
) -> _PaintedCover | None:
    box = track.face.box_px.astype(np.float64)
    if not np.isfinite(box).all() or box[2] <= box[0] or box[3] <= box[1]:
        raise EngineFault("a face box is not finite or empty; cover the whole frame")
    outer = sized_region(grown_box(box, max(margin, 1.0), track.face.landmarks_px), picture)
    if outer is None:
        return None
    crop = picture.region_bgr(*outer)
    shift = np.array([outer[1], outer[0]], np.float32)
    pixels = cover.paint(
        crop,
        (track.face.landmarks_px - shift).astype(np.float32),
        (box - np.tile(shift, 2)).astype(np.float32),
    )
    if pixels.shape != crop.shape or pixels.dtype != np.uint8:
        raise EngineFault(f"cover {cover.name} gave {pixels.shape} {pixels.dtype}")
    drawn = (crop != pixels).any(axis=2).astype(np.float32) if cover.is_partial else None
    is_sure = track.face.score >= _SURE_SCORE
    return _PaintedCover(outer, sized_region(box, picture), pixels, drawn, is_sure)
