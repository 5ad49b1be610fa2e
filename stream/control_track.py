"""One face's control over time: steady where the face is, quick where it moves, no flipping.

Landmarks are read in crops whose place trembles with the detector. They are therefore kept
in the frame's pixels, taken apart into the motion of the whole head and the shape of the
face, and smoothed there; the crop in which the surrogate is painted follows from them. Where
landmarks of neighbouring frames can be carried along with their pixels, their mean is taken
instead: it moves as the pixels do.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from engines.alignment import EYES, Similarity
from engines.face_flow import FaceFlow
from engines.face_look import (
    Look,
    apart,
    crop_with_eyes,
    eyes_closer,
    painted_points,
    painting_place,
    points_in_frame,
)
from engines.motion_grid import grid_in_frame
from engines.occlusion import Occlusion
from engines.pictures import Picture
from engines.stylegan.contrast import UNBOUNDED
from engines.stylegan.lids import lids_as_read
from engines.swapper import LANDMARK_SIZE
from stream.following import FOLLOWING, Stretch, gap_around, stretch_around
from tracker.one_euro import OneEuro

__all__ = ["ControlTrack", "Steady"]

_NOISE: Final = 0.012
"""Error of one landmark, in distances of the eyes, that smoothing takes for noise; larger is
calmer and blunts quick expressions."""
_CARRIED_NOISE: Final = 0.025
"""The same for landmarks that come along with their pixels: what is left is noise, but for
eyelids and lips, whose pixels are hard to follow."""
_REACH_S: Final = 0.14
"""Time before and after a frame that smoothing looks at."""
_FRONT_FRAMES: Final = 2
"""Frames before and after whose marks are taken together; more are calmer and blunt fingers."""
_NOTHING: Final = np.zeros((LANDMARK_SIZE, LANDMARK_SIZE), np.float32)
_MOST_FRAMES: Final = 8
"""Frames before and after it that smoothing looks at in any case: timestamps may be broken."""
_SLACK_S: Final = 0.005
_KEPT_FRAMES: Final = 64
"""Frames to the newest after which a look is forgotten in any case."""
_LEAST_FITTED: Final = 4
Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Steady:
    """Control to paint with.

    Attributes:
        points: float32[POINTS, 3], units of the crop that `crop_from_frame` cuts.
        light: float32[2, 4, 4, 3].
        doubt: of the landmarks, crop units.
        motion: float32[4], see `Look`.
        occlusion: what is in front of the face in this frame; None where nothing is, or where
            the frame's look was bridged.
        contrast: of the face, see `engines.stylegan.contrast`.
    """

    points: Float32
    light: Float32
    doubt: float
    motion: Float32
    occlusion: Occlusion | None = None
    contrast: float = UNBOUNDED

    def crop_from_frame(self, size: int) -> Similarity:
        """Map from the frame to a crop of side `size` px in units of which `points` are."""
        return painting_place(self.motion, self.points, size)


@dataclass(slots=True)
class ControlTrack:
    """Smooths one face's control, and says when it is better covered.

    Attributes:
        limit: doubt above which a face is not followed.
        flow: where the face's pixels go from frame to frame, as far as looks were taken.
    """

    limit: float
    flow: FaceFlow = field(default_factory=FaceFlow)
    _looks: list[Look] = field(default_factory=list)
    _state: Literal["new", "hidden", "shown"] = "new"
    _now_s: float = 0.0
    _lost_s: float = -math.inf
    _refused_s: float = -math.inf
    _unit_px: float = 0.0
    _motion: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=4.0, beta=30.0))
    _shape: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=2.5, beta=12.0))
    _light: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=1.0, beta=1.0))
    _contrast: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=0.3, beta=0.0))
    _closer: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=0.1, beta=0.0))

    def add(self, look: Look, picture: Picture | None = None) -> None:
        """Takes what was read of this frame or of one ahead.

        Args:
            look: what was read.
            picture: the frame's pixels, to carry landmarks along with them.
        """
        insort(self._looks, look, key=_index_of)
        self._keep([one for one in self._looks if look.index - one.index < _KEPT_FRAMES])
        if picture is not None:
            self.flow.add(look, picture)

    def knows(self, index: int) -> bool:
        """Whether a frame was looked at."""
        return index in [look.index for look in self._looks]

    def hide(self) -> None:
        """Told that the face of the last frame is covered after all.

        What the frames ahead say does not lift that cover: it waits for its time.
        """
        self._state, self._refused_s = "hidden", self._now_s

    def steady(self, index: int, time_s: float) -> Steady | None:
        """Control of one frame, or None where the face is to be covered.

        Args:
            index: number of the frame; rises from call to call.
            time_s: its time, seconds.
        """
        self._now_s = time_s
        past_s = time_s - FOLLOWING.hold_s - FOLLOWING.bridged_s
        self._keep([look for look in self._looks if look.time_s >= past_s])
        bound = self.limit * (FOLLOWING.kept if self._state == "shown" else 1.0)
        read = [look for look in self._looks if look.doubt <= bound]
        is_hidden = any(look.is_hidden for look in self._looks if look.index == index)
        stretch = None if is_hidden else stretch_around(read, index)
        if stretch is None:
            self._lost_s = time_s
        if stretch is None or not (self._state == "shown" or self._is_lifted(stretch)):
            self._state = "hidden"
            self._forget()
            return None
        self._state = "shown"
        return self._smoothed(read, index, time_s)

    def _is_lifted(self, stretch: Stretch) -> bool:
        """Whether a face that was covered, or was not there, is followed for long enough.

        Of one that was not there before, what is known ahead is enough.
        """
        if self._now_s - self._refused_s < FOLLOWING.hold_s - _SLACK_S:
            return False
        first, last = stretch.first.index, stretch.last.index
        known = [look.doubt <= self.limit for look in self._looks if first <= look.index <= last]
        if np.mean(known) < FOLLOWING.least_read:
            return False
        is_to_stay = self._state == "new" and last == self._looks[-1].index
        followed_s = stretch.last.time_s - max(stretch.first.time_s, self._lost_s)
        return is_to_stay or followed_s >= FOLLOWING.hold_s - _SLACK_S

    def _keep(self, looks: list[Look]) -> None:
        self._looks = looks
        flown_s = self._now_s - FOLLOWING.bridged_s - _SLACK_S
        self.flow.keep({one.index for one in looks if one.time_s >= flown_s})

    def _forget(self) -> None:
        for one in (self._motion, self._shape, self._light, self._contrast, self._closer):
            one.forget()

    def _smoothed(self, read: list[Look], index: int, time_s: float) -> Steady:
        """Control of a frame that was read, or lies between two that were."""
        own = next((look for look in read if look.index == index), None)
        ends = gap_around(read, index) if own is None else None
        if ends is not None:
            own = _between(*ends, index, time_s)
        assert own is not None
        near = [look for look in read if _is_near(look, own)]
        light = self._light(own.light, own.time_s)
        size = max(float(np.hypot(*own.motion[2:])), 1.0)
        unit = np.float32(self._unit_px or size)
        self._unit_px = float(unit)
        motion = self._motion(own.motion.reshape(2, 2) / unit, own.time_s).reshape(4) * unit
        shape = self._shape(own.shape, own.time_s)
        if ends is not None:
            motion, shape = self._carried_over(own, ends) or (motion, shape)
        elif len(near) >= _LEAST_FITTED:
            motion, shape = self._by_neighbours(own, near) or (motion, shape)
        wanted = eyes_closer(shape)
        closer = self._closer(np.array([wanted], np.float32), own.time_s)
        return Steady(
            # Never wider than wanted, not for a while either: a chin would lie outside.
            painted_points(lids_as_read(shape, own.shape), min(float(closer[0]), wanted)),
            light,
            min(own.doubt, self.limit),
            motion,
            self._in_front(own, near),
            float(self._contrast(np.array([own.contrast], np.float32), own.time_s)[0]),
        )

    def _by_neighbours(self, own: Look, near: list[Look]) -> tuple[Float32, Float32] | None:
        """Motion and shape by neighbouring frames; None without pixels or frames ahead."""
        steps_s = np.array([look.time_s - own.time_s for look in near])
        is_foreseen = bool(steps_s.max() > 0)
        size = max(float(np.hypot(*own.motion[2:])), 1.0)
        carried = self._carried(own, near)
        if carried is not None:
            weights = _weights(steps_s, degree=1 if is_foreseen else 0)
            return apart(_smooth(carried, weights, points_in_frame(own), _CARRIED_NOISE * size))
        if not is_foreseen:
            return None
        weights = _weights(steps_s, degree=2)
        motions, shapes = (
            np.stack([getattr(look, name) for look in near]) for name in ("motion", "shape")
        )
        motion = _smooth(motions, weights, own.motion, _NOISE * size)
        return motion, _smooth(shapes, weights, own.shape, _NOISE)

    def _carried_over(self, own: Look, ends: tuple[Look, Look]) -> tuple[Float32, Float32] | None:
        """Motion and shape in a gap, as the pixels go from both ends; None without pixels."""
        carried = self._carried(own, list(ends))
        if carried is None:
            return None
        before, after = ends
        share = np.float32((own.index - before.index) / (after.index - before.index))
        return apart(np.asarray((1 - share) * carried[0] + share * carried[1], np.float32))

    def _in_front(self, own: Look, near: list[Look]) -> Occlusion | None:
        """What is in front of the face, by the mean of neighbouring frames.

        Each comes along with its pixels. A mark that comes and goes with a frame is noise, and the
        rim of a hand that is found a little elsewhere each time would tremble.
        """
        close = [look for look in near if abs(look.index - own.index) <= _FRONT_FRAMES]
        if all(look.occlusion is None for look in close):
            return None
        place = crop_with_eyes(own.motion, EYES, LANDMARK_SIZE)
        here, seen = grid_in_frame(place, LANDMARK_SIZE), []
        for look in close:
            there = self.flow.carried(here, own.index, look.index)
            if there is not None:
                seen.append(_NOTHING if look.occlusion is None else look.occlusion.at(there))
        return Occlusion(np.mean(seen, axis=0, dtype=np.float32), place) if seen else None

    def _carried(self, own: Look, near: list[Look]) -> Float32 | None:
        """Neighbours' landmarks, come along with their pixels, float32[N, POINTS, 3] px.

        None where the pixels of one of them are not known.
        """
        points = np.stack([points_in_frame(look) for look in near])
        sources = [look.index for look in near]
        carried = self.flow.gathered(points[..., :2], sources, own.index)
        if carried is None:
            return None
        points[..., :2] = carried
        return points


def _between(before: Look, after: Look, index: int, time_s: float) -> Look:
    """A look between two others, in equal steps from frame to frame."""
    share = np.float32((index - before.index) / (after.index - before.index))
    motion, shape, light = (
        np.asarray(a + share * (b - a), np.float32)
        for a, b in (
            (before.motion, after.motion),
            (before.shape, after.shape),
            (before.light, after.light),
        )
    )
    doubt, contrast = (max(before.doubt, after.doubt), min(before.contrast, after.contrast))
    return Look(index, time_s, motion, shape, light, doubt, contrast=contrast)


def _is_near(look: Look, other: Look) -> bool:
    """Whether two looks are close in time, and in frames where timestamps are broken."""
    away_s, away = abs(look.time_s - other.time_s), abs(look.index - other.index)
    return away_s <= _REACH_S + _SLACK_S and away <= _MOST_FRAMES


def _index_of(look: Look) -> int:
    return look.index


def _weights(steps_s: NDArray[np.float64], degree: int) -> Float32:
    """Weights whose mixture of neighbours is the value at 0 of the polynomial through them.

    Savitzky and Golay (1964), for neighbours at any times.
    """
    steps = steps_s / max(float(np.abs(steps_s).max()), 1e-9)
    basis = np.stack([steps**power for power in range(degree + 1)], axis=1)
    return np.asarray(np.linalg.pinv(basis)[0], np.float32)


def _smooth(values: Float32, weights: Float32, own: Float32, noise: float) -> Float32:
    """The polynomial's value, left where a row departs from it by more than noise.

    An eyelid that closes in two frames is thus not held open.
    """
    smooth = np.tensordot(weights, values, axes=1)
    rest = own - smooth
    away = np.linalg.norm(rest, axis=-1, keepdims=True)
    gain = away**2 / (away**2 + np.float32(2 * noise) ** 2)
    return np.asarray(smooth + gain * rest, np.float32)
