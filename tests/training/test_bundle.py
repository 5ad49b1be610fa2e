from __future__ import annotations

import json
from pathlib import Path

import pytest

from engines.stylegan.pack import read_pack
from training.bundle import FILES, MOST_BYTES, manifest

pytestmark = pytest.mark.unit


def filled(folder: Path, size: int = 10) -> Path:
    for name in FILES:
        (folder / name).write_bytes(name.encode() * size)
    return folder


def test_described_files_are_accepted_by_the_reader(tmp_path: Path) -> None:
    described = manifest(filled(tmp_path), "test", {"samples": 1.0})
    (tmp_path / "manifest.json").write_text(json.dumps(described))
    pack = read_pack(tmp_path)
    assert all(pack.path(name).is_file() for name in FILES)


def test_file_too_large_for_a_repository_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    with (tmp_path / "generator.onnx").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ValueError, match=r"generator\.onnx"):
        manifest(tmp_path, "test", {})
