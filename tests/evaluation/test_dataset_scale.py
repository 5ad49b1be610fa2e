"""Ten thousand pictures: memory that does not grow with them, and a run that survives a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.evaluation.fakes import painted_face

pytestmark = pytest.mark.slow

MOST_GROWTH_MIB = 90
"""What nine thousand more pictures may cost: their features and names, not their pixels, which
would be 950 MiB."""


def picture_folder(folder: Path, people: int, pictures: int) -> Path:
    """A folder of small, quickly made JPEGs, each person's alike."""
    random = np.random.default_rng(people)
    for person in range(people):
        place = folder / f"p{person:05d}"
        place.mkdir(parents=True)
        face = painted_face(person, 192)
        for picture in range(pictures):
            shade = int(random.integers(-20, 20))
            shaded = np.clip(face.astype(np.int16) + shade, 0, 255).astype(np.uint8)
            cv2.imwrite(str(place / f"{picture}.jpg"), shaded)
    return folder


def command(source: Path, target: Path, method: str) -> list[str]:
    module = "tests.evaluation.dataset_process"
    return [sys.executable, "-m", module, str(source), str(target), method]


def peak_mib(source: Path, target: Path, method: str) -> int:
    done = subprocess.run(
        command(source, target, method), check=True, capture_output=True, text=True, timeout=1200
    )
    return int(done.stdout.split()[-1])


@pytest.mark.parametrize("method", ["solid", "k-Same-Pixel"])
def test_ten_times_the_pictures_take_hardly_more_memory(
    tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    few = picture_folder(tmp_path / "few", people=500, pictures=2)
    many = picture_folder(tmp_path / "many", people=5000, pictures=2)
    small = peak_mib(few, tmp_path / "few-out", method)
    large = peak_mib(many, tmp_path / "many-out", method)
    with capsys.disabled():
        sys.stdout.write(f"\n{method}: peak {small} MiB at 1,000 pictures, {large} at 10,000\n")
    assert large - small < MOST_GROWTH_MIB
    assert len(list((tmp_path / "many-out").rglob("*.png"))) == 10_000


@pytest.mark.parametrize("method", ["solid", "k-Same-Pixel"])
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path: Path, method: str) -> None:
    source = picture_folder(tmp_path / "in", people=150, pictures=2)
    peak_mib(source, tmp_path / "whole", method)
    broken = tmp_path / "broken"
    running = subprocess.Popen(command(source, broken, method))
    deadline = time.monotonic() + 120
    while len(list(broken.rglob("*.png"))) < 20 and time.monotonic() < deadline:
        if running.poll() is not None:
            break
        time.sleep(0.01)  # a real process writes real files: there is no clock to fake
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (broken / "manifest.json").exists(), "it was killed too late to prove anything"
    peak_mib(source, broken, method)
    whole = {p.relative_to(tmp_path / "whole"): p for p in (tmp_path / "whole").rglob("*")}
    again = {p.relative_to(broken): p for p in broken.rglob("*")}
    assert whole.keys() == again.keys()
    for name, path in whole.items():
        assert not path.is_file() or path.read_bytes() == again[name].read_bytes()
