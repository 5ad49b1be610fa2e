"""A forehead is painted skin, as large as it was painted, up to the hair."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.forehead import forehead_distances, forehead_tone, is_forehead, shading
from engines.polar import RAYS, REACH, STEPS, UP, distances
from engines.reshaping import Rim, rim_of
from tests.engines.heads import SKIN, hair_on_rays, surrogate

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
FACE, PATCH = np.full(RAYS, 0.42, np.float32), np.full(RAYS, 0.46, np.float32)
HAIR = hair_on_rays(np.full(RAYS, 0.56, np.float32), np.full(RAYS, 0.9, np.float32))
ABOVE = UP > 0.8


def rim(low: float) -> Rim:
    return rim_of(FACE, PATCH, HAIR, surrogate(hair_low=low))


def test_forehead_reaches_a_high_hairline_in_skin_of_its_own_size() -> None:
    high = rim(0.0)
    taken = forehead_distances(high)
    assert (taken <= high.face[:, None] + 0.01)[is_forehead(high) > 0].all()
    assert (taken >= high.face[:, None] - 0.11)[is_forehead(high) > 0].all()
    steps = np.abs(np.diff(taken, axis=1)) * np.float32(STEPS / REACH)
    inside = (distances() < high.painted[:, None])[:, 1:] & (is_forehead(high)[:, 1:] > 0)
    assert np.median(steps[inside]) == pytest.approx(1, abs=0.01)


def test_forehead_stays_under_a_fringe() -> None:
    low = rim(1.0)
    own = np.broadcast_to(distances(), (RAYS, STEPS))
    inside = own < low.painted[:, None]
    assert np.allclose(forehead_distances(low)[inside], own[inside])
    assert shading(low)[ABOVE].max() > 0.06


def test_dark_rim_of_a_painted_face_does_not_darken_the_forehead() -> None:
    high = rim(0.0)
    painted = np.broadcast_to(SKIN, (RAYS, STEPS, 3)).copy()
    painted[:, np.flatnonzero(distances()[0] > 0.35)] -= 40
    taken = forehead_distances(high)
    steps = np.clip((taken * STEPS / REACH).astype(int), 0, STEPS - 1)
    seen = np.take_along_axis(painted, steps[..., None], axis=1)
    upper = (distances() > 0.37) & (distances() < high.painted[:, None]) & ABOVE[:, None]
    assert upper.any()
    before, after = (
        np.abs(one - SKIN)[upper].mean()
        for one in (seen, seen + forehead_tone(painted, taken, high))
    )
    assert before > 8
    assert after < 0.3 * before


def test_tone_is_added_to_foreheads_alone() -> None:
    painted = np.random.default_rng(1).uniform(0, 255, (RAYS, STEPS, 3)).astype(np.float32)
    tone = forehead_tone(painted, forehead_distances(rim(0.0)), rim(0.0))
    assert not tone[is_forehead(rim(0.0)).max(axis=1) == 0].any()
    assert not tone[:, distances()[0] < 0.28].any()
    assert np.isfinite(tone).all()
