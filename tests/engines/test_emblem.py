"""Where nobody's face lies, and that it stays where faces are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines import emblem
from engines.alignment import inverse_of, moved
from engines.emblem import EMBLEM_POINTS, emblem_from_face, placed_emblem
from engines.errors import EngineFault, ModelMissing

pytestmark = pytest.mark.unit

BOX = np.array([20, 30, 80, 110], np.float32)
UNKNOWN = np.full((5, 2), np.nan, np.float32)


def turned(degrees: float, side: float = 80.0) -> NDArray[np.float32]:
    """Landmarks of a face in the middle of BOX, turned in the plane."""
    angle = np.deg2rad(degrees)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray((EMBLEM_POINTS - 0.5) * side @ rotation.T + [50, 70], np.float32)


@pytest.mark.parametrize("degrees", [-40, 0, 25])
def test_the_relief_lies_on_the_landmarks(degrees: float) -> None:
    points = turned(degrees)
    there = moved(emblem_from_face(BOX, points), points)
    np.testing.assert_allclose(there, EMBLEM_POINTS, atol=1e-3)


def test_without_landmarks_it_stands_upright_in_the_box() -> None:
    there = emblem_from_face(BOX, UNKNOWN)
    assert there[0, 1] == pytest.approx(0, abs=1e-6)
    middle = moved(inverse_of(there), np.array([[0.5, 0.5]]))[0]
    assert np.abs(middle - [50, 70]).max() < 8


def test_landmarks_on_one_point_count_as_none() -> None:
    together = np.full((5, 2), 50, np.float32)
    np.testing.assert_allclose(emblem_from_face(BOX, together), emblem_from_face(BOX, UNKNOWN))


points = st.lists(st.floats(-1e5, 1e5, width=32), min_size=10, max_size=10)


@given(points)
@settings(max_examples=200, deadline=None)
def test_whatever_the_landmarks_its_size_and_middle_keep_to_the_box(values: list[float]) -> None:
    frame_from_emblem = inverse_of(
        emblem_from_face(BOX, np.array(values, np.float32).reshape(5, 2))
    )
    side = float(np.hypot(frame_from_emblem[0, 0], frame_from_emblem[1, 0]))
    assert 0.89 * 80 <= side <= 1.51 * 80
    middle = moved(frame_from_emblem, np.array([[0.5, 0.5]]))[0]
    assert (middle >= BOX[:2]).all()
    assert (middle <= BOX[2:]).all()


@pytest.mark.parametrize("side", [4, 16, 60, 900])
def test_it_shows_a_face_at_every_size(side: int) -> None:
    box = np.array([0, 0, side, side], np.float32)
    placed, oval = placed_emblem(side, side, box, UNKNOWN)
    assert placed.shape == oval.shape == (side, side)
    assert placed.dtype == np.uint8
    assert oval.dtype == np.float32
    assert oval[side // 2, side // 2] == 1
    assert oval[0, 0] < 0.1
    if side >= 16:
        assert placed[oval > 0.5].std() > 30


def test_it_moves_with_the_face_without_changing() -> None:
    first = placed_emblem(140, 140, BOX, UNKNOWN)
    second = placed_emblem(140, 140, BOX + np.float32(7), UNKNOWN)
    assert (first[0][:-7, :-7] == second[0][7:, 7:]).all()
    np.testing.assert_allclose(first[1][:-7, :-7], second[1][7:, 7:], atol=1e-5)


def test_an_absent_or_damaged_relief_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = emblem._levels.__wrapped__
    monkeypatch.setattr(emblem, "_RELIEF", tmp_path / "none.png")
    with pytest.raises(ModelMissing, match="reinstall"):
        levels()
    (tmp_path / "none.png").write_bytes(b"no picture")
    with pytest.raises(EngineFault, match="damaged"):
        levels()
