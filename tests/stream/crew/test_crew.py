"""How many processes draw, and what is told of those that died."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from stream.crew import crew as crews
from stream.crew.crew import FaceCrew, crew_size, spare_memory
from stream.crew.messages import Hello
from stream.crew.shared_blocks import SharedBlocks, can_share

pytestmark = pytest.mark.unit


class Stillborn:
    """A process that never opens its networks."""

    is_ready = False
    is_dead = True
    work = 0

    def __init__(self, hello: Hello, blocks: SharedBlocks) -> None:
        pass

    def wait_until_ready(self, seconds: float) -> None:
        """It never is."""

    def kill(self) -> None:
        """It has ended."""


@pytest.mark.parametrize(("limit", "expected"), [("3000", 2000), ("500", 0), ("max", None)])
def test_memory_of_the_control_group_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: int | None
) -> None:
    group = tmp_path / "a" / "b"
    group.mkdir(parents=True)
    (group / "memory.max").write_text(limit + "\n")
    (group / "memory.current").write_text("1000\n")
    own = tmp_path / "own"
    own.write_text("0::/a/b\n")
    monkeypatch.setattr(crews, "_GROUPS", tmp_path)
    monkeypatch.setattr(crews, "_OWN_GROUP", own)
    known = spare_memory()
    if expected is None:
        assert known == pytest.approx(psutil.virtual_memory().available, rel=0.2)
    else:
        assert known == expected


def test_system_that_does_not_tell_its_memory_spares_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: in a sandbox without `/proc` every run ended with an internal error."""

    def untold() -> NoReturn:
        raise FileNotFoundError("/proc/meminfo")

    monkeypatch.setattr(psutil, "virtual_memory", untold)
    assert spare_memory() == 0


@pytest.mark.skipif(not can_share(), reason="needs memory without a name")
def test_no_memory_no_processes() -> None:
    assert crew_size(0, 64, 1 << 29) == 0


def test_processes_that_die_again_and_again_are_left_alone_and_told() -> None:
    crew = FaceCrew(
        Hello("auto", "cpu", "fp32"),
        2,
        1.0,
        is_patient=True,
        make=Stillborn,  # type: ignore[arg-type]
    )
    assert [crew.members() for _ in range(20)] == [[]] * 20
    assert crew.take() is None
    (told,) = crew.told()
    assert told.startswith("8 processes")
    assert not crew.told()
    crew.close()
