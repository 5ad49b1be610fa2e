"""Recognisers that users bring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from engines.errors import ModelMissing
from evaluation.errors import RecogniserRejected
from evaluation.recognisers import (
    description_from_toml,
    models_folder,
    preset_descriptions,
    recognisers_from_names,
)
from tests.engines.backends.fake import Fake
from tests.evaluation.fakes import face_at

pytestmark = pytest.mark.unit

TOML = """network = "mean.onnx"
alignment = "kveil"
size = 16
colour = "rgb"
mean = 100.0
scale = 10.0
threshold = 0.4
"""


def write_recogniser(folder: Path, text: str = TOML) -> Path:
    """A network whose vector is the mean of each channel, and its TOML."""
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [None, 3, 16, 16])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [None, 3, 1, 1])
    node = helper.make_node("GlobalAveragePool", ["image"], ["vector"])
    graph = helper.make_graph([node], "mean", [image], [vector])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "mean.onnx")
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def solid_image(bgr: tuple[int, int, int]) -> NDArray[np.uint8]:
    return np.full((80, 80, 3), bgr, np.uint8)


def test_a_brought_recogniser_gets_normalised_rgb_and_gives_unit_vectors(tmp_path: Path) -> None:
    judge = recognisers_from_names([str(write_recogniser(tmp_path))], Fake(), tmp_path)[0]
    points = face_at(10, 10, 60).landmarks_px
    rows = judge.embed([solid_image((100, 100, 200))] * 3, [points] * 3)
    assert rows.shape == (3, 3)
    np.testing.assert_allclose(rows[0], [1, 0, 0], atol=1e-5)
    assert (judge.name, judge.threshold, judge.seen_by_kveil) == ("mine", 0.4, False)
    assert judge.embed([], []).shape == (0, 0)


def test_two_recognisers_of_one_name_are_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = (str(write_recogniser(folder)) for folder in (tmp_path, tmp_path / "other"))
    with pytest.raises(RecogniserRejected, match="two recognisers are called mine") as refused:
        recognisers_from_names([first, second], Fake(), tmp_path)
    assert refused.value.exit_code == 5
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('alignment = "kveil"', 'alignment = "dlib"'),
        ("size = 16\n", ""),
        ("scale = 10.0", "scale = 0.0"),
        ("threshold = 0.4", "threshold = 4.0"),
        ("size = 16", "size = 16\nspeed = 3"),
        ("network", "= network"),
    ],
    ids=["alignment", "missing", "scale", "threshold", "unknown", "syntax"],
)
def test_a_faulty_toml_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = write_recogniser(tmp_path, TOML.replace(old, new))
    with pytest.raises(RecogniserRejected):
        description_from_toml(path)


def test_a_network_of_the_models_folder_is_found(tmp_path: Path) -> None:
    models, tables = tmp_path / "models", tmp_path / "tables"
    models.mkdir()
    tables.mkdir()
    path = write_recogniser(tables)
    (tables / "mean.onnx").rename(models / "mean.onnx")
    assert description_from_toml(path, models).network == models / "mean.onnx"
    with pytest.raises(ModelMissing):
        recognisers_from_names([str(path)], Fake(), tmp_path)


def test_an_empty_models_folder_says_what_to_do(tmp_path: Path) -> None:
    assert preset_descriptions(tmp_path) == []
    with pytest.raises(RecogniserRejected, match="--recogniser"):
        recognisers_from_names([], Fake(), tmp_path)


def test_the_models_folder_is_chosen_by_option_then_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVEIL_EVALUATION_MODELS", str(tmp_path / "named"))
    assert models_folder(tmp_path) == tmp_path
    assert models_folder() == tmp_path / "named"
    monkeypatch.delenv("KVEIL_EVALUATION_MODELS")
    assert models_folder().name == "models"
