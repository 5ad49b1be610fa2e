"""The one hand-off between threads: bounded, closeable, with a named policy when full."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Literal, Protocol, TypeVar

from stream.errors import MailboxCancelled, MailboxClosed

__all__ = ["Mailbox", "OnFull", "Receiver", "Sender"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
OnFull = Literal["wait", "drop_oldest", "drop_run"]


class Sender(Protocol[T_contra]):
    """The end that puts items in."""

    def send(self, item: T_contra, timeout_s: float | None = None) -> None:
        """Hands over one item; when full, waits or drops the oldest, as the mailbox says.

        Raises:
            MailboxClosed: the mailbox was closed.
            MailboxCancelled: the mailbox was cancelled.
            TimeoutError: still full after `timeout_s`.
        """

    def close(self) -> None:
        """No more items will come: the receiver drains what is there, then stops."""

    def cancel(self) -> None:
        """Breaks the hand-off now, for both ends, and forgets what is inside."""


class Receiver(Protocol[T_co]):
    """The end that takes items out."""

    def receive(self, timeout_s: float | None = None) -> T_co:
        """The oldest item; waits for one.

        Raises:
            MailboxClosed: closed, and everything was received.
            MailboxCancelled: the mailbox was cancelled.
            TimeoutError: still empty after `timeout_s`.
        """

    def __iter__(self) -> Iterator[T_co]:
        """Items until the mailbox is closed and empty.

        Raises:
            MailboxCancelled: the mailbox was cancelled; the end reached is not a graceful one.
        """

    def cancel(self) -> None:
        """Breaks the hand-off now, for both ends, and forgets what is inside."""


class Mailbox(Generic[T]):
    """A bounded first-in, first-out hand-off between threads.

    Args:
        capacity: most items inside at once, at least 1. Larger rides out longer stalls of
            the receiver; smaller holds less memory and, live, less delay.
        on_full: what `send` does with a full mailbox. `wait`: blocks, nothing is lost
            (files). `drop_oldest`: throws the oldest item away and counts it (live).
            `drop_run`: for items that need all before them in their run, as pictures need
            those since their key frame (live). Throws away up to the next run inside; where
            none is, takes nothing until a run begins, which then takes the place of the rest.
        begins_run: whether an item begins a run; for `drop_run`, which takes none before.

    >>> mailbox = Mailbox[int](capacity=2, on_full="drop_oldest")
    >>> for number in range(5):
    ...     mailbox.sender.send(number)
    >>> mailbox.sender.close()
    >>> list(mailbox.receiver), mailbox.dropped
    ([3, 4], 3)
    """

    def __init__(
        self,
        capacity: int,
        on_full: OnFull,
        begins_run: Callable[[T], bool] = lambda _: False,
    ) -> None:
        if capacity < 1:
            message = f"a mailbox holds at least one item, not {capacity}"
            raise ValueError(message)
        self._capacity = capacity
        self._on_full = on_full
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_cancelled = False
        self._dropped = 0
        self._begins_run = begins_run
        self._is_before_run = on_full == "drop_run"
        self._has_lost_run = False

    @property
    def sender(self) -> Sender[T]:
        """The end to give to whoever produces."""
        return self

    @property
    def receiver(self) -> Receiver[T]:
        """The end to give to whoever consumes."""
        return self

    @property
    def capacity(self) -> int:
        """Most items inside at once."""
        return self._capacity

    @property
    def dropped(self) -> int:
        """Items thrown away so far because the mailbox was full."""
        with self._changed:
            return self._dropped

    @property
    def is_starved(self) -> bool:
        """Empty, and takes nothing until a run begins: `drop_run` alone."""
        with self._changed:
            return self._is_before_run and not self._items

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)

    def __bool__(self) -> bool:
        return True

    def close(self) -> None:
        """Graceful end: receivers drain what is inside, then stop. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def cancel(self) -> None:
        """Immediate end: both ends raise `MailboxCancelled`, what is inside is forgotten."""
        with self._changed:
            self._is_cancelled = True
            self._items.clear()
            self._changed.notify_all()

    def start_over(self) -> None:
        """Forgets what is inside; with `drop_run`, takes nothing until a run begins."""
        with self._changed:
            self._items.clear()
            self._is_before_run, self._has_lost_run = self._on_full == "drop_run", False

    def send(self, item: T, timeout_s: float | None = None) -> None:
        """Hands over one item; see `Sender.send`."""
        with self._changed:
            if self._on_full == "wait":
                self._wait_until(self._may_send, timeout_s, "full")
            self._raise_if_ended(is_sender=True)
            if self._on_full == "drop_run":
                is_taken = self._makes_room_in_run(item)
            else:
                is_taken = self._makes_room()
            if is_taken:
                self._items.append(item)
                self._changed.notify_all()

    def receive(self, timeout_s: float | None = None) -> T:
        """Takes the oldest item; see `Receiver.receive`."""
        with self._changed:
            self._wait_until(self._may_receive, timeout_s, "empty")
            self._raise_if_ended(is_sender=False)
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                item = self.receive()
            except MailboxCancelled:
                raise
            except MailboxClosed:
                return
            yield item
            del item

    def _makes_room(self) -> bool:
        if len(self._items) >= self._capacity:
            self._items.popleft()
            self._dropped += 1
        return True

    def _makes_room_in_run(self, item: T) -> bool:
        """Whether there is a place for an item that everything it needs goes before."""
        begins = self._begins_run(item)
        if self._is_before_run and begins:
            self._dropped += len(self._items)
            self._items.clear()
            self._is_before_run = False
        elif len(self._items) >= self._capacity:
            self._is_before_run = self._has_lost_run = not self._drops_oldest_run(begins)
        if self._is_before_run:
            self._dropped += self._has_lost_run
        return not self._is_before_run

    def _drops_oldest_run(self, is_next_begun: bool) -> bool:
        """Drops up to the next run, which may begin after what is inside; whether there is one."""
        inside = enumerate(self._items)
        place = next((at for at, one in inside if at and self._begins_run(one)), None)
        if place is None and not is_next_begun:
            return False
        for _ in range(len(self._items) if place is None else place):
            self._items.popleft()
            self._dropped += 1
        return True

    def _may_send(self) -> bool:
        is_ended = self._is_closed or self._is_cancelled
        return is_ended or len(self._items) < self._capacity

    def _may_receive(self) -> bool:
        return self._is_closed or self._is_cancelled or len(self._items) > 0

    def _wait_until(
        self, is_ready: Callable[[], bool], timeout_s: float | None, state: str
    ) -> None:
        if timeout_s is not None and timeout_s > threading.TIMEOUT_MAX:
            timeout_s = None
        if not self._changed.wait_for(is_ready, timeout_s):
            message = f"the mailbox is still {state} after {timeout_s} s"
            raise TimeoutError(message)

    def _raise_if_ended(self, *, is_sender: bool) -> None:
        if self._is_cancelled:
            raise MailboxCancelled("the hand-off was cancelled")
        if self._is_closed and (is_sender or not self._items):
            raise MailboxClosed("the mailbox is closed")
