"""One face's control over time: when it is followed, and what is painted then.

What is read of neighbouring frames is smoothed, see `stream.swap.control_smoothing`; whether the
face is swapped at all is decided for whole runs of frames, see `stream.swap.following`.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, Literal

import numpy as np

from engines.face.face_flow import FaceFlow
from engines.face.face_look import Look, apart, with_lids
from engines.pictures import Picture
from stream.swap.control_smoothing import ControlSmoother, Steady, carried_looks, look_between
from stream.swap.following import (
    FOLLOWING,
    SLACK_S,
    Run,
    end_beside,
    gap_around,
    is_behind,
    is_lifted,
    run_around,
)

__all__ = ["HIDDEN", "SETTLING", "UNFIT", "ControlTrack"]

UNFIT: Final = "pose_or_occlusion"
"""Why a face is covered that cannot be read."""
HIDDEN: Final = "behind_something"
"""Why one is that is mostly hidden."""
SETTLING: Final = "settling"
"""Why one is that can be read, but was not for long, or soon cannot."""

_LIT_FRAMES: Final = 3
"""Frames for which the light that was read once counts: it is smoothed over more."""
_HALF_SHUT: Final = 0.35
"""Openness from which eyes count as not shutting."""
_USUAL_FRAMES: Final = 50
"""Frames over which that is averaged at most: how far such eyes are usually read open."""
_KEPT_FRAMES: Final = 64
"""Frames to the newest after which a look is forgotten in any case."""
_TORN: Final = 0.55
"""Mean distance of landmarks carried into a gap from both its ends, in distances of the eyes, above
which it is not bridged. Larger flips less, and paints more faces over what passes before them."""
_BESIDE: Final = 0.2
"""How far from where the tracker has a face its pixels may lead, distances of the eyes. Larger
carries more faces, and more that were taken for others."""
_SAME: Final = 0.85
"""Likeness of a face's pixels from which nothing came before it. Larger carries fewer faces."""
_LATELY_S: Final = 2 * FOLLOWING.hold_s
"""Time after a surrogate was shown within which what keeps one also lifts a cover: somebody passed,
or the head turned away. Longer covers fewer of those who are read half-surely then."""
_SHORT_S: Final = 0.13
"""Time between the ends of a gap up to which it is bridged in any case."""


@dataclass(slots=True)
class ControlTrack:
    """Smooths one face's control, and says when it is better covered.

    Attributes:
        limit: doubt above which a face is not followed.
        flow: where the face's pixels go from frame to frame, as far as looks were taken.
        cause: why the face is covered, where it last was.
    """

    limit: float
    flow: FaceFlow = field(default_factory=FaceFlow)
    cause: str = ""
    _looks: list[Look] = field(default_factory=list)
    _lit_look: Look | None = None
    _state: Literal["new", "hidden", "shown"] = "new"
    _now_s: float = 0.0
    _lost_s: float = -math.inf
    _refused_s: float = -math.inf
    _held_s: float = -math.inf
    _shown_s: float = -math.inf
    _usual_open: float = 1.0
    _open_frames: int = 0
    _smoother: ControlSmoother = field(init=False)

    def __post_init__(self) -> None:
        self._smoother = ControlSmoother(self.limit, self.flow)

    def add(self, look: Look, picture: Picture | None = None) -> None:
        """Takes what was read of this frame or of one ahead.

        Args:
            look: what was read, lids still open; without light where `is_lit` says so before.
            picture: the frame's pixels, to carry landmarks along with them.
        """
        if self._lit_look is not None and self.is_lit(look.index):
            look = replace(look, light=self._lit_look.light, contrast=self._lit_look.contrast)
        else:
            self._lit_look = look
        insort(self._looks, self._with_lids(look), key=attrgetter("index"))
        self._keep([one for one in self._looks if look.index - one.index < _KEPT_FRAMES])
        if picture is not None:
            self.flow.add(look, picture)

    def is_lit(self, index: int) -> bool:
        """Whether the light on the face was read in a frame or shortly before it."""
        return 0 <= index - self._lit_look.index < _LIT_FRAMES if self._lit_look else False

    def knows(self, index: int) -> bool:
        """Whether a frame was looked at."""
        return index in map(attrgetter("index"), self._looks)

    def hide(self) -> None:
        """Told that the face of the last frame is covered after all, which may be once by chance.

        Soon again, and what the frames ahead say does not lift the cover: it waits for its time.
        """
        if self._now_s - self._refused_s < FOLLOWING.hold_s - SLACK_S:
            self._state, self._held_s = "hidden", self._now_s
        self._refused_s = self._now_s

    def steady(self, index: int, time_s: float) -> Steady | None:
        """Control of one frame, or None where the face is to be covered.

        Args:
            index: number of the frame; rises from call to call.
            time_s: its time, seconds.
        """
        self._now_s = time_s
        past_s = time_s - FOLLOWING.hold_s - FOLLOWING.bridged_s
        self._keep([look for look in self._looks if look.time_s >= past_s])
        read = self._read()
        is_hidden = is_behind(self._looks, index)
        run = None if is_hidden else self._run(read, index)
        if run is None:
            self._lost_s = time_s
        if run is None or not (self._state == "shown" or self._is_begun(run)):
            self.cause = HIDDEN if is_hidden else UNFIT if run is None else SETTLING
            self._state = "hidden"
            self._smoother.forget()
            return None
        self._state, self._shown_s = "shown", time_s
        return self._smoothed(read, index, time_s)

    def _run(self, read: list[Look], index: int) -> Run | None:
        """The run that a frame lies in, or beside, where the face comes along with its pixels."""
        beside = self._beside(read, index)
        return run_around(read, beside.index if beside else index, self._is_joined)

    def _beside(self, read: list[Look], index: int) -> Look | None:
        """The look at the end of a run from which the face is carried to a frame beside it.

        Where the tracker has its eyes, the pixels lead, and they show the same.
        """
        own = next((look for look in self._looks if look.index == index), None)
        if own is None or own.is_hidden or own.doubt <= self.limit * FOLLOWING.kept:
            return None
        end = end_beside(self._looks, read, own)
        carried = None if end is None else carried_looks(self.flow, index, [end])
        if end is None or carried is None:
            return None
        apart_px = np.abs(apart(carried[0])[0] - own.motion).max()
        is_there = float(apart_px) <= _BESIDE * float(np.hypot(*end.motion[2:]))
        return end if is_there and self.flow.likeness(end.index, index) >= _SAME else None

    def _is_begun(self, run: Run) -> bool:
        """Whether a face that was covered, or was not there, is swapped from now on."""
        if self._now_s - self._held_s < FOLLOWING.hold_s - SLACK_S:
            return False
        was_shown = self._now_s - self._shown_s <= _LATELY_S + SLACK_S
        limit = self.limit * FOLLOWING.kept if was_shown else self.limit
        at = (self._now_s, self._lost_s, limit)
        return is_lifted(run, self._looks, *at, is_new=self._state == "new")

    def _is_joined(self, before: Look, after: Look) -> bool:
        """Whether the gap between two looks is bridged: nothing passed before the face in it."""
        if after.time_s - before.time_s > FOLLOWING.bridged_s + SLACK_S:
            return False
        between = [look for look in self._looks if before.index < look.index < after.index]
        if any(is_behind(self._looks, look.index) for look in between):
            return False
        return after.time_s - before.time_s <= _SHORT_S or not self._is_torn(before, after)

    def _is_torn(self, before: Look, after: Look) -> bool:
        """Whether the pixels of two looks lead to different places in the middle of their gap.

        Then something passed in front.
        """
        carried = carried_looks(self.flow, (before.index + after.index) // 2, [before, after])
        if carried is None:
            return False
        apart_px = np.linalg.norm(carried[0, :, :2] - carried[1, :, :2], axis=1).mean()
        return float(apart_px) > _TORN * float(np.hypot(*before.motion[2:]))

    def _read(self) -> list[Look]:
        return [look for look in self._looks if look.doubt <= self.limit * FOLLOWING.kept]

    def _with_lids(self, look: Look) -> Look:
        """The look with lids as far open as this person usually has them, or less."""
        seen = 1.0 if look.openness is None else float(look.openness.mean())
        if look.openness is not None and seen > _HALF_SHUT:
            self._open_frames = min(self._open_frames + 1, _USUAL_FRAMES)
            self._usual_open += (seen - self._usual_open) / self._open_frames
        return with_lids(look, self._usual_open)

    def _keep(self, looks: list[Look]) -> None:
        self._looks = looks
        flown_s = self._now_s - FOLLOWING.bridged_s - SLACK_S
        self.flow.keep({one.index for one in looks if one.time_s >= flown_s})

    def _smoothed(self, read: list[Look], index: int, time_s: float) -> Steady:
        """Control of a frame that was read, or lies between or beside some that were."""
        own = next((look for look in read if look.index == index), None)
        if own is not None:
            return self._smoother.smoothed(own, None, read)
        beside = self._beside(read, index)
        ends = gap_around(read, index) if beside is None else (beside, beside)
        assert ends is not None, "the frame lies in no run"
        return self._smoother.smoothed(look_between(*ends, index, time_s), ends, read)
