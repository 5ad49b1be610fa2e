"""Where hair begins and ends is read off what is around a face, whatever colour it has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from engines.hairline import Hair, read_hair
from engines.polar import RAYS, SIDE, STEPS, UP
from tests.engines.heads import SKIN, head_on_rays

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
PATCH = np.full(RAYS, 0.46, np.float32)
FOREHEAD = np.broadcast_to(SKIN, (RAYS, 3)).astype(np.float32)
ABOVE = UP > 0.5


def read(around: Float32) -> Hair:
    return read_hair(around, PATCH, FOREHEAD)


@pytest.mark.parametrize(
    ("hair", "wall"),
    [
        ((25, 30, 40), (200, 195, 190)),
        ((25, 30, 40), (90, 60, 30)),
        ((110, 150, 180), (60, 60, 60)),
        ((190, 190, 190), (120, 60, 30)),
        ((30, 60, 140), (220, 220, 220)),
    ],
)
def test_hair_of_any_colour_is_found(
    hair: tuple[float, float, float], wall: tuple[float, float, float]
) -> None:
    found = read(head_on_rays(0.6, 0.86, hair, wall))
    assert np.abs(found.begins - 0.6)[ABOVE].max() < 0.05
    assert np.abs(found.ends - 0.86)[ABOVE].max() < 0.05


def test_hairline_of_any_shape_is_followed() -> None:
    line = (0.56 + 0.1 * SIDE * UP).astype(np.float32)
    found = read(head_on_rays(line, 0.9))
    assert np.abs(found.begins - line)[ABOVE].max() < 0.05


def test_fringe_begins_at_the_patch() -> None:
    found = read(head_on_rays(0.3, 0.86))
    assert np.abs(found.begins - PATCH)[ABOVE].max() < 0.03


def test_bald_head_has_hardly_any_hair() -> None:
    found = read(head_on_rays(0.8, 0.8))
    assert (found.ends - found.begins)[ABOVE].mean() < 0.04
    assert np.abs(found.begins - 0.8)[ABOVE].mean() < 0.05


@pytest.mark.parametrize("level", [10, 225])
def test_thin_hair_before_a_bright_wall_ends_early_and_dark_hair_before_a_dark_one_does_not(
    level: float,
) -> None:
    around = head_on_rays(0.5, 0.58, (level, level, level), (level, level, level))
    width = (read(around).ends - read(around).begins)[ABOVE].mean()
    assert width < 0.05 if level > 200 else width > 0.2


def test_gleam_in_hair_leaves_no_notch() -> None:
    around = head_on_rays(0.6, 0.86)
    around[52:55, 34:38] = 200  # the wall's colour, amid hair
    found = read(around)
    assert np.abs(found.ends - 0.86)[ABOVE].max() < 0.06


@given(arrays(np.uint8, (RAYS, STEPS // 4, 3)), st.floats(0.2, 1.4))
@settings(max_examples=30, deadline=None)
def test_whatever_is_around_borders_lie_in_order_beyond_the_patch(
    seen: NDArray[np.uint8], radius: float
) -> None:
    hidden = np.full(RAYS, radius, np.float32)
    found = read_hair(np.repeat(seen, 4, axis=1).astype(np.float32), hidden, FOREHEAD)
    assert np.isfinite(found.ends).all()
    assert (found.begins >= hidden).all()
    assert (found.ends >= found.begins).all()
