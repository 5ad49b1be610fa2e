from __future__ import annotations

from pathlib import Path

import pytest

from engines.errors import ModelMissing, ModelRejected
from engines.models.catalogue import (
    CENTERFACE_SHA256,
    catalogue,
    centerface_path,
    imported_detector,
    model_path,
    models_folder,
    networks_of,
)
from engines.stylegan.pack import MANIFEST
from tests.engines.models.packs import small_generator, write_pack

pytestmark = pytest.mark.unit


def test_bundled_networks_come_first(tmp_path: Path) -> None:
    write_pack(tmp_path / "mine", {"synthesis.onnx": small_generator()})
    found = list(catalogue(tmp_path))
    assert found[0].name == "centerface"
    assert found[-1].name == "mine"
    assert {listed.origin for listed in found[:-1]} == {"bundled"}
    assert not any(listed.fault for listed in found)
    assert networks_of(found[-1]) == ["synthesis.onnx"]


def test_detectors_weights_are_those_that_were_measured(tmp_path: Path) -> None:
    listed = next(iter(catalogue(tmp_path)))
    assert listed.pack.path("centerface.onnx") == centerface_path()
    assert listed.pack.sha256["centerface.onnx"] == CENTERFACE_SHA256


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_damaged_manifest_hides_no_other_network(tmp_path: Path, text: str) -> None:
    write_pack(tmp_path / "sound", {"synthesis.onnx": small_generator()})
    folder = write_pack(tmp_path / "broken", {"synthesis.onnx": small_generator()})
    (folder / MANIFEST).write_text(text)
    found = {listed.name: listed for listed in catalogue(tmp_path)}
    assert found["broken"].fault
    assert not found["sound"].fault


def test_absent_folder_holds_nothing(tmp_path: Path) -> None:
    assert all(listed.origin == "bundled" for listed in catalogue(tmp_path / "none"))


def test_folder_is_the_option_then_the_variable_then_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("KVEIL_MODELS", raising=False)
    assert models_folder() == tmp_path / "kveil" / "models"
    monkeypatch.setenv("KVEIL_MODELS", str(tmp_path / "named"))
    assert models_folder() == tmp_path / "named"
    assert models_folder(tmp_path) == tmp_path


def test_imported_detector_is_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVEIL_MODELS", str(tmp_path))
    folder = write_pack(tmp_path / "mine", {"detector.onnx": b"weights"}, "detector")
    assert model_path("mine") == folder / "detector.onnx"
    (folder / "detector.onnx").write_bytes(b"other")
    with pytest.raises(ModelRejected):
        model_path("mine")


def test_generator_is_no_detector(tmp_path: Path) -> None:
    write_pack(tmp_path / "mine", {"synthesis.onnx": small_generator()})
    with pytest.raises(ModelRejected, match="not a detector"):
        imported_detector("mine", tmp_path)


@pytest.mark.parametrize("name", ["none", "../mine", "a/b"])
def test_unknown_name_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KVEIL_MODELS", str(tmp_path / "inner"))
    write_pack(tmp_path / "mine", {"detector.onnx": b"weights"}, "detector")
    with pytest.raises(ModelMissing, match="models list"):
        model_path(name)
