"""Bins off an embedding: always both where surrogates match, only the sure ones elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from engines.face.attribute_bins import AttributeReader
from engines.face.embedding_attributes import EmbeddingAttributes, attributes_from_pack

pytestmark = pytest.mark.unit


def model() -> EmbeddingAttributes:
    """The first number is evidence for female, the next three for child, old and young."""
    either_sign = np.zeros((5, 8), np.float32)
    either_sign[:4] = np.concatenate([np.eye(4), -np.eye(4)], axis=1)
    weights = {"age": np.zeros((9, 3), np.float32), "gender": np.zeros((9, 2), np.float32)}
    weights["gender"][[0, 4]] = (1.0, -1.0), (-1.0, 1.0)
    weights["age"][1:4], weights["age"][5:8] = np.eye(3), -np.eye(3)
    values = {"age": ("child", "old", "young"), "gender": ("female", "male")}
    return EmbeddingAttributes(either_sign, weights, values)


@pytest.mark.parametrize(
    ("evidence", "matched", "coarse"),
    [
        ((5, 0, 5, 0), "gender=female|age=old", "gender=female|age=old"),
        ((-5, 0, 0, 5), "gender=male|age=adult", "gender=male|age=adult"),
        ((0.1, 0, 5, 0), "gender=female|age=old", "age=old"),
        ((-0.1, -9, 0.1, 0), "gender=male|age=old", None),
    ],
)
def test_bin_is_always_decided_where_matched_and_only_when_sure_where_coarse(
    evidence: tuple[float, ...], matched: str, coarse: str | None
) -> None:
    embedding = np.array(evidence, np.float32)
    assert AttributeReader(model(), "matched").bin_of(embedding) == matched
    assert AttributeReader(model(), "coarse").bin_of(embedding) == coarse


@pytest.mark.parametrize("age", [(5, 0, 0), (0.8, 0.9, 0.7)])
def test_whoever_is_not_old_counts_as_an_adult(age: tuple[float, float, float]) -> None:
    embedding = np.array([5, *age], np.float32)
    assert AttributeReader(model()).bin_of(embedding) == "gender=female|age=adult"


def test_surrogates_that_read_otherwise_are_apart_within_a_bin() -> None:
    """The planted fault: of one bin, a woman's face of her age suited a girl no better."""
    reader, girl = AttributeReader(model()), np.array([5, 5, -5, 0], np.float32)
    older, other, same = (
        np.array(one, np.float32) for one in ((5, -5, -5, 5), (-5, -5, 9, 0), girl)
    )
    near, mild, far = reader.apart(np.stack([same, older, other]), girl)
    assert near == pytest.approx(0, abs=1e-6)
    assert mild == pytest.approx(1, abs=0.05)
    assert far == pytest.approx(2, abs=0.05)


def test_an_old_face_is_farther_from_a_young_head_than_an_adult_one() -> None:
    """The planted fault: between bands all were as far apart, and a girl got an old face."""
    ages = ("adult", "child", "old", "young")
    told = EmbeddingAttributes(
        np.eye(5, 4, dtype=np.float32), {"age": 9 * np.eye(5, 4, dtype=np.float32)}, {"age": ages}
    )
    worn = {age: np.eye(4, dtype=np.float32)[ages.index(age)] for age in ages}
    reader = AttributeReader(told)
    order = ("young", "adult", "old")
    apart = reader.apart(np.stack([worn[age] for age in order]), worn["young"])
    assert apart == pytest.approx([0, 1, 2], abs=0.05)
    assert reader.apart(worn["child"][None], worn["young"])[0] == pytest.approx(1, abs=0.05)


def test_bundled_model_names_bins_that_donors_have() -> None:
    reader = AttributeReader(attributes_from_pack())
    dice = np.random.default_rng(0)
    rows = dice.normal(size=(200, 128)).astype(np.float32)
    found = {reader.bin_of(row / np.linalg.norm(row)) for row in rows}
    kinds = {
        f"gender={gender}|age={age}|tone={tone}"
        for gender in ("female", "male")
        for tone in ("dark", "light")
        for age in ("adult", "old")
    }
    assert found <= kinds
    assert len(found) >= 4
