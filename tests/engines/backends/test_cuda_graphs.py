"""Runs that are alike become one graph; whatever changes is run plainly first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engines.backends.cuda_graphs import Replay
from engines.errors import EngineFault
from tests.engines.streams import Stream

pytestmark = pytest.mark.unit


class Network:
    """Counts what is put on a stream plainly and by graph."""

    def __init__(self, *, records: bool = True, can: bool = True) -> None:
        self.plain = self.launched = self.recorded = 0
        self.can = can
        self.is_sound = True
        self.stream = Stream(self._record)
        self.replay = Replay(self.stream, self._enqueue, records=records)

    def _enqueue(self) -> bool:
        self.plain += 1
        return self.is_sound

    def _record(self, work: Callable[[], bool]) -> Callable[[], None] | None:
        self.recorded += 1
        return self._launch if self.can else None

    def _launch(self) -> None:
        self.launched += 1

    def run(self, *kinds: str) -> tuple[int, int, int]:
        for kind in kinds:
            self.replay.run(kind)
        return self.plain, self.launched, self.recorded


def test_runs_alike_are_launched_as_one_graph() -> None:
    network = Network()
    assert network.run("a", "a", "a") == (3, 0, 0)
    assert network.run("a", "a") == (3, 2, 1)


def test_change_is_run_plainly_and_the_graph_before_it_is_not_used_again() -> None:
    network = Network()
    network.run("a", "a", "a", "a")
    assert network.run("b", "a") == (5, 1, 1)
    assert network.run("a", "a", "a") == (7, 2, 2)


def test_what_cannot_be_recorded_is_tried_once() -> None:
    assert Network(can=False).run(*"aaaaaa") == (6, 0, 1)


def test_nothing_is_recorded_where_that_is_not_wanted() -> None:
    assert Network(records=False).run(*"aaaaaa") == (6, 0, 0)


def test_refusal_is_a_fault() -> None:
    network = Network()
    network.is_sound = False
    with pytest.raises(EngineFault, match="refused"):
        network.run("a")
