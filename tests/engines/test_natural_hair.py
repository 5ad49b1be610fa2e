"""What has no colour of hair is no hair, whatever the network says."""

from __future__ import annotations

import numpy as np
import pytest

from engines.natural_hair import natural_hair
from engines.polar import RAYS
from tests.engines.heads import SKIN, hair_on_rays, head_on_rays

pytestmark = pytest.mark.unit

BEGINS, ENDS = 0.55, 0.9
HAIR = hair_on_rays(np.full(RAYS, BEGINS, np.float32), np.full(RAYS, ENDS, np.float32))
NATURAL = {"black": (25, 28, 30), "brown": (35, 50, 75), "fair": (110, 150, 180)}
NATURAL |= {"ginger": (40, 70, 130), "grey": (150, 150, 150), "black in daylight": (50, 42, 38)}
CAPS = {"blue": (130, 50, 60), "green": (60, 110, 40), "scarlet": (35, 30, 170)}


@pytest.mark.parametrize("colour", NATURAL.values(), ids=NATURAL.keys())
def test_hair_of_natural_colours_is_hair(colour: tuple[float, float, float]) -> None:
    found = natural_hair(HAIR, head_on_rays(BEGINS, ENDS, hair=colour), SKIN)
    assert np.allclose(found.stacked(), HAIR.stacked(), atol=1e-5)


@pytest.mark.parametrize("colour", CAPS.values(), ids=CAPS.keys())
def test_caps_that_no_hair_is_as_colourful_as_stay(colour: tuple[float, float, float]) -> None:
    """The planted fault: a blue cap became blue hair."""
    found = natural_hair(HAIR, head_on_rays(BEGINS, ENDS, hair=colour), SKIN)
    assert np.allclose(found.ends, found.begins)
    assert not found.places.any()


def test_hair_under_a_blue_lamp_is_hair() -> None:
    lamp = np.array([2.2, 0.8, 0.6], np.float32)
    head, skin = head_on_rays(BEGINS, ENDS, hair=(60, 70, 90)) * lamp, SKIN * lamp
    found = natural_hair(HAIR, head, skin)
    assert np.allclose(found.stacked(), HAIR.stacked(), atol=1e-5)
