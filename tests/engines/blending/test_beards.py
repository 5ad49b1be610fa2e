"""A beard below a painted chin is drawn up over its jaw, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.beards import beard_below, with_beard
from engines.blending.patches import identity_mask_of
from tests.engines.blending.test_rim import SIZE, SKIN, patch_of

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
ALL = np.ones((SIZE, SIZE), np.bool_)
BEARD = SKIN * np.float32(0.35)


def told(below: Float32, hidden: Float32) -> Float32:
    """What a head tells with a lower part of its own, below its chin and within the face."""
    head = np.full((SIZE, SIZE, 3), 1, np.float32) * SKIN
    low, must = np.zeros((SIZE, SIZE), np.bool_), identity_mask_of(patch_of(), SIZE)
    low[92:] = True
    head[low], head[low & must] = below, hidden
    return beard_below(patch_of(), head.astype(np.uint8), ALL)


def jaw(pixels: Float32) -> Float32:
    rows = np.flatnonzero(identity_mask_of(patch_of(), SIZE).any(axis=1))[-6:]
    return np.asarray(pixels[rows, 60:68].mean(axis=(0, 1)), np.float32)


def test_painted_jaw_goes_over_into_a_beard_below_it() -> None:
    tone = told(BEARD, BEARD)
    made = with_beard(patch_of(), tone)
    assert jaw(made.pixels).mean() < 0.75 * SKIN.mean()
    assert np.allclose(made.pixels[:45], patch_of().pixels[:45], atol=0.5)


def test_collar_below_a_chin_is_no_beard() -> None:
    """The planted fault: what ends at the chin is taken for a beard."""
    assert not told(SKIN * np.float32(0.1), SKIN).any()


def test_bare_neck_leaves_a_patch_as_it_is() -> None:
    patch = patch_of()
    assert with_beard(patch, told(SKIN, SKIN)) is patch


def test_beard_only_darkens() -> None:
    assert told(SKIN * np.float32(1.9), SKIN * np.float32(1.9)).mean() <= 7
