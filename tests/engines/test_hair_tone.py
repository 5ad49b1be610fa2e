"""Hair gets one colour of its own, and what is not hair keeps its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_tone import HairColour, evened, hair_colour
from engines.head_traits import HEAD_TRAITS
from engines.polar import RAYS, STEPS, UP, distances, wave
from engines.reshaping import Rim, rim_of
from tests.engines.heads import SKIN, hair_on_rays, head_on_rays

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
BEGINS, ENDS = 0.55, 0.9
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
HAIR = hair_on_rays(np.full(RAYS, BEGINS, np.float32), np.full(RAYS, ENDS, np.float32))
ABOVE = UP > 0.8
NOWHERE = np.zeros((RAYS, STEPS), np.bool_)
SIDE = 160.0
"""Of the patch, px of the frame."""


def rim(traits: Float32 | None = np.full(HEAD_TRAITS, 0.5, np.float32)) -> Rim:  # noqa: B008
    return rim_of(FACE, PATCH, HAIR, traits)


def added(
    head: Float32,
    side_px: float = SIDE,
    places: Float32 = HAIR.places,
    laid: NDArray[np.bool_] = NOWHERE,
) -> Float32:
    """What evening adds to a head."""
    colour = hair_colour(head, places, rim())
    assert colour is not None
    return evened(head, places, laid, colour, rim(), side_px)


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
    assert hair_colour(head, np.zeros_like(HAIR.places), rim()) is None
    assert hair_colour(head, HAIR.places, rim(None)) is None


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


@pytest.mark.parametrize("side", [70.0, SIDE])
def test_what_is_laid_is_hair_whatever_it_was(side: float) -> None:
    """The planted fault: a wall behind the head is laid on it, on small faces too."""
    head = head_on_rays(BEGINS, ENDS, noise=0.0)
    laid = np.asarray(is_hair() & (np.abs(distances() - 0.75) < 0.03), np.bool_)
    head[laid] = 200
    places = np.where(laid, np.float32(0), HAIR.places)
    made = head + added(head, side, places, laid)
    assert np.abs(made[laid] - (25, 30, 40)).max() < 2


def test_fine_detail_of_a_wall_is_bounded_by_what_hair_has() -> None:
    colour = hair_colour(shining(0.0), HAIR.places, rim())
    assert colour is not None
    pixels = np.random.default_rng(0).integers(0, 256, (64, 4)).astype(np.uint8)
    assert np.abs(colour.bounded(pixels)[:, :3] - colour.mean).max() < 60
    own = np.broadcast_to(np.append(colour.mean + colour.deviation, 9).astype(np.uint8), (64, 4))
    assert np.array_equal(colour.bounded(np.ascontiguousarray(own)), own)
    assert isinstance(colour, HairColour)
