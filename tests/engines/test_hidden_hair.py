"""Hair goes on under a patch's rim where a head has hair, and bald heads stay bald."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.hidden_hair import amount_of, with_hidden
from engines.polar import RAYS, UP, distances
from tests.engines.heads import SKIN, hair_on_rays, head_on_rays

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
WALL = np.array([200, 195, 190], np.float32)
HIDDEN = np.full(RAYS, 0.5, np.float32)
LEFT = (np.arange(RAYS) > RAYS // 2) & (np.arange(RAYS) < 3 * RAYS // 4)
TEMPLE = LEFT & (UP > 0.4) & (UP < 0.8)


def read(ends: Float32, wall: Float32 = WALL, bald: float = 0.0) -> Hair:
    """Dark hair from the patch to some distances, or bald skin, and a wall behind."""
    around = head_on_rays(HIDDEN, ends, wall=(wall[0], wall[1], wall[2]), noise=0.0)
    around[(distances() > ends[:, None]) & (distances() < bald)] = SKIN
    hair = hair_on_rays(HIDDEN, ends)
    return with_hidden(hair, amount_of(hair), HIDDEN, around, SKIN)


def short_at_the_temple() -> Float32:
    return np.where(TEMPLE, HIDDEN, np.float32(0.7)).astype(np.float32)


def test_hair_of_a_temple_that_the_patch_hides_is_there() -> None:
    """The planted fault: a wall was drawn in between the face and long hair."""
    hair = read(short_at_the_temple())
    width = hair.ends - hair.begins
    assert width[TEMPLE].min() > 0.015
    assert width[TEMPLE & (UP > 0.7)].min() > 0.035
    assert np.allclose(hair.hidden[TEMPLE], (hair.ends - HIDDEN)[TEMPLE])
    others = LEFT & ~TEMPLE & (UP > 0.9)
    assert np.allclose(hair.ends[others], 0.7)


def test_bald_temples_stay_bald() -> None:
    hair, within = read(short_at_the_temple(), bald=0.75), LEFT & (UP > 0.5) & (UP < 0.7)
    assert np.abs(hair.ends - HIDDEN)[within].max() < 0.005


def test_a_wall_of_the_colour_of_skin_is_no_bald_head() -> None:
    hair = read(short_at_the_temple(), wall=SKIN)
    assert (hair.ends - hair.begins)[TEMPLE].min() > 0.015


def test_heads_without_hair_get_none() -> None:
    hair = read(HIDDEN, bald=0.75)
    assert np.array_equal(hair.ends, HIDDEN)
    assert not hair.hidden.any()


def test_a_head_that_is_wholly_hidden_has_hair() -> None:
    """The planted fault: nothing but a wall is seen around a patch, and the head was an egg."""
    hair = read(HIDDEN)
    assert (hair.ends - HIDDEN)[UP > 0.7].min() > 0.035
    assert np.allclose(hair.hidden, hair.ends - HIDDEN)


def test_what_is_neither_hair_nor_skin_nor_wall_stays() -> None:
    """A hat, or a helmet: nothing is drawn over it."""
    around = head_on_rays(HIDDEN, np.full(RAYS, 0.7, np.float32), hair=(30, 30, 200), noise=0.0)
    none = hair_on_rays(HIDDEN, HIDDEN)
    hair = with_hidden(none, amount_of(none), HIDDEN, around, SKIN)
    assert np.array_equal(hair.ends, HIDDEN)


def test_what_is_beside_and_below_a_face_stays() -> None:
    hair = read(HIDDEN)
    full = read(np.where(UP > 0.5, 0.7, 0.5).astype(np.float32))
    assert np.abs(full.ends - hair.ends)[UP < 0.1].max() < 0.001
