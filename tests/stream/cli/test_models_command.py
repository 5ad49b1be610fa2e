"""`kveil models`: every bad file ends with one line and status 5."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from engines.errors import KveilError
from engines.models.catalogue import centerface_path
from stream.cli.models_command import models_app
from tests.engines.donors.painted import painting_network, portraits
from tests.engines.models.packs import small_generator, write_pack
from tests.engines.models.test_importing import silence
from tests.engines.stylegan.imports.generators import rosinality, stylegan2
from tests.engines.stylegan.pickle_writing import network_pickle, write_archive

pytestmark = pytest.mark.unit

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("KVEIL_")}
Bad = Callable[[Path], Path]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: as the process would, but within this one."""

    status: int
    stdout: str
    stderr: str


def kveil(folder: Path, *words: str | Path) -> Ended:
    env = {"KVEIL_MODELS": str(folder)}
    done = CliRunner().invoke(models_app, [str(word) for word in words], env=env)
    if isinstance(done.exception, KveilError):
        return Ended(done.exception.exit_code, done.stdout, str(done.exception))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


def assert_one_line(done: Ended, status: int, words: str = "") -> None:
    assert done.status == status, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert words in done.stderr


def test_process_ends_with_one_line_and_its_status(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[3])
    command = [sys.executable, "-m", "stream.cli.main", "models", "import", str(hostile(tmp_path))]
    env = CLEAN | {"PYTHONPATH": root, "KVEIL_MODELS": str(tmp_path / "models")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=env, timeout=240, cwd=tmp_path
    )
    assert_one_line(Ended(done.returncode, done.stdout, done.stderr), 5, "kveil: the file asks")
    assert not (tmp_path / "trap").exists()


def test_imported_generator_is_listed_verified_and_kept(tmp_path: Path) -> None:
    models, path = tmp_path / "models", tmp_path / "faces.pkl"
    path.write_bytes(network_pickle(stylegan2()))
    done = kveil(models, "import", path, "--licence", "CC0")
    assert done.status == 0, done.stderr
    assert "stylegan2-ada" in done.stdout
    assert "already imported" in kveil(models, "import", path).stdout
    listed = json.loads(kveil(models, "list", "--json").stdout)
    assert listed[-1]["name"] == "faces"
    assert listed[-1]["licence"] == "CC0"
    assert "synthesis.onnx" in kveil(models, "list").stdout
    checked = kveil(models, "verify", "faces")
    assert checked.status == 0, checked.stderr
    assert checked.stdout.count("sound") == 2
    other = write_archive(tmp_path / "other.pt", {"g_ema": rosinality()})
    assert_one_line(kveil(models, "import", other, "--name", "faces"), 4, "--overwrite")
    assert kveil(models, "import", other, "--name", "faces", "--overwrite").status == 0


def missing(folder: Path) -> Path:
    return folder / "none.pkl"


def truncated(folder: Path) -> Path:
    path = folder / "n.pkl"
    path.write_bytes(network_pickle(stylegan2())[:5000])
    return path


def hostile(folder: Path) -> Path:
    path = folder / "n.pkl"
    path.write_bytes(b"cos\nsystem\n(S'touch trap'\ntR.")
    return path


def ill_shaped(folder: Path) -> Path:
    state = rosinality()
    state["convs.1.conv.weight"] = state["convs.1.conv.weight"][:, :4]
    return write_archive(folder / "n.pt", {"g_ema": state})


def not_a_number(folder: Path) -> Path:
    state = rosinality()
    state["convs.1.activate.bias"] = np.full(12, np.nan, np.float32)
    return write_archive(folder / "n.pt", {"g_ema": state})


def blank(folder: Path) -> Path:
    made = stylegan2()
    silence(made)
    path = folder / "n.pkl"
    path.write_bytes(network_pickle(made))
    return path


def half_a_detector(folder: Path) -> Path:
    path = folder / "n.onnx"
    path.write_bytes(centerface_path().read_bytes()[:100_000])
    return path


def no_detector(folder: Path) -> Path:
    path = folder / "n.onnx"
    path.write_bytes(small_generator())
    return path


@pytest.mark.parametrize(
    "bad",
    [missing, truncated, hostile, ill_shaped, not_a_number, blank, half_a_detector, no_detector],
)
def test_bad_file_is_not_imported(tmp_path: Path, bad: Bad) -> None:
    models = tmp_path / "models"
    assert_one_line(kveil(models, "import", bad(tmp_path)), 5)
    assert not models.exists()


def other_hash(folder: Path) -> None:
    pack = write_pack(folder / "mine", {"synthesis.onnx": small_generator()})
    (pack / "synthesis.onnx").write_bytes(small_generator(2.0))


def absent_file(folder: Path) -> None:
    (write_pack(folder / "mine", {"synthesis.onnx": b"x"}) / "synthesis.onnx").unlink()


def damaged_manifest(folder: Path) -> None:
    (write_pack(folder / "mine", {}) / "manifest.json").write_text("{")


def paints_nothing(folder: Path) -> None:
    write_pack(folder / "mine", {"synthesis.onnx": small_generator(0.0)})


def paints_nan(folder: Path) -> None:
    write_pack(folder / "mine", {"synthesis.onnx": small_generator(np.nan)})


@pytest.mark.parametrize(
    "spoil", [other_hash, absent_file, damaged_manifest, paints_nothing, paints_nan]
)
def test_spoilt_network_fails_verification(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(tmp_path)
    done = kveil(tmp_path, "verify", "mine")
    assert_one_line(done, 5, "mine")
    assert "refused" in done.stdout


def test_name_that_nobody_has_is_refused(tmp_path: Path) -> None:
    assert_one_line(kveil(tmp_path, "verify", "nobody"), 5, "centerface")


@pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is not None, reason="TensorRT is installed"
)
def test_build_without_tensorrt_says_what_to_install(tmp_path: Path) -> None:
    assert_one_line(kveil(tmp_path, "build"), 5, "pip install")


@pytest.mark.skipif(importlib.util.find_spec("tensorrt_rtx") is None, reason="needs tensorrt-rtx")
def test_build_prints_what_was_built(tmp_path: Path) -> None:
    write_pack(tmp_path / "models" / "mine", {"synthesis.onnx": small_generator()})
    words = ["build", "mine", "--capability", "8.6", "--capability", "8.9"]
    done = kveil(tmp_path / "models", *words, "--cache", tmp_path / "engines")
    assert done.status == 0, done.stderr
    assert done.stdout.count("built") == 2
    again = kveil(tmp_path / "models", *words, "--cache", tmp_path / "engines")
    assert again.stdout.count("was there") == 2
    assert len(list((tmp_path / "engines").glob("*.engine"))) == 2
    assert_one_line(kveil(tmp_path, "build", "--capability", "9.9"), 2, "8.6")


def test_network_that_paints_nobody_gives_no_donors(tmp_path: Path) -> None:
    models, path, pack = tmp_path / "models", tmp_path / "faces.pkl", tmp_path / "pack"
    path.write_bytes(network_pickle(stylegan2()))
    assert kveil(models, "import", path).status == 0
    made = ("donors", "faces", "--count", "9", "--out", pack, "--device", "cpu", "--quiet")
    words = "0 of 7 portraits show one face"
    assert_one_line(kveil(models, *made, "--tries", "7"), 5, words)
    assert not pack.exists()


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["unknown", "--out", "pack"], 5, "no network unknown"),
        (["centerface", "--out", "pack"], 5, "not a generator"),
        (["centerface", "--out", "."], 4, "no donor pack"),
    ],
)
def test_donors_of_anything_else_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    status: int,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line(kveil(tmp_path / "models", "donors", *words), status, told)
    assert not list(tmp_path.iterdir())


def test_donor_pack_is_made_told_and_not_replaced_unasked(tmp_path: Path) -> None:
    models, pack = tmp_path / "models", tmp_path / "pack"
    write_pack(models / "people", painting_network(portraits(20)))
    made = ("donors", "people", "--count", "9", "--out", pack, "--device", "cpu")
    done = kveil(models, *made)
    assert done.status == 0, done.stderr
    assert "9 donors" in done.stdout
    assert "gender: " in done.stdout
    assert (pack / "donors.jpg").is_file()
    assert_one_line(kveil(models, *made), 4, "--overwrite")
