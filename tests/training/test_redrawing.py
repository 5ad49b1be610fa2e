"""Donors drawn anew are spread as those before, and nearer to the average face."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from training import redrawing
from training.likeness import likeness_from
from training.redrawing import PULLED, expected_rarest, pulled, spread_of

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
CODE = 20


def latents(count: int) -> Float32:
    """People who are spread in CODE directions of 64 about another middle."""
    random = np.random.default_rng(1)
    away = random.standard_normal((count, CODE)) @ random.standard_normal((CODE, 64))
    return np.asarray(0.5 + away, np.float32)


def test_people_drawn_are_spread_as_those_before() -> None:
    before = latents(3000)
    spread = spread_of(before)
    drawn = spread.latents(spread.drawn(3000, 5))
    assert spread.columns.shape == (64, CODE)
    assert np.allclose(drawn.mean(axis=0), before.mean(axis=0), atol=0.4)
    assert np.linalg.norm(np.cov(drawn.T) - np.cov(before.T)) < 0.1 * np.linalg.norm(
        np.cov(before.T)
    )
    assert np.array_equal(drawn, spread.latents(spread.drawn(3000, 5)))


def test_people_are_pulled_least_where_recognisers_tell_them_apart() -> None:
    codes = np.random.default_rng(2).standard_normal((4000, CODE)).astype(np.float32)
    slope = np.diag(np.linspace(1, 0.01, CODE)).astype(np.float32)
    found = pulled(codes, likeness_from(codes, {"edgeface": codes @ slope}))
    share = found.std(axis=0) / codes.std(axis=0)
    assert share[0] == pytest.approx(PULLED[1], abs=0.03)
    assert share[-1] == pytest.approx(PULLED[0], abs=0.03)
    assert (np.diff(share) < 0.02).all()


def test_only_adults_whose_bins_are_known_and_of_every_bin_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redrawing, "EACH", 20)
    codes = np.random.default_rng(3).standard_normal((400, CODE)).astype(np.float32)
    slope = np.eye(CODE, dtype=np.float32)
    bins = [
        [{"age": "child", "gender": "male"}, {"age": "old"}, {"age": "old", "gender": "female"}][
            row % 3
        ]
        if row < 300
        else {"age": "young", "gender": "male"}
        for row in range(400)
    ]
    chosen = expected_rarest(codes, bins, likeness_from(codes, {"edgeface": codes @ slope}))
    assert len(chosen) == 40
    assert (chosen >= 300).sum() == 20
    assert all(row % 3 == 2 for row in chosen if row < 300)
