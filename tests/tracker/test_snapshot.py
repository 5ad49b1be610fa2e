"""States saved and continued."""

from __future__ import annotations

import json
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tracker.scenes import Person, detections, drops, face_at, straight
from tests.tracker.test_golden_scenes import view
from tests.tracker.test_no_holes import described
from tracker.errors import TrackerStateRejected
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.unit

FRAMES = 60


def thumbnail(frame: int) -> NDArray[np.uint8]:
    """A cut at 20, a flash at 35 and 36, a pan after 45."""
    if frame in {35, 36}:
        return view(0)
    return view(3 * max(0, frame - 45), world=int(frame >= 20))


def run(stop: int | None) -> list[object]:
    people = [Person(straight(100, 100, 5, 0), 0, 99), Person(straight(400, 104, -5, 0), 0, 99)]
    missed = drops(FRAMES, 5, 0.2, 3)
    found = detections(people, FRAMES, lambda n, frame: (frame + 9 * n) not in missed, jitter=0.02)
    tracker = Tracker()
    released: list[FrameTracks] = []
    for index, faces in enumerate(found):
        if index == stop:
            state = json.loads(json.dumps(tracker.state()))
            needed = {frame: thumbnail(frame) for frame in tracker.thumbnail_frames}
            assert tracker.next_frame_index == index
            tracker = Tracker.from_state(state, thumbnails=needed)
        released.extend(
            tracker.push(
                index,
                index / 25,
                faces if index % 3 else None,
                thumbnail(index),
                unknown=index == 30,
                frame_size=(360, 640),
            )
        )
    released.extend(tracker.flush())
    return [described(frame) for frame in released]


@pytest.mark.parametrize("stop", [1, 7, 19, 20, 21, 34, 35, 36, 37, 38, 50, 59])
def test_a_run_interrupted_anywhere_ends_the_same(stop: int) -> None:
    assert run(stop) == run(None)


def test_a_state_holds_no_picture_and_stays_small() -> None:
    tracker = Tracker()
    for index in range(200):
        tracker.push(index, index / 25, (face_at(100 + index, 100),), thumbnail(index))
    text = json.dumps(tracker.state())
    assert len(text) < 40_000
    assert all(index in range(190, 200) for index in tracker.thumbnail_frames)


def test_a_missing_thumbnail_is_asked_for() -> None:
    tracker = Tracker()
    tracker.push(0, 0.0, (), view(0))
    with pytest.raises(TrackerStateRejected, match=r"frames \[0\]"):
        Tracker.from_state(tracker.state())


def test_other_settings_are_refused() -> None:
    state = Tracker().state()
    with pytest.raises(TrackerStateRejected, match="other settings"):
        Tracker.from_state(state, TrackerSettings(hold_s=1.0))


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 99},
        {"paths": [{"scene": 0}]},
        {"motion": {"mean": [[[0.0]]], "spread": []}},
        {"next_id": "many"},
        {"motion": {"mean": [[[0.0, 0.0]] * 4], "spread": []}},
    ],
    ids=["another version", "half a track", "short filter", "no number", "filter without track"],
)
def test_a_damaged_state_is_refused(damage: dict[str, object]) -> None:
    tracker = Tracker()
    tracker.push(0, 0.0, ())
    with pytest.raises(TrackerStateRejected, match="without --resume"):
        Tracker.from_state({**tracker.state(), **damage})


def test_a_track_without_detections_is_refused() -> None:
    tracker = Tracker()
    tracker.push(0, 0.0, (face_at(10, 10),))
    state = tracker.state()
    cast("list[dict[str, object]]", state["paths"])[0]["observations"] = []
    with pytest.raises(TrackerStateRejected, match="damaged"):
        Tracker.from_state(state)


def test_something_else_altogether_is_refused() -> None:
    with pytest.raises(TrackerStateRejected):
        Tracker.from_state(["not", "a", "state"])
