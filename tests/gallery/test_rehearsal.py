"""Races and kills on a real Redis, in short; the long ones are commands of gallery.rehearsal."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gallery.buffer import Buffer
from gallery.entries import Joined
from gallery.observations import (
    Observation,
    broken_promises,
    buffer_faults,
    clear_biometrics,
    read_seen,
)
from gallery.rehearsal import app, crash, race
from gallery.settings import GallerySettings
from gallery.simulation import look
from gallery.stores.local_redis import INSTALL, LocalRedis

with_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
)


@pytest.mark.redis
@with_redis
def test_four_processes_racing_on_one_redis_break_nothing(short_folder: Path) -> None:
    verdict = race(short_folder, processes=4, seconds=5.0)
    assert verdict.is_ok, verdict
    assert verdict.humans > 100


@pytest.mark.redis
@with_redis
def test_killed_workers_and_servers_break_nothing_and_leave_nothing_clear(
    short_folder: Path,
) -> None:
    verdict = crash(short_folder, times=3, processes=2)
    assert verdict.is_ok, verdict
    assert verdict.releases > 0


@pytest.mark.redis
@with_redis
def test_clear_biometrics_in_redis_are_found(short_folder: Path) -> None:
    with LocalRedis(short_folder) as local, local.client() as client:
        client.set(b"plain", look(3).tobytes())
        client.xadd("stream", {"e": b"??" + look(3).astype("f2").tobytes()})
        client.set(look(3).tobytes()[:32], b"")
        assert len(clear_biometrics([look(3)], [], client)) == 3
        assert clear_biometrics([look(4)], [], client) == []


@pytest.mark.unit
@pytest.mark.parametrize("kind", ["<f4", "<f2"])
def test_clear_biometrics_in_a_file_are_found(kind: str, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(b"abc" + look(3).astype(kind).tobytes())
    assert clear_biometrics([look(2), look(3)], [tmp_path], None) == [str(tmp_path / "dump")]
    assert clear_biometrics([look(2)], [tmp_path], None) == []


SEEN = Observation(human=1, window="w", record=7, cluster="c", face="f", k_real=3)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("other", "fault"),
    [
        (Observation(1, "w", 8, "c", "g", 3), "split"),
        (Observation(2, "w", 7, "c", "f", 3), "changed"),
        (Observation(1, "w", 7, "c", "g", 3), "changed"),
        (Observation(1, "w", 7, "c", "f", 2), "changed"),
        (Observation(2, "w", 8, "d", "f", 3), "wear face"),
    ],
    ids=["split", "conflated", "new face", "shrunk", "shared face"],
)
def test_observations_that_do_not_fit_together_are_found(other: Observation, fault: str) -> None:
    assert any(fault in found for found in broken_promises([SEEN, other], k=3))


@pytest.mark.unit
def test_overfull_cluster_is_found() -> None:
    seen = [Observation(n, "w", n, "c", f"f{n}", 2) for n in range(3)]
    assert broken_promises(seen, k=2) == ["cluster c of window w holds 3 humans"]


@pytest.mark.unit
def test_same_observations_in_other_windows_are_no_fault() -> None:
    assert broken_promises([SEEN, Observation(1, "v", 8, "d", "g", 1)], k=3) == []


@pytest.mark.unit
def test_broken_buffer_is_found() -> None:
    settings = GallerySettings(k=2)
    buffer = Buffer(settings)
    for number in (1, 2):
        buffer.apply(number, Joined(number, 1, number - 1, False, "", "", look(number)))
    assert buffer_faults(buffer, settings) == []
    buffer.records[2].slot = 0
    buffer.clusters[1].people.append(2)
    assert len(buffer_faults(buffer, settings)) == 2


@pytest.mark.unit
def test_line_that_a_killed_worker_cut_short_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "seen-1.jsonl").write_bytes(SEEN.line() + SEEN.line()[:20])
    assert read_seen(tmp_path) == [SEEN]


@pytest.mark.unit
def test_command_lists_both_rehearsals() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "race" in shown
    assert "crash" in shown
