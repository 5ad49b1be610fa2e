"""A donor pack is taken as a whole, or refused with one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.donors.packs import donor_manifest, is_donor_pack, read_donor_pack
from engines.errors import ModelMissing, ModelRejected
from engines.stylegan.pack import MANIFEST, bundled_pack, read_pack
from tests.engines.models.packs import write_pack

pytestmark = pytest.mark.unit

FILES = {"donors.npz": b"latents", "details.npz": b"pictures"}


def donor_folder(folder: Path, **changed: object) -> Path:
    write_pack(folder, FILES)
    entries = json.loads((folder / MANIFEST).read_text())["files"]
    said = donor_manifest("mine", "CC0", {}, entries, read_pack(bundled_pack()))
    (folder / MANIFEST).write_text(json.dumps(said | changed))
    return folder


def test_sound_pack_is_read(tmp_path: Path) -> None:
    folder = donor_folder(tmp_path / "mine")
    assert is_donor_pack(folder)
    pack = read_donor_pack(folder, read_pack(bundled_pack()))
    assert pack.path("donors.npz").read_bytes() == b"latents"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "generator"}, "no donor pack"),
        ({"frame": {"generator.onnx": "0", "shape.npz": "0"}}, "of another frame"),
        ({"frame": None}, "of another frame"),
        ({"format": "kveil pack 9"}, "format"),
        ({"files": {}}, "donors.npz of the donor pack mine is absent"),
    ],
)
def test_pack_that_does_not_fit_is_refused(
    tmp_path: Path, changed: dict[str, object], words: str
) -> None:
    folder = donor_folder(tmp_path / "mine", **changed)
    with pytest.raises((ModelRejected, ModelMissing), match=words) as refused:
        read_donor_pack(folder, read_pack(bundled_pack()))
    assert "\n" not in str(refused.value)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("name", ["donors.npz", "details.npz", MANIFEST])
@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_damaged_file_is_refused(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    folder = donor_folder(tmp_path / "mine")
    damage(folder / name)
    with pytest.raises((ModelRejected, ModelMissing), match="donor pack mine"):
        read_donor_pack(folder, read_pack(bundled_pack()))


@pytest.mark.parametrize("content", [None, "", "[]", '{"kind": "pack"}'])
def test_folder_of_anything_else_is_no_donor_pack(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / MANIFEST).write_text(content)
    assert not is_donor_pack(tmp_path)
    assert not is_donor_pack(tmp_path / "absent")
