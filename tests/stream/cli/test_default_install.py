"""What works with the packages of `requirements/default.lock` alone: what `make demo` installs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from stream.files.demo_clip import write_demo_clip

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def absent() -> set[str]:
    """Modules of installed packages that the default installation does not bring."""
    lock = (ROOT / "requirements" / "default.lock").read_text("utf-8")
    default = {normal(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    brought = metadata.packages_distributions()
    return {
        module
        for module, names in brought.items()
        if not default & {normal(name) for name in names} and "kveil" not in names
    }


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def run(code: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs Python code that finds no other packages."""
    whole = f"ABSENT = {absent()!r}\n{WITHOUT}\n{code}"
    return subprocess.run(
        [sys.executable, "-c", whole, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=240,
    )


KVEIL = "from stream.cli.main import main; main()"


def test_files_are_anonymized_with_the_default_packages(tmp_path: Path) -> None:
    """The planted fault: a library of the extra `serve`, imported by all that runs a network."""
    write_demo_clip(tmp_path / "in.mp4", seconds=0.2)
    assert {"aiortc", "pytest"} <= absent()
    done = run(KVEIL, "anonymize", tmp_path / "in.mp4", "-o", tmp_path / "out.mp4")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.mp4").exists()


def test_library_needs_the_default_packages_alone() -> None:
    done = run("import kveil; print(sorted(kveil.__all__)[0])")
    assert done.stdout.strip() == "Composite", done.stderr


def test_command_that_needs_more_says_what_installs_it(tmp_path: Path) -> None:
    write_demo_clip(tmp_path / "in.mp4", seconds=0.2)
    done = run(KVEIL, "stream", tmp_path / "in.mp4", tmp_path / "out.mp4")
    assert done.returncode == 5
    assert done.stderr.startswith("kveil: aiortc is absent; `kveil stream` needs it; pip install")
