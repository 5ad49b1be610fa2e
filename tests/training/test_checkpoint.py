from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engines.stylegan.pack import MANIFEST, bundled_pack

pytestmark = pytest.mark.unit

KEPT = Path(__file__).parents[2] / "training" / "generator"
MOST_BYTES = 16_000_000


def test_training_can_go_on_from_the_state_that_is_kept() -> None:
    parts = sorted(KEPT.glob("part-*.npz"))
    names: set[str] = set()
    for part in parts:
        assert part.stat().st_size <= MOST_BYTES
        with np.load(part, allow_pickle=False) as file:
            for name in file.files:
                assert file[name].dtype == np.float16
                assert np.isfinite(file[name]).all()
                names.add(name)
    networks = {name.split(".")[0] for name in names}
    assert networks == {"g", "g_ema", "d"}
    assert {n.removeprefix("g.") for n in names if n.startswith("g.")} == {
        n.removeprefix("g_ema.") for n in names if n.startswith("g_ema.")
    }


def test_state_is_no_older_than_the_pack() -> None:
    facts = json.loads((KEPT / "facts.json").read_text())
    pack = json.loads((bundled_pack() / MANIFEST).read_text())["metrics"]
    assert facts["crops"] >= pack["crops"]
    assert facts["size"] == pack["size"]
