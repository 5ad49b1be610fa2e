"""Properties that the papers promise, on the plain forward pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from engines.stylegan.imports.checkpoints import generator_from_file
from engines.stylegan.imports.networks import Dense, StyleGan3
from engines.stylegan.imports.reference import mapped, painted, resampled
from tests.engines.stylegan.imports.generators import BLUR, WIDTH, stylegan2, stylegan3
from tests.engines.stylegan.pickle_writing import network_pickle

pytestmark = pytest.mark.unit


def still(folder: Path, kind: Literal["t", "r"], transform: npt.NDArray[np.float64]) -> StyleGan3:
    """A StyleGAN3 generator whose input does not turn with w, moved by the user."""
    path = folder / "n.pkl"
    path.write_bytes(network_pickle(stylegan3(64, kind)))
    network = generator_from_file(path).network
    assert isinstance(network, StyleGan3)
    upright = np.array([1, 0, 0, 0], np.float32)
    pose = Dense(np.zeros((4, WIDTH), np.float32), upright)
    fourier = replace(network.fourier, pose=pose, transform=transform.astype(np.float32))
    return replace(network, fourier=fourier)


def test_upsampling_keeps_a_plain_area() -> None:
    plain = np.ones((1, 2, 6, 6), np.float32)
    larger = resampled(plain, BLUR, 2, 1, (2, 1), 4.0)
    assert larger.shape == (1, 2, 12, 12)
    np.testing.assert_allclose(larger[:, :, 2:-2, 2:-2], 1, atol=1e-6)


def test_truncation_to_nothing_gives_the_mean(tmp_path: Path) -> None:
    path = tmp_path / "n.pkl"
    path.write_bytes(network_pickle(stylegan2()))
    mapping = generator_from_file(path).network.mapping
    z = np.random.default_rng(0).standard_normal((3, WIDTH)).astype(np.float32)
    np.testing.assert_allclose(mapped(mapping, z, 0.0), mapping.mean[None].repeat(3, 0))
    assert np.abs(mapped(mapping, z) - mapped(mapping, 2 * z)).max() < 1e-4  # z is normalised


@pytest.mark.parametrize("kind", ["t", "r"])
def test_moved_waves_move_the_picture(tmp_path: Path, kind: Literal["t", "r"]) -> None:
    """Equivariance to translation: StyleGAN3, section 3, Fig. 3."""
    latents = np.random.default_rng(1).standard_normal((1, 8, WIDTH)).astype(np.float32)
    stays = painted(still(tmp_path, kind, np.eye(3)), latents)[0]
    move = np.array([[1, 0, 4 / 64], [0, 1, -2 / 64], [0, 0, 1]])
    moves = painted(still(tmp_path, kind, move), latents)[0]
    difference = moves[:, 16:48, 16:48] - stays[:, 14:46, 20:52]
    assert np.sqrt(np.square(difference).mean()) < 0.05 * stays.std()


def test_turned_waves_turn_the_picture_of_r(tmp_path: Path) -> None:
    """Equivariance to rotation, which configuration R has and T has not."""
    latents = np.random.default_rng(1).standard_normal((1, 8, WIDTH)).astype(np.float32)
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    errors = {}
    for kind in ("t", "r"):
        named: Literal["t", "r"] = "r" if kind == "r" else "t"
        stays = painted(still(tmp_path, named, np.eye(3)), latents)[0]
        turns = painted(still(tmp_path, named, quarter), latents)[0]
        back = min(
            (np.rot90(turns, times, axes=(1, 2)) for times in (1, 3)),
            key=lambda image: float(np.square(image - stays).sum()),
        )
        inner = (slice(None), slice(8, 56), slice(8, 56))
        errors[kind] = np.sqrt(np.square(back[inner] - stays[inner]).mean()) / stays.std()
    assert errors["r"] < 0.05
    assert errors["t"] > 4 * errors["r"]
