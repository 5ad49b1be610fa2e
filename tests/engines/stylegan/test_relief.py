"""Light and shade that a face brings: the surrogate's, never the subject's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engines.errors import ModelRejected
from engines.stylegan.light import levelled
from engines.stylegan.relief import (
    FLAT,
    RELIEF_LIMIT,
    ReliefModel,
    in_relief,
    load_relief,
    relief_from_light,
)
from engines.stylegan.sizes import LIGHT_SIZE

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
RANDOM = np.random.default_rng(3)
MODEL = ReliefModel(
    RANDOM.normal(0, 0.05, 16).astype(np.float32),
    np.linalg.qr(RANDOM.normal(size=(512, 16)))[0].astype(np.float32),
)


def lights(count: int = 2) -> Float32:
    cells = RANDOM.uniform(-0.6, 0.6, (count, 2, LIGHT_SIZE, LIGHT_SIZE, 3))
    return cells.astype(np.float32)


def test_lamp_alone_has_no_relief() -> None:
    assert np.abs(relief_from_light(levelled(lights()))).max() < 1e-5


def test_relief_put_on_a_lamp_is_read_again() -> None:
    lamp = levelled(lights() * 0.3)
    relief = relief_from_light(lights() * 0.3) * 0.3
    relief -= relief.mean(axis=1, keepdims=True)
    seen = relief_from_light(in_relief(lamp, relief))
    assert np.corrcoef(seen.ravel(), relief.ravel())[0, 1] > 0.95


def test_dark_sides_of_a_portrait_do_not_shade_the_head() -> None:
    lamp = levelled(lights() * 0.3)
    sides = np.tile(np.array([-0.3, 0.3, 0.3, -0.3], np.float32), (2, LIGHT_SIZE, 1))
    assert np.allclose(in_relief(lamp, sides), lamp, atol=1e-6)


def test_surroundings_keep_their_light() -> None:
    lamp = lights()
    lit = in_relief(lamp, np.full((2, LIGHT_SIZE, LIGHT_SIZE), 0.3, np.float32))
    assert np.array_equal(lit[:, 1], lamp[:, 1])
    assert not np.array_equal(lit[:, 0], lamp[:, 0])


def test_latents_carry_relief() -> None:
    relief = RANDOM.uniform(-0.3, 0.3, (3, LIGHT_SIZE, LIGHT_SIZE)).astype(np.float32)
    latents = np.repeat(MODEL.to_latents(relief)[:, None], 12, axis=1)
    assert np.allclose(MODEL.of_latents(latents), relief, atol=1e-5)


def test_relief_is_limited() -> None:
    latents = RANDOM.normal(0, 50, (2, 12, 512)).astype(np.float32)
    assert np.abs(MODEL.of_latents(latents)).max() <= np.float32(RELIEF_LIMIT)


def test_pack_without_relief_is_flat(tmp_path: Path) -> None:
    np.savez(tmp_path / "shape.npz", allow_pickle=False, other=np.zeros(3))
    assert load_relief(tmp_path / "shape.npz") is FLAT
    assert not FLAT.of_latents(np.ones((1, 12, 512), np.float32)).any()


@pytest.mark.parametrize(
    ("mean", "latent"),
    [
        (np.zeros(15), np.zeros((512, 16))),
        (np.zeros(16), np.zeros((512, 15))),
        (np.full(16, np.nan), np.zeros((512, 16))),
    ],
)
def test_damaged_relief_is_refused(
    tmp_path: Path, mean: npt.NDArray[np.float64], latent: npt.NDArray[np.float64]
) -> None:
    path = tmp_path / "shape.npz"
    np.savez(path, allow_pickle=False, relief_mean=mean, relief_latent=latent)
    with pytest.raises(ModelRejected):
        load_relief(path)
