"""Flaws are told from portraits, and whoever was looked at is judged by what was seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from training.flaws import FLAWED, Seen, features, fit_flaws, held_out, read_seen

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]


def drawn(count: int, seed: int) -> tuple[Float32, Int64]:
    """Features of noisy portraits; every third has one black eye, every fourth one that is dim."""
    random = np.random.default_rng(seed)
    portraits = random.integers(90, 150, (count, 128, 128, 3)).astype(np.uint8)
    verdict = np.zeros(count, np.int64)
    verdict[::4], verdict[::3] = 1, FLAWED
    portraits[verdict == 1, 40:56, 24:52] -= 15
    portraits[verdict == FLAWED, 40:56, 24:52] //= 3
    return features(portraits, random.random(count).astype(np.float32)), verdict


def test_a_black_eye_is_found_on_people_not_seen_before() -> None:
    model = fit_flaws(*drawn(120, 0))
    found, verdict = drawn(60, 1)
    scores = model.scores(found)
    assert scores[verdict == FLAWED].min() > scores[verdict == 0].max()


def test_what_may_pass_scores_between() -> None:
    model = fit_flaws(*drawn(120, 0))
    found, verdict = drawn(60, 1)
    means = [float(model.scores(found)[verdict == seen].mean()) for seen in (0, 1, FLAWED)]
    assert means == sorted(means)


def test_doubt_of_the_landmark_network_tells() -> None:
    portraits = np.full((40, 128, 128, 3), 120, np.uint8)
    verdict = np.arange(40) % 2 * FLAWED
    doubt = np.where(verdict == FLAWED, 0.02, 0.01).astype(np.float32)
    found = features(portraits, doubt)
    scores = fit_flaws(found, verdict).scores(found)
    assert scores[verdict == FLAWED].min() > scores[verdict == 0].max()


def test_shares_are_of_people_held_out() -> None:
    found, verdict = drawn(240, 2)
    right = held_out(found, verdict, 0.4)
    assert right["flaws_auc"] > 0.95
    assert right["flaws_found"] > 0.9
    assert right["flaws_mistaken"] < 0.2
    shuffled = np.random.default_rng(0).permutation(verdict)
    assert held_out(found, shuffled, 0.4)["flaws_auc"] < 0.65


def test_people_computed_again_are_the_same_and_others_are_not() -> None:
    random = np.random.default_rng(4)
    latents = random.standard_normal((300, 512)).astype(np.float32)
    seen = Seen(latents, np.zeros(300, np.int64))
    again = latents[::-1] + np.float32(1e-3)
    assert seen.row_of(again).tolist() == list(range(299, -1, -1))
    others = random.standard_normal((300, 512)).astype(np.float32)
    assert (seen.row_of(others) == -1).all()


def test_everybody_looked_at_has_a_verdict_and_nobody_is_there_twice() -> None:
    seen = read_seen()
    assert len(seen.latents) == len(seen.verdict)
    assert set(seen.verdict.tolist()) == {0, 1, FLAWED}
    assert seen.row_of(seen.latents).tolist() == list(range(len(seen.latents)))
