from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from engines.errors import ModelMissing, ModelRejected
from engines.models.catalogue import catalogue, centerface_path
from engines.models.importing import import_model, name_from_file, refuse_blank
from engines.models.verifying import verified
from engines.stylegan.pack import MANIFEST
from tests.engines.models.packs import small_generator
from tests.engines.stylegan.imports.generators import WIDTH, stylegan2, stylegan3
from tests.engines.stylegan.pickle_writing import Named, network_pickle, rebuilt

pytestmark = pytest.mark.unit

LATENTS = np.random.default_rng(0).standard_normal((2, 2, 8)).astype(np.float32)


@pytest.fixture
def pickle_file(tmp_path: Path) -> Path:
    path = tmp_path / "My FFHQ (64).pkl"
    path.write_bytes(network_pickle(stylegan2()))
    return path


def test_generator_gets_a_manifest_and_is_listed(pickle_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    done = import_model(pickle_file, licence="CC BY-NC 4.0", folder=folder)
    assert (done.name, done.source, done.is_new) == ("my-ffhq-64", "stylegan2-ada", True)
    said = json.loads((done.folder / MANIFEST).read_text())
    assert said["licence"] == "CC BY-NC 4.0"
    assert said["size_px"] == 64
    assert said["latents"] == [10, WIDTH]
    assert said["source"]["format"] == "stylegan2-ada"
    assert said["files"]["synthesis.onnx"]["inputs"] == {"latents": ["batch", 10, WIDTH]}
    assert said["files"]["synthesis.onnx"]["outputs"] == {"image": ["batch", 3, 64, 64]}
    listed = list(catalogue(folder))[-1]
    assert (listed.name, listed.kind, listed.licence) == ("my-ffhq-64", "generator", "CC BY-NC 4.0")
    assert listed.pack.path("mapping.onnx").is_file()
    assert [path.name for path in folder.iterdir()] == ["my-ffhq-64"]


def test_second_import_changes_nothing(pickle_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    done = import_model(pickle_file, name="mine", folder=folder)
    changed = (done.folder / MANIFEST).stat().st_mtime_ns
    assert not import_model(pickle_file, name="mine", folder=folder).is_new
    assert (done.folder / MANIFEST).stat().st_mtime_ns == changed


def test_other_network_of_that_name_is_kept_unless_asked(pickle_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    import_model(pickle_file, name="mine", folder=folder)
    other = tmp_path / "other.pkl"
    other.write_bytes(network_pickle(stylegan3()))
    with pytest.raises(FileExistsError):
        import_model(other, name="mine", folder=folder)
    done = import_model(other, name="mine", folder=folder, overwrite=True)
    assert done.source == "stylegan3-t"
    assert json.loads((done.folder / MANIFEST).read_text())["licence"] == "unknown"
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_detector_stays_as_it_is(tmp_path: Path) -> None:
    done = import_model(centerface_path(), name="mine", folder=tmp_path)
    assert done.source == "centerface"
    assert (done.folder / "detector.onnx").read_bytes() == centerface_path().read_bytes()


@pytest.mark.parametrize("name", ["", "..", "a/b", "Ünïcode", "-x", "x" * 65, "centerface"])
def test_unfit_name_is_refused(pickle_file: Path, tmp_path: Path, name: str) -> None:
    if not name:
        assert name_from_file(Path(".pkl"))
        return
    with pytest.raises(ModelRejected, match="no name"):
        import_model(pickle_file, name=name, folder=tmp_path / "models")


@pytest.mark.parametrize("name", ["none.pkl", "none.onnx"])
def test_absent_file_is_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelMissing):
        import_model(tmp_path / name, folder=tmp_path / "models")
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("content", [b"", b"not a network", small_generator()])
def test_file_that_is_no_detector_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelRejected):
        import_model(path, folder=tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_detector_with_weights_in_other_files_is_refused(tmp_path: Path) -> None:
    network = onnx.load(centerface_path())
    weight = network.graph.initializer[0]
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.ClearField("raw_data")
    weight.ClearField("float_data")
    weight.external_data.add(key="location", value="../../secret")
    path = tmp_path / "bad.onnx"
    path.write_bytes(network.SerializeToString())
    with pytest.raises(ModelRejected):
        import_model(path, folder=tmp_path / "models")


def test_detector_with_a_constant_in_another_file_is_refused(tmp_path: Path) -> None:
    network = onnx.load(centerface_path())
    weight = onnx.TensorProto(name="far", data_type=onnx.TensorProto.FLOAT, dims=[1])
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="secret")
    network.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["far"], value=weight))
    path = tmp_path / "bad.onnx"
    path.write_bytes(network.SerializeToString())
    with pytest.raises(ModelRejected, match="other files"):
        import_model(path, folder=tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_generator_that_paints_a_blank_is_refused(tmp_path: Path) -> None:
    made = stylegan2()
    silence(made)
    path = tmp_path / "blank.pkl"
    path.write_bytes(network_pickle(made))
    with pytest.raises(ModelRejected, match="blank"):
        import_model(path, folder=tmp_path / "models")
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(("gain", "words"), [(0.0, "blank"), (np.nan, "paint"), (1e39, "paint")])
def test_pictures_that_are_none_are_refused(gain: float, words: str) -> None:
    with np.errstate(over="ignore"), pytest.raises(ModelRejected, match=words):
        refuse_blank(small_generator(gain), LATENTS)


def test_same_picture_for_everybody_is_refused() -> None:
    with pytest.raises(ModelRejected, match="everybody"):
        refuse_blank(small_generator(), LATENTS[[0, 0]])


def silence(made: Named) -> None:
    """Take all colour from a StyleGAN2 generator."""
    for named in walk(made):
        meta = named.arguments[0]
        assert isinstance(meta, dict)
        if meta["class_name"] == "ToRGBLayer":
            parameters = meta["state"]["_parameters"]
            for name, stored in parameters.items():
                parameters[name] = rebuilt(np.zeros(stored.arguments[0].arguments[2]))


def walk(made: Named) -> list[Named]:
    meta = made.arguments[0]
    assert isinstance(meta, dict)
    inner = [walk(named) for named in meta["state"]["_modules"].values()]
    return [made, *(named for group in inner for named in group)]


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "layout"),
    [("face_detection_yunet_2026may.onnx", "yunet"), ("scrfd_500m_bnkps.onnx", "scrfd")],
)
def test_other_layouts_are_recognised_and_sound(
    shared_data: Path, tmp_path: Path, file: str, layout: str
) -> None:
    done = import_model(shared_data / "models" / file, folder=tmp_path)
    assert done.source == layout
    verdicts = list(verified(list(catalogue(tmp_path))[-1]))
    assert [verdict.fault for verdict in verdicts] == [""]


@pytest.mark.timeout(20)
def test_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.onnx")
    with pytest.raises(ModelMissing, match="no regular file"):
        import_model(tmp_path / "model.onnx", folder=tmp_path / "models")
