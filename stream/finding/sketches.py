"""Small pictures of frames, to tell whether a frame shows what those around it do not.

They are compared as the detector is shown the frames: what is a hint in the shadows of one is a
face once its tones are stretched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.detectors.tones import Tones
from engines.pictures import Picture
from tracker.passing import SKETCH_PX, passing_change

__all__ = ["Sketch", "is_passing", "sketch_of"]

_ALIKE: Final = 24
"""Grey levels by which tones differ at most that show the same. Larger: fewer searches where the
light changes; a face that only the new tones show is found later."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a frame looks like.

    Attributes:
        values: (h, w) float32 luma samples at their own depth, `SKETCH_PX` on the long side.
        levels: values of a sample in a grey level of 256.
        tones: further tones in which the frame is searched.
    """

    values: NDArray[np.float32]
    levels: int
    tones: tuple[Tones, ...]

    def shown(self, tones: Tones | None) -> NDArray[np.float32]:
        """In grey, 0…255, as it is or in some tones."""
        if tones is None:
            return self.values / np.float32(self.levels)
        return tones[np.rint(self.values).astype(np.intp)].astype(np.float32)


def sketch_of(picture: Picture, tones: tuple[Tones, ...]) -> Sketch:
    """The sketch of a frame that is searched in such tones; its picture is not changed."""
    scale = min(1.0, SKETCH_PX / max(picture.height, picture.width))
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    luma = picture.planes[0] if picture.layout != "bgr" else picture.planes[0][..., 1]
    small = cv2.resize(luma, size, interpolation=cv2.INTER_AREA)
    return Sketch(small.astype(np.float32), 1 << (picture.bit_depth - 8), tones)


def is_passing(
    between: Sketch,
    before: Sketch,
    after: Sketch,
    least: float,
    known: Sequence[NDArray[np.float32]] = (),
) -> bool:
    """Whether a frame shows what neither of two others does, or is searched in other tones.

    Args:
        between: the frame.
        before: an earlier one that was searched.
        after: a later one.
        least: see `SpanSettings.passing_change`.
        known: (4,) x0 y0 x1 y1, shares of width and height, of places that count for nothing.
    """
    ends = before, after
    if not all(_has_alike(tones, end.tones) for tones in between.tones for end in ends):
        return True
    shown = replace(between, values=_with_places_of(before, between, known))
    return any(
        passing_change(shown.shown(tones), *(end.shown(tones) for end in ends)) >= least
        for tones in (None, *between.tones)
    )


def _with_places_of(
    other: Sketch, sketch: Sketch, places: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The values of a sketch with those of another at some places."""
    if not places or other.values.shape != sketch.values.shape:
        return sketch.values
    values = sketch.values.copy()
    height, width = values.shape
    for place in places:
        first, last = place.reshape(2, 2) * (width, height)
        (x0, y0), (x1, y1) = np.ceil(first.clip(0)).astype(int), np.floor(last.clip(0)).astype(int)
        values[y0:y1, x0:x1] = other.values[y0:y1, x0:x1]
    return values


def _has_alike(tones: Tones, others: tuple[Tones, ...]) -> bool:
    return any(
        one.shape == tones.shape and np.abs(one.astype(np.int16) - tones).max() <= _ALIKE
        for one in others
    )
