from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelRejected
from engines.stylegan.warp import (
    _mapped,
    chin_within,
    image_place_of_texture,
    load_texture_frame,
    owners,
    seen_of_texture,
    uv_from_points,
)
from tests.engines.stylegan.faces import drawn_face, texture_frame, turned

pytestmark = pytest.mark.unit


def test_mean_face_maps_to_itself() -> None:
    uv = uv_from_points(drawn_face(), texture_frame(), 32)
    step = (np.arange(32) + 0.5) / 32
    x, y = np.meshgrid(step, step)
    assert np.abs(uv - np.stack([x, y], axis=2)).max() < 0.01


def test_turned_face_is_followed_there_and_back() -> None:
    frame, face = texture_frame(), turned(drawn_face(), 12)
    uv = uv_from_points(face, frame, 128)
    place = image_place_of_texture(face, frame, owners(frame.points, frame.triangles, 64))
    row, column = 40, 32
    x, y = place[row, column]
    back = uv[int(y * 128), int(x * 128)]
    assert np.abs(back - np.array([(column + 0.5) / 64, (row + 0.5) / 64])).max() < 0.03


def test_collapsed_face_gives_finite_places() -> None:
    uv = uv_from_points(np.full_like(drawn_face(), 0.5), texture_frame(), 16)
    assert np.isfinite(uv).all()


@pytest.mark.parametrize("triangles", [[[0, 1, 999]], [[0, 1, -1]], [[0, 1]]])
def test_frame_with_wrong_triangles_is_rejected(tmp_path: Path, triangles: list[list[int]]) -> None:
    path = tmp_path / "shape.npz"
    np.savez(path, frame_points=texture_frame().points, triangles=np.array(triangles))
    with pytest.raises(ModelRejected):
        load_texture_frame(path)


def test_saved_frame_comes_back(tmp_path: Path) -> None:
    frame = texture_frame()
    path = tmp_path / "shape.npz"
    np.savez(path, frame_points=frame.points, triangles=frame.triangles)
    assert np.array_equal(load_texture_frame(path).triangles, frame.triangles)


def test_pixels_on_the_rim_of_a_sliver_stay_in_its_triangle() -> None:
    source = np.array([[0.2, 0.5], [0.8, 0.5], [0.5, 0.5005]], np.float32)
    target = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]], np.float32)
    triangle = np.array([[0, 1, 2]], np.int32)
    place = _mapped(source, target, triangle, np.zeros((64, 64), np.int32))
    assert place.min() >= 0.2 - 1 / 64 - 1e-6
    assert place.max() <= 0.8 + 1 / 64 + 1e-6


def test_chin_is_drawn_up_into_the_texture_without_a_fold() -> None:
    down = np.linspace(0, 1.08, 200, dtype=np.float32)
    uv = chin_within(np.stack([np.full_like(down, 0.5), down], axis=1))
    assert uv[:, 1].max() <= 1 + 1e-6
    assert np.array_equal(uv[down < 0.98, 1], down[down < 0.98])
    assert np.diff(uv[:, 1]).min() > 0.15 * (down[1] - down[0])


def test_a_texture_is_seen_where_its_places_say() -> None:
    texture = np.random.default_rng(0).uniform(-1, 1, (32, 32, 3)).astype(np.float32)
    step = ((np.arange(16) + 0.5) / 16).astype(np.float32)
    straight = np.stack(np.meshgrid(step, step), axis=-1)
    assert np.abs(seen_of_texture(texture, straight) - texture)[2:-2, 2:-2].max() < 1e-4
    mirrored = np.stack([1 - straight[..., 0], straight[..., 1]], axis=-1)
    made = seen_of_texture(texture, mirrored)
    assert np.abs(made - texture[:, ::-1])[2:-2, 2:-2].max() < 1e-4
