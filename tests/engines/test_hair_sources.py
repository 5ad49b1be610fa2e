"""What is around a painted face comes from beyond its patch, and hair is drawn where it must be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.hair_sources import sources_of
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


def least_source(rim: Rim) -> float:
    return float(min(rim.source.min(), rim.outline.min())) - 0.01


def is_sound(rim: Rim) -> bool:
    """Whether no place of the surroundings is taken from within their beginning, or torn apart."""
    sources, around = sources_of(rim), distances() > rim.painted[:, None]
    whole = np.abs(np.diff(sources.distance, axis=1)).max() < MOST_TORN * (REACH / STEPS)
    outside = (sources.distance[around] >= least_source(rim)).all()
    orderly = (rim.source < rim.outline).all() and (rim.painted < rim.end).all()
    shares = (sources.drawn >= 0).all() and (sources.drawn <= 1).all()
    return bool(whole and outside and orderly and shares)


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
    assert np.isfinite(sources.distance).all()
    assert is_sound(rim)
    outside = distances() > rim.painted[:, None]
    assert (sources.distance >= hidden[:, None] - 0.01)[outside].all()
    beyond = distances() > rim.end[:, None]
    own = np.broadcast_to(distances(), (RAYS, STEPS))
    assert np.array_equal(sources.distance[beyond], own[beyond])
    assert not sources.drawn[beyond].any()


@given(st.lists(st.floats(0.0, 0.5), min_size=RAYS, max_size=RAYS), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_map_is_sound_where_hair_is_wide_beside_narrow(hair: list[float], seed: int) -> None:
    drawn = np.random.default_rng(seed)
    begins = PATCH + drawn.random(RAYS, np.float32) * np.float32(0.2)
    found = hair_on_rays(begins, begins + np.array(hair, np.float32))
    assert is_sound(rim_of(FACE, PATCH, found, drawn.random(HEAD_TRAITS, np.float32)))


@pytest.mark.parametrize("low", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("ends", [0.6, 0.66, 0.9])
def test_hair_is_drawn_over_the_subjects_hairline(low: float, ends: float) -> None:
    """The planted fault: the subject's own hairline, or the outline of thin hair, would show."""
    rim = rim_of(FACE, PATCH, hair_between(0.52, ends), surrogate(hair_low=low))
    drawn, out = sources_of(rim).drawn, np.broadcast_to(distances(), (RAYS, STEPS))
    near = np.maximum(rim.painted, rim.source)[:, None] + np.float32(0.09)
    own = (out > rim.painted[:, None]) & (out < np.minimum(near, ends))
    assert drawn[own & ABOVE[:, None]].min() > 0.95
    assert np.diff(drawn[ABOVE], axis=1).max() < 1e-3, "it only gives way"


def test_wide_hair_stays_the_subjects_own_farther_out() -> None:
    """The planted fault: heads of long hair looked like heads in fur caps."""
    rim = rim_of(FACE, PATCH, hair_between(0.52, 0.9), surrogate())
    sources, out = sources_of(rim), np.broadcast_to(distances(), (RAYS, STEPS))
    far = ABOVE[:, None] & (out > np.maximum(rim.painted, rim.source)[:, None] + np.float32(0.22))
    assert not sources.drawn[far].any()
    assert np.array_equal(sources.distance[far], out[far])


def test_full_hair_reaches_farther_than_flat_hair_and_both_end() -> None:
    crowns = []
    for full in (0.0, 1.0):
        rim = rim_of(FACE, PATCH, hair_between(0.52, 0.62), surrogate(full=full))
        assert (rim.crown < rim.end)[ABOVE].all()
        crowns.append(rim.crown)
    assert (crowns[0][ABOVE] > 0.64).all()
    assert (crowns[1] - crowns[0] > 0.02)[ABOVE].all()
    beside = (UP > 0.2) & (UP < 0.4)
    assert (crowns[1] < 0.64)[beside].all(), "beside a face hair lies close"


def test_what_is_behind_a_head_stays_where_it_is() -> None:
    rim = rim_of(FACE, PATCH, hair_between(0.52, 0.9), surrogate())
    sources, own = sources_of(rim), np.broadcast_to(distances(), (RAYS, STEPS))
    behind = ABOVE[:, None] & (own > rim.outline[:, None])
    assert np.array_equal(sources.distance[behind], own[behind])


def test_where_there_is_no_hair_what_is_behind_is_drawn_in_and_no_hair_is() -> None:
    wall = hair_between(0.5, 0.9)
    nothing = replace(wall, places=np.zeros_like(wall.places))
    assert not sources_of(rim_of(FACE, PATCH, nothing, surrogate())).drawn.any()


def test_without_traits_no_hair_is_drawn() -> None:
    assert not sources_of(rim_of(FACE, PATCH, None, None)).drawn.any()
