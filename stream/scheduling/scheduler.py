"""Shares a device among all who run networks on it.

Whoever wants a run puts a request into the queue and waits for his own answer. A thread of the
scheduler (on a processor, as many as run side by side) takes the oldest request, joins others that
fit into the same run, and runs them while no lock is held. A request whose time is over, and one
whose run hangs, is answered with a fault: its faces are covered, and a fresh thread goes on.

First come, first served: as a live stream has one request under way at a time, no stream is served
twice while another one waits.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal
from weakref import WeakKeyDictionary

import structlog

from engines.backends.backend import Session, Tensors
from engines.errors import EngineFault
from stream.scheduling.request import Outputs, Request, answered, request_of

__all__ = ["RunEvent", "Scheduler", "Terms"]

RunEvent = Literal["runs", "rows", "faults", "late", "refused", "hung"]
_LOG = structlog.get_logger("kveil.scheduler")
_HUNG_OF_A_NETWORK: Final = 2
_HUNG_IN_ALL: Final = 8
"""Runs that may hang, each with its thread, before a network, or the device, is given up."""
_LEAVE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a device is shared.

    Attributes:
        width: runs side by side: 1 on a GPU. On a processor more keep its cores busy, and make
            each run longer.
        longest_s: a run that takes longer counts as hung. Larger waits longer on a slow machine
            before faces are covered; smaller takes slow runs for hung ones.
        patience_s: how long a request may take in all, waiting for its turn included; infinite
            where work waits rather than being dropped, as with recordings.
        join_s: how long a request waits for others that it can be run with. Larger fills batches
            better, and is later.
        most_rows: of a joint run.
        most_waiting: requests that may wait for one network. Beyond it a request is refused at
            once, or waits for room where it has endless patience.
    """

    width: int = 1
    longest_s: float = 20.0
    patience_s: float = math.inf
    join_s: float = 0.0
    most_rows: int = 16
    most_waiting: int = 64


class _Hand:
    """A thread that runs networks.

    Attributes:
        batch: what it runs; empty while it has nothing to do.
        since_s: when it began, monotonic s.
        is_given_up: it hangs, and another one has its place.
    """

    def __init__(self, work: Callable[[_Hand], None]) -> None:
        self.batch: tuple[Request, ...] = ()
        self.since_s = 0.0
        self.is_given_up = False
        self.thread = threading.Thread(target=work, args=(self,), name="kveil-engine", daemon=True)
        self.thread.start()


class Scheduler:
    """Runs the networks of one device for all who ask; safe to use from several threads.

    Args:
        terms: on which the device is shared; others may be set at any time.
    """

    def __init__(self, terms: Terms | None = None) -> None:
        self.terms = terms or Terms()
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._waiting: deque[Request] = deque()
        self._depth: WeakKeyDictionary[Session, int] = WeakKeyDictionary()
        self._hung: WeakKeyDictionary[Session, int] = WeakKeyDictionary()
        self._hands: list[_Hand] = []
        self._counts: Counter[RunEvent] = Counter()
        self._is_closed = False

    @property
    def hung(self) -> int:
        """Runs that hang at present."""
        with self._lock:
            return sum(self._hung.values())

    def counts(self) -> dict[RunEvent, int]:
        """Runs so far and their rows; requests that failed, came late or were refused; hangs."""
        with self._lock:
            return dict(self._counts)

    def run(self, network: Session, tensors: Tensors) -> Outputs:
        """Runs a network once, alone or together with what others ask of it.

        Args:
            network: of this device.
            tensors: see `Session.run`.

        Raises:
            EngineFault: the run failed or hangs, its turn did not come in time, or the network is
                given up.
        """
        asked_s = time.monotonic()
        request = request_of(network, tensors, asked_s, asked_s + self.terms.patience_s)
        with self._lock:
            self._admit(network, is_patient=math.isinf(request.due_s))
            self._waiting.append(request)
            self._depth[network] = self._depth.get(network, 0) + 1
            self._hire()
            self._work.notify()
        while not request.done.wait(self._looked_after(request)):
            pass
        return request.outputs()

    def close(self) -> None:
        """Ends all threads but those that hang, and refuses what waits; idempotent."""
        with self._lock:
            self._is_closed = True
            for request in list(self._waiting):
                self._dismiss(request, _closed())
            self._work.notify_all()
            hands = list(self._hands)
        for hand in hands:
            hand.thread.join(_LEAVE_S)

    def _admit(self, network: Session, *, is_patient: bool) -> None:
        """Lets a request into its network's queue, where need be once there is room.

        Raises:
            EngineFault: it is refused.
        """
        if is_patient:
            self._room.wait_for(lambda: self._is_closed or self._has_room(network))
        if self._is_closed:
            raise _closed()
        if self._is_lost(network) or not self._has_room(network):
            self._counts["refused"] += 1
            raise _lost() if self._is_lost(network) else _overrun()

    def _is_lost(self, network: Session) -> bool:
        of_network, in_all = self._hung.get(network, 0), sum(self._hung.values())
        return of_network >= _HUNG_OF_A_NETWORK or in_all >= _HUNG_IN_ALL

    def _has_room(self, network: Session) -> bool:
        return self._depth.get(network, 0) < self.terms.most_waiting

    def _looked_after(self, request: Request) -> float:
        """Gives up what hangs, and the request where it is late; s until that may be so again."""
        with self._lock:
            now_s, longest_s = time.monotonic(), self.terms.longest_s
            busy = [hand for hand in self._hands if hand.batch]
            hung = [hand for hand in busy if now_s - hand.since_s >= longest_s]
            for hand in hung:
                self._give_up(hand)
            if now_s >= request.due_s and not request.done.is_set():
                self._counts["late"] += 1
                self._dismiss(request, EngineFault("an answer would come too late"))
            ends_s = [hand.since_s + longest_s for hand in busy if not hand.is_given_up]
            next_s = max(0.0, min(request.due_s, *ends_s, now_s + longest_s) - now_s)
        if hung:
            _LOG.warning("engine_hung", longest_s=longest_s, runs=len(hung))
        return next_s

    def _give_up(self, hand: _Hand) -> None:
        """Faults what a thread hangs in, and puts another one in its place."""
        hand.is_given_up = True
        network = hand.batch[0].network
        self._hung[network] = self._hung.get(network, 0) + 1
        self._counts["hung"] += 1
        fault = EngineFault(f"no answer within {self.terms.longest_s:g} s")
        for request in hand.batch:
            request.answer(fault)
        self._hands.remove(hand)
        for request in [one for one in self._waiting if self._is_lost(one.network)]:
            self._counts["refused"] += 1
            self._dismiss(request, _lost())
        self._hire()

    def _hire(self) -> None:
        """Starts another thread where more waits than threads are idle."""
        idle = sum(not hand.batch for hand in self._hands)
        if len(self._waiting) > idle and len(self._hands) < self.terms.width:
            self._hands.append(_Hand(self._work_on))

    def _work_on(self, hand: _Hand) -> None:
        try:
            while batch := self._next(hand):
                answers = answered(batch)
                with self._lock:
                    self._end(hand, answers)
        finally:
            with self._lock:
                self._leave(hand)

    def _next(self, hand: _Hand) -> tuple[Request, ...]:
        """Waits for something to do; nothing once the thread is to end."""
        with self._lock:
            while not (self._is_closed or hand.is_given_up):
                hand.since_s = time.monotonic()
                hand.batch = self._picked(hand.since_s)
                if hand.batch:
                    return hand.batch
                ready_s = [one.asked_s + self.terms.join_s for one in self._waiting]
                self._work.wait(max(0.0, min(ready_s) - hand.since_s) if ready_s else None)
        return ()

    def _end(self, hand: _Hand, answers: list[Outputs | BaseException]) -> None:
        """Hands the answers out; nobody waits any more for those of a thread that hung."""
        if hand.is_given_up:
            return
        batch, hand.batch = hand.batch, ()
        self._counts["runs"] += 1
        self._counts["rows"] += sum(request.rows for request in batch)
        for request, answer in zip(batch, answers, strict=True):
            self._counts["faults"] += isinstance(answer, BaseException)
            request.answer(answer)

    def _leave(self, hand: _Hand) -> None:
        """A thread ends; where something killed it, its requests fail and another one comes."""
        if hand.is_given_up:
            self._hung[hand.batch[0].network] -= 1
            return
        for request in hand.batch:
            request.answer(EngineFault("the thread of the engines died"))
        self._hands.remove(hand)
        if not self._is_closed:
            self._hire()

    def _picked(self, now_s: float) -> tuple[Request, ...]:
        """The batch of the oldest request that need not wait for others, out of the queue."""
        for request in self._waiting:
            batch = self._joined(request)
            is_full = not request.form or sum(one.rows for one in batch) >= self.terms.most_rows
            if is_full or now_s >= request.asked_s + self.terms.join_s:
                for one in batch:
                    self._take_out(one)
                return batch
        return ()

    def _joined(self, first: Request) -> tuple[Request, ...]:
        """A request and those that wait and can be run together with it, in their order."""
        batch, rows = [first], first.rows
        for other in self._waiting:
            fits = other is not first and rows + other.rows <= self.terms.most_rows
            if fits and other.fits(first):
                batch.append(other)
                rows += other.rows
        return tuple(batch)

    def _dismiss(self, request: Request, fault: EngineFault) -> None:
        """Answers a request with a fault, and lets it wait no longer."""
        if request in self._waiting:
            self._take_out(request)
        request.answer(fault)

    def _take_out(self, request: Request) -> None:
        self._waiting.remove(request)
        self._depth[request.network] -= 1
        self._room.notify_all()


def _closed() -> EngineFault:
    return EngineFault("the engines were closed; open them again")


def _overrun() -> EngineFault:
    return EngineFault("more is asked of an engine than the machine can do")


def _lost() -> EngineFault:
    """An engine that hung again and again answers no more."""
    fault = EngineFault("an engine hung several times and is given up; restart kveil")
    fault.retryable = False
    return fault
