"""Smooths what is read of one face: calm at rest, quick on the way.

Landmarks are read in crops whose place trembles with the detector. They are therefore kept
in the frame's pixels, taken apart into the motion of the whole head and the shape of the
face, and smoothed there; the crop in which the surrogate is painted follows from them. Where
landmarks of neighbouring frames can be carried along with their pixels, their mean is taken
instead: it moves as the pixels do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import Occlusion
from engines.face.alignment import Similarity
from engines.face.face_flow import FaceFlow
from engines.face.face_look import (
    Look,
    apart,
    eyes_closer,
    painted_points,
    painting_place,
    points_in_frame,
    points_in_frames,
)
from engines.face.motion_grid import grid_in_frame
from engines.face.swapper import LANDMARK_SIZE
from engines.stylegan.contrast import UNBOUNDED
from engines.stylegan.lids import lids_as_read
from engines.stylegan.shape import gap_shown, with_shut_lips
from stream.swap.following import SLACK_S
from tracker.one_euro import OneEuro

__all__ = ["ControlSmoother", "Steady", "carried_looks", "look_between"]

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
_LEAST_FITTED: Final = 4
_USUAL_FRAMES: Final = 600
"""Frames over which a face shows how it usually looks: in fewer, an expression that is held soon
counts as the person's, in more, what lasted long at the start counts for longer."""
_SHUT_FRAMES: Final = 12
"""Frames after which it is told how far apart shut lips are read."""
_SHUT_STEPS: Final = (0.0036, 0.0004)
"""By how much that falls and rises in a frame, distances of the eyes, where lips are read closer
and farther apart: so it is what a tenth of the frames are below. At first they are larger."""
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
        usual: float32[SHOWN] in the mean of the track, see `ShapeModel.shown_by`; None where it
            was not read.
        inside: float32[INSIDE] what is between the lips, see `engines.stylegan.mouth`; None where
            it was not read.
        raised: how much higher than `points` have them both brows lie, see
            `engines.face.brow_reading`.
        gap: how far apart lips are read, see `mouth_gap`: those of `points` part later, and less.
            NaN where it was not read.
    """

    points: Float32
    light: Float32
    doubt: float
    motion: Float32
    occlusion: Occlusion | None = None
    contrast: float = UNBOUNDED
    usual: Float32 | None = None
    inside: Float32 | None = None
    raised: float = 0.0
    gap: float = math.nan

    def crop_from_frame(self, size: int) -> Similarity:
        """Map from the frame to a crop of side `size` px in units of which `points` are."""
        return painting_place(self.motion, self.points, size)


@dataclass(slots=True)
class _Usual:
    """The mean expression of a face as long as it is followed; of late, where that is long."""

    _mean: Float32 | None = None
    _shut: float = 0.0
    _counted: int = 0
    _newest: int = -1

    def with_looks(self, read: Sequence[Look]) -> Float32 | None:
        """The mean, with those of the looks, by rising index, that were not counted yet."""
        for look in read:
            if look.index > self._newest and look.expression is not None:
                self._newest = look.index
                self._count(look.expression)
        if self._mean is None or self._counted < _SHUT_FRAMES:
            return self._mean
        return with_shut_lips(self._mean, self._shut)

    def _count(self, shown: Float32) -> None:
        gap = gap_shown(shown)
        if self._mean is None:
            self._mean, self._shut = shown, gap
        self._counted = min(self._counted + 1, _USUAL_FRAMES)
        self._mean = self._mean + (shown - self._mean) / np.float32(self._counted)
        fall, climb = np.array(_SHUT_STEPS) * max(1.0, 4 * _SHUT_FRAMES / self._counted)
        self._shut += float(np.clip(gap - self._shut, -fall, climb))


@dataclass(slots=True)
class ControlSmoother:
    """Smooths the looks of one face, as long as it is followed.

    Attributes:
        limit: doubt above which a face is not followed.
        flow: where the face's pixels go from frame to frame.
    """

    limit: float
    flow: FaceFlow
    _unit_px: float = 0.0
    _motion: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=4.0, beta=30.0))
    _shape: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=2.5, beta=12.0))
    _light: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=1.0, beta=1.0))
    _contrast: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=0.3, beta=0.0))
    _closer: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=0.1, beta=0.0))
    _inside: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=6.0, beta=0.0))
    _gap: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=3.0, beta=20.0))
    _raised: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=2.0, beta=15.0))
    _usual: _Usual = field(default_factory=_Usual)

    def forget(self) -> None:
        """The face is not followed any more; what comes begins anew."""
        smoothed = (self._motion, self._shape, self._light, self._inside, self._raised)
        for one in (*smoothed, self._contrast, self._closer, self._gap):
            one.forget()
        self._usual = _Usual()

    def smoothed(self, own: Look, ends: tuple[Look, Look] | None, read: Sequence[Look]) -> Steady:
        """Control of one frame.

        Args:
            own: its look.
            ends: those that it was made of, where the face was not read in it; None where it was.
            read: all looks around it in which the face was read, in order.
        """
        # Close in time, and in frames where timestamps are broken.
        near = [
            look
            for look in read
            if abs(look.time_s - own.time_s) <= _REACH_S + SLACK_S
            and abs(look.index - own.index) <= _MOST_FRAMES
        ]
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
            self._usual.with_looks(read),
            None if own.inside is None else self._inside(own.inside, own.time_s),
            float(self._raised(np.array([own.raised], np.float32), own.time_s)[0]),
            self._gap_of(own),
        )

    def _gap_of(self, own: Look) -> float:
        """How far apart the lips of a frame are read; NaN where they were not."""
        if own.expression is None:
            return math.nan
        read = np.array([gap_shown(own.expression)], np.float32)
        return float(self._gap(read, own.time_s)[0])

    def _by_neighbours(self, own: Look, near: list[Look]) -> tuple[Float32, Float32] | None:
        """Motion and shape by neighbouring frames; None without pixels or frames ahead."""
        steps_s = np.array([look.time_s - own.time_s for look in near])
        is_foreseen = bool(steps_s.max() > 0)
        size = max(float(np.hypot(*own.motion[2:])), 1.0)
        carried = carried_looks(self.flow, own.index, near)
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
        carried = carried_looks(self.flow, own.index, ends)
        if carried is None:
            return None
        share = _share(*ends, own.index)
        return apart(np.asarray((1 - share) * carried[0] + share * carried[1], np.float32))

    def _in_front(self, own: Look, near: list[Look]) -> Occlusion | None:
        """What is in front of the face, by the mean of neighbouring frames.

        Each comes along with its pixels. A mark that comes and goes with a frame is noise, and the
        rim of a hand that is found a little elsewhere each time would tremble.
        """
        close = [look for look in near if abs(look.index - own.index) <= _FRONT_FRAMES]
        fronts = [look.occlusion for look in close]
        if fronts.count(None) == len(fronts):
            return None
        place = painting_place(own.motion, painted_points(own.shape), LANDMARK_SIZE)
        here, seen = grid_in_frame(place, LANDMARK_SIZE), []
        for look in close:
            there = self.flow.carried(here, own.index, look.index)
            if there is not None:
                seen.append(_NOTHING if look.occlusion is None else look.occlusion.at(there))
        return Occlusion(np.mean(seen, axis=0, dtype=np.float32), place) if seen else None


def carried_looks(flow: FaceFlow, index: int, near: Sequence[Look]) -> Float32 | None:
    """Neighbours' landmarks, come along with their pixels, float32[N, POINTS, 3] px.

    None where the pixels of one of them are not known.
    """
    points = points_in_frames(near)
    sources = [look.index for look in near]
    carried = flow.gathered(points[..., :2], sources, index)
    if carried is None:
        return None
    points[..., :2] = carried
    return points


def look_between(before: Look, after: Look, index: int, time_s: float) -> Look:
    """A look between two others, in equal steps from frame to frame."""
    share = _share(before, after, index)
    motion, shape, light = (
        np.asarray(a + share * (b - a), np.float32)
        for a, b in (
            (before.motion, after.motion),
            (before.shape, after.shape),
            (before.light, after.light),
        )
    )
    doubt, contrast = (max(before.doubt, after.doubt), min(before.contrast, after.contrast))
    raised = before.raised + float(share) * (after.raised - before.raised)
    inside = None
    if before.inside is not None and after.inside is not None:
        inside = np.asarray(before.inside + share * (after.inside - before.inside), np.float32)
    return Look(
        index, time_s, motion, shape, light, doubt, contrast=contrast, inside=inside, raised=raised
    )


def _share(before: Look, after: Look, index: int) -> np.float32:
    """Of the way from one look to another, 0 to 1; 0 where they are one."""
    return np.float32((index - before.index) / max(after.index - before.index, 1))


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
