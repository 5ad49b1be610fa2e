"""The commands that walk a crowd and measure joins do so, in small."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks import gallery as bench
from benchmarks import gallery_soak as soak
from gallery.simulation import Crowd, Violation
from gallery.stores.local_redis import INSTALL
from gallery.stores.memory import MemoryStore

pytestmark = pytest.mark.unit


def call(command: object, *words: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(command)  # type: ignore[type-var]
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


def test_soak_walks_at_least_once_and_reports() -> None:
    code, said = call(soak.main, "--minutes", "0")
    assert code == 0
    assert "0 violations" in said


def test_soak_ends_with_6_at_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(crowd: Crowd) -> None:
        raise Violation("planted")

    monkeypatch.setattr(Crowd, "check", broken)
    code, said = call(soak.main, "--minutes", "0", "--seed", "3")
    assert code == 6
    assert "seed 3" in said
    assert "planted" in said


def test_bench_measures_joins_and_returns(tmp_path: Path) -> None:
    row = bench.bench_gallery("memory", MemoryStore(), 300, 5, 128, tmp_path)
    assert row.recognised > 0.99
    assert 0 < row.join_ms <= row.join_p95_ms
    assert "memory" in bench.shown([row])


@pytest.mark.redis
@pytest.mark.skipif(shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}")
def test_bench_command_prints_a_row_per_size_and_store() -> None:
    code, said = call(bench.main, "--people", "1000", "--k", "3", "--dimensions", "32")
    assert code == 0
    assert said.count("memory") == 4
    assert "Redis holds" in said
    assert "n log n" in said
