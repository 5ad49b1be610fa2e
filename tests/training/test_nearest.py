from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from training import nearest
from training.nearest import Nearness

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("cosine", "code"), [(0.3, 0), (0.99, 1)])
def test_one_donor_too_near_to_somebody_fails_the_pack(
    cosine: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = np.linspace(0.2, 0.8, 50, dtype=np.float32)
    drawn = np.array([0.2, cosine, 0.3], np.float32)
    near = {"mobilefacenet": Nearness(drawn, real, np.eye(3, dtype=np.float32))}
    monkeypatch.setattr(nearest, "nearness_of_pack", lambda *_: near)
    facts = tmp_path / "donors.json"
    facts.write_text(json.dumps({"donors": 3.0, "nearest_donors_most_mobilefacenet": 0.0}))
    monkeypatch.setattr(sys, "argv", ["nearest", "--models", str(tmp_path), "--out", str(facts)])
    assert nearest.main() == code
    told = json.loads(facts.read_text())
    assert told["donors"] == 3.0
    assert told["nearest_donors_most_mobilefacenet"] == pytest.approx(cosine)
