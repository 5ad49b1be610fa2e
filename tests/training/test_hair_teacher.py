"""The larger hair network runs in torch as its file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")
pytest.importorskip("tflite", reason="needs tflite: pip install 'kveil[train]'")

from engines.alignment import crop_from_picture
from engines.pictures import picture_from_bgr
from stream.demo_clip import portrait
from training.hair_teacher import HAIR_FILE, HairTeacher

MODELS = Path(__file__).resolve().parents[3] / "shared" / "data" / "models"
pytestmark = [
    pytest.mark.torch,
    pytest.mark.data,
    pytest.mark.skipif(not (MODELS / HAIR_FILE).exists(), reason="needs ../shared/data"),
]


def test_hair_of_a_photograph_is_marked_and_nothing_else() -> None:
    place = np.array([[1, 0, -90], [0, 1, 20]], np.float32)
    image = crop_from_picture(picture_from_bgr(portrait()), place, 260)
    (found,) = HairTeacher(MODELS / HAIR_FILE).hair([image])
    assert found.shape == (260, 260)
    marked = image[found > 0.8].mean(axis=0)
    assert 0.05 < (found > 0.8).mean() < 0.4
    assert marked[0] + 20 < marked[2], "her hair is brown"
