"""The colour of hair is that of most of it, whatever was taken for hair beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_tone import HairColour, brow_colour, hair_colour, tone_beyond, toned_hair
from engines.polar import RAYS, TURNS, UP, along, distances
from engines.reshaping import Rim, rim_of
from tests.engines.heads import SKIN, hair_on_rays, head_on_rays, surrogate

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
BEGINS, ENDS, HAIR_BGR = 0.55, 0.9, (25, 30, 40)
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
HAIR = hair_on_rays(np.full(RAYS, BEGINS, np.float32), np.full(RAYS, ENDS, np.float32))
ABOVE = UP > 0.8


def rim() -> Rim:
    return rim_of(FACE, PATCH, HAIR, surrogate())


def colour_of(head: Float32) -> HairColour:
    found = hair_colour(head, HAIR)
    assert found is not None
    return found


def band(middle: float, width: float) -> NDArray[np.bool_]:
    """Where hair is seen above the face so far out, bool[RAYS, STEPS]."""
    return np.asarray(ABOVE[:, None] & (np.abs(distances() - middle) < width))


def test_hair_has_its_own_colour() -> None:
    found = colour_of(head_on_rays(BEGINS, ENDS))
    assert np.abs(found.mean - HAIR_BGR).max() < 3
    assert found.seen > 100


@pytest.mark.parametrize("what", [SKIN, (200, 195, 190)], ids=["skin", "the wall behind"])
def test_what_was_taken_for_hair_has_no_part_in_its_colour(what: tuple[float, ...]) -> None:
    """The planted fault: a bald place, or a third of the hair that is wall."""
    head = head_on_rays(BEGINS, ENDS, noise=0.0)
    head[band(0.8, 0.06)] = what
    assert np.abs(colour_of(head).mean - HAIR_BGR).max() < 6


def test_what_is_not_seen_has_no_part_in_the_colour() -> None:
    head = head_on_rays(BEGINS, ENDS, noise=0.0)
    hidden = np.broadcast_to(np.abs(distances() - 0.75) < 0.13, head.shape[:2])
    head[hidden] = 140
    found = hair_colour(head, HAIR, ~hidden)
    assert found is not None
    assert np.abs(found.mean - HAIR_BGR).max() < 3
    assert np.abs(colour_of(head).mean - HAIR_BGR).max() > 40


def test_dark_hair_before_the_dark_keeps_its_colour() -> None:
    """The planted fault: what was as dark as the background did not count, and hair became grey."""
    head = head_on_rays(BEGINS, ENDS, wall=HAIR_BGR, noise=0.0)
    head[band(0.7, 0.06)] = 110
    assert np.abs(colour_of(head).mean - HAIR_BGR).max() < 6


def test_brows_are_the_darkest_of_a_painted_forehead() -> None:
    painted = np.broadcast_to(SKIN, (RAYS, distances().size, 3)).copy()
    painted[band(0.2, 0.02)] = HAIR_BGR
    brows = brow_colour(painted, FACE)
    assert np.abs(brows.mean - HAIR_BGR).max() < 1
    assert 0 < brows.deviation.max() < 20
    assert 0 < brows.seen < 30


def test_a_colour_is_not_guessed_where_there_is_no_hair() -> None:
    head = head_on_rays(BEGINS, ENDS)
    assert hair_colour(head, replace(HAIR, ends=HAIR.begins, places=0 * HAIR.places)) is None


def test_strands_differ_by_no_more_than_hair_does_nor_by_much_of_its_brightness() -> None:
    strands = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    for deviation, most in ((2.0, 2.1), (90.0, 23.0)):
        hair = HairColour(np.full(3, 90, np.float32), np.full(3, deviation, np.float32))
        drawn = hair.of_strands(strands, np.ones_like(strands))[:, :3]
        assert np.abs(drawn.mean(axis=0) - hair.mean).max() < 2
        assert 0.8 * most < drawn.std() < most
        assert drawn.max() < hair.mean[0] + 3 * most


def test_dark_hair_is_mostly_darker_than_its_mean() -> None:
    """The planted fault: strands of black hair that were grey as often as black made it grey."""
    strands = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    hair = HairColour(np.full(3, 35, np.float32), np.full(3, 17, np.float32))
    drawn = hair.of_strands(strands, np.ones_like(strands))[:, 0]
    assert np.median(drawn) < 33.5 < drawn.mean() < 36
    assert drawn.min() > -1


def test_strands_of_no_places_have_no_colours() -> None:
    nowhere = np.zeros(0, np.float32)
    hair = HairColour(np.full(3, 90, np.float32), np.full(3, 9, np.float32))
    assert hair.of_strands(nowhere, nowhere).shape == (0, 4)


def test_drawn_hair_takes_on_the_tone_of_hair_that_stays() -> None:
    """The planted fault: a lock before bright hair was as dark as the rest of the head."""
    bright, wide = (60, 70, 80), rim()
    head, left = head_on_rays(BEGINS, ENDS, noise=0.0), np.cos(TURNS) < -0.1
    head[ABOVE[:, None] & left[:, None] & (distances() > 0.55) & (distances() < ENDS)] = bright
    own = HairColour(np.array(HAIR_BGR, np.float32), np.full(3, 5, np.float32))
    tone = tone_beyond(head, HAIR, wide, own)
    assert np.abs(HAIR_BGR + tone - bright)[ABOVE & (np.cos(TURNS) < -0.4)].max() < 25
    assert np.abs(tone)[ABOVE & (np.cos(TURNS) > 0.2)].max() < 4
    added = toned_hair(tone, wide)
    at_roots, farther = (along(added, place[:, None])[:, 0] for place in (wide.painted, wide.whole))
    assert np.allclose(farther, tone, atol=1)
    assert np.abs(at_roots).max() < 0.7 * np.abs(tone).max()


def test_a_wall_behind_thin_hair_does_not_make_it_bright() -> None:
    """The planted fault: strands before a bright wall were grey."""
    head = head_on_rays(BEGINS, 0.62, wall=(220, 220, 220), noise=0.0)
    own = HairColour(np.array(HAIR_BGR, np.float32), np.full(3, 5, np.float32))
    assert np.abs(tone_beyond(head, HAIR, rim(), own))[ABOVE].max() < 4


def test_a_cover_beside_hair_does_not_colour_it() -> None:
    """The planted fault: hair next to another face's cover became blue."""
    head = head_on_rays(BEGINS, ENDS, noise=0.0)
    head[(ABOVE & (np.cos(TURNS) < -0.1))[:, None] & (distances() > 0.6)] = (80, 45, 0)
    own = HairColour(np.array(HAIR_BGR, np.float32), np.full(3, 5, np.float32))
    assert np.abs(tone_beyond(head, HAIR, rim(), own))[ABOVE].max() < 4
