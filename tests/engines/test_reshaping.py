"""The map around a painted face grows along every ray and takes nothing from under the patch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.head_traits import HEAD_TRAITS
from engines.polar import RAYS, STEPS, UP, distances
from engines.reshaping import (
    filled_radii,
    hair_width,
    headness,
    leaning,
    rim_of,
    source_distances,
)

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SKIN = np.array([90, 110, 150], np.float32)
FACE, PATCH = np.full(RAYS, 0.36, np.float32), np.full(RAYS, 0.42, np.float32)


def hair_up_to(radius: float, wall: float = 200, hair: float = 30) -> Float32:
    """Rays over hair, and a wall from some distance on: float32[RAYS, STEPS, 3]."""
    level = np.where(distances() < radius, hair, wall)
    return np.broadcast_to(level[..., None], (RAYS, STEPS, 3)).astype(np.float32)


@pytest.mark.parametrize(("hair", "wall"), [(30, 200), (200, 40), (30, 75)])
def test_hair_ends_where_the_wall_begins(hair: float, wall: float) -> None:
    head = headness(hair_up_to(0.6, wall, hair), PATCH, SKIN)
    step = distances()[0, 1] - distances()[0, 0]
    ends = head.sum(axis=1) * step
    assert np.abs(ends - 0.6).max() < 0.04


def test_wall_of_the_hairs_colour_is_no_head() -> None:
    head = headness(hair_up_to(0.6, 30, 30), PATCH, SKIN)
    assert head[:, distances()[0] > 0.5].max() < 0.1


@given(
    st.lists(st.floats(0, 1), min_size=HEAD_TRAITS, max_size=HEAD_TRAITS),
    st.floats(0.2, 0.5),
    st.floats(0.0, 0.25),
    st.floats(0.0, 0.7),
)
@settings(max_examples=60, deadline=None)
def test_sources_grow_along_rays_and_lie_beyond_the_patch(
    traits: list[float], face: float, feather: float, hair: float
) -> None:
    painted = np.full(RAYS, face, np.float32)
    hidden = painted + np.float32(feather)
    head = headness(hair_up_to(face + feather + hair), hidden, SKIN)
    rim = rim_of(painted, hidden, hair_width(head, hidden), np.array(traits, np.float32))
    source = source_distances(rim)
    assert np.isfinite(source).all()
    assert (np.diff(source, axis=1) > -1e-4).all()
    outside = distances() > rim.painted[:, None]
    assert (source >= hidden[:, None] - 0.01)[outside].all()
    beyond = distances() > rim.end[:, None]
    assert np.array_equal(source[beyond], np.broadcast_to(distances(), source.shape)[beyond])


@given(st.lists(st.floats(0.0, 0.5), min_size=RAYS, max_size=RAYS), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_sources_grow_where_hair_is_wide_beside_narrow(hair: list[float], seed: int) -> None:
    traits = np.random.default_rng(seed).random(HEAD_TRAITS, np.float32)
    rim = rim_of(FACE, PATCH, np.array(hair, np.float32), traits)
    assert (rim.source < rim.outline).all()
    assert (rim.painted < rim.drawn).all()
    assert (np.diff(source_distances(rim), axis=1) > -1e-4).all()


def test_gleam_in_hair_leaves_no_notch() -> None:
    around = hair_up_to(0.6)
    around[50:54, 22:26] = 200  # the wall's colour, between the patch and where hair ends
    width = hair_width(headness(around, PATCH, SKIN), PATCH)
    assert width.min() > 0.8 * width.max()


def test_without_traits_only_the_patch_is_left_out() -> None:
    head = headness(hair_up_to(0.7), PATCH, SKIN)
    kept = rim_of(FACE, PATCH, hair_width(head, PATCH), None)
    altered = rim_of(FACE, PATCH, hair_width(head, PATCH), np.full(HEAD_TRAITS, 0.5, np.float32))
    assert np.abs(kept.source - PATCH).max() < 0.02
    more = altered.source - kept.source
    assert (more[UP > 0.9] > 0.12).all()
    assert more.min() > 0
    assert not leaning(kept, None).any()


def test_leaning_moves_what_is_above_and_nothing_else() -> None:
    rim = rim_of(FACE, PATCH, np.full(RAYS, 0.28, np.float32), None)
    lean = leaning(rim, np.ones(HEAD_TRAITS, np.float32))
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
