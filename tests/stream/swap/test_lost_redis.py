"""A real Redis fails while a file is being anonymized: covers until it is back, then the swap."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from config.loading import load_settings
from config.settings import Settings
from engines.detectors.closer_look import SIZE_PX
from engines.detectors.multiscale import DetectionPlan
from engines.face.embedder import PersonThresholds
from engines.types import Face
from gallery.donors import DonorPopulation
from gallery.errors import StoreUnavailable
from gallery.ledger import check_folder
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings
from gallery.stores.local_redis import INSTALL, LocalRedis
from stream.files import file_runs
from stream.files.file_runs import run_files
from stream.files.report import RunReport
from stream.pipeline.engine_set import EngineSet, SwapEngines
from stream.swap import lending
from tests.clips import Clip, made_clip
from tests.stream.swap.test_swapping import NoisePainter, track

pytestmark = [
    pytest.mark.redis,
    pytest.mark.skipif(
        shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
    ),
]

VISIT, PAUSE, VISITS = 20, 40, 4
FAILS_AT, BACK_AT = 40, 100
KEY = "kveil:default:log"
BELOW = track(left=8.0, side=20.0).face
UP = np.array([0, 50], np.float32)
FACE = replace(BELOW, box_px=BELOW.box_px - np.tile(UP, 2), landmarks_px=BELOW.landmarks_px - UP)
"""Inside the picture when it is brought to the clip's size."""
Image = NDArray[np.uint8]


class Visitors:
    """One face at a time, a while in view and a while not."""

    def __init__(self) -> None:
        self._calls = 0

    def detect(self, image_bgr: Image, *, min_score: float) -> tuple[Face, ...]:
        if image_bgr.shape[:2] == (SIZE_PX, SIZE_PX):
            return ()  # a closer look at where somebody was
        number, self._calls = self._calls, self._calls + 1
        if number % (VISIT + PAUSE) >= VISIT:
            return ()
        return (FACE,)


class Strangers:
    """Takes whoever it is asked for, for somebody it has never seen."""

    def __init__(self) -> None:
        self._asked = 0

    def embed(self, crops: Image) -> NDArray[np.float32]:
        self._asked += 1
        return np.repeat(np.eye(1, 64, self._asked, dtype=np.float32), len(crops), axis=0)


@dataclass
class Scenes:
    """Lets something happen when so many frames are written."""

    events: dict[int, Callable[[], object]]

    def begin(self, name: str, frames: int | None) -> None: ...

    def advance(self, written: int) -> None:
        if event := self.events.pop(written, None):
            event()

    def say(self, text: str) -> None: ...


@pytest.fixture
def folder() -> Iterator[Path]:
    short = Path(tempfile.mkdtemp())
    SecretRing.ephemeral().write(short / "keys")
    yield short
    shutil.rmtree(short)


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted engines; a failed store is asked again at once, as a file has no real time."""
    plan = DetectionPlan(64)
    donors = DonorPopulation(np.random.default_rng(0).normal(size=(200, 3, 512)).astype(np.float32))

    @contextmanager
    def opened(settings: Settings, **_: object) -> Iterator[EngineSet]:
        swap = SwapEngines(NoisePainter(), Strangers(), PersonThresholds(0.5, 0.5), donors)  # type: ignore[arg-type]
        yield EngineSet(Visitors(), lambda height, width: dict.fromkeys(
            ("near", "coarse", "full"), plan), 1, (), swap)  # fmt: skip

    monkeypatch.setattr(file_runs, "open_engines", opened)
    monkeypatch.setattr(lending, "GallerySettings", partial(GallerySettings, retry_s=0.0))


def run(folder: Path, url: str, events: dict[int, Callable[[], object]]) -> RunReport:
    clip = made_clip(folder / "in.mp4", Clip(height=160, width=96, frames=VISITS * (VISIT + PAUSE)))
    flags = {
        "detection.schedule": "every",
        "gallery.redis_url": url,
        "gallery.key_file": str(folder / "keys"),
        "gallery.ledger": str(folder / "ledger"),
    }
    run_files(
        [clip],
        folder / "out.mp4",
        load_settings(flags=flags, environment={}),
        overwrite=True,
        resume=False,
        report_path=folder / "report.json",
        progress=Scenes(events),
    )
    return RunReport.model_validate_json((folder / "report.json").read_text())


def stopped(server: LocalRedis, what: signal.Signals) -> None:
    """Freeze or thaw the server, as an overload or a lost network would."""
    assert server._process is not None
    os.kill(server._process.pid, what)


def configured(server: LocalRedis, **values: str) -> None:
    with server.client() as client:
        for name, value in values.items():
            client.config_set(name, value)


def replaced(server: LocalRedis, is_wrong: bool) -> None:
    """Put something else in the place of the log, so that each call ends in an error."""
    with server.client() as client:
        client.delete(KEY)
        if is_wrong:
            client.set(KEY, "not a stream")


FAULTS: dict[str, tuple[Callable[[LocalRedis], object], Callable[[LocalRedis], object]]] = {
    "lost, returns empty": (LocalRedis.kill, LocalRedis.start),
    "slow": (
        lambda server: stopped(server, signal.SIGSTOP),
        lambda server: stopped(server, signal.SIGCONT),
    ),
    "full": (
        lambda server: configured(server, maxmemory="1"),
        lambda server: configured(server, maxmemory="0"),
    ),
    "answers errors": (
        lambda server: replaced(server, is_wrong=True),
        lambda server: replaced(server, is_wrong=False),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faces_are_covered_until_redis_is_back_and_then_swapped(folder: Path, fault: str) -> None:
    fails, returns = FAULTS[fault]
    with LocalRedis(folder) as server:
        events = {FAILS_AT: lambda: fails(server), BACK_AT: lambda: returns(server)}
        report = run(folder, server.url, events)
    causes = report.faces.covered_by_cause
    assert report.status == "complete"
    assert report.frames.uncovered == 0
    assert VISIT - 5 <= causes.get("store_unavailable", 0) <= VISIT
    assert (VISITS - 1) * (VISIT - 5) <= report.faces.swapped <= (VISITS - 1) * VISIT
    assert report.clusters.store_failures >= 1
    assert check_folder(folder / "ledger").is_ok


def test_without_a_fault_everybody_is_swapped(folder: Path) -> None:
    with LocalRedis(folder) as server:
        report = run(folder, server.url, {})
    assert report.faces.swapped >= VISITS * (VISIT - 5)
    assert "store_unavailable" not in report.faces.covered_by_cause


def test_redis_that_is_not_there_at_the_start_ends_the_run_before_it_writes(folder: Path) -> None:
    with pytest.raises(StoreUnavailable):
        run(folder, f"unix://{folder}/nobody.sock", {})
    assert not (folder / "out.mp4").exists()


def test_report_tells_nothing_of_the_url(folder: Path) -> None:
    with LocalRedis(folder) as server:
        run(folder, server.url, {})
        assert str(folder / "redis.sock") not in (folder / "report.json").read_text()
