"""What a swapped face costs besides the networks: calls of kveil's own code, which are counted."""

from __future__ import annotations

import pytest

from benchmarks.calls import measure_face_calls, own_calls
from config.loading import load_settings
from engines.face.alignment import inverse_of
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

MOST_CALLS = 1000
"""Of functions of kveil, for one known face in a frame."""


def test_calls_of_kveil_alone_are_counted() -> None:
    place = drawn_face()[:2]
    assert own_calls(lambda: [inverse_of(place) for _ in range(5)]) == 5
    assert own_calls(lambda: sorted(range(9))) == 0


def test_known_face_takes_few_calls_of_kveil() -> None:
    found = measure_face_calls(load_settings(environment={}))
    assert 0 < found.calls < MOST_CALLS
    assert found.tried_ms > 0
