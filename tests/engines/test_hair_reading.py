"""Hair is told from a bare forehead and from a wall, by what is seen above a painted face."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_reading import bare_above, hair_colour, hair_share, told_from_wall, walls_behind

pytestmark = pytest.mark.unit

SIDE, TOP = 64, 36
SKIN = np.array([90, 110, 150], np.float32)
HAIR = np.array([30, 40, 60], np.float32)
WALL = np.array([200, 190, 180], np.float32)
FACE = np.array([[18, TOP], [46, TOP], [32, 60]], np.float32)
EVERYWHERE = np.ones((SIDE, SIDE), np.bool_)

Float32 = NDArray[np.float32]


def told(around: Float32, known: NDArray[np.bool_]) -> float:
    return told_from_wall(walls_behind(around, known, FACE), HAIR)


def head(skin_from: int, hair_from: int) -> Float32:
    """Wall above hair above bare skin; rows from which they begin."""
    around = np.empty((SIDE, SIDE, 3), np.float32)
    around[:hair_from], around[hair_from:skin_from], around[skin_from:] = WALL, HAIR, SKIN
    return around


def below(row: int) -> NDArray[np.bool_]:
    known = EVERYWHERE.copy()
    known[row:] = False
    return known


@pytest.mark.parametrize("height", [0, 6, 14])
def test_a_bare_forehead_is_as_high_as_it_is_seen(height: int) -> None:
    around = head(TOP - height, 10)
    assert bare_above(around, EVERYWHERE, FACE, SKIN) == pytest.approx(height, abs=0.2)


def test_what_the_patch_hides_counts_as_what_is_seen_above_it() -> None:
    seen = bare_above(head(TOP - 14, 10), below(TOP - 8), FACE, SKIN)
    hair = bare_above(head(TOP, 10), below(TOP - 8), FACE, SKIN)
    assert seen == pytest.approx(14, abs=0.2)
    assert hair == pytest.approx(0, abs=0.2)


def test_skin_beyond_hair_is_no_forehead() -> None:
    around = head(TOP - 4, TOP - 12)
    around[: TOP - 12] = SKIN
    assert bare_above(around, EVERYWHERE, FACE, SKIN) == pytest.approx(4, abs=0.2)


def test_a_forehead_seen_by_half_counts_by_half_of_each_row() -> None:
    around = head(TOP, 10)
    around[TOP - 10 : TOP, :32] = SKIN
    assert 0.5 < bare_above(around, EVERYWHERE, FACE, SKIN) < 1.5


@pytest.mark.parametrize("lit_skin", [SKIN * 0.95, SKIN * 1.2, SKIN + 60])
def test_skin_in_the_light_is_skin_and_hair_of_its_hue_is_not(lit_skin: Float32) -> None:
    lit, hair = head(TOP - 8, 10), head(TOP - 8, 10)
    lit[TOP - 8 : TOP], hair[TOP - 8 : TOP] = lit_skin, SKIN * 0.6
    assert bare_above(lit, EVERYWHERE, FACE, SKIN) > 6
    assert bare_above(hair, EVERYWHERE, FACE, SKIN) < 0.5


def test_nothing_seen_above_a_face_is_no_forehead() -> None:
    assert bare_above(head(TOP - 8, 10), ~EVERYWHERE, FACE, SKIN) == 0
    assert bare_above(head(TOP - 8, 10), EVERYWHERE, FACE - np.float32(60), SKIN) == 0


def test_hair_is_of_its_colour_below_a_crown_of_skin() -> None:
    above = np.zeros((SIDE, SIDE), np.bool_)
    above[16:TOP, 18:46] = True
    found = hair_colour(head(TOP - 8, 10), EVERYWHERE, above, SKIN)
    assert np.allclose(found, HAIR, atol=2)
    bald = hair_colour(head(0, 0), EVERYWHERE, above, SKIN)
    assert np.allclose(bald, SKIN, atol=1)


@pytest.mark.parametrize(("wall", "least", "most"), [(HAIR, 0, 0.01), (WALL, 0.99, 1)])
def test_hair_is_told_from_a_wall_of_another_colour(
    wall: Float32, least: float, most: float
) -> None:
    around = head(TOP, 0)
    around[:, :12] = around[:, -12:] = wall
    assert least <= told(around, EVERYWHERE) <= most
    assert told(around, ~EVERYWHERE) == 1


def test_one_side_of_the_hairs_colour_is_enough_to_take_it_for_a_wall() -> None:
    around = head(SIDE, 0)
    around[:, -12:] = WALL
    assert told(around, EVERYWHERE) < 0.01


def test_borders_of_hair_are_part_hair_and_what_is_neither_is_none() -> None:
    walls = np.stack([WALL, WALL])
    shares = np.linspace(0, 1, 5, dtype=np.float32)[None, :, None]
    border = WALL + shares * (HAIR - WALL)
    assert np.allclose(hair_share(border, HAIR, walls), shares[..., 0], atol=1e-3)
    shirt = np.full((1, 5, 3), (200, 40, 40), np.float32)
    assert hair_share(shirt, HAIR, walls).max() < 0.05


def test_a_wall_that_is_seen_on_one_side_is_taken_for_both() -> None:
    border = np.full((1, 5, 3), (HAIR + WALL) / 2, np.float32)
    unseen = np.full(3, np.nan, np.float32)
    for walls in ([WALL, unseen], [unseen, WALL]):
        assert np.allclose(hair_share(border, HAIR, np.stack(walls)), 0.5, atol=1e-3)


def test_without_any_wall_hair_is_told_by_its_colour() -> None:
    walls = np.full((2, 3), np.nan, np.float32)
    found = hair_share(np.stack([HAIR, WALL])[None], HAIR, walls)[0]
    assert found[0] == 1
    assert found[1] < 0.01
