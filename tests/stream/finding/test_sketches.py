"""What a frame shows that those around it do not, but for faces that are known."""

from __future__ import annotations

import numpy as np
import pytest

from stream.finding.sketches import Sketch, is_passing

pytestmark = pytest.mark.unit

KNOWN = np.array([0.25, 0.25, 0.5, 0.75], np.float32)


def sketch(x: int | None = None) -> Sketch:
    """A calm scene, with something light at a column where one is given."""
    values = np.full((80, 160), 80, np.float32)
    if x is not None:
        values[30:45, x : x + 15] = 160
    return Sketch(values, 1, ())


def test_movement_within_a_known_face_is_nothing_new() -> None:
    assert is_passing(sketch(50), sketch(), sketch(), 6.0)
    assert not is_passing(sketch(50), sketch(), sketch(), 6.0, [KNOWN])


@pytest.mark.parametrize("x", [10, 30, 75, 120])
def test_who_passes_beside_a_known_face_is_new(x: int) -> None:
    assert is_passing(sketch(x), sketch(), sketch(), 6.0, [KNOWN])


def test_known_face_beyond_the_rim_is_cut_there() -> None:
    beyond = np.array([-0.5, -0.5, 1.5, 1.5], np.float32)
    assert not is_passing(sketch(50), sketch(), sketch(), 6.0, [beyond])
