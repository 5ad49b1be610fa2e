"""The cap of hair lies where a head's hair lies, and takes nothing of the subject but a colour."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_cap import alike, hair_cap, strand_levels, surrogate_hair
from engines.painted_head import HEAD_TRAITS, Head, Trait, head_of

pytestmark = pytest.mark.unit

SIDE, UNIT = 128, 78.0
MIDDLE = np.full(HEAD_TRAITS, 0.5, np.float32)
SKIN = np.array([100, 115, 140], np.float32)
LUMA = np.array([0.114, 0.587, 0.299], np.float32)

Float32 = NDArray[np.float32]


def face(moved_px: float = 0.0) -> Float32:
    """Outline of an upright face in the middle, or beside it as that of a turned one."""
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    points = np.stack([64 + moved_px + 24 * np.cos(turn), 66 + 32 * np.sin(turn)], axis=1)
    return np.asarray(points, np.float32)


def head(moved_px: float = 0.0) -> Head:
    return head_of(face(moved_px), SIDE)


def test_cap_is_above_and_beside_the_upper_face_alone() -> None:
    cap = hair_cap(head(), MIDDLE, SIDE, UNIT)
    assert cap.weight[26, 64] == 1
    assert cap.weight[44, 40] > 0.8
    assert cap.weight[80:, :].max() == 0
    assert cap.weight[14, 64] == 1
    assert cap.weight[:6, :].max() == 0
    assert not cap.above[34:].any()


def test_cap_covers_a_bare_forehead_up_to_a_limit() -> None:
    lower = face() + np.array([0, 20], np.float32)
    caps = [
        hair_cap(head_of(lower, SIDE), MIDDLE, SIDE, UNIT, bare).weight for bare in (0, 20, 500)
    ]
    tops = [int(np.flatnonzero(cap[:, 64] > 0.5)[0]) for cap in caps]
    assert 6 <= tops[0] - tops[1] <= 10
    assert 0 <= tops[2] < tops[1]
    assert [cap[100:, :].max() for cap in caps] == [0, 0, 0]


def test_wide_hair_is_high_too() -> None:
    tops = []
    for wide in (0.0, 1.0):
        traits = MIDDLE.copy()
        traits[Trait.HAIR_WIDE] = wide
        tops.append(int(np.flatnonzero(hair_cap(head(), traits, SIDE, UNIT).weight[:, 64])[0]))
    assert 5 <= tops[0] - tops[1] <= 10


def test_cap_lies_behind_a_turned_face() -> None:
    straight, turned = (hair_cap(head(px), MIDDLE, SIDE, UNIT).weight for px in (0, 8))
    columns = np.arange(SIDE)
    middle = [float((one.sum(0) * columns).sum() / one.sum()) for one in (straight, turned)]
    assert middle[1] - middle[0] > 8 + 3
    assert (turned > 0.5).sum() > (straight > 0.5).sum()


def test_hairline_is_uneven_by_little() -> None:
    level = hair_cap(head(), np.array([0, 0, 0, 0.5], np.float32), SIDE, UNIT).hairline
    uneven = np.diff(level[36, 54:75])
    assert 0 < uneven.std() < 0.02 * UNIT


def test_a_high_hairline_is_an_arch_and_a_fringe_is_nearly_level() -> None:
    drop = []
    for low in (0.0, 1.0):
        traits = np.array([0, low, 0, 0.5], np.float32)
        line = hair_cap(head(), traits, SIDE, UNIT).hairline
        middle, temples = line[44, 60:69].mean(), line[44, [45, 46, 47, 81, 82, 83]].mean()
        drop.append(float(middle - temples) / 64)
    assert drop[0] > 0.06
    assert drop[0] > drop[1] + 0.03
    assert abs(drop[1]) < 0.03


def direction_of(strands: Float32, rows: slice, columns: slice) -> float:
    """Angle along which strands change least there, degrees from upright, clockwise."""
    gray = strands[rows, columns]
    down, across = np.gradient(gray)
    turn = np.arctan2(2 * (across * down).sum(), (across**2 - down**2).sum()) / 2
    return float(np.degrees(turn))


def test_hair_falls_on_to_a_low_forehead_and_is_combed_back_from_a_high_one() -> None:
    fringe, back = (
        hair_cap(head(), np.array([0, low, 0, 0.5], np.float32), SIDE, UNIT).strands
        for low in (0.9, 0.1)
    )
    above = slice(14, 36)
    right, left = slice(76, 100), slice(28, 52)
    assert direction_of(fringe, above, right) - direction_of(fringe, above, left) < -16
    assert direction_of(back, above, right) - direction_of(back, above, left) > 8


@pytest.mark.parametrize("trait", [one for one in Trait if one.name.startswith("HAIR")])
def test_every_trait_makes_other_hair(trait: int) -> None:
    drawn = []
    for value in (0.1, 0.9):
        traits = MIDDLE.copy()
        traits[trait] = value
        cap = hair_cap(head(), traits, SIDE, UNIT)
        colour = surrogate_hair(np.full(3, 100, np.float32), traits, SKIN)
        wall = np.full((SIDE, SIDE, 3), 220, np.float32)
        hair = cap.drawn_over(wall, colour, np.zeros((SIDE, SIDE), np.float32))
        drawn.append(np.where(cap.hairline[..., None] > 0, 150, hair))
    assert (np.abs(drawn[0] - drawn[1]).max(axis=-1) > 15).sum() > 40


def test_hairline_leaves_the_eyes_free() -> None:
    for low in (0.0, 1.0):
        for leaning in (0.0, 1.0):
            traits = np.array([0.5, low, 1.0, leaning], np.float32)
            line = hair_cap(head(), traits, SIDE, UNIT).hairline
            assert line[34 + round(0.32 * 64), 46:83].min() > 0


@pytest.mark.parametrize("level", [1, 30, 90, 255])
@pytest.mark.parametrize("skin", [20.0, 120.0])
def test_brightness_lies_near_the_surrogates_share_of_the_skins(level: int, skin: float) -> None:
    painted = SKIN * np.float32(skin / float(SKIN @ LUMA))
    found = float(surrogate_hair(np.full(3, level, np.float32), MIDDLE, painted) @ LUMA)
    assert 0.48 * skin < found < 0.69 * skin


def test_hue_of_bright_hair_is_kept() -> None:
    red = np.array([60, 90, 180], np.float32)
    found = surrogate_hair(red, MIDDLE, SKIN)
    assert found[2] < red[2]
    assert np.allclose(found / found.sum(), red / red.sum())


@pytest.mark.parametrize("wall", [(200, 110, 60), (60, 170, 60), (200, 60, 160)])
def test_hair_is_no_colder_than_grey(wall: tuple[int, int, int]) -> None:
    colour = np.array(wall, np.float32)
    found = surrogate_hair(colour, MIDDLE, SKIN)
    blue, green, red = found / (SKIN * np.array([1.25, 1.05, 0.84], np.float32))
    assert max(blue, green) <= 1.16 * red
    grey = surrogate_hair(np.full(3, float(colour @ LUMA), np.float32), MIDDLE, SKIN)
    assert abs(float((found - grey) @ LUMA)) < 1


def test_black_hair_that_is_brightened_takes_the_skins_hue_and_not_the_shadows() -> None:
    bluish, fair = np.array([20, 14, 16], np.float32), np.array([0.9, 0, 0, 0], np.float32)
    blue, green, red = surrogate_hair(bluish, fair, SKIN)
    assert red > green > blue


def test_no_difference_of_hairs_is_left_beside_the_face() -> None:
    """Two heads of hair of one colour, curly and straight, give the same cap."""
    cap, colour = hair_cap(head(), MIDDLE, SIDE, UNIT), np.array([40, 50, 60], np.float32)
    random = np.random.default_rng(0)
    heads = [
        np.asarray(colour + random.normal(0, 9, (SIDE, SIDE, 3)), np.float32) for _ in range(2)
    ]
    drawn = [cap.drawn_over(head, colour, alike(head, colour, UNIT)) for head in heads]
    inner = (cap.weight == 1) & (cap.outer == 0)
    assert inner.sum() > 500
    assert np.allclose(drawn[0][inner], drawn[1][inner])


def test_hair_of_the_head_runs_on_and_a_wall_does_not() -> None:
    cap, colour = hair_cap(head(), MIDDLE, SIDE, UNIT), np.array([40, 50, 60], np.float32)
    rim = (cap.weight > 0.8) & (cap.outer > 0.8)
    assert rim.any()
    wall = np.full((SIDE, SIDE, 3), 220, np.float32)
    hair = np.full((SIDE, SIDE, 3), 55, np.float32)
    over_wall = cap.drawn_over(wall, colour, alike(wall, colour, UNIT))
    over_hair = cap.drawn_over(hair, colour, alike(hair, colour, UNIT))
    assert over_wall[rim].mean() < 80
    assert np.abs(over_hair[rim] - 55).mean() < np.abs(over_hair[rim] - colour).mean()


def test_outline_of_no_width_gives_a_finite_cap() -> None:
    cap = hair_cap(head_of(np.full((5, 2), 64, np.float32), SIDE), MIDDLE, SIDE, UNIT)
    for values in (cap.weight, cap.outer, cap.strands, cap.hairline):
        assert np.isfinite(values).all()


def test_black_hair_shines_too() -> None:
    black, fair = (strand_levels(np.full(3, level, np.float32)) for level in (0, 150))
    assert 2 < black < fair / 5


def test_cap_of_the_narrowest_hair_is_no_cone() -> None:
    traits = MIDDLE.copy()
    traits[Trait.HAIR_WIDE] = 0
    weight = hair_cap(head(), traits, SIDE, UNIT).weight
    halfway = 58 - round(0.62 * (0.38 + 0.34) * 64)
    assert (weight[halfway] > 0.5).sum() > 0.82 * (weight[54] > 0.5).sum()


@pytest.mark.parametrize("low", [0.1, 0.9])
def test_light_lies_in_a_band_around_the_head(low: float) -> None:
    traits = MIDDLE.copy()
    traits[Trait.HAIR_LOW] = low
    drawn = hair_cap(head(), traits, SIDE, UNIT).strands
    rows = [float(drawn[row - 3 : row + 3, 52:76].mean()) for row in (8, 18, 34)]
    assert rows[1] > max(rows[0], rows[2]) + 0.25
