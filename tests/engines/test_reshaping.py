"""Where a painted face ends, and where the hair of the head that wears it begins and ends."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.forehead import shading
from engines.hairline import Hair
from engines.polar import DOWN, RAYS, STEPS, UP, distances, wave
from engines.reshaping import filled_radii, rim_of, tapered
from tests.engines.heads import SKIN, hair_on_rays, surrogate

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
ABOVE = UP > 0.8


def hair_between(begins: float, ends: float) -> Hair:
    return hair_on_rays(np.full(RAYS, begins, np.float32), np.full(RAYS, ends, np.float32))


@pytest.mark.parametrize("own", [0.5, 0.56, 0.62])
def test_hair_begins_where_the_surrogates_does_whatever_the_subjects_hairline(own: float) -> None:
    rim = rim_of(FACE, PATCH, hair_between(own, 0.9), surrogate())
    middle = rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate())
    assert np.abs(rim.painted - middle.painted)[ABOVE].max() < 0.01
    assert (rim.source > own - 0.02)[ABOVE].all()


def test_hairlines_of_surrogates_differ() -> None:
    high, low = (
        rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate(hair_low=value)).painted
        for value in (0.0, 1.0)
    )
    assert (high - low)[ABOVE].min() > 0.08
    assert (low < FACE)[ABOVE].all()
    assert np.abs(high - low)[UP < 0.1].max() < 0.01


def test_bald_head_keeps_its_shape() -> None:
    rim = rim_of(FACE, PATCH, hair_between(0.8, 0.8), surrogate(hair_low=0.0))
    assert np.abs(rim.painted - FACE).max() < 0.01
    assert not shading(rim).any()


def test_far_side_of_a_turned_head_gets_no_forehead() -> None:
    turned = np.asarray(FACE - 0.08 + 0.08 * wave(1), np.float32)
    hidden = np.asarray(turned + 0.04, np.float32)
    rim = rim_of(turned, hidden, hair_between(0.5, 0.9), surrogate(hair_low=0.0))
    raised, upper = rim.painted - rim.face, np.abs(UP - 0.88) < 0.04
    near, far = raised[upper & (wave(1) > 0)].mean(), raised[upper & (wave(1) < 0)].mean()
    assert near > 0.02
    assert far < 0.3 * near


@pytest.mark.parametrize(("hairs", "least", "most"), [(0.0, 0.0, 0.1), (0.5, 0.9, 1.0)])
def test_doubtful_hair_is_drawn_on_a_head_that_has_hair(
    hairs: float, least: float, most: float
) -> None:
    """The planted fault: thin hair before a bright wall kept the subject's hairline."""
    hair = hair_between(0.46, 0.6)
    doubtful = (np.abs(wave(1)) < 0.3)[:, None]
    places = np.where(doubtful, 0, hair.places * np.float32(hairs)).astype(np.float32)
    rim = rim_of(FACE, PATCH, Hair(hair.begins, hair.ends, places, hair.hidden), surrogate())
    grown = rim.grown[ABOVE & doubtful[:, 0]]
    assert (grown >= least).all()
    assert (grown <= most).all()


def test_unseen_hair_lies_close_to_the_far_side_of_a_turned_head() -> None:
    """It stood out as far as the patch reaches, which may be far beyond the head."""
    face = np.asarray(FACE - 0.1 + 0.1 * wave(1), np.float32)
    none = hair_on_rays(PATCH, PATCH)
    width = np.asarray(0.04 * (UP > 0.3), np.float32)
    hair = Hair(PATCH, PATCH + width, none.places, width)
    rim = rim_of(face, PATCH, hair, surrogate(full=1.0))
    far = (np.abs(UP - 0.45) < 0.1) & (wave(1) < 0)
    assert (rim.grown[far] > 0.3).all()
    assert (rim.crown[far] < face[far] + 0.1).all()
    assert (rim.crown[far] < PATCH[far]).all()
    assert (rim.stays[far] < 0.2).all(), "what is behind the head is drawn in up to it"
    seen = rim_of(face, PATCH, hair_between(0.46, 0.5), surrogate(full=1.0))
    assert (seen.crown[far] > PATCH[far]).all()


def test_hairlines_come_down_to_the_temples() -> None:
    """Straight across the forehead and down at its sides, they looked like the edge of a mask."""
    rim = rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate(hair_low=0.0, square=0.5))
    top = rim.painted[UP > 0.98].mean()
    corner = rim.painted[np.abs(UP - 0.7) < 0.05].mean()
    assert top > FACE[0] + 0.05
    assert FACE[0] - 0.01 < corner < FACE[0] + 0.6 * (top - FACE[0])


def test_without_traits_only_the_patch_is_left_out() -> None:
    kept = rim_of(FACE, PATCH, None, None)
    altered = rim_of(FACE, PATCH, hair_between(0.56, 0.9), surrogate())
    assert np.abs(kept.source - PATCH).max() < 0.02
    assert ((altered.source - kept.source)[UP > 0.9] > 0.08).all()
    assert not kept.altered.any()
    assert not kept.grown.any()


def test_face_fills_its_patch_as_far_as_its_skin_runs_on() -> None:
    outline = np.full(RAYS, 0.34, np.float32)
    skin = np.broadcast_to(SKIN, (RAYS, STEPS, 3)).copy()
    fuller = filled_radii(outline, PATCH, skin)
    is_jaw = DOWN > 0.5
    assert (fuller > outline + 0.02)[DOWN == 0].all()
    assert (fuller > outline)[is_jaw].all()
    assert (fuller < outline + 0.03)[is_jaw].all()
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
