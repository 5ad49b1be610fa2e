"""Rehearsals of what happens to several workers that share one Redis.

``python -m gallery.rehearsal race``: workers enrol the same newcomers at the same time.
``python -m gallery.rehearsal crash``: workers and Redis are killed at random moments.

Both end with a verdict over all that any worker ever showed: exit 6 if a promise was broken.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gallery.gallery import Gallery
from gallery.ledger import Ledger, check_folder
from gallery.observations import (
    Observation,
    broken_promises,
    buffer_faults,
    clear_biometrics,
    read_seen,
)
from gallery.secrets import SecretRing
from gallery.settings import BelowK, GallerySettings
from gallery.simulation import THRESHOLDS, NoiseMaker, look
from gallery.stores.local_redis import LocalRedis
from gallery.stores.redis import RedisStore

__all__ = ["Verdict", "crash", "race"]

_ORDINARY = (0, 2, 3, 4, 5, 6, 7, 8, 9)  # last digits of humans without a twin

app = typer.Typer(help=__doc__, no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rehearsal came to.

    Attributes:
        releases, humans, windows: what the workers showed.
        joins: entries in the log of the last window.
        faults: broken promises, in words.
        leaks: places with biometrics in clear.
    """

    releases: int
    humans: int
    windows: int
    joins: int
    faults: tuple[str, ...]
    leaks: tuple[str, ...]

    @property
    def is_ok(self) -> bool:
        """Nothing was broken and nothing leaked."""
        return not self.faults and not self.leaks


def race(
    folder: Path, processes: int = 4, seconds: float = 60.0, below_k: BelowK = "swap"
) -> Verdict:
    """Let workers race for the same newcomers on one Redis.

    Args:
        folder: empty, with a short path.
        processes: how many workers.
        seconds: for how long.
        below_k: policy.

    Raises:
        StoreUnavailable: there is no redis-server.
    """
    with LocalRedis(_made(folder / "r")) as server:
        stage = _Stage(folder, server, below_k)
        workers = [stage.worker(number, seconds) for number in range(processes)]
        codes = [worker.wait() for worker in workers]
        died = [f"a worker ended with {code}" for code in codes if code]
        return stage.verdict(died)


def crash(folder: Path, times: int = 100, processes: int = 3, seed: int = 0) -> Verdict:
    """Kill workers and Redis at random moments; each comes back at once.

    Args:
        folder: empty, with a short path.
        times: how many kills; a third of them hit Redis.
        processes: how many workers.
        seed: of the moments and the victims.

    Raises:
        StoreUnavailable: there is no redis-server.
    """
    dice = random.Random(seed)
    with LocalRedis(_made(folder / "r"), is_persistent=True) as server:
        stage = _Stage(folder, server, "swap")
        workers = {number: stage.worker(number, 3600.0) for number in range(processes)}
        for kill in range(times):
            eldest = min(workers)
            stage.await_first_release(eldest)
            time.sleep(dice.uniform(0.0, 1.0))
            if dice.random() < 1 / 3:
                server.kill()
                time.sleep(dice.uniform(0.0, 0.2))
                server.start()
            else:
                _kill(workers.pop(eldest))
                workers[processes + kill] = stage.worker(processes + kill, 3600.0)
        stage.await_first_release(max(workers))
        for worker in workers.values():
            _kill(worker)
        return stage.verdict([])


class _Stage:
    """Folders, keys and server of one rehearsal."""

    def __init__(self, folder: Path, server: LocalRedis, below_k: BelowK) -> None:
        self._folder = folder
        self._server = server
        self._below_k = below_k
        self._keys = folder / "keys"
        SecretRing.ephemeral().write(self._keys)
        _made(folder / "ledger")
        _made(folder / "seen")

    def worker(self, number: int, seconds: float) -> subprocess.Popen[bytes]:
        """Start a worker process."""
        command = [sys.executable, "-m", "gallery.rehearsal", "work", str(self._folder),
                   self._server.url, self._below_k, str(number), str(seconds)]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, env=environment)  # noqa: S603 - our own module

    def await_first_release(self, number: int, limit_s: float = 60.0) -> None:
        """Wait until a worker is at work; give up after a while and go on."""
        path = self._folder / "seen" / f"seen-{number}.jsonl"
        ends_at = time.monotonic() + limit_s
        while time.monotonic() < ends_at and not (path.exists() and path.stat().st_size):
            time.sleep(0.02)

    def verdict(self, faults: Sequence[str]) -> Verdict:
        """Judge what all workers showed, the log, the ledger, and every byte at rest."""
        seen = read_seen(self._folder / "seen")
        settings = _settings(self._below_k)
        found = [*faults, *broken_promises(seen, settings.k)]
        found += check_folder(self._folder / "ledger").violations
        store = RedisStore(self._server.url, timeout_s=10.0)
        ring = SecretRing.from_file(self._keys)
        judge = Gallery(settings, NoiseMaker(), store, ring)
        judge.probe()
        found += buffer_faults(judge.buffer, settings)
        humans = sorted({one.human for one in seen})
        looks = [look(human) for human in humans[-200:]]
        places = [self._folder / "ledger", self._folder / "r", self._folder / "seen"]
        with self._server.client() as client:
            leaks = clear_biometrics(looks, places, client)
        store.close()
        windows = len({one.window for one in seen})
        joins = judge.buffer.head
        return Verdict(len(seen), len(humans), windows, joins, tuple(found), tuple(leaks))


def _settings(below_k: BelowK) -> GallerySettings:
    return GallerySettings(
        k=5, below_k=below_k, thresholds=THRESHOLDS, retry_s=0.02, search_effort=256
    )


def _kill(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@app.command(hidden=True)
def work(folder: Path, url: str, below_k: str, number: int, seconds: float) -> None:
    """Be a worker: enrol people at the edge of what is known, as fast as possible."""
    settings = _settings("cover" if below_k == "cover" else "swap")
    ring = SecretRing.from_file(folder / "keys")
    ledger = Ledger(settings.k, settings.below_k, folder / "ledger", is_durable=False)
    store = RedisStore(url, timeout_s=2.0)
    gallery = Gallery(settings, NoiseMaker(), store, ring, ledger, session="rehearsal")
    dice = random.Random(number)
    ends_at, track = time.monotonic() + seconds, 0
    with (folder / "seen" / f"seen-{number}.jsonl").open("ab", buffering=0) as file:
        while time.monotonic() < ends_at:
            track += 1
            n = max(0, gallery.people - 20) + dice.randrange(40)
            human = 10 * (n // 9) + _ORDINARY[n % 9]
            answer = gallery.assign(f"s{number}", track, look(human), None, float(track))
            gallery.visible(f"s{number}", [], float(track))
            taken_for = gallery.record_of(f"s{number}", track)
            if answer.surrogate is None or taken_for is None:
                time.sleep(0.002)
                continue
            shown = answer.surrogate
            seen = Observation(human, *taken_for, shown.cluster, answer.face, shown.k_real)
            file.write(seen.line())


@app.command("race")
def _race(
    processes: Annotated[int, typer.Option(help="Workers.")] = 4,
    seconds: Annotated[float, typer.Option(help="For how long.")] = 60.0,
    cover: Annotated[bool, typer.Option(help="Cover below k instead of swapping.")] = False,
) -> None:
    """Workers enrol the same newcomers at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        _tell(race(Path(folder), processes, seconds, "cover" if cover else "swap"))


@app.command("crash")
def _crash(
    times: Annotated[int, typer.Option(help="Kills.")] = 100,
    seed: Annotated[int, typer.Option(help="Of moments and victims.")] = 0,
) -> None:
    """Workers and Redis are killed at random moments."""
    with tempfile.TemporaryDirectory() as folder:
        _tell(crash(Path(folder), times, seed=seed))


def _tell(verdict: Verdict) -> None:
    typer.echo(
        f"{verdict.releases} releases of {verdict.humans} people in {verdict.windows} windows, "
        f"{verdict.joins} entries in the last log; {len(verdict.faults)} violations, "
        f"{len(verdict.leaks)} places with biometrics in clear"
    )
    for fault in [*verdict.faults, *verdict.leaks][:20]:
        typer.echo(fault, err=True)
    if not verdict.is_ok:
        raise typer.Exit(6)


if __name__ == "__main__":
    app()
