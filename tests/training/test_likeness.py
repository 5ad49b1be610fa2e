"""Likeness is told from latents, as far as it follows from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from training.likeness import Likeness, likeness_from, passing_of

pytestmark = pytest.mark.unit

CODE, SIZE = 12, 32

Float32 = npt.NDArray[np.float32]


def people(count: int, seed: int) -> Float32:
    return np.random.default_rng(seed).standard_normal((count, CODE)).astype(np.float32)


def truth() -> Float32:
    """Embeddings follow from the first half of the codes alone, float32[CODE, SIZE]."""
    slope = np.random.default_rng(9).standard_normal((CODE, SIZE)).astype(np.float32) * 0.1
    slope[CODE // 2 :] = 0
    return slope


def taught() -> Likeness:
    codes = people(20_000, 1)
    return likeness_from(codes, {"edgeface": np.asarray(0.2 + codes @ truth(), np.float32)})


def test_embeddings_to_expect_are_those_that_are_seen() -> None:
    codes = people(50, 2)
    found = taught().expected(codes)["edgeface"]
    assert np.abs(found - (0.2 + codes @ truth())).max() < 0.03


def test_directions_that_recognisers_see_come_first() -> None:
    columns, strength = taught().directions()
    assert columns.shape == (CODE, CODE)
    assert np.allclose(columns.T @ columns, np.eye(CODE), atol=1e-4)
    assert strength[CODE // 2 - 1] > 10 * strength[CODE // 2]
    assert np.abs(columns[CODE // 2 :, : CODE // 2]).max() < 0.05


def test_who_is_among_his_like_passes_more_often() -> None:
    crowd = np.repeat(people(1, 3), 200, axis=0)
    lonely = -crowd[:1]
    likeness = taught()
    passing = passing_of(
        likeness.expected(np.concatenate([crowd[:1], lonely])), likeness.expected(crowd)
    )
    assert passing[0] > passing[1]
