"""Knees of curves whose knee is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gallery.knees import knees

pytestmark = pytest.mark.unit

X = np.arange(11, dtype=np.float64)


def test_broken_line_bends_where_it_is_broken() -> None:
    assert knees(X, np.minimum(3 * X, 9 + 0.1 * X)) == [3]


def test_convex_curve_bends_where_it_starts_to_rise() -> None:
    assert knees(X, np.maximum(0.1 * X, 3 * X - 20), "convex") == [7]


def test_known_curve_of_the_paper_bends_at_its_maximum_bulge() -> None:
    # y = 5 − 1/(0.1 + x): the normalised curve is farthest above its chord near x = 0.22.
    x = np.linspace(0, 1, 101)
    (position,) = knees(x, -1 / (x + 0.1) + 5)
    assert x[position] == pytest.approx(0.23, abs=0.02)


def test_two_plateaus_have_two_knees() -> None:
    y = np.array([0, 5, 5.1, 5.2, 5.3, 5.4, 9, 9.1, 9.2, 9.3, 9.4])
    assert knees(X, y) == [1, 6]


@pytest.mark.parametrize("y", [X, np.ones(11), X**2])
def test_straight_flat_and_steepening_curves_have_no_concave_knee(y: NDArray[np.float64]) -> None:
    assert knees(X, y) == []


def test_more_sensitivity_needed_finds_fewer() -> None:
    y = np.array([0, 5, 5.1, 5.2, 5.3, 5.4, 9, 9.1, 9.2, 9.3, 9.4])
    assert knees(X, y, sensitivity=5.0) == []


def test_two_points_have_no_knee() -> None:
    assert knees(np.array([1.0, 2.0]), np.array([0.0, 1.0])) == []


@pytest.mark.parametrize(
    ("x", "y"), [(np.array([1.0, 1.0, 2.0]), np.zeros(3)), (np.arange(3.0), np.zeros(4))]
)
def test_unusable_curves_are_refused(x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="ascending"):
        knees(x, y)
