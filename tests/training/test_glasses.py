"""Glasses are told from textures, and the labels they were learnt from are read as they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from training.glasses import Labels, edges, fit_glasses, found_and_mistaken, read_labels

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]


def drawn(count: int, seed: int) -> tuple[Float32, Bool]:
    """Noisy faces; every third has a dark frame below the eyes."""
    luma = np.random.default_rng(seed).normal(0, 0.1, (count, 128, 128)).astype(np.float32)
    has_glasses = np.arange(count) % 3 == 0
    luma[has_glasses, 62:65, 20:108] -= 0.3
    return luma, has_glasses


def test_frames_are_found_on_faces_not_seen_before() -> None:
    luma, has_glasses = drawn(120, 0)
    seen = edges(luma)
    model = fit_glasses(seen, has_glasses, seen)
    other, wears = drawn(60, 1)
    assert ((model.scores(edges(other)) > 0) == wears).all()


def test_half_a_frame_scores_between() -> None:
    luma, has_glasses = drawn(120, 0)
    seen = edges(luma)
    model = fit_glasses(seen, has_glasses, seen)
    plain = np.random.default_rng(3).normal(0, 0.1, (20, 128, 128)).astype(np.float32)
    scores = []
    for strength in (0.0, 0.15, 0.3):
        faces = plain.copy()
        faces[:, 62:65, 20:108] -= strength
        scores.append(float(model.scores(edges(faces)).mean()))
    assert scores == sorted(scores)


def test_shares_are_of_crops_drawn_at_random() -> None:
    luma, has_glasses = drawn(200, 0)
    seen = edges(luma)
    is_random = np.arange(200) < 100
    right = found_and_mistaken(seen, Labels(np.arange(200), has_glasses, is_random), seen, 2 / 3)
    assert right[0] > 0.9
    assert right[1] < 0.1
    shuffled = np.random.default_rng(0).permutation(has_glasses)
    wrong = found_and_mistaken(seen, Labels(np.arange(200), shuffled, is_random), seen, 2 / 3)
    assert wrong[0] < 0.6


def test_labels_of_crops_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    rows = [{"name": "no_such.webp"}, {"name": "000026.webp"}, {"name": "000011.webp"}]
    (tmp_path / "names.json").write_text(json.dumps(rows))
    labels = read_labels(tmp_path)
    assert labels.crops.tolist() == [2, 1]
    assert labels.has_glasses.tolist() == [True, True]
    assert labels.is_random.tolist() == [False, True]
