"""What the tracker costs beside a detector run of tens of milliseconds."""

from __future__ import annotations

import time

import pytest

from tests.tracker.scenes import Person, detections, drops, straight
from tracker.tracker import Tracker

pytestmark = pytest.mark.slow

FRAMES = 200


def cost_ms(faces: int) -> float:
    """Processor time per frame, which other programs on the machine hardly change."""
    people = [
        Person(straight(100 + 150 * (i % 10), 100 + 150 * (i // 10), 0.5, 0.3), 0, FRAMES)
        for i in range(faces)
    ]
    missed = [drops(FRAMES, 4, 0.1, seed) for seed in range(faces)]
    found = detections(people, FRAMES, lambda number, f: f not in missed[number], jitter=0.02)
    tracker = Tracker()
    start_s = time.process_time()
    for index, seen in enumerate(found):
        tracker.push(index, index / 25, seen)
    return (time.process_time() - start_s) / FRAMES * 1000


def test_twenty_faces_cost_little_and_sixty_not_much_more() -> None:
    twenty, sixty = cost_ms(20), cost_ms(60)
    assert twenty < 5.0
    assert sixty < 6 * twenty
