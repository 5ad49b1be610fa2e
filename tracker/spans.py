"""Which frames of a recording are searched first, and whether those between need it too.

A recording can be looked at ahead: *key* frames a few apart are searched, and where both ends
of such a span show the same faces at nearly the same places, the frames between can only show
these faces in between; the tracker interpolates them from both sides. Where the ends differ
(a cut, a face that comes, goes, moves fast or is hardly seen), the frames between are searched;
and so is a frame that shows something that neither end does (see `tracker.passing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from tracker.association import price
from tracker.clock import StreamClock
from tracker.cuts import CutDetector, registered_change
from tracker.errors import TrackerSettingsRejected
from tracker.schedule import local_change

__all__ = ["Agreement", "KeyChoice", "KeySchedule", "SpanSettings", "agreement"]

Agreement = Literal["same", "flickering", "changed"]
"""The same faces; but for a face hardly seen; anything else."""

_EPSILON_S = 1e-6
_AT_LEAST_ONE = (
    "most_frames",
    "lively_frames",
    "opening_frames",
    "full_every_frames",
    "most_resize",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSettings:
    """How far key frames lie apart and when their faces count as the same.

    Attributes:
        longest_s: longest time between two key frames. Longer: cheaper; a face must be in
            view longer to be seen at all.
        most_frames: most frames from one key to the next; 1 searches every frame.
        lively_frames: the same where a part of the picture changes by `lively_change`.
        lively_change: grey levels from one frame to the next.
        pan_share: motion of the whole lively picture from one frame to the next, over its
            size, from which every frame is a key at full scale while faces are in view that
            only a full pass sees. What is near moves faster than the picture as a whole, so
            that such faces can neither be linked nor be filled in. Larger: cheaper.
        full_every_s: longest time between two key frames searched at full scale. Keep it
            below the tracker's `unsearched_s`.
        small_full_every_s: the same while faces are in view that only a full pass sees.
        opening_frames: frames at the beginning that are all keys at full scale: what is seen in
            them has no frames before.
        full_every_frames: most frames from one full pass to the next, whatever their times
            say. Keep it within the tracker's look-ahead.
        most_move: distance between both ends, in face sizes, up to which a face is the same.
            Larger: cheaper; quick turns between the ends go unseen.
        most_resize: ratio of its sizes at both ends up to which it is.
        clear_score: a face with this score that only one end shows is a change.
        weak_score: one with this score is a flicker; below, it is disregarded.
        passing_change: grey levels by which a part of a frame between the ends differs from
            both, from which it is searched. Smaller: dimmer faces that are in view for a frame
            or two are found; costs more where much moves.

    Raises:
        TrackerSettingsRejected: a value is out of range.
    """

    longest_s: float = 0.135
    most_frames: int = 8
    lively_frames: int = 2
    lively_change: float = 24.0
    pan_share: float = 0.01
    full_every_s: float = 0.5
    small_full_every_s: float = 0.25
    opening_frames: int = 1
    full_every_frames: int = 300
    most_move: float = 0.35
    most_resize: float = 1.3
    clear_score: float = 0.5
    weak_score: float = 0.35
    passing_change: float = 6.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            least = 1 if name in _AT_LEAST_ONE else 0
            if not least <= getattr(self, name) < math.inf:
                raise TrackerSettingsRejected(
                    f"span setting {name} = {getattr(self, name)}: choose {least} or more"
                )


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """What to do with a frame.

    Attributes:
        is_key: it is searched in any case.
        is_full: at full scale.
        ends_before: the frame before it is a key as well: a scene ends with it.
    """

    is_key: bool
    is_full: bool = False
    ends_before: bool = False


class KeySchedule:
    """Chooses the key frames of a recording. Ask once for every frame, in order, and obey.

    >>> schedule = KeySchedule()
    >>> [schedule.decide(index / 30).is_key for index in range(6)]
    [True, False, False, False, True, False]
    """

    def __init__(self, settings: SpanSettings | None = None, cut_level: float = 14.0) -> None:
        self.settings = settings or SpanSettings()
        self._cuts = CutDetector(cut_level, tells_turn=False)
        self._thumbnail: NDArray[np.uint8] | None = None
        self._frame = 0
        self._scene = 0
        self._clock = StreamClock()
        self._given_s = math.inf
        self._key_s = -math.inf
        self._full_s = -math.inf
        self._since_key = 0
        self._since_full = 0

    def decide(
        self,
        time_s: float,
        thumbnail: NDArray[np.uint8] | None = None,
        *,
        has_small: bool = False,
    ) -> KeyChoice:
        """What to do with the next frame.

        Args:
            time_s: its time; where it does not rise, the frame is a key.
            thumbnail: (h, w) uint8 grey, about 64 × 36.
            has_small: faces are known that only a full pass sees.
        """
        rises, self._given_s = time_s > self._given_s, time_s
        before_s, now_s = self._clock.now_s, self._clock.push(time_s)
        change, share, is_cut = self._look(thumbnail)
        self._since_key += 1
        self._since_full += 1
        wanted = self.settings
        is_opening = self._frame <= wanted.opening_frames
        is_overdue = is_opening or self._since_full >= wanted.full_every_frames
        most = wanted.most_frames if change < wanted.lively_change else wanted.lively_frames
        is_thorough = has_small and share >= wanted.pan_share
        most = 1 if is_thorough else most
        is_key = is_cut or is_overdue or not rises or self._since_key >= most
        is_key |= not 2 * now_s - before_s - self._key_s <= wanted.longest_s + _EPSILON_S
        if not is_key:
            return KeyChoice(is_key=False)
        ends_before = is_cut and self._since_key > 1
        every_s = wanted.small_full_every_s if has_small else wanted.full_every_s
        # The next key lies half a span late as often as half a span early.
        is_full = not now_s + wanted.longest_s / 2 - self._full_s <= every_s
        is_full |= is_cut or is_overdue or is_thorough
        self._key_s, self._since_key = now_s, 0
        if is_full:
            self._full_s, self._since_full = now_s, 0
        return KeyChoice(is_key=True, is_full=is_full, ends_before=ends_before)

    def fail(self) -> None:
        """A search failed: the next frame is a key, at full scale."""
        self._key_s = self._full_s = -math.inf

    def _look(self, thumbnail: NDArray[np.uint8] | None) -> tuple[float, float, bool]:
        """Local change and motion since the frame before, and whether a cut.

        The motion is a share of the picture's size; 0 where it is not known or nothing lively.
        """
        before, self._thumbnail = self._thumbnail, thumbnail
        scene = self._cuts.push(self._frame, thumbnail).scene
        self._frame += 1
        is_cut, self._scene = scene != self._scene, scene
        if before is None or thumbnail is None or before.shape != thumbnail.shape:
            return 0.0, 0.0, is_cut
        change = local_change(before, thumbnail)
        if change < self.settings.lively_change:
            return change, 0.0, is_cut
        dx, dy = registered_change(before, thumbnail)[0]
        height, width = thumbnail.shape
        return change, max(abs(dx) / width, abs(dy) / height), is_cut


def agreement(
    before: Sequence[Face] | None,
    after: Sequence[Face] | None,
    settings: SpanSettings,
    *,
    least_px: float = 0.0,
) -> Agreement:
    """Compares the faces at both ends of a span.

    Args:
        before: faces of the earlier key frame; None where they are not known.
        after: faces of the later one.
        settings: what counts as the same.
        least_px: faces smaller than this are disregarded where one end alone shows them:
            the two may have been searched at different scales.

    >>> face = Face(np.array([0, 0, 9, 9], np.float32), np.ones((5, 2), np.float32), 0.9)
    >>> agreement((face,), (face,), SpanSettings()), agreement((face,), (), SpanSettings())
    ('same', 'changed')
    """
    if before is None or after is None:
        return "changed"
    alone = _alone(before, after, settings)
    scores = [face.score for face in alone if face.size_px >= least_px]
    best = max(scores, default=0.0)
    if best >= settings.clear_score:
        return "changed"
    return "flickering" if best >= settings.weak_score else "same"


def _alone(before: Sequence[Face], after: Sequence[Face], settings: SpanSettings) -> list[Face]:
    """The faces of either end without a counterpart that is near and each other's nearest."""
    if not before or not after:
        return [*before, *after]
    boxes = [np.stack([face.box_px for face in end]).astype(np.float64) for end in (before, after)]
    prices = price(boxes[0], boxes[1])
    unlike = prices.distance + prices.log_size
    fits = (prices.distance <= settings.most_move) & (
        prices.log_size <= math.log(settings.most_resize)
    )
    nearest, back = unlike.argmin(axis=1), unlike.argmin(axis=0)
    rows = np.arange(len(before))
    paired = fits[rows, nearest] & (back[nearest] == rows)
    is_met = np.zeros(len(after), np.bool_)
    is_met[nearest[paired]] = True
    return [face for face, met in zip(before, paired, strict=True) if not met] + [
        face for face, met in zip(after, is_met, strict=True) if not met
    ]
