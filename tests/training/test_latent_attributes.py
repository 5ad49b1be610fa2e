from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engines.stylegan.attributes import load_attributes
from engines.stylegan.axes import axes
from training.latent_attributes import write_attributes

pytestmark = pytest.mark.unit


def test_model_that_is_written_tells_people_of_the_crops_apart(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    codes = random.standard_normal((600, 8)).astype(np.float32)
    rows = [
        {"gender": "female" if one[0] > 0 else "male", "age": "20" if one[1] > 0 else "70"}
        for one in codes
    ]
    (tmp_path / "names.json").write_text(json.dumps(rows))
    np.save(tmp_path / "codes.npy", codes + 1)
    np.save(tmp_path / "movement.npy", np.ones_like(codes))
    np.save(tmp_path / "split.npy", np.arange(600) >= 500)
    facts = write_attributes(tmp_path, tmp_path)
    assert min(facts["gender_accuracy"], facts["age_accuracy"]) > 0.9
    model = load_attributes(tmp_path / "attributes.npz")
    latents = np.repeat((codes[:50] @ axes(8).T)[:, None], 3, axis=1)
    told = [person.get("gender", "") for person in model.bins(latents)]
    found = [name == row["gender"] for name, row in zip(told, rows[:50], strict=True) if name]
    assert len(found) > 20
    assert np.mean(found) > 0.9
