"""Hair around a painted face is laid without jumps, and nothing comes from under the patch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.hair_sources import Sources, laid_again, sources_of
from engines.hairline import Hair
from engines.head_traits import HEAD_TRAITS
from engines.polar import RAYS, REACH, STEPS, UP, distances
from engines.reshaping import Rim, rim_of
from tests.engines.heads import hair_on_rays, surrogate

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
ABOVE = UP > 0.8
MOST_TORN = 4
"""How many times as far apart as in what is drawn neighbours of a ray may be taken from."""


def hair_between(begins: float, ends: float) -> Hair:
    return hair_on_rays(np.full(RAYS, begins, np.float32), np.full(RAYS, ends, np.float32))


def radii_of(sources: Sources) -> tuple[Float32, Float32]:
    """How far from the middle what is seen is taken from, by the first of both and the second."""
    laid = laid_again(sources.beyond, sources.period, sources.blend)
    first, second = (
        np.hypot(
            sources.right + way * sources.along_right - aside * sources.along_below,
            sources.below + way * sources.along_below + aside * sources.along_right,
        )
        for way, aside in ((laid.first, laid.first_aside), (laid.second, laid.second_aside))
    )
    first = np.where(laid.is_laid, first, sources.distance)
    return first, np.where(laid.share > 0, second, first)


def least_source(rim: Rim) -> float:
    return float(min(rim.source.min(), rim.outline.min())) - 0.01


def is_sound(rim: Rim) -> bool:
    """Whether no place of the surroundings is taken from within their beginning, or torn apart."""
    sources, around = sources_of(rim), distances() > rim.painted[:, None]
    whole = np.abs(np.diff(sources.distance, axis=1)).max() < MOST_TORN * (REACH / STEPS)
    laid = laid_again(sources.beyond, sources.period, sources.blend)
    seen = np.where(laid.is_laid, np.inf, sources.distance - rim.source[:, None])
    outside = all((one[around] >= least_source(rim)).all() for one in radii_of(sources))
    orderly = (rim.source < rim.outline).all() and (rim.painted < rim.drawn).all()
    return bool(whole and (seen[around] >= -0.01).all() and outside and orderly)


@given(
    st.lists(st.floats(0, 1), min_size=HEAD_TRAITS, max_size=HEAD_TRAITS),
    st.floats(0.2, 0.5),
    st.floats(0.0, 0.25),
    st.floats(0.0, 0.4),
)
@settings(max_examples=60, deadline=None)
def test_sources_lie_beyond_the_patch(
    traits: list[float], face: float, feather: float, hair: float
) -> None:
    painted = np.full(RAYS, face, np.float32)
    hidden = painted + np.float32(feather)
    found = hair_on_rays(hidden, hidden + np.float32(hair))
    rim = rim_of(painted, hidden, found, np.array(traits, np.float32))
    sources = sources_of(rim)
    assert all(np.isfinite(one).all() for one in radii_of(sources))
    assert is_sound(rim)
    outside = distances() > rim.painted[:, None]
    assert all((one >= hidden[:, None] - 0.01)[outside].all() for one in radii_of(sources))
    beyond = distances() > rim.end[:, None]
    own = np.broadcast_to(distances(), (RAYS, STEPS))
    assert np.array_equal(sources.distance[beyond], own[beyond])
    assert not laid_again(sources.beyond, sources.period, sources.blend).is_laid[beyond].any()


@given(st.lists(st.floats(0.0, 0.5), min_size=RAYS, max_size=RAYS), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_map_is_sound_where_hair_is_wide_beside_narrow(hair: list[float], seed: int) -> None:
    drawn = np.random.default_rng(seed)
    begins = PATCH + drawn.random(RAYS, np.float32) * np.float32(0.2)
    found = hair_on_rays(begins, begins + np.array(hair, np.float32))
    assert is_sound(rim_of(FACE, PATCH, found, drawn.random(HEAD_TRAITS, np.float32)))


@pytest.mark.parametrize("low", [0.0, 0.5, 1.0])
def test_strands_of_hair_keep_their_size_and_direction(low: float) -> None:
    """Drawn out to the hairline instead, hair stood on end; folded back, it showed whorls."""
    rim = rim_of(FACE, PATCH, hair_between(0.52, 0.9), surrogate(hair_low=low, tall=0.5))
    slopes = np.diff(radii_of(sources_of(rim))[0], axis=1) * np.float32(STEPS / REACH)
    middles = (distances() + np.float32(REACH / STEPS / 2))[:, :-1]
    is_hair = (middles > rim.painted[:, None]) & (middles < rim.drawn[:, None] - 0.02)
    found = slopes[ABOVE][is_hair[ABOVE]]
    goes_on = found > -2  # where it is laid again, it jumps inwards
    assert goes_on.mean() > 0.9
    assert found[goes_on].max() < 1.05
    assert found[goes_on].min() > 0.65


def test_what_is_seen_beyond_the_roots_stays_where_it_is() -> None:
    rim = rim_of(FACE, PATCH, hair_between(0.52, 0.9), surrogate(tall=0.5))
    sources = sources_of(rim)
    laid = laid_again(sources.beyond, sources.period, sources.blend)
    own = np.broadcast_to(distances(), (RAYS, STEPS))
    is_hair = (own > rim.source[:, None] + 0.01) & (own < rim.outline[:, None] - 0.01)
    assert not laid.is_laid[is_hair].any()
    assert np.abs(sources.distance - own)[is_hair & ABOVE[:, None]].max() < 0.01


def test_seam_of_what_is_laid_is_blended_over() -> None:
    """On both sides of it the same place is seen, farther out than the hair that is laid."""
    beyond = np.array([-1e-4, 1e-4], np.float32)
    inner, outer = (laid_again(beyond, np.full(2, 0.2), np.full(2, 0.09)) for _ in range(2))
    assert inner.is_laid[0]
    assert not outer.is_laid[1]
    assert abs(float(inner.first[0]) - float(outer.second[1])) < 1e-3
    assert inner.first_aside[0] == outer.second_aside[1]
    assert outer.first_aside[1] == 0
    assert inner.share[0] < 1e-3
    assert outer.share[1] > 0.999


def test_hair_is_taken_from_where_there_is_most_of_it() -> None:
    ends = np.where(np.arange(RAYS) < 3 * RAYS // 4, 0.58, 0.9).astype(np.float32)
    rim = rim_of(FACE, PATCH, hair_on_rays(np.full(RAYS, 0.5, np.float32), ends), surrogate())
    sources = sources_of(rim)
    turns = np.arctan2(sources.along_below, sources.along_right)[:, 0]
    thin = ABOVE & (np.arange(RAYS) < 3 * RAYS // 4 - 3)
    width = (ends - 0.5)[np.round(turns * RAYS / (2 * np.pi)).astype(int) % RAYS]
    assert (width[thin] > 0.2).mean() > 0.8


def test_where_there_is_no_hair_what_is_behind_is_drawn_in_and_none_is_laid() -> None:
    wall = hair_between(0.5, 0.9)
    nothing = Hair(wall.begins, wall.ends, np.zeros_like(wall.places))
    sources = sources_of(rim_of(FACE, PATCH, nothing, surrogate()))
    around = distances() > 0.42
    laid = laid_again(sources.beyond, sources.period, sources.blend)
    assert not (laid.is_laid & around).any()


def test_without_traits_nothing_is_laid() -> None:
    rim = rim_of(FACE, PATCH, None, None)
    sources = sources_of(rim)
    laid = laid_again(sources.beyond, sources.period, sources.blend)
    assert not laid.is_laid[distances() > rim.painted[:, None]].any()
