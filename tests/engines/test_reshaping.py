"""The map around a painted face has no jumps and takes nothing from under the patch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.head_traits import HEAD_TRAITS, Trait
from engines.polar import RAYS, REACH, STEPS, UP, distances, wave
from engines.reshaping import (
    Rim,
    filled_radii,
    forehead_distances,
    leaning,
    rim_of,
    shading,
    source_distances,
    tapered,
)
from tests.engines.heads import SKIN, hair_on_rays

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
ABOVE = UP > 0.8
MOST_TORN = 4
"""How many times as far apart as in what is drawn neighbours of a ray may be taken from."""


def hair_between(begins: float, ends: float) -> Hair:
    return hair_on_rays(np.full(RAYS, begins, np.float32), np.full(RAYS, ends, np.float32))


def surrogate(**traits: float) -> Float32:
    own = np.full(HEAD_TRAITS, 0.5, np.float32)
    for name, value in traits.items():
        own[Trait[name.upper()]] = value
    return own


def is_sound(rim: Rim) -> bool:
    """Whether no place of the surroundings is taken from within their beginning, or torn apart."""
    source, out = source_distances(rim), distances()
    around = out > rim.painted[:, None]
    whole = np.abs(np.diff(source, axis=1)).max() < MOST_TORN * (REACH / STEPS)
    seen = source >= np.minimum(rim.source, rim.outline)[:, None] - np.float32(0.01)
    orderly = (rim.source < rim.outline).all() and (rim.painted < rim.drawn).all()
    return bool(whole and seen[around].all() and orderly)


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
    source = source_distances(rim)
    assert np.isfinite(source).all()
    assert is_sound(rim)
    outside = distances() > rim.painted[:, None]
    assert (source >= hidden[:, None] - 0.01)[outside].all()
    beyond = distances() > rim.end[:, None]
    assert np.array_equal(source[beyond], np.broadcast_to(distances(), source.shape)[beyond])


@given(st.lists(st.floats(0.0, 0.5), min_size=RAYS, max_size=RAYS), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_map_is_sound_where_hair_is_wide_beside_narrow(hair: list[float], seed: int) -> None:
    drawn = np.random.default_rng(seed)
    begins = PATCH + drawn.random(RAYS, np.float32) * np.float32(0.2)
    found = hair_on_rays(begins, begins + np.array(hair, np.float32))
    assert is_sound(rim_of(FACE, PATCH, found, drawn.random(HEAD_TRAITS, np.float32)))


@pytest.mark.parametrize("low", [0.0, 0.5, 1.0])
def test_strands_of_hair_keep_their_size(low: float) -> None:
    """Drawn out to the hairline instead, at slopes of half as much, hair stood on end."""
    rim = rim_of(FACE, PATCH, hair_between(0.52, 0.9), surrogate(hair_low=low, tall=0.5))
    slopes = np.abs(np.diff(source_distances(rim), axis=1)) * np.float32(STEPS / REACH)
    middles = (distances() + np.float32(REACH / STEPS / 2))[:, :-1]
    is_hair = (middles > rim.painted[:, None]) & (middles < rim.drawn[:, None] - 0.02)
    assert 0.7 < np.median(slopes[ABOVE][is_hair[ABOVE]]) < 1.05


@pytest.mark.parametrize("own", [0.5, 0.56, 0.62])
def test_hair_begins_where_the_surrogates_does_whatever_the_subjects_hairline(own: float) -> None:
    rim = rim_of(FACE, PATCH, hair_between(own, 0.9), surrogate())
    middle = rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate())
    assert np.abs(rim.painted - middle.painted)[ABOVE].max() < 0.01
    # The roots next to the subject's hairline are left out.
    assert (rim.source > own + 0.05)[ABOVE].all()


def test_hairlines_of_surrogates_differ() -> None:
    high, low = (
        rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate(hair_low=value)).painted
        for value in (0.0, 1.0)
    )
    assert (high - low)[ABOVE].min() > 0.14
    assert (low < FACE)[ABOVE].all()
    assert np.abs(high - low)[UP < 0.1].max() < 0.01


def test_bald_head_keeps_its_shape() -> None:
    rim = rim_of(FACE, PATCH, hair_between(0.8, 0.8), surrogate(hair_low=0.0))
    assert np.abs(rim.painted - FACE).max() < 0.01
    assert not shading(rim).any()


def test_far_side_of_a_turned_head_gets_no_forehead() -> None:
    turned = np.asarray(FACE - 0.08 + 0.08 * wave(1), np.float32)
    hidden = np.asarray(turned + 0.04, np.float32)
    rim = rim_of(turned, hidden, hair_between(0.6, 0.9), surrogate(hair_low=0.0))
    raised = (rim.painted - rim.face)[UP > 0.5]
    near, far = raised[-4:].mean(), raised[:4].mean()
    assert near > 0.03
    assert far < 0.3 * near


def test_forehead_reaches_a_high_hairline_and_stays_under_a_fringe() -> None:
    high, low = (
        rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate(hair_low=value))
        for value in (0.0, 1.0)
    )
    out = np.broadcast_to(distances(), (RAYS, STEPS))
    rim = np.abs(out - high.painted[:, None]).argmin(axis=1)
    drawn = forehead_distances(high)[np.arange(RAYS), rim]
    assert np.abs(drawn - high.face)[ABOVE].max() < 0.05
    assert (drawn <= high.face + 0.01)[ABOVE].all()
    assert np.allclose(forehead_distances(low)[ABOVE], out[ABOVE])
    assert shading(low)[ABOVE].max() > 0.06


def test_without_traits_only_the_patch_is_left_out() -> None:
    kept = rim_of(FACE, PATCH, None, None)
    altered = rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate())
    assert np.abs(kept.source - PATCH).max() < 0.02
    assert ((altered.source - kept.source)[UP > 0.9] > 0.12).all()
    assert not kept.altered.any()
    assert not leaning(kept, None).any()


def test_leaning_moves_what_is_above_and_nothing_else() -> None:
    rim = rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate())
    lean = leaning(rim, surrogate(leaning=1.0))
    assert np.abs(lean[UP > 0.9]).max() > 0.02
    assert not lean[UP == 0].any()


def test_face_fills_its_patch_as_far_as_its_skin_runs_on() -> None:
    outline = np.full(RAYS, 0.34, np.float32)
    skin = np.broadcast_to(SKIN, (RAYS, STEPS, 3)).copy()
    fuller = filled_radii(outline, PATCH, skin)
    assert (fuller > outline + 0.02).all()
    assert (fuller < PATCH).all()
    dark_side = np.arange(RAYS // 4, RAYS // 2)
    skin[dark_side[:, None], np.flatnonzero(distances()[0] > 0.34)] = 20
    half = filled_radii(outline, PATCH, skin)
    assert (half[dark_side[4:-4]] < outline[0] + 0.005).all()
    assert np.abs(half - fuller)[3 * RAYS // 4 :].max() < 0.005


def test_a_forehead_is_no_wider_than_the_face_at_its_eyes() -> None:
    assert np.allclose(tapered(FACE), FACE)
    temple = np.exp(-0.5 * np.square((UP - 0.65) / 0.12)) * (wave(1) > 0)
    bulging = FACE + np.float32(0.15) * temple.astype(np.float32)
    made = tapered(bulging)
    width = (made * wave(1))[UP > 0.45].max()
    assert width < 1.05 * (FACE * wave(1))[(UP > 0.3) & (UP < 0.45)].max()
    assert (bulging * wave(1))[UP > 0.45].max() > 1.1 * width
    assert (made <= bulging).all()
