from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from engines.backends import mapped_files
from engines.backends.mapped_files import page_out
from engines.stylegan.pack import bundled_pack

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists what is mapped"),
]

FILE = bundled_pack() / "generator.onnx"


def resident_kb() -> int:
    """How much of the mapped file is in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    assert any(line.endswith(str(FILE)) for line in lines)
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))


@pytest.fixture
def content() -> mmap.mmap:
    """The file's content, mapped and read once."""
    with FILE.open("rb") as opened:
        found = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ)
    assert found[:] == FILE.read_bytes()
    return found


def test_pages_leave_memory_and_are_read_again(content: mmap.mmap) -> None:
    before = resident_kb()
    page_out(FILE.parent)
    assert resident_kb() < before / 4
    assert content[:] == FILE.read_bytes()


def test_files_of_other_folders_stay(content: mmap.mmap) -> None:
    before = resident_kb()
    page_out(FILE.parent / "embedder")
    assert resident_kb() == before


def test_system_without_the_list_keeps_its_pages(
    content: mmap.mmap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mapped_files, "_MAPPINGS", tmp_path / "absent")
    before = resident_kb()
    page_out(FILE.parent)
    assert resident_kb() == before
