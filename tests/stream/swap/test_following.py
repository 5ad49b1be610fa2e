from __future__ import annotations

import numpy as np
import pytest

from engines.face.face_look import Look
from stream.swap.following import FOLLOWING, run_around

pytestmark = pytest.mark.unit


def looks_at(indices: list[int], rate: float) -> list[Look]:
    """Looks at frames of a steady rate, by the second."""
    nothing = np.zeros(4, np.float32)
    return [Look(index, index / rate, nothing, nothing, nothing, 0.0) for index in indices]


def test_a_run_goes_on_through_neighbours_unasked_and_through_gaps_that_are_bridged() -> None:
    asked: list[tuple[int, int]] = []

    def is_joined(before: Look, after: Look) -> bool:
        asked.append((before.index, after.index))
        return before.index < 10

    run = run_around(looks_at([1, 2, 4, 5, 6, 11, 12, 15, 16], 30.0), 5, is_joined)
    assert run is not None
    assert (run.first.index, run.last.index) == (1, 12)
    assert asked == [(2, 4), (6, 11), (12, 15)]


def test_neighbours_of_a_slow_recording_are_asked_for_as_gaps_are() -> None:
    read = looks_at([1, 2, 3], 0.9 / FOLLOWING.bridged_s)
    run = run_around(read, 2, lambda before, after: False)
    assert run is not None
    assert (run.first.index, run.last.index) == (2, 2)
