"""A beard below a painted chin is drawn up over its jaw, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.beards import beard_hair, below_jaw, hair_shown, with_beard
from engines.blending.patches import identity_mask_of
from engines.stylegan.topology import LIPS_OUTER_SLICE, NOSE_BASE_SLICE, OVAL_SLICE
from tests.engines.blending.test_rim import SIZE, SKIN, patch_of
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
ALL = np.ones((SIZE, SIZE), np.bool_)
BEARD = SKIN * np.float32(0.35)


def told(below: Float32, hidden: Float32) -> Float32:
    """What a head tells with a lower part of its own, below its chin and within the face."""
    head = np.full((SIZE, SIZE, 3), 1, np.float32) * SKIN
    low, must = np.zeros((SIZE, SIZE), np.bool_), identity_mask_of(patch_of(), SIZE)
    low[92:] = True
    head[low], head[low & must] = below, hidden
    found = below_jaw(patch_of(), head.astype(np.uint8), ALL)
    return np.zeros(3, np.float32) if found is None else found.darker_than(patch_of().pixels)


def jaw(pixels: Float32) -> Float32:
    rows = np.flatnonzero(identity_mask_of(patch_of(), SIZE).any(axis=1))[-6:]
    return np.asarray(pixels[rows, 60:68].mean(axis=(0, 1)), np.float32)


def test_painted_jaw_goes_over_into_a_beard_below_it() -> None:
    tone = told(BEARD, BEARD)
    made = with_beard(patch_of(), tone)
    assert jaw(made.pixels).mean() < 0.75 * SKIN.mean()
    assert np.allclose(made.pixels[:45], patch_of().pixels[:45], atol=0.5)


def test_collar_below_a_chin_is_no_beard() -> None:
    """The planted fault: what ends at the chin is taken for a beard."""
    assert not told(SKIN * np.float32(0.1), SKIN).any()


def test_bare_neck_leaves_a_patch_as_it_is() -> None:
    patch = patch_of()
    assert with_beard(patch, told(SKIN, SKIN)) is patch


def test_beard_only_darkens() -> None:
    assert told(SKIN * np.float32(1.9), SKIN * np.float32(1.9)).mean() <= 7


POINTS = np.asarray(drawn_face()[:, :2], np.float32)
DARK = np.full(3, -40, np.float32)
HAIR = np.array([-0.5, -0.4, -0.3], np.float32)


def chin_and_lip() -> tuple[tuple[int, int], tuple[int, int]]:
    """Row and column between lips and chin, and between nose and lips, px."""
    lips, nose = POINTS[LIPS_OUTER_SLICE], POINTS[NOSE_BASE_SLICE]
    column = int(lips[:, 0].mean() * SIZE)
    chin = (lips[:, 1].max() + POINTS[OVAL_SLICE, 1].max()) / 2
    return (int(chin * SIZE), column), (
        int((lips[:, 1].min() + nose[:, 1].max()) / 2 * SIZE),
        column,
    )


def head_with(*, lip: float, chin: float) -> NDArray[np.uint8]:
    """A head whose upper lip and chin are so bright, shares of its skin."""
    head = np.full((SIZE, SIZE, 3), 1, np.float32) * SKIN
    for (row, column), level in zip(chin_and_lip(), (chin, lip), strict=True):
        head[row - 4 : row + 5, column - 8 : column + 9] *= np.float32(level)
    return head.astype(np.uint8)


def test_beard_is_told_where_lip_and_chin_are_dark() -> None:
    told = beard_hair(hair_shown(head_with(lip=0.5, chin=0.55), POINTS), DARK)
    assert told == pytest.approx([-0.45] * 3, abs=0.06)


def test_short_beard_is_told_where_the_lip_is_dark_and_the_chin_somewhat() -> None:
    """The planted fault: a smooth chin inside a rim of beard."""
    told = beard_hair(hair_shown(head_with(lip=0.55, chin=0.8), POINTS), DARK)
    assert told == pytest.approx([-0.42] * 3, abs=0.06)


def test_shade_under_a_jaw_is_no_beard() -> None:
    """The planted faults: a lamp from above gave a woman a beard, one from aside a shaved man."""
    assert not beard_hair(hair_shown(head_with(lip=0.65, chin=0.6), POINTS), DARK).any()
    assert not beard_hair(hair_shown(head_with(lip=1.0, chin=0.5), POINTS), DARK).any()
    assert not beard_hair(hair_shown(head_with(lip=0.5, chin=1.0), POINTS), DARK).any()
    assert not beard_hair(
        hair_shown(head_with(lip=0.5, chin=0.55), POINTS), np.zeros(3, np.float32)
    ).any()


def test_beard_is_drawn_over_chin_and_lip_and_nowhere_else() -> None:
    patch = replace(patch_of(), points=np.stack([POINTS, POINTS]))
    bare, made = with_beard(patch, DARK).pixels, with_beard(patch, DARK, HAIR).pixels
    for row, column in chin_and_lip():
        grown, skin = (one[row - 2 : row + 3, column - 2 : column + 3] for one in (made, bare))
        share = grown.mean(axis=(0, 1)) / skin.mean(axis=(0, 1))
        assert share.mean() < 0.85
        assert share[0] < share[2]
    lips = (POINTS[LIPS_OUTER_SLICE].mean(axis=0) * SIZE).astype(int)
    assert made[lips[1], lips[0]] == pytest.approx(bare[lips[1], lips[0]], rel=0.12)
    top = int(POINTS[NOSE_BASE_SLICE, 1].min() * SIZE) - 16
    assert np.allclose(made[:top], bare[:top], atol=0.5)


def test_hairs_move_with_their_face() -> None:
    patch = patch_of()
    here = with_beard(replace(patch, points=np.stack([POINTS] * 2)), DARK, HAIR).pixels
    there = POINTS + np.float32(3 / SIZE)
    moved = with_beard(replace(patch, points=np.stack([there] * 2)), DARK, HAIR).pixels
    (row, column), _ = chin_and_lip()
    first = here[row - 5 : row + 5, column - 5 : column + 5]
    second = moved[row - 2 : row + 8, column - 2 : column + 8]
    assert np.abs(first - second).mean() < 0.35 * first.std() + 2


@pytest.mark.parametrize("away", [0.8, -5.0, 40.0])
def test_faces_beyond_the_picture_grow_nothing_that_is_no_number(away: float) -> None:
    far = np.asarray(POINTS + np.float32(away), np.float32)
    head = head_with(lip=0.5, chin=0.55)
    assert np.isfinite(beard_hair(hair_shown(head, far), DARK)).all()
    made = with_beard(replace(patch_of(), points=np.stack([far, far])), DARK, HAIR).pixels
    assert np.isfinite(made).all()
