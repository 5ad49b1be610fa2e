"""What the scheduler promises to whom it runs networks for."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pytest

from engines.backends.backend import TensorSpec
from engines.errors import EngineFault
from stream.scheduling.backend import ScheduledSession
from stream.scheduling.request import Outputs, Request, answered
from stream.scheduling.scheduler import Scheduler, Terms
from tests.engines.backends.fake import FakeSession
from tests.stream.live.rtsp_peer import eventually
from tests.stream.scheduling.networks import FLOAT, Doubles, asked, rows_of, together

pytestmark = pytest.mark.unit
Open = Callable[[Terms], Scheduler]


class Panic(BaseException):
    """What Python code sees of a panic in Rust: no `Exception`."""


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens schedulers, and closes them again."""
    made: list[Scheduler] = []

    def opens(terms: Terms) -> Scheduler:
        made.append(Scheduler(terms))
        return made[-1]

    yield opens
    for one in made:
        one.close()


@pytest.fixture
def network() -> Iterator[Doubles]:
    made = Doubles()
    yield made
    made.release.set()


def held(scheduler: Scheduler, network: Doubles) -> threading.Thread:
    """Somebody whose run goes on until the network is released."""
    thread = threading.Thread(target=asked, args=(scheduler, network, rows_of(-1)))
    thread.start()
    assert eventually(lambda: len(network.sizes) == 1)
    return thread


def test_runs_at_the_same_time_are_one_and_everybody_gets_the_own_rows(
    opened: Open, network: Doubles
) -> None:
    scheduler = opened(Terms(join_s=10.0, most_rows=8))
    jobs = [partial(asked, scheduler, network, rows_of(value, 2)) for value in range(4)]
    answers = together(*jobs)
    assert network.sizes == [8]
    assert scheduler.counts() == {"runs": 1, "rows": 8, "faults": 0}
    for value, answer in enumerate(answers):
        np.testing.assert_array_equal(np.asarray(answer), np.full((2, 3), 2 * value))


def test_what_waits_while_another_run_goes_on_is_joined_without_waiting(
    opened: Open, network: Doubles
) -> None:
    scheduler = opened(Terms())
    holder = held(scheduler, network)
    others = [
        threading.Thread(target=asked, args=(scheduler, network, rows_of(value)))
        for value in range(3)
    ]
    for one in others:
        one.start()
    assert eventually(lambda: len(scheduler._waiting) == 3)
    network.release.set()
    for one in (holder, *others):
        one.join(10.0)
    assert network.sizes == [1, 3]


def test_lonely_request_waits_no_longer_than_it_may(opened: Open, network: Doubles) -> None:
    scheduler = opened(Terms(join_s=0.05))
    start_s = time.monotonic()
    assert scheduler.run(network, rows_of(1))["y"].shape == (1, 3)
    assert time.monotonic() - start_s >= 0.05


def test_rows_of_different_shape_are_run_apart(opened: Open, network: Doubles) -> None:
    scheduler = opened(Terms(join_s=0.2))
    jobs = [partial(asked, scheduler, network, rows_of(1, width=width)) for width in (3, 5)]
    shapes = {np.asarray(answer).shape for answer in together(*jobs)}
    assert shapes == {(1, 3), (1, 5)}
    assert network.sizes == [1, 1]


def test_network_of_fixed_rows_is_run_for_one_at_a_time_and_at_once(opened: Open) -> None:
    sizes: list[int] = []

    def note(tensors: object) -> Outputs:
        sizes.append(1)
        return {"y": np.ones(1, np.float32)}

    network = FakeSession(note, (TensorSpec("x", (1, 3), FLOAT),), (TensorSpec("y", (1,), FLOAT),))
    scheduler = opened(Terms(join_s=30.0))
    together(*[partial(scheduler.run, network, rows_of(1)) for _ in range(3)])
    assert len(sizes) == 3


def test_fault_of_an_engine_is_told_to_everybody(opened: Open) -> None:
    broken = Doubles(ValueError("broken"))
    scheduler = opened(Terms(join_s=10.0, most_rows=2))
    answers = together(*[partial(asked, scheduler, broken, rows_of(value)) for value in (1, 2)])
    assert all(isinstance(answer, EngineFault) for answer in answers)
    assert scheduler.counts()["faults"] == 2


def test_rows_that_an_engine_fails_on_spoil_no_others(opened: Open, network: Doubles) -> None:
    scheduler = opened(Terms(join_s=10.0, most_rows=2))
    jobs = [partial(asked, scheduler, network, rows_of(value)) for value in (1, math.inf)]
    sound, spoilt = together(*jobs)
    np.testing.assert_array_equal(np.asarray(sound), np.full((1, 3), 2))
    assert "NaN or infinity" in str(spoilt)


def test_engine_that_panics_is_a_fault_and_answers_again(opened: Open, network: Doubles) -> None:
    scheduler = opened(Terms())
    network.fault = Panic()
    with pytest.raises(EngineFault, match="Panic"):
        scheduler.run(network, rows_of(1))
    network.fault = None
    assert scheduler.run(network, rows_of(1))["y"].max() == 2


def test_run_that_hangs_is_a_fault_in_time_and_others_go_on(opened: Open, network: Doubles) -> None:
    scheduler, other = opened(Terms(longest_s=0.1)), Doubles()
    with pytest.raises(EngineFault, match="no answer within"):
        scheduler.run(network, rows_of(-1))
    assert scheduler.run(network, rows_of(1))["y"].max() == 2
    assert scheduler.run(other, rows_of(1))["y"].max() == 2
    assert scheduler.counts()["hung"] == scheduler.hung == 1


def test_stream_behind_one_that_hangs_waits_no_longer_than_for_a_run(
    opened: Open, network: Doubles
) -> None:
    scheduler, other = opened(Terms(longest_s=0.2)), Doubles()
    holder = held(scheduler, network)
    assert scheduler.run(other, rows_of(1))["y"].max() == 2
    assert scheduler.hung == 1
    holder.join(10.0)
    assert not holder.is_alive()


def test_network_that_hangs_again_and_again_is_given_up_and_no_other(
    opened: Open, network: Doubles
) -> None:
    scheduler, other = opened(Terms(longest_s=0.02)), Doubles()
    for _ in range(2):
        with pytest.raises(EngineFault, match="no answer within"):
            scheduler.run(network, rows_of(-1))
    with pytest.raises(EngineFault, match="given up") as caught:
        scheduler.run(network, rows_of(1))
    assert not caught.value.retryable
    assert scheduler.run(other, rows_of(1))["y"].max() == 2
    network.release.set()
    assert eventually(lambda: scheduler.hung == 0)
    assert scheduler.run(network, rows_of(1))["y"].max() == 2


def test_what_waits_for_a_network_that_is_given_up_is_not_run(
    opened: Open, network: Doubles
) -> None:
    scheduler = opened(Terms(longest_s=0.3, most_rows=1))
    answers = together(*[partial(asked, scheduler, network, rows_of(-1)) for _ in range(6)])
    assert all(isinstance(answer, EngineFault) for answer in answers)
    assert len(network.sizes) == scheduler.hung == 2
    assert scheduler.counts()["refused"] == 4


def test_late_runs_that_end_do_not_add_up(opened: Open, network: Doubles) -> None:
    scheduler = opened(Terms(longest_s=0.05))
    for turn in range(5):
        network.release.clear()
        with pytest.raises(EngineFault, match="no answer within"):
            scheduler.run(network, rows_of(-1))
        network.release.set()
        network.threads[-1].join(10.0)
        assert len(network.threads) == turn + 1
        assert scheduler.hung == 0
    assert scheduler.run(network, rows_of(1))["y"].max() == 2


def test_device_on_which_everything_hangs_keeps_few_threads(opened: Open) -> None:
    scheduler, networks = opened(Terms(longest_s=0.01)), [Doubles() for _ in range(20)]
    before = threading.active_count()
    faults = [asked(scheduler, one, rows_of(-1)) for one in networks]
    assert all(isinstance(fault, EngineFault) for fault in faults)
    assert threading.active_count() - before <= 9
    assert sum(len(one.sizes) for one in networks) == 8
    assert scheduler.counts()["refused"] == 12
    for one in networks:
        one.release.set()


def test_request_whose_turn_does_not_come_in_time_is_a_fault_and_never_run(
    opened: Open, network: Doubles
) -> None:
    scheduler, other = opened(Terms(patience_s=0.1)), Doubles()
    holder = held(scheduler, network)
    with pytest.raises(EngineFault, match="too late"):
        scheduler.run(other, rows_of(1))
    network.release.set()
    holder.join(10.0)
    assert scheduler.run(network, rows_of(1))["y"].max() == 2
    assert not other.sizes
    assert scheduler.counts()["late"] == 2


def test_work_without_a_deadline_waits_for_its_turn(opened: Open, network: Doubles) -> None:
    scheduler, found = opened(Terms()), list[object]()
    holder = held(scheduler, network)
    waiting = threading.Thread(target=lambda: found.append(asked(scheduler, Doubles(), rows_of(1))))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    network.release.set()
    for one in (holder, waiting):
        one.join(10.0)
    assert np.asarray(found[0]).max() == 2


@pytest.mark.parametrize("patience_s", [20.0, math.inf])
def test_full_queue_refuses_live_work_and_lets_other_wait_for_room(
    opened: Open, network: Doubles, patience_s: float
) -> None:
    scheduler, found = opened(Terms(patience_s=patience_s, most_waiting=1)), list[object]()
    runners = [held(scheduler, network)]
    for _ in range(2):
        ask = partial(asked, scheduler, network, rows_of(1))
        runners.append(threading.Thread(target=lambda ask=ask: found.append(ask())))
        runners[-1].start()
        assert eventually(lambda: len(scheduler._waiting) == 1)
    is_refused = not math.isinf(patience_s)
    assert eventually(lambda: len(found) == is_refused)
    network.release.set()
    for one in runners:
        one.join(10.0)
    assert len(found) == 2
    assert [isinstance(one, EngineFault) for one in found] == [is_refused, False]
    assert scheduler.counts().get("refused", 0) == is_refused


def test_streams_take_turns_however_long_their_runs_are(opened: Open) -> None:
    """The planted fault: a stream with the longer runs would get the device for itself.

    A run ends once both others wait, so the order hangs on the scheduler and on no clock.
    """
    scheduler, order = opened(Terms()), list[str]()
    ends = threading.Event()

    def stream(name: str, takes_s: float) -> None:
        def work(tensors: object) -> Outputs:
            order.append(name)
            assert eventually(lambda: ends.is_set() or len(scheduler._waiting) == 2)
            time.sleep(takes_s)
            return {"y": np.ones(1, np.float32)}

        network = FakeSession(work)
        while not ends.is_set():
            scheduler.run(network, rows_of(1))

    streams = [
        threading.Thread(target=stream, args=(name, takes_s))
        for name, takes_s in (("slow", 0.02), ("quick", 0.001), ("other", 0.001))
    ]
    for one in streams:
        one.start()
    assert eventually(lambda: len(order) > 30)
    ends.set()
    for one in streams:
        one.join(10.0)
    seen = order[:30]
    for start in range(3):
        assert len(set(seen[start::3])) == 1, seen


def test_nothing_is_locked_while_a_network_works(opened: Open, network: Doubles) -> None:
    scheduler = opened(Terms(width=2))
    holder = held(scheduler, network)
    assert scheduler.counts() == {}
    assert scheduler.hung == 0
    assert scheduler.run(Doubles(), rows_of(1))["y"].max() == 2
    network.release.set()
    holder.join(10.0)


def test_one_thread_runs_all_networks_of_a_device_of_width_one(opened: Open) -> None:
    scheduler, networks = opened(Terms()), [Doubles() for _ in range(4)]
    jobs = [partial(asked, scheduler, one, rows_of(1)) for one in networks for _ in range(5)]
    together(*jobs)
    assert len({thread for one in networks for thread in one.threads}) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_thread_that_dies_fails_its_requests_and_is_replaced(
    opened: Open, network: Doubles, monkeypatch: pytest.MonkeyPatch
) -> None:
    died: list[threading.Thread] = []

    def dies(batch: Sequence[Request]) -> list[Outputs | BaseException]:
        if not died:
            died.append(threading.current_thread())
            raise Panic
        return answered(batch)

    monkeypatch.setattr("stream.scheduling.scheduler.answered", dies)
    scheduler = opened(Terms())
    with pytest.raises(EngineFault, match="died"):
        scheduler.run(network, rows_of(1))
    assert scheduler.run(network, rows_of(1))["y"].max() == 2
    died[0].join(10.0)


def test_end_refuses_what_waits_and_leaves_no_thread(opened: Open, network: Doubles) -> None:
    scheduler, found = opened(Terms()), list[object]()
    holder = held(scheduler, network)
    waiting = threading.Thread(target=lambda: found.append(asked(scheduler, network, rows_of(1))))
    waiting.start()
    assert eventually(lambda: len(scheduler._waiting) == 1)
    closing = threading.Thread(target=scheduler.close)
    closing.start()
    waiting.join(10.0)
    assert "closed" in str(found[0])
    network.release.set()
    for one in (holder, closing):
        one.join(10.0)
    assert not any(thread.is_alive() for thread in network.threads)
    with pytest.raises(EngineFault, match="closed"):
        scheduler.run(network, rows_of(1))


def test_scheduled_network_says_what_it_takes_and_passes_faults_on(
    opened: Open, network: Doubles
) -> None:
    session = ScheduledSession(network, opened(Terms()))
    assert session.inputs == network.inputs
    assert session.outputs == network.outputs
    with pytest.raises(EngineFault, match="NaN or infinity"):
        session.run(rows_of(math.inf))
    session.close()
    with pytest.raises(EngineFault, match="closed"):
        session.run(rows_of(1))
