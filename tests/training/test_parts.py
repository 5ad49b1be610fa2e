"""Parts of a face sum to it, lie where they should, and bring nothing of other places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.stylegan import topology
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.sizes import TEXTURE_SIZE
from engines.stylegan.warp import load_texture_frame
from training.parts import PARTS, part_masks, shape_parts, texture_parts
from training.textures import LENGTH, LUMA

pytestmark = pytest.mark.unit

GEOMETRY = bundled_pack() / "shape.npz"
POINTS = load_texture_frame(GEOMETRY).points[: topology.MESH_POINTS]
MASKS = part_masks(POINTS)
REST, EYES, NOSE, JAW = range(PARTS)

Float32 = npt.NDArray[np.float32]


def at(mask: Float32, points: slice) -> Float32:
    column, row = (POINTS[points] * TEXTURE_SIZE).astype(int).T
    last = TEXTURE_SIZE - 1
    return np.asarray(mask[row.clip(0, last), column.clip(0, last)], np.float32)


def test_masks_sum_to_one_and_lie_on_their_features() -> None:
    assert np.allclose(MASKS.sum(axis=0), 1, atol=1e-5)
    assert MASKS.min() >= 0
    assert at(MASKS[EYES], topology.EYE_LEFT_SLICE).min() > 0.6
    assert at(MASKS[EYES], topology.BROW_RIGHT_SLICE).min() > 0.4
    assert at(MASKS[JAW], topology.LIPS_OUTER_SLICE).min() > 0.7
    assert at(MASKS[NOSE], topology.NOSE_BASE_SLICE).mean() > 0.4
    assert MASKS[REST][:20].min() > 0.9


def directions(count: int) -> Float32:
    random = np.random.default_rng(1).standard_normal((LENGTH, count))
    return np.asarray(np.linalg.qr(random)[0].T, np.float32)


def test_texture_parts_sum_to_the_whole_and_keep_to_their_places() -> None:
    basis = directions(30)
    eyes = np.zeros(LENGTH, np.float32)
    eyes[:LUMA] = (MASKS[EYES] > 0.95).ravel()
    basis[0] = eyes / np.linalg.norm(eyes)
    parts = texture_parts(MASKS, basis, np.linalg.pinv(basis).T)
    assert np.allclose(parts.sum(axis=0), np.eye(30), atol=1e-4)
    brought = np.abs(parts[:, 0, 0])
    assert brought[EYES] > 0.95
    assert brought[JAW] < 0.01


def test_parts_of_shape_sum_to_the_whole() -> None:
    rows = load_shape_model(GEOMETRY).identity
    spread = np.linspace(1, 0.1, len(rows), dtype=np.float32)
    parts = shape_parts(MASKS, POINTS, rows, spread)
    assert np.allclose(parts.sum(axis=0), np.eye(len(rows)), atol=1e-4)
