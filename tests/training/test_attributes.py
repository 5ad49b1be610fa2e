from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engines.face.embedding_attributes import attributes_from_pack
from training.attributes import (
    Labelled,
    age_band,
    fit_classifier,
    fit_embedding_attributes,
    moved,
    write_embedding_attributes,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("age", "band"), [("1", "child"), ("13", "young"), ("49.9", "adult"), ("90", "old"), ("", "")]
)
def test_age_gives_its_band(age: str, band: str) -> None:
    assert age_band(age) == band


def test_separable_bins_are_learnt() -> None:
    random = np.random.default_rng(0)
    codes = random.standard_normal((400, 8)).astype(np.float32)
    labels = np.where(codes[:, 0] > 0, "a", "b")
    weights = fit_classifier(codes, labels, ("a", "b"))
    guess = np.array(["a", "b"])[(codes @ weights[:-1] + weights[-1]).argmax(axis=1)]
    assert (guess == labels).mean() > 0.95


def test_attributes_of_embeddings_are_learnt_and_read_back(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((2000, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(rows[:, 0] * rows[:, 1] > 0, "female", "male")
    labels[:20] = ""
    ages = np.where(rows[:, 2] > 0, "old", "young")
    people = Labelled(np.stack([rows, rows, rows]), {"gender": labels, "age": ages})
    arrays, facts = fit_embedding_attributes(people, random.random(len(rows)) < 0.2)
    assert min(facts.values()) > 0.9, "no plane tells the first apart"
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "kveil pack 1", "files": {}}))
    write_embedding_attributes(tmp_path / "attributes.npz", arrays, facts)
    model = attributes_from_pack(tmp_path)
    assert model.shares(rows[labels == "female"][0])["gender"]["female"] > 0.5
    facts_kept = json.loads((tmp_path / "manifest.json").read_text())["facts"]
    assert facts_kept == facts


def test_a_moved_crop_is_the_crop_nearly_and_never_the_same_twice() -> None:
    random = np.random.default_rng(0)
    ramp = np.linspace(20, 230, 128, dtype=np.float32)
    crop = np.repeat(np.tile(ramp[:, None], (1, 128))[..., None], 3, axis=2).astype(np.uint8)
    one, other = moved(crop, random), moved(crop, random)
    assert one.shape == crop.shape
    assert 0 < np.abs(one.astype(int) - crop).mean() < 80
    assert (one != other).any()


def test_footage_shows_crops_in_other_light_and_some_behind_a_hand() -> None:
    """The planted fault: a crop that is moved alone teaches nothing of hands and lamps."""
    random = np.random.default_rng(0)
    crop = np.full((128, 128, 3), (90, 120, 160), np.uint8)
    crop[::8] = 0
    shown = [moved(crop, random) for _ in range(40)]
    hue = [one[:, :, 0].mean() / one[:, :, 2].mean() for one in shown]
    assert np.std(hue) > 0.05
    lines = [float(one.mean(axis=1).std(axis=0).mean()) for one in shown]
    striped = [float(one[40:, 40:90].astype(float).std()) for one in shown]
    assert min(striped) < 0.75 * float(np.median(striped)), "something hides the stripes"
    assert len(lines) == 40
