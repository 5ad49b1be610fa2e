"""Hair gets one colour of its own, and what is not hair keeps its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_tone import HairColour, evened, hair_colour
from engines.head_traits import HEAD_TRAITS
from engines.polar import RAYS, UP, distances, wave
from engines.reshaping import Rim, rim_of
from tests.engines.heads import SKIN, hair_on_rays, head_on_rays

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
BEGINS, ENDS = 0.55, 0.9
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
HAIR = hair_on_rays(np.full(RAYS, BEGINS, np.float32), np.full(RAYS, ENDS, np.float32))
ABOVE = UP > 0.8
SIDE = 160.0
"""Of the patch, px of the frame."""


def rim(traits: Float32 | None = np.full(HEAD_TRAITS, 0.5, np.float32)) -> Rim:  # noqa: B008
    return rim_of(FACE, PATCH, HAIR, traits)


def added(
    head: Float32,
    side_px: float = SIDE,
) -> Float32:
    """What evening adds to a head."""
    colour = hair_colour(head, HAIR, rim())
    assert colour is not None
    return evened(head, HAIR.places, colour, rim(), side_px)


def is_hair() -> NDArray[np.bool_]:
    """Where hair is seen above the face, bool[RAYS, STEPS]."""
    return np.asarray((HAIR.places > 0) & ABOVE[:, None] & (distances() > 0.6))


def shining(crest: float) -> Float32:
    """A head whose hair shines in one direction: float32[RAYS, STEPS, 3]."""
    bright = 40 * np.maximum(wave(6, crest), 0)[:, None, None]
    head = head_on_rays(BEGINS, ENDS, noise=0.0)
    return np.asarray(head + bright * is_hair()[..., None], np.float32)


def test_hair_that_shines_elsewhere_comes_out_alike() -> None:
    """The planted fault: two people who differ by where their hair shines, and in nothing else."""
    one, other = shining(0.0), shining(np.pi)
    made = [each + added(each) for each in (one, other)]
    before, after = (
        np.abs(first - second)[is_hair()].mean() for first, second in ((one, other), made)
    )
    assert before > 10
    assert after < 0.3 * before


def test_skin_that_was_taken_for_hair_gets_its_colour() -> None:
    head = head_on_rays(BEGINS, ENDS, noise=0.0)
    bald = is_hair() & (np.abs(distances() - 0.75) < 0.03)
    head[bald] = SKIN
    made = head + added(head)
    away = [np.abs(each[bald] - (25, 30, 40)).mean() for each in (head, made)]
    assert away[1] < 0.3 * away[0]


def test_what_is_not_hair_stays() -> None:
    head = head_on_rays(BEGINS, ENDS)
    assert not added(head)[HAIR.places == 0].any()
    assert hair_colour(head, replace(HAIR, ends=HAIR.begins, places=0 * HAIR.places), rim()) is None
    assert hair_colour(head, HAIR, rim(None)) is None


def test_colour_of_hair_is_its_own() -> None:
    head = shining(0.0)
    seen = head[is_hair()]
    made = (head + added(head))[is_hair()].mean(axis=0)
    assert (seen.min(axis=0) < made).all()
    assert (made < seen.mean(axis=0) + 1).all()


def test_hair_of_a_small_face_stays() -> None:
    head = shining(0.0)
    small, middling = (np.abs(added(head, side)).max() for side in (70, 105))
    assert small == 0
    assert 0 < middling < np.abs(added(head)).max()


def test_strands_differ_by_no_more_than_hair_does_nor_by_much_of_its_brightness() -> None:
    strands, bright = np.array([-1, 0, 1], np.float32), np.ones(3, np.float32)
    for deviation, most in ((2.0, 2.0), (90.0, 25.0)):
        hair = HairColour(np.full(3, 90, np.float32), np.full(3, deviation, np.float32))
        drawn = hair.of_strands(strands, bright)[:, :3]
        assert np.array_equal(drawn[1], hair.mean)
        assert 0.5 < np.abs(drawn - hair.mean).max() < most


def test_strands_of_no_places_have_no_colours() -> None:
    nowhere = np.zeros(0, np.float32)
    hair = HairColour(np.full(3, 90, np.float32), np.full(3, 9, np.float32))
    assert hair.of_strands(nowhere, nowhere).shape == (0, 4)
