"""The exported graphs equal the plain forward pass, on both runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from engines.backends.backend import Backend
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.stylegan.imports.checkpoints import Recognised, generator_from_file
from engines.stylegan.imports.onnx_graphs import mapping_onnx, synthesis_onnx
from engines.stylegan.imports.reference import mapped, painted
from tests.engines.stylegan.imports.generators import WIDTH, rosinality, stylegan2, stylegan3
from tests.engines.stylegan.pickle_writing import network_pickle, write_archive

pytestmark = pytest.mark.unit

Kind = Literal["stylegan2-ada", "stylegan3-t", "stylegan3-r", "rosinality"]
KINDS: tuple[Kind, ...] = ("stylegan2-ada", "stylegan3-t", "stylegan3-r", "rosinality")
TOLERANCE = 2e-4
"""Of the largest value: what thousands of float32 sums in another order may differ by."""


def written(folder: Path, kind: Kind, size: int = 64) -> Recognised:
    """A file of this kind, read back."""
    path = folder / f"{kind}.pkl"
    if kind == "rosinality":
        return generator_from_file(write_archive(path, {"g_ema": rosinality(size)}))
    if kind == "stylegan2-ada":
        path.write_bytes(network_pickle(stylegan2(size)))
    else:
        letter: Literal["t", "r"] = "t" if kind == "stylegan3-t" else "r"
        path.write_bytes(network_pickle(stylegan3(size, letter)))
    return generator_from_file(path)


def backends(tmp_path: Path) -> list[Backend]:
    return [OnnxRuntime(threads=2), OpenVino(threads=2, cache=tmp_path / "compiled")]


def assert_equal_to_reference(read: Recognised, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    z = rng.standard_normal((2, WIDTH)).astype(np.float32)
    layers = read.network.layers
    w = mapped(read.network.mapping, z, 0.7)
    latents = np.repeat(w[:, None], layers, axis=1)
    mixed = latents + 0.2 * rng.standard_normal(latents.shape).astype(np.float32)
    picture = painted(read.network, mixed)
    assert picture.std() > 0.02
    for backend in backends(tmp_path):
        session = backend.load(mapping_onnx(read.network.mapping, layers))
        answer = session.run({"z": z, "psi": np.array([0.7], np.float32)})["latents"]
        np.testing.assert_allclose(answer, latents, atol=TOLERANCE * np.abs(latents).max())
        session = backend.load(synthesis_onnx(read.network))
        image = session.run({"latents": mixed})["image"]
        assert image.shape == picture.shape
        np.testing.assert_allclose(image, picture, atol=TOLERANCE * np.abs(picture).max())


@pytest.mark.parametrize("kind", KINDS)
def test_graph_of_64_px_equals_the_reference(kind: Kind, tmp_path: Path) -> None:
    read = written(tmp_path, kind)
    assert read.source == kind
    assert read.network.size == 64
    assert_equal_to_reference(read, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_graph_of_256_px_equals_the_reference(kind: Kind, tmp_path: Path) -> None:
    assert_equal_to_reference(written(tmp_path, kind, 256), tmp_path)
