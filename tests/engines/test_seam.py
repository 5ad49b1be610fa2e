"""Skin runs on from a painted face; before anything else a head ends as sharply as the picture."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.head_layer import crispness, narrowed
from engines.polar import RAYS, STEPS, distances, wave
from engines.seam import contour_of, neighbours_of, toned
from tests.engines.heads import SKIN

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
FACE = np.full(RAYS, 0.42, np.float32)
RIGHT = wave(1) > 0.5
LEFT = wave(1) < -0.5
WALL: Float32 = np.array([190, 190, 190], np.float32)


def neck_and_wall() -> Float32:
    """Surroundings: skin to the left, a wall to the right."""
    colours = np.where((wave(1) > 0)[:, None], WALL, SKIN)
    return np.broadcast_to(colours[:, None], (RAYS, STEPS, 3)).astype(np.float32)


def painted() -> Float32:
    return np.broadcast_to(SKIN, (RAYS, STEPS, 3)).astype(np.float32)


def test_contour_is_crisp_before_a_wall_and_soft_on_skin() -> None:
    contour = contour_of(neighbours_of(neck_and_wall(), painted(), FACE, FACE), 4.0)
    assert (contour[RIGHT] > 3.8).all()
    assert (contour[LEFT] < 1.2).all()
    assert np.abs(np.diff(contour)).max() < 1.0, "it changes gently along the rim"


def test_colours_of_a_wall_are_left_alone() -> None:
    drawn = neck_and_wall() + np.float32(10)
    added = toned(drawn, neighbours_of(drawn, painted(), FACE, FACE), FACE)
    assert np.abs(added[RIGHT]).max() < 1
    assert added[LEFT].min() < -5


def test_narrower_rim_keeps_its_middle_and_begins_no_farther_out() -> None:
    beyond = np.asarray(distances() - FACE[:, None], np.float32)
    narrow = narrowed(beyond, np.full(RAYS, 4, np.float32))
    middle = np.abs(beyond + 0.0155).argmin(axis=1)[0]
    assert abs(narrow[0, middle] - beyond[0, middle]) < 4 * 0.01
    assert (np.diff(narrow, axis=1) > 0).all()
    assert np.allclose(narrowed(beyond, np.ones(RAYS, np.float32)), beyond, atol=1e-6)


def test_rim_is_never_narrower_than_pixels_and_blur_allow() -> None:
    assert crispness(400, 0.0) > crispness(400, 1.0) > crispness(400, 3.0)
    assert crispness(40, 0.0) == 1.0
