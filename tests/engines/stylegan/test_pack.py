from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from engines.errors import ModelMissing, ModelRejected
from engines.stylegan.pack import MANIFEST, bundled_pack, read_pack

pytestmark = pytest.mark.unit


def written(folder: Path, content: bytes = b"weights") -> Path:
    (folder / "generator.onnx").write_bytes(content)
    digest = hashlib.sha256(b"weights").hexdigest()
    manifest = {"format": "kveil pack 1", "files": {"generator.onnx": {"sha256": digest}}}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder


def test_sound_file_is_found(tmp_path: Path) -> None:
    assert read_pack(written(tmp_path)).path("generator.onnx").is_file()


@pytest.mark.parametrize("content", [b"", b"weight", b"weights2"])
def test_changed_file_is_rejected(tmp_path: Path, content: bytes) -> None:
    pack = read_pack(written(tmp_path, content))
    with pytest.raises(ModelRejected, match="damaged") as caught:
        pack.path("generator.onnx")
    assert caught.value.exit_code == 5


def test_absent_file_is_missing(tmp_path: Path) -> None:
    pack = read_pack(written(tmp_path))
    (tmp_path / "generator.onnx").unlink()
    with pytest.raises(ModelMissing):
        pack.path("generator.onnx")
    with pytest.raises(ModelMissing):
        pack.path("other.onnx")


def test_folder_without_manifest_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        read_pack(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "x"}', '{"format": "kveil pack 1"}'])
def test_damaged_manifest_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(ModelRejected):
        read_pack(tmp_path)


def test_manifest_that_reaches_outside_is_rejected(tmp_path: Path) -> None:
    manifest = {"format": "kveil pack 1", "files": {"../secret": {"sha256": ""}}}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelRejected):
        read_pack(tmp_path)


def test_every_bundled_file_has_its_hash() -> None:
    pack = read_pack(bundled_pack())
    for name in pack.sha256:
        assert pack.path(name).stat().st_size <= 16_000_000
