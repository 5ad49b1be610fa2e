"""A model that reads attributes off embeddings, and files that it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import ModelRejected
from engines.face.embedding_attributes import (
    EmbeddingAttributes,
    attributes_from_pack,
    load_embedding_attributes,
)

pytestmark = pytest.mark.unit

HIDDEN = np.eye(3, 2, dtype=np.float32)
WEIGHTS = np.array([[1, -1], [0, 0], [0, 0]], np.float32)
MODEL = EmbeddingAttributes(HIDDEN, {"gender": WEIGHTS}, {"gender": ("f", "m")})
AGE = {"weights.age": WEIGHTS, "values.age": np.array(["old", "young"])}


def test_shares_of_an_attribute_sum_to_one_and_follow_the_evidence() -> None:
    shares = MODEL.shares(np.array([2, 0], np.float32))["gender"]
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["f"] > 0.9


def test_embedding_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="2 numbers"):
        MODEL.shares(np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        AGE,
        {**AGE, "hidden": HIDDEN + np.inf},
        {**AGE, "hidden": HIDDEN[:, 0]},
        {**AGE, "hidden": np.eye(3, dtype=np.float32)},
        {"hidden": HIDDEN},
        {"hidden": HIDDEN, "weights.age": WEIGHTS},
        {"hidden": HIDDEN, "weights.age": WEIGHTS, "values.age": np.array(["old"])},
        {"hidden": HIDDEN, **AGE, "weights.age": WEIGHTS * np.nan},
        {"hidden": HIDDEN, **AGE, "weights.age": WEIGHTS[0]},
    ],
    ids=[
        "empty", "no hidden layer", "hidden layer without numbers", "hidden layer of one axis",
        "two sizes", "no attribute", "no values", "one value", "nan", "one axis",
    ],
)  # fmt: skip
def test_damaged_model_is_refused(tmp_path: Path, arrays: dict[str, NDArray[np.generic]]) -> None:
    path = tmp_path / "attributes.npz"
    np.savez(path, allow_pickle=False, **arrays)
    with pytest.raises(ModelRejected, match=r"attributes\.npz"):
        load_embedding_attributes(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short"])
def test_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "attributes.npz"
    path.write_bytes(content)
    with pytest.raises(ModelRejected, match="restore the pack"):
        load_embedding_attributes(path)


def test_bundled_model_fits_the_bundled_embedder() -> None:
    found = attributes_from_pack().shares(np.eye(128, dtype=np.float32)[0])
    assert set(found["gender"]) == {"female", "male"}
    assert set(found["age"]) == {"adult", "child", "old", "young"}
