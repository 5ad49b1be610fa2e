"""Things drawn before faces are whole, in range, and where they should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engines.stylegan.masks import oval_from_points
from engines.stylegan.topology import EYE_LEFT_SLICE, LIPS_INNER_SLICE
from tests.engines.stylegan.faces import drawn_face
from training import scenes
from training.occluders import SIDE, drawn, face_mask
from training.scenes import SIZE, Scenes

pytestmark = pytest.mark.unit

TILE = np.random.default_rng(1).integers(0, 255, (40, 40, 3)).astype(np.uint8)


def test_things_are_in_range_and_to_be_seen() -> None:
    random = np.random.default_rng(0)
    things = [drawn(random, TILE) for _ in range(60)]
    assert {thing.is_skin for thing in things} == {True, False}
    for thing in things:
        assert thing.alpha.shape == (SIDE, SIDE)
        assert thing.colour.shape == (SIDE, SIDE, 3)
        assert 0 <= thing.alpha.min() <= thing.alpha.max() <= 1.001
        assert np.isfinite(thing.colour).all()
    assert np.mean([thing.alpha.max() > 0.9 for thing in things]) > 0.9


def test_the_same_seed_draws_the_same() -> None:
    first, again = (drawn(np.random.default_rng(4), TILE) for _ in range(2))
    assert (first.colour == again.colour).all()
    assert (first.alpha == again.alpha).all()


def test_a_mask_covers_the_mouth_and_spares_the_eyes() -> None:
    points = drawn_face() * SIZE
    mask = face_mask(np.random.default_rng(0), points, TILE)
    mouth, eye = (
        points[part, :2].mean(axis=0).astype(int) for part in (LIPS_INNER_SLICE, EYE_LEFT_SLICE)
    )
    assert mask.alpha[mouth[1], mouth[0]] > 0.9
    assert mask.alpha[eye[1], eye[0]] == 0


def test_scenes_hide_some_faces_and_leave_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenes, "_BANK", 20)
    random = np.random.default_rng(2)
    np.save(tmp_path / "faces128.npy", random.integers(0, 255, (5, SIZE, SIZE, 3)).astype(np.uint8))
    np.save(tmp_path / "points.npy", np.repeat(drawn_face()[None], 5, axis=0))
    np.save(tmp_path / "turned128.npy", np.zeros((2, SIZE, SIZE, 3), np.uint8))
    np.save(tmp_path / "turned.npy", np.repeat(drawn_face()[None], 2, axis=0))
    np.save(tmp_path / "turned_rows.npy", np.array([1, 9]))
    made = Scenes(tmp_path, np.arange(5), seed=3)
    assert made.turned_rows.tolist() == [0]
    pictures, fronts, ovals = made.batch(40)
    assert pictures.shape == (40, SIZE, SIZE, 3)
    assert pictures.dtype == np.uint8
    hidden = [front[oval > 0.5].mean() for front, oval in zip(fronts, ovals, strict=True)]
    assert 0.1 < np.mean([one == 0 for one in hidden]) < 0.7
    assert max(hidden) > 0.2
    whole = float((oval_from_points(drawn_face(), SIZE) > 0.5).mean())
    assert np.mean(ovals > 0.5) == pytest.approx(whole, rel=0.2)
