"""Mailboxes stay bounded, lose nothing when they wait, and end in one of two named ways."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.errors import MailboxCancelled, MailboxClosed
from stream.pipeline.mailbox import Mailbox, Sender

pytestmark = pytest.mark.unit


def started(task: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    return thread


def send_all(sender: Sender[int], count: int) -> None:
    for number in range(count):
        sender.send(number)
    sender.close()


def test_capacity_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Mailbox[int](capacity=0, on_full="wait")


@pytest.mark.parametrize("capacity", [1, 2, 7])
def test_waiting_sender_loses_nothing_across_threads(capacity: int) -> None:
    mailbox = Mailbox[int](capacity=capacity, on_full="wait")
    sender = started(lambda: send_all(mailbox.sender, 500))
    received = []
    for number in mailbox.receiver:
        assert len(mailbox) <= capacity
        received.append(number)
    sender.join()
    assert received == list(range(500))
    assert mailbox.dropped == 0


def test_dropping_sender_never_blocks_and_counts_what_it_threw_away() -> None:
    mailbox = Mailbox[int](capacity=3, on_full="drop_oldest")
    sender = started(lambda: send_all(mailbox.sender, 500))
    received = list(mailbox.receiver)
    sender.join()
    assert received == sorted(set(received))
    assert received[-1] == 499
    assert len(received) + mailbox.dropped == 500


def test_full_mailbox_times_out_the_sender() -> None:
    mailbox = Mailbox[int](capacity=1, on_full="wait")
    mailbox.sender.send(1)
    with pytest.raises(TimeoutError, match="full"):
        mailbox.sender.send(2, timeout_s=0)
    assert mailbox.receiver.receive() == 1


def test_empty_mailbox_times_out_the_receiver() -> None:
    with pytest.raises(TimeoutError, match="empty"):
        Mailbox[int](capacity=1, on_full="wait").receiver.receive(timeout_s=0)


def test_closed_mailbox_drains_then_stops() -> None:
    mailbox = Mailbox[int](capacity=4, on_full="wait")
    mailbox.sender.send(1)
    mailbox.sender.send(2)
    mailbox.sender.close()
    mailbox.sender.close()
    with pytest.raises(MailboxClosed):
        mailbox.sender.send(3)
    assert list(mailbox.receiver) == [1, 2]
    with pytest.raises(MailboxClosed):
        mailbox.receiver.receive()


def test_cancelled_mailbox_ends_both_sides_and_forgets_its_items() -> None:
    mailbox = Mailbox[int](capacity=4, on_full="wait")
    mailbox.sender.send(1)
    mailbox.receiver.cancel()
    assert len(mailbox) == 0
    with pytest.raises(MailboxCancelled):
        mailbox.sender.send(2)
    with pytest.raises(MailboxCancelled):
        list(mailbox.receiver)


def test_cancel_after_close_is_not_a_graceful_end() -> None:
    mailbox = Mailbox[int](capacity=4, on_full="wait")
    mailbox.sender.close()
    mailbox.sender.cancel()
    with pytest.raises(MailboxCancelled):
        next(iter(mailbox.receiver))


def test_blocked_sender_is_freed_by_cancel() -> None:
    mailbox = Mailbox[int](capacity=1, on_full="wait")
    ended: list[BaseException] = []

    def send_until_refused() -> None:
        try:
            for number in range(100):
                mailbox.sender.send(number)
        except MailboxClosed as error:
            ended.append(error)

    sender = started(send_until_refused)
    assert mailbox.receiver.receive() == 0
    mailbox.cancel()
    sender.join(timeout=30)
    assert [type(error) for error in ended] == [MailboxCancelled]


def test_blocked_receiver_is_freed_by_close() -> None:
    mailbox = Mailbox[int](capacity=1, on_full="wait")
    received: list[int] = []
    receiver = started(lambda: received.extend(mailbox.receiver))
    mailbox.sender.send(5)
    mailbox.sender.close()
    receiver.join(timeout=30)
    assert received == [5]


def test_several_receivers_share_the_items() -> None:
    mailbox = Mailbox[int](capacity=2, on_full="wait")
    received: list[list[int]] = [[], [], []]
    receivers = [started(partial(box.extend, mailbox.receiver)) for box in received]
    send_all(mailbox.sender, 300)
    for receiver in receivers:
        receiver.join(timeout=30)
    assert sorted(chain.from_iterable(received)) == list(range(300))


@given(
    capacity=st.integers(1, 4),
    drops=st.booleans(),
    steps=st.lists(st.sampled_from(["send", "receive", "close"]), max_size=40),
)
def test_any_sequence_agrees_with_a_bounded_queue(
    capacity: int, drops: bool, steps: list[str]
) -> None:
    mailbox = Mailbox[int](capacity=capacity, on_full="drop_oldest" if drops else "wait")
    model: deque[int] = deque()
    is_closed, dropped = False, 0
    for number, step in enumerate(steps):
        if step == "close":
            mailbox.sender.close()
            is_closed = True
        elif step == "send" and is_closed:
            with pytest.raises(MailboxClosed):
                mailbox.sender.send(number, timeout_s=0)
        elif step == "send" and len(model) == capacity and not drops:
            with pytest.raises(TimeoutError):
                mailbox.sender.send(number, timeout_s=0)
        elif step == "send":
            mailbox.sender.send(number, timeout_s=0)
            if len(model) == capacity:
                model.popleft()
                dropped += 1
            model.append(number)
        elif model:
            assert mailbox.receiver.receive(timeout_s=0) == model.popleft()
        else:
            with pytest.raises(MailboxClosed if is_closed else TimeoutError):
                mailbox.receiver.receive(timeout_s=0)
        assert len(mailbox) == len(model)
        assert mailbox.dropped == dropped


def begins(number: int) -> bool:
    """Every fifth item begins a run."""
    return number % 5 == 0


def test_runs_are_dropped_as_wholes_and_the_newest_takes_their_place() -> None:
    mailbox = Mailbox[int](3, "drop_run", begins)
    assert mailbox.is_starved
    for number in range(3, 10):
        mailbox.send(number)
    assert not mailbox.is_starved
    assert [mailbox.receive() for _ in range(3)] == [5, 6, 7]
    assert mailbox.dropped == 2
    assert mailbox.is_starved
    mailbox.send(10)
    assert mailbox.receive() == 10


def test_run_inside_is_reached_before_one_is_waited_for() -> None:
    mailbox = Mailbox[int](7, "drop_run", begins)
    for number in range(14):
        mailbox.send(number)
    mailbox.close()
    assert list(mailbox) == [10, 11, 12, 13]
    assert mailbox.dropped == 10


def test_start_over_waits_for_a_run() -> None:
    mailbox = Mailbox[int](7, "drop_run", begins)
    for number in range(7):
        mailbox.send(number)
    mailbox.start_over()
    for number in range(7, 12):
        mailbox.send(number)
    assert [mailbox.receive() for _ in range(2)] == [10, 11]
    assert mailbox.dropped == 0


@given(
    capacity=st.integers(1, 8), steps=st.lists(st.sampled_from(["send", "receive"]), max_size=80)
)
def test_no_item_of_a_run_comes_without_those_before_it(capacity: int, steps: list[str]) -> None:
    mailbox = Mailbox[int](capacity, "drop_run", begins)
    sent = 0
    received: list[int] = []
    for step in steps:
        if step == "send":
            mailbox.send(sent)
            sent += 1
            assert len(mailbox) <= capacity
        elif len(mailbox):
            received.append(mailbox.receive())
    inside = len(mailbox)
    assert len(received) + inside + mailbox.dropped == sent
    for before, after in zip([-1, *received], received, strict=False):
        assert begins(after) or after == before + 1
