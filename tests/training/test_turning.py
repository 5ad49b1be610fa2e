"""A turned head's picture and its points move together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.face.control_reading import eyes_for_reading
from engines.stylegan.shape import mouth_gap
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    MESH_INDEX,
    MESH_POINTS,
    NOSE_BRIDGE_SLICE,
)
from tests.engines.stylegan.faces import drawn_face
from training.turning import Turn, drawn_turn, turned_head

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
SIDE = 128


def drawn_mesh() -> Float32:
    """A whole mesh on an ellipsoid, float32[468, 3]."""
    random = np.random.default_rng(0)
    radius, angle = np.sqrt(random.uniform(0, 0.9, 468)), random.uniform(0, 2 * np.pi, 468)
    mesh = np.stack([radius * np.cos(angle) * 0.36, radius * np.sin(angle) * 0.46], axis=1)
    mesh[MESH_INDEX] = drawn_face()[:MESH_POINTS, :2] - 0.5
    depth = -0.35 * np.sqrt(np.clip(1.1 - (mesh**2 / (0.42**2, 0.55**2)).sum(axis=1), 0, None))
    return np.concatenate([mesh + 0.5, depth[:, None]], axis=1).astype(np.float32)


def gradient() -> npt.NDArray[np.uint8]:
    """A picture whose colours tell where a pixel lies, uint8[S, S, 3]."""
    x, y = np.meshgrid(*[(np.arange(SIDE) + 0.5) / SIDE * 255] * 2)
    return np.stack([x, y, x * 0], axis=2).astype(np.uint8)


@pytest.mark.parametrize(("yaw", "pitch"), [(0.0, 0.0), (0.5, 0.0), (-0.5, 0.2), (0.0, -0.3)])
def test_what_is_seen_at_a_point_is_what_was_there_before(yaw: float, pitch: float) -> None:
    mesh = drawn_mesh()
    image, points = turned_head(gradient(), mesh, mesh[:2], Turn(yaw, pitch), SIDE)
    source = mesh[MESH_INDEX]
    for part in (NOSE_BRIDGE_SLICE, LIPS_OUTER_SLICE):
        at = (points[part, :2].mean(axis=0) * SIDE).astype(int)
        told = image[at[1], at[0], :2] / 255.0
        assert np.abs(told - source[part, :2].mean(axis=0)).max() < 0.05


def test_a_turned_head_is_cut_as_it_is_read() -> None:
    mesh = drawn_mesh()
    _, points = turned_head(gradient(), mesh, mesh[:2], Turn(0.6, 0.0), SIDE)
    eyes = np.stack([points[part, :2].mean(axis=0) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)])
    lips = points[LIPS_OUTER_SLICE, :2]
    corners = np.stack([lips[lips[:, 0].argmin()], lips[lips[:, 0].argmax()]])
    assert eyes == pytest.approx(eyes_for_reading(eyes, corners), abs=1e-3)
    straight = turned_head(gradient(), mesh, mesh[:2], Turn(0.0, 0.0), SIDE)[1]
    deep = [
        one[EYE_RIGHT_SLICE, 2].mean() - one[EYE_LEFT_SLICE, 2].mean() for one in (straight, points)
    ]
    assert abs(deep[1]) > abs(deep[0]) + 0.1


def test_heads_turn_on_to_the_side_to_which_they_look() -> None:
    aside = drawn_mesh()
    aside[1, 0] = 0.6
    before = nose_aside(turned_head(gradient(), aside, aside[:2], Turn(0.0, 0.0), SIDE)[1])
    for seed in range(5):
        turn = drawn_turn(np.random.default_rng(seed), aside)
        after = nose_aside(turned_head(gradient(), aside, aside[:2], Turn(turn.yaw, 0.0), SIDE)[1])
        assert after > before
        assert abs(turn.pitch) < 1


def nose_aside(points: Float32) -> float:
    """How far to the right of the middle between the eyes the tip of the nose lies."""
    eyes = (points[EYE_LEFT_SLICE, 0].mean() + points[EYE_RIGHT_SLICE, 0].mean()) / 2
    return float(points[NOSE_BRIDGE_SLICE.stop - 1, 0] - eyes)


def test_some_heads_open_their_mouths_and_turn_less() -> None:
    mesh = drawn_mesh()
    turns = [drawn_turn(np.random.default_rng(seed), mesh) for seed in range(200)]
    opening = [turn for turn in turns if turn.opened]
    assert 40 < len(opening) < 100
    assert min(abs(turn.yaw) for turn in opening) < 0.1
    assert any(turn.is_drawn for turn in opening)
    assert not any(turn.is_drawn for turn in turns if not turn.opened)


def test_an_opened_mouth_shows_its_inside_where_its_points_lie() -> None:
    mesh = drawn_mesh()
    shut, wide = (
        turned_head(gradient(), mesh, mesh[:2], Turn(0.0, 0.0, gap, gap > 0), SIDE)
        for gap in (0.0, 0.5)
    )
    gaps = [float(mouth_gap(points[None])[0]) for _, points in (shut, wide)]
    assert gaps[1] - gaps[0] == pytest.approx(0.5 * 0.4, rel=0.2)
    at = (wide[1][LIPS_INNER_SLICE, :2].mean(axis=0) * SIDE).astype(int)
    assert wide[0][at[1], at[0]].sum() < 0.5 * shut[0][at[1], at[0]].sum()
