"""The embedder gives unit vectors or a fault, and its pack is checked before it is used."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.errors import EngineFault, ModelMissing, ModelRejected
from engines.face.embedder import FaceEmbedder, embedder_from_pack
from tests.engines.backends.fake import Fake

pytestmark = pytest.mark.unit

FLOAT = np.dtype(np.float32)


class Answering:
    """A session that gives what it is told to."""

    def __init__(self, answer: NDArray[np.float32], output: str = "embedding") -> None:
        self.inputs = (TensorSpec("image", (None, 3, 128, 128), FLOAT),)
        self.outputs = (TensorSpec(output, (None, 4), FLOAT),)
        self.fed: NDArray[np.float32] | None = None
        self._answer = answer

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        self.fed = np.asarray(tensors["image"], np.float32)
        return {"embedding": self._answer}

    def close(self) -> None: ...


def crops(count: int, size: int = 128) -> NDArray[np.uint8]:
    return np.full((count, size, size, 3), (0, 128, 255), np.uint8)


def test_vectors_have_unit_length() -> None:
    found = FaceEmbedder(Answering(np.array([[3, 0, 4, 0]], np.float32))).embed(crops(1))
    np.testing.assert_allclose(found, [[0.6, 0, 0.8, 0]])


@pytest.mark.parametrize("size", [64, 128, 256])
def test_crops_of_any_size_are_fed_red_first(size: int) -> None:
    session = Answering(np.ones((2, 4), np.float32))
    FaceEmbedder(session).embed(crops(2, size))
    assert session.fed is not None
    assert session.fed.shape == (2, 3, 128, 128)
    assert session.fed[0, 0].min() == pytest.approx(1.0)
    assert session.fed[0, 2].max() == pytest.approx(-1.0)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_vector_without_direction_is_a_fault(value: float) -> None:
    with pytest.raises(EngineFault):
        FaceEmbedder(Answering(np.full((1, 4), value, np.float32))).embed(crops(1))


def test_network_with_other_names_is_rejected() -> None:
    with pytest.raises(ModelRejected, match="pack"):
        FaceEmbedder(Answering(np.ones((1, 4), np.float32), output="features"))


def pack(folder: Path, thresholds: str) -> Path:
    content = {"embedder.onnx": b"network", "thresholds.json": thresholds.encode()}
    files = {}
    for name, data in content.items():
        (folder / name).write_bytes(data)
        files[name] = {"sha256": sha256(data).hexdigest()}
    manifest = {"format": "kveil pack 1", "name": "test", "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize("text", ["{}", '{"match": "high", "doubt": 1}'])
def test_damaged_thresholds_are_rejected(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Fake(lambda tensors: {"embedding": np.ones((1, 4), np.float32)})
    session = Answering(np.ones((1, 4), np.float32))
    monkeypatch.setattr(backend, "load", lambda model: session)
    with pytest.raises(ModelRejected, match="thresholds"):
        embedder_from_pack(backend, pack(tmp_path, text))


def test_absent_pack_is_missing(tmp_path: Path) -> None:
    backend = Fake(lambda tensors: {"embedding": np.ones((1, 4), np.float32)})
    with pytest.raises(ModelMissing):
        embedder_from_pack(backend, tmp_path)


def test_changed_network_is_rejected(tmp_path: Path) -> None:
    backend = Fake(lambda tensors: {"embedding": np.ones((1, 4), np.float32)})
    folder = pack(tmp_path, '{"match": 0.4, "doubt": 0.3}')
    (folder / "embedder.onnx").write_bytes(b"another")
    with pytest.raises(ModelRejected, match="damaged"):
        embedder_from_pack(backend, folder)
