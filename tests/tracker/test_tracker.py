"""The tracker as a whole: no holes, in scenes made of moving boxes."""

from __future__ import annotations

import numpy as np
import pytest

from engines.types import Face, TrackState
from tracker.errors import FrameOutOfOrder
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.unit


def face_at(x: float, y: float, size: float = 20.0, score: float = 0.9) -> Face:
    box = np.array([x - size / 2, y - size / 2, x + size / 2, y + size / 2], dtype=np.float32)
    marks = np.array([[-0.2, -0.1], [0.2, -0.1], [0, 0.1], [-0.15, 0.3], [0.15, 0.3]])
    return Face(box, (marks * size + [x, y]).astype(np.float32), score)


def follow(
    frames: list[tuple[Face, ...] | None], settings: TrackerSettings | None = None
) -> list[FrameTracks]:
    tracker = Tracker(settings)
    released: list[FrameTracks] = []
    for index, faces in enumerate(frames):
        released.extend(tracker.push(index, index / 25, faces))
    released.extend(tracker.flush())
    return released


def test_every_frame_pushed_is_released_once_in_order() -> None:
    released = follow([(face_at(50, 50),)] * 40)
    assert [frame.frame_index for frame in released] == list(range(40))
    assert {track.id for frame in released for track in frame.tracks} == {1}
    assert all(frame.tracks[0].state is TrackState.DETECTED for frame in released)
    assert all(frame.tracks[0].is_confirmed for frame in released)


def test_a_gap_in_a_moving_track_is_interpolated() -> None:
    frames: list[tuple[Face, ...] | None] = [(face_at(50 + 3 * i, 50),) for i in range(40)]
    for index in range(15, 23):
        frames[index] = ()
    released = follow(frames)
    for index in range(15, 23):
        (track,) = released[index].tracks
        assert track.state is TrackState.FILLED
        assert abs(track.face.box_px[[0, 2]].mean() - (50 + 3 * index)) < 1.0


def test_a_left_out_frame_is_refused() -> None:
    tracker = Tracker()
    tracker.push(0, 0.0, ())
    with pytest.raises(FrameOutOfOrder, match="push every frame"):
        tracker.push(2, 0.08, ())
