from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engines.stylegan.topology import POINTS
from training.carry import CODE_STEP, POINT_STEP, carried, carry

pytestmark = pytest.mark.unit


def prepared(folder: Path, count: int = 6) -> Path:
    random = np.random.default_rng(0)
    smooth = np.linspace(0, 255, 256).astype(np.uint8)
    images = np.stack([np.stack([smooth] * 256)] * 3, axis=-1)[None]
    np.save(folder / "faces256.npy", np.repeat(images, count, axis=0))
    np.save(folder / "lends.npy", np.arange(count) > 0)
    np.save(folder / "points.npy", random.normal(0.5, 0.2, (count, POINTS, 3)).astype(np.float32))
    for name in ("codes.npy", "movement.npy"):
        np.save(folder / name, random.uniform(-4, 4, (count, 144)).astype(np.float32))
    rows = [{"source": "utkface", "age": "30", "sharpness": str(i)} for i in range(count)]
    (folder / "names.json").write_text(json.dumps(rows))
    np.savez(folder / "texture.npz", basis=np.ones((2, 3), np.float32), mean=np.zeros(3))
    return folder


def test_carried_crops_come_back_sharpest_first(tmp_path: Path) -> None:
    data = prepared(tmp_path)
    count = carry(data, data / "texture.npz", tmp_path / "carry", 1.0, 70)
    assert count == 5
    back = carried(tmp_path / "carry")
    assert back["images"].shape == (5, 256, 256, 3)
    wanted = np.load(data / "points.npy")[5]
    assert np.abs(back["points"][0] - wanted).max() <= POINT_STEP
    assert np.abs(back["codes"][0] - np.load(data / "codes.npy")[5]).max() <= CODE_STEP


def test_crops_that_lend_nothing_do_not_travel(tmp_path: Path) -> None:
    data = prepared(tmp_path)
    carry(data, data / "texture.npz", tmp_path / "carry", 1.0, 70)
    held = np.load(data / "points.npy")[0]
    away = np.abs(np.asarray(carried(tmp_path / "carry")["points"], np.float32) - held)
    assert away.max(axis=(1, 2)).min() > 0.1
