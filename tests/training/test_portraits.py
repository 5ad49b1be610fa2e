"""Lamps of the contact sheet: the same at every call, each its own, and within what cameras see."""

from __future__ import annotations

import numpy as np
import pytest

from training.portraits import lamps_and_walls

pytestmark = pytest.mark.unit


def test_lamps_are_the_same_at_every_call_and_differ_from_each_other() -> None:
    first, again = lamps_and_walls(6), lamps_and_walls(6)
    assert first.shape == (6, 2, 4, 4, 3)
    assert np.array_equal(first, again)
    assert len(np.unique(first[:, 0].mean(axis=(1, 2, 3)).round(4))) == 6
    assert np.abs(first).max() <= 0.95


def test_faces_are_warmer_than_walls() -> None:
    light = lamps_and_walls(40).mean(axis=(2, 3))
    warmth = light[..., 2] - light[..., 0]
    assert (warmth[:, 0] > warmth[:, 1]).all()
