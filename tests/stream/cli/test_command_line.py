"""The contract that scripts rely on: exit codes, one line on stderr, nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import wave
from pathlib import Path

import pytest

from stream.files.demo_clip import write_demo_clip
from stream.files.report import RunReport
from tests.stream.live.rtsp_peer import eventually

pytestmark = pytest.mark.unit

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("KVEIL_")}


def kveil(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stream.cli.main", *map(str, words)]
    env = CLEAN | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=env, timeout=240
    )


def assert_one_line(done: subprocess.CompletedProcess[str], status: int, words: str) -> None:
    assert done.returncode == status, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("kveil: ")
    assert words in lines[0]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    write_demo_clip(path, 0.6)
    return path


def test_face_is_covered_and_the_report_says_so(clip: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = kveil(
        "anonymize", clip, "-o", tmp_path / "o.mp4", "--method", "solid", "--report", report
    )
    assert done.returncode == 0, done.stderr
    told = RunReport.model_validate_json(report.read_text())
    assert told.frames.read == told.frames.written == 15
    assert told.frames.uncovered == 0
    assert told.faces.covered >= 15
    assert told.engines[0].reason


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["anonymize", "none.mp4", "-o", "o.mp4"], 3, "none.mp4"),
        (["anonymize", "noise.mp4", "-o", "o.mp4", "--method", "solid"], 3, "noise.mp4"),
        (["anonymize", "noise.mp4", "-o", "noise.mp4"], 2, "is an input"),
        (["anonymize", "noise.mp4", "-o", "there.mp4"], 4, "--overwrite"),
        (["anonymize", "noise.mp4", "-o", "o.mp4", "--method", "nonsense"], 2, "kveil methods"),
        (["anonymize", "noise.mp4", "-o", "o.mp4", "--set", "privacy.k=1"], 2, "privacy.k"),
        (["anonymize", "noise.mp4", "-o", "o.mp4", "--set", "nonsense"], 2, "KEY=VALUE"),
        (["anonymize", "noise.mp4", "-o", "o.mp4", "--config", "none.yaml"], 2, "none.yaml"),
        (
            ["anonymize", "noise.mp4", "-o", "o.mp4", "--set", "detection.model=none.onnx"],
            5,
            "none.onnx",
        ),
    ],
)
def test_mistake_ends_in_one_line_and_its_status(
    tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    (tmp_path / "noise.mp4").write_bytes(b"no video" * 100)
    (tmp_path / "there.mp4").write_bytes(b"keep me")
    assert_one_line(kveil(*words, cwd=tmp_path), status, said)
    assert (tmp_path / "there.mp4").read_bytes() == b"keep me"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["noise.mp4", "there.mp4"]


def test_unknown_option_is_a_usage_error() -> None:
    assert kveil("anonymize", "--nonsense").returncode == 2


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds: longer to anonymize than to interrupt."""
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    write_demo_clip(path, 8.0)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_leaves_nothing_behind(
    long_clip: Path, tmp_path: Path, number: signal.Signals
) -> None:
    source = shutil.copy(long_clip, tmp_path / "in.mp4")
    command = [sys.executable, "-m", "stream.cli.main", "anonymize", str(source)]
    command += ["-o", str(tmp_path / "out.mp4"), "--method", "solid"]
    env = CLEAN | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
        if process.poll() is not None:
            break
        os.sched_yield()
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert [path.name for path in tmp_path.iterdir()] == ["in.mp4"]


def test_unsafe_method_is_named_as_such(clip: Path, tmp_path: Path) -> None:
    done = kveil("anonymize", clip, "-o", tmp_path / "o.mp4", "--method", "mosaic")
    assert done.returncode == 0
    assert "does not stop recognition" in done.stderr
    assert "unsafe" in kveil("methods").stdout


def test_doctor_names_what_is_used() -> None:
    done = kveil("doctor")
    assert done.returncode == 0
    assert "detector" in done.stdout
    assert "encoder" in done.stdout


def test_settings_can_be_listed_and_shown() -> None:
    assert "KVEIL_PRIVACY__K" in kveil("config", "keys").stdout
    assert "coarse_px: 1280" in kveil("config", "show", "--preset", "drone").stdout


@pytest.mark.parametrize(("asked", "kept"), [(None, "1"), ("4", "4")])
def test_small_matrices_keep_no_threads_waiting(asked: str | None, kept: str) -> None:
    told = "import os, stream.cli.main; print(os.environ['OPENBLAS_NUM_THREADS'])"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    environment |= {"OPENBLAS_NUM_THREADS": asked} if asked else {}
    done = subprocess.run(
        [sys.executable, "-c", told], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == kept


def test_stream_that_reaches_no_server_is_an_error_without_the_key(clip: Path) -> None:
    target = "rtmp://127.0.0.1:1/live/KEY"
    done = kveil("stream", clip, target, "--method", "solid", "-q", "--repeat", "--seconds", "8")
    assert_one_line(done, 4, "cannot publish to rtmp://127.0.0.1:1: connection refused")
    assert "KEY" not in done.stderr


def test_stream_from_a_file_without_video_ends_and_says_why(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "silence.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16000))
    words = ("--method", "solid", "-q", "--seconds", "60")
    begun_s = time.monotonic()
    done = kveil("stream", tmp_path / "silence.wav", tmp_path / "out", *words)
    assert_one_line(done, 3, "cannot read silence.wav: it is of a kind that is not read")
    assert time.monotonic() - begun_s < 60


def test_stream_from_an_empty_name_is_refused_instead_of_waiting(tmp_path: Path) -> None:
    done = kveil("stream", "", tmp_path / "out", "--seconds", "5")
    assert_one_line(done, 2, "the source is empty")


def test_stream_by_a_method_that_is_not_there_is_refused(clip: Path, tmp_path: Path) -> None:
    done = kveil("stream", clip, tmp_path / "out", "--method", "nosuch")
    assert_one_line(done, 2, "kveil methods")
    assert not (tmp_path / "out").exists()


def test_stream_by_an_unsafe_method_warns_once_and_says_where_it_recorded(
    clip: Path, tmp_path: Path
) -> None:
    done = kveil("stream", clip, tmp_path / "out", "--method", "blur")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("blur does not stop recognition") == 1
    assert f"pictures were recorded in {tmp_path / 'out'}" in done.stderr
    assert len(list((tmp_path / "out").rglob("*.mp4"))) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_stream_says_what_it_leaves(
    clip: Path, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "stream.cli.main", "stream", str(clip), str(folder)]
    command += ["--method", "solid", "--repeat", "-q"]
    env = CLEAN | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    # Started in the background, tests ignore Ctrl-C, and so would their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        signal.signal(signal.SIGINT, before)
        try:
            assert eventually(
                lambda: any(folder.rglob("*.partial")) or process.poll() is not None, 60.0
            )
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert f"pictures were recorded in {folder}" in said
    assert "nothing was published" not in said
    assert [path.suffix for path in folder.rglob("*.*")] == [".mp4"]
