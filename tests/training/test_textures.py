from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.sizes import CHROMA_SIZE, TEXTURE_SIZE
from training.textures import (
    BOLD,
    LENGTH,
    LUMA,
    RGB_FROM_YCC,
    bolder,
    luma_of,
    mirrored,
    vector_from_texture,
)

pytestmark = pytest.mark.unit


def test_vector_gives_its_smooth_texture_back() -> None:
    step = np.linspace(-0.5, 0.5, TEXTURE_SIZE, dtype=np.float32)
    texture = np.stack([*np.meshgrid(step, step), np.full((TEXTURE_SIZE,) * 2, 0.2)], axis=2)
    vector = vector_from_texture(texture.astype(np.float32))
    assert vector.shape == (LENGTH,)
    chroma = vector[LUMA:].reshape(2, CHROMA_SIZE, CHROMA_SIZE).repeat(4, 1).repeat(4, 2)
    planes = np.concatenate([luma_of(vector)[None], chroma])
    again = np.einsum("ij,jhw->hwi", RGB_FROM_YCC, planes)
    assert np.abs(again - texture).max() < 0.03


def test_mirrored_vector_is_that_of_the_mirrored_texture() -> None:
    random = np.random.default_rng(0)
    texture = random.uniform(-1, 1, (TEXTURE_SIZE, TEXTURE_SIZE, 3)).astype(np.float32)
    wanted = vector_from_texture(np.ascontiguousarray(texture[:, ::-1]))
    assert np.allclose(mirrored(vector_from_texture(texture)), wanted, atol=1e-5)


def test_bolder_directions_have_stronger_features_and_the_same_breadth_and_colour() -> None:
    rows, columns = np.mgrid[:TEXTURE_SIZE, :TEXTURE_SIZE].astype(np.float32)
    feature = np.exp(-(np.square(rows - 64) + np.square(columns - 64)) / (2 * 4.0**2))
    broad = np.exp(-(np.square(rows - 64) + np.square(columns - 64)) / (2 * 40.0**2))
    chroma = np.full(LENGTH - LUMA, 0.5, np.float32)
    drawn = np.stack([np.concatenate([one.ravel(), chroma]) for one in (feature, broad)])
    made = bolder(drawn.astype(np.float32))
    assert (made[:, LUMA:] == drawn[:, LUMA:]).all()
    middle = 64 * TEXTURE_SIZE + 64
    assert 1.1 < made[0, middle] / drawn[0, middle] < BOLD[0]
    assert made[1, middle] / drawn[1, middle] < 1.03
