"""How much of a clip was touched without need, and how many of its faces were swapped.

Measures P2 and P3 of the evaluation: pixels that changed outside 1.3 times the boxes of true
faces, changed places that lie on no face, followed over time, and what became of true faces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import overlaps_of
from engines.pictures import BgrImage
from engines.types import Box, Face
from evaluation.bare import is_bare
from evaluation.consensus import Consensus
from evaluation.false_tracks import FalseKind, FalseTracks, joined, resized
from evaluation.under_cover import is_under_cover

__all__ = ["Fate", "Touch", "TouchMeter", "changed_pixels"]

Mask = NDArray[np.bool_]
"""H×W."""
Fate = Literal["swapped", "covered", "bare"]
"""What became of a true face."""

_SWAP_PX: Final = 40.0
"""Size from which faces are counted by fate."""
_LEAST_PX: Final = 16.0
"""Size from which bare faces are counted."""
_AROUND: Final = 1.3
"""Size of what may change for a face over the size of its box."""
_CHANGE: Final = 12.0
"""Grey levels, mean of 3×3 pixels, from which a pixel counts as changed; encoders change less."""
_LEAST_SPOT_PX: Final = 150
"""Area from which a changed place counts as a cover."""
_THIN_PX: Final = 5
"""Width up to which a changed place is a rim or noise, and no place of its own."""
_ON_FACE: Final = 0.2
"""Share of a changed place on true faces from which it belongs to one."""
_HEAD: Final = 2.0
"""Size of a head with what is around it, over that of its face's box."""
_SPECK: Final = 0.1
"""Area of a changed place beside a face, over its box, up to which it is part of what was done to
that head: of a cover in the dark only what was bright counts as changed. It is needless still."""
_SAME_FACE: Final = 0.3
"""Intersection over union from which two finds are one."""


@dataclass(slots=True)
class Touch:
    """Figures of one clip or of several, which add up.

    Attributes:
        pixels: pixels of all frames.
        needless: pixels changed outside what belongs to faces.
        false_kinds: places on no face that were changed, each counted once over its time, by
            where they lie.
        seconds: length.
        fates: what became of the true faces of at least 40 px that the picture shows in whole, by
            fate.
        bare: true faces of at least 16 px left as they were.
        faces: true faces of at least 16 px.
        disputed: finds of one detector alone.
    """

    pixels: int = 0
    needless: int = 0
    false_kinds: dict[FalseKind, int] = field(default_factory=dict)
    seconds: float = 0.0
    fates: dict[Fate, int] = field(default_factory=lambda: {"swapped": 0, "covered": 0, "bare": 0})
    bare: int = 0
    faces: int = 0
    disputed: int = 0

    @property
    def needless_share(self) -> float:
        """Share of all pixels changed without need, 0 to 1."""
        return self.needless / max(self.pixels, 1)

    @property
    def false_tracks(self) -> int:
        """Tracks on no face."""
        return sum(self.false_kinds.values())

    @property
    def false_tracks_a_minute(self) -> float:
        """Tracks on no face a minute."""
        return 60 * self.false_tracks / max(self.seconds, 1e-9)

    @property
    def swapped_share(self) -> float:
        """Share of the true faces of at least 40 px that were swapped, 0 to 1."""
        return self.fates["swapped"] / max(sum(self.fates.values()), 1)


class TouchMeter:
    """Adds up a clip, frame by frame."""

    def __init__(self) -> None:
        self.touch = Touch()
        self._false = FalseTracks()

    def add(
        self,
        original: BgrImage,
        anonymized: BgrImage,
        true: Consensus,
        found_again: Sequence[Face],
        time_s: float,
    ) -> None:
        """Takes in the next frame.

        Args:
            original: H×W×3 uint8 BGR.
            anonymized: the same frame afterwards.
            true: its faces.
            found_again: what a detector finds in the anonymized frame; a swapped face is found.
            time_s: its time.
        """
        changed = changed_pixels(original, anonymized)
        faces = true.boxes
        near = _near(faces, changed.shape)
        self.touch.pixels += changed.size
        self.touch.needless += int((changed & ~near).sum())
        self.touch.seconds = max(self.touch.seconds, time_s)
        self.touch.disputed += len(true.disputed)
        spots = _spots(changed, near)
        own = [spot for spot in spots if not any(_is_speck(spot, face) for face in faces)]
        self._false.add(joined(own), faces, time_s)
        self.touch.false_kinds = self._false.kinds()
        for face in true.faces:
            self._judge(face, original, anonymized, found_again)

    def _judge(
        self, face: Face, original: BgrImage, anonymized: BgrImage, found_again: Sequence[Face]
    ) -> None:
        size = face.size_px
        if size < _LEAST_PX:
            return
        self.touch.faces += 1
        is_left = is_bare(original, anonymized, face.box_px)
        self.touch.bare += is_left
        if size < _SWAP_PX or _is_cut(face, original.shape):
            return
        boxes = np.array([one.box_px for one in found_again], np.float64).reshape(-1, 4)
        own = face.box_px[None].astype(np.float64)
        is_found = bool((overlaps_of(own, boxes) >= _SAME_FACE).any())
        # Detectors take a plain cover on shoulders for a head at times.
        is_swapped = is_found and not is_under_cover(anonymized, face)
        self.touch.fates["bare" if is_left else "swapped" if is_swapped else "covered"] += 1


def changed_pixels(original: BgrImage, anonymized: BgrImage) -> Mask:
    """Which pixels of a frame differ by more than what encoders do.

    >>> grey = np.full((20, 20, 3), 90, np.uint8)
    >>> covered = grey.copy()
    >>> covered[5:15, 5:15] = 150
    >>> int(changed_pixels(grey, covered).sum()) in range(90, 145)
    True
    """
    off = cv2.absdiff(original, anonymized).max(axis=2)
    smooth = cv2.blur(off.astype(np.float32), (3, 3))
    return np.asarray(smooth > _CHANGE)


def _is_cut(face: Face, shape: tuple[int, ...]) -> bool:
    """Whether the picture's edge cuts a face: an eye, the nose or a mouth's corner lies beyond it.

    Nobody could paint such a face.
    """
    beyond = (face.landmarks_px < 0) | (face.landmarks_px >= shape[1::-1])
    return bool(beyond.any())


def _spots(changed: Mask, near: Mask) -> Iterable[NDArray[np.float64]]:
    """(4,) boxes x0 y0 x1 y1 px of the changed places that belong to no face."""
    kernel = np.ones((_THIN_PX, _THIN_PX), np.uint8)
    solid = cv2.morphologyEx(changed.astype(np.uint8), cv2.MORPH_OPEN, kernel)
    count, marks, stats, _ = cv2.connectedComponentsWithStats(solid)
    for number in range(1, count):
        left, top, width, height, area = stats[number].tolist()
        if area < _LEAST_SPOT_PX:
            continue
        rows, columns = slice(top, top + height), slice(left, left + width)
        is_own = marks[rows, columns] == number
        if near[rows, columns][is_own].mean() < _ON_FACE:
            yield np.array([left, top, left + width, top + height], np.float64)


def _is_speck(spot: NDArray[np.float64], face: Box) -> bool:
    """Whether a changed place is a small part of what lies around a face."""
    middle, head = (spot[:2] + spot[2:]) / 2, resized(face.astype(np.float64), _HEAD)
    is_inside = bool((head[:2] < middle).all() and (middle < head[2:]).all())
    areas = [float(np.prod(box[2:] - box[:2])) for box in (spot, face)]
    return is_inside and areas[0] <= _SPECK * areas[1]


def _near(boxes: Sequence[Box], shape: tuple[int, ...]) -> Mask:
    near = np.zeros(shape, np.bool_)
    for box in boxes:
        near[_slices(resized(box.astype(np.float64), _AROUND), shape)] = True
    return near


def _slices(box: NDArray[np.float64], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Rows and columns of a box x0 y0 x1 y1 px, inside a picture."""
    x0, y0 = np.floor(box[:2]).astype(int).tolist()
    x1, y1 = np.ceil(box[2:]).astype(int).tolist()
    height, width = shape[:2]
    rows = slice(min(max(y0, 0), height), min(max(y1, 0), height))
    return rows, slice(min(max(x0, 0), width), min(max(x1, 0), width))
