"""The room's door: detections in, frame by frame; tracks without holes out, a little later."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engines.face.glance import Glance
from engines.types import Face, Track, TrackState
from tracker.clock import StreamClock
from tracker.cuts import CutDetector
from tracker.doubt import AppearanceDistance
from tracker.errors import FrameOutOfOrder
from tracker.evidence import is_covered
from tracker.frames import FrameTracks, HeldFrame
from tracker.lifecycle import Lifecycle
from tracker.schedule import MovingFace
from tracker.settings import TrackerSettings
from tracker.smoothing import track_at
from tracker.trajectory import Trajectory

__all__ = ["FrameTracks", "Tracker"]


_LONGEST_STEP_S = 0.25
_USUAL_STEPS = 2.0
"""Time to the next frame, s and in usual intervals, of which the larger tells how far faces go on
moving meanwhile: a picture that is held for seconds stands still."""
_SMALLEST_TURN = 0.01
"""Share of the picture below which a change of its motion is noise."""


class Tracker:
    """Follows the faces of one stream with a fixed look-ahead.

    Push every frame, in order; each is released `settings.lookahead_frames` later, and the
    rest by `flush`. Memory is bounded by the look-ahead and by the faces in view.

    Args:
        settings: see `TrackerSettings`.
        appearance: asked for every link between a detection and a track, when given;
            a large distance makes the link doubtful.

    >>> tracker = Tracker(TrackerSettings(lookahead_frames=1))
    >>> face = Face(np.array([0, 0, 9, 9], np.float32), np.ones((5, 2), np.float32), 0.9)
    >>> tracker.push(0, 0.0, (face,))
    ()
    >>> [released.frame_index for released in tracker.push(1, 0.04, None)]
    [0]
    >>> [track.state.value for track in next(tracker.flush()).tracks]
    ['extended']
    """

    def __init__(
        self, settings: TrackerSettings | None = None, appearance: AppearanceDistance | None = None
    ) -> None:
        self.settings = settings or TrackerSettings()
        self._lifecycle = Lifecycle(self.settings, appearance)
        self._cuts = CutDetector(self.settings.cut_level)
        self._clock = StreamClock()
        self._held: deque[HeldFrame] = deque()
        self._ahead_s = 0.0
        self._next_frame: int | None = None
        self._scene_before = 0

    def moving(self) -> tuple[MovingFace, ...]:
        """Sizes and speeds of the faces tracked at the newest frame, for the schedule."""
        return self._lifecycle.moving(self._cuts.memory.scene)

    def ahead(self, track_id: int) -> tuple[tuple[int, Face], ...]:
        """Where a track was detected, beyond doubt, in the frames still held back.

        Returns:
            Frame index and face, in order of frames.
        """
        first = self._held[0].frame if self._held else math.inf
        return tuple(
            (seen.frame, seen.face)
            for trajectory in self._lifecycle.trajectories
            for seen in trajectory.observations
            if seen.track_id == track_id and seen.frame >= first and not seen.is_doubtful
        )

    def push(
        self,
        frame_index: int,
        time_s: float,
        faces: Sequence[Face] | None,
        thumbnail: NDArray[np.uint8] | None = None,
        *,
        unknown: bool = False,
        frame_size: tuple[int, int] | None = None,
        least_px: float = 0.0,
        look: Callable[[Face], Glance | None] | None = None,
    ) -> tuple[FrameTracks, ...]:
        """Take in the next frame.

        Args:
            frame_index: one more than that of the frame before; the first may be any.
            time_s: presentation time, s; need not rise.
            faces: what the detector found; None when it did not run, which says nothing
                about faces. A face with numbers that are not finite or a box without area
                makes the frame unknown.
            thumbnail: (h, w) uint8 grey, about 64 × 36, the same size in every frame; None
                to leave out cuts and camera motion.
            unknown: the detector failed in this frame.
            frame_size: height, width px; lets the thumbnails' motion steer the tracks.
            least_px: size from which this search finds faces; 0 where it was thorough.
            look: takes a glance at a detection; called for those near each other, whose looks then
                tell who is who where places do not.

        Returns:
            The frames released by this one, in order.

        Raises:
            FrameOutOfOrder: a frame was pushed twice or left out.
        """
        if self._next_frame is not None and frame_index != self._next_frame:
            raise FrameOutOfOrder(
                f"frame {frame_index} pushed where {self._next_frame} is next: push every frame"
                " once, in order (faces=None where the detector did not run)"
            )
        self._next_frame = frame_index + 1
        longest_s = max(_LONGEST_STEP_S, _USUAL_STEPS * self._clock.usual_s)
        before_s, now_s = self._clock.now_s, self._clock.push(time_s)
        scene, turn_px, moved_px = self._look(frame_index, thumbnail, frame_size)
        self._lifecycle.advance(min(now_s - before_s, longest_s), turn_px, moved_px)
        usable, broken = self._usable(faces)
        if usable is not None:
            self._lifecycle.observe(frame_index, now_s, scene, usable, least_px, look)
        drift_px = self._lifecycle.drift_px
        self._held.append(HeldFrame(frame_index, now_s, scene, unknown or broken, drift_px))
        return tuple(self._release(self.settings.lookahead_frames))

    def flush(self) -> Iterator[FrameTracks]:
        """Release the frames still held back, one at a time; the stream has ended.

        What lies ahead of a frame is told by `ahead` until the next one is asked for.
        """
        return self._release(0)

    def _look(
        self,
        frame: int,
        thumbnail: NDArray[np.uint8] | None,
        frame_size: tuple[int, int] | None,
    ) -> tuple[int, tuple[float, float], tuple[float, float]]:
        """The frame's scene, how the picture's motion changed, px, and that motion itself."""
        sight = self._cuts.push(frame, thumbnail)
        if sight.flash_since is not None:
            self._heal(sight.flash_since, sight.scene)
        height, width = frame_size or (0, 0)
        turn, moved = _clear(sight.turn), _clear(self._cuts.memory.motion)
        turn_px = turn[0] * width, turn[1] * height
        return sight.scene, turn_px, (moved[0] * width, moved[1] * height)

    def _heal(self, since: int, scene: int) -> None:
        """A flash ended: its frames belong to the scene around it."""
        flashed = {held.scene for held in self._held if held.frame >= since}
        for held in self._held:
            if held.frame >= since:
                held.scene = scene
        for trajectory in self._lifecycle.trajectories:
            if trajectory.scene in flashed:
                trajectory.scene = scene

    def _usable(self, faces: Sequence[Face] | None) -> tuple[list[Face] | None, bool]:
        """The detections to follow, and whether the detector's answer cannot be trusted."""
        if faces is None:
            return None, False
        alive = len(self._lifecycle.trajectories)
        if len(faces) > self.settings.max_faces or alive + len(faces) > self.settings.max_tracks:
            return None, True
        sound = _sound(faces)
        kept = [face for face in sound if face.score >= self.settings.low_score]
        return kept, len(sound) < len(faces)

    def _release(self, held_back: int) -> Iterator[FrameTracks]:
        while len(self._held) > held_back:
            held = self._held.popleft()
            ahead_s = self._clock.now_s - held.time_s
            # Near the end less is ahead, but of what is known no more is to come.
            self._ahead_s = ahead_s if held_back else max(ahead_s, self._ahead_s)
            found = self._finish(held)
            self._scene_before = held.scene
            self._lifecycle.retire(held.frame, held.time_s)
            yield found

    def _finish(self, held: HeldFrame) -> FrameTracks:
        found = (self._shown(trajectory, held) for trajectory in self._lifecycle.trajectories)
        tracks = tuple(sorted((t for t in found if t is not None), key=lambda track: track.id))
        vouched = self.settings.vouch_unknown and bool(tracks)
        vouched = vouched and all(track.state is TrackState.FILLED for track in tracks)
        return FrameTracks(held.frame, tracks, held.is_unknown and not vouched)

    def _shown(self, trajectory: Trajectory, held: HeldFrame) -> Track | None:
        """The track in a frame of its scene, or in the one frame beyond a cut.

        Where pictures are blended at a cut, either frame beside it shows a ghost of the other
        scene's faces.
        """
        if not is_covered(trajectory, self._clock.now_s, self._ahead_s, self.settings):
            return None
        if trajectory.scene == held.scene:
            return track_at(trajectory, held.frame, held.time_s, self.settings, held.drift_px)
        scene_after = self._held[0].scene if self._held else held.scene
        if trajectory.scene not in (self._scene_before, scene_after):
            return None
        if trajectory.first.frame <= held.frame <= trajectory.last.frame:
            return None
        track = track_at(trajectory, held.frame, held.time_s, self.settings, held.drift_px)
        return track and replace(track, state=TrackState.DOUBTFUL)


def _clear(motion: tuple[float, float]) -> tuple[float, float]:
    """A motion of the picture, none where it is so small that it may be noise."""
    return motion if max(map(abs, motion)) >= _SMALLEST_TURN else (0.0, 0.0)


def _sound(faces: Sequence[Face]) -> list[Face]:
    """The faces with finite numbers and a box that has an area."""
    if not faces:
        return []
    boxes = np.array([face.box_px for face in faces], dtype=np.float64)
    marks = np.array([face.landmarks_px for face in faces], dtype=np.float64)
    scores = np.array([face.score for face in faces], dtype=np.float64)
    finite = np.isfinite(boxes).all(axis=1) & np.isfinite(marks).all(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        has_area = (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    sound = finite & np.isfinite(scores) & has_area
    return [face for face, is_sound in zip(faces, sound.tolist(), strict=True) if is_sound]
