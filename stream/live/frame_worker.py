"""Runs one stream's anonymizer in a thread that may fail or hang without harm."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from engines.blending.compositor import Composite, compose_unknown
from engines.types import Frame
from stream.errors import MailboxClosed
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.packet_muxer import TICKS
from stream.pipeline.mailbox import Receiver

__all__ = ["AnonymizerFactory", "Arrival", "FrameAnonymizer", "FrameCover", "FrameWorker"]

_REMEMBERED = 512
_IDLE_S = 2.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """A decoded frame and when it was decoded, in monotonic s."""

    frame: Frame
    decoded_s: float


class FrameAnonymizer(Protocol):
    """Frames of one stream in, composites out, some frames later and in order."""

    def push(self, frame: Frame) -> Sequence[Composite]:
        """Takes the next frame; gives what is complete by now."""

    def flush(self) -> Sequence[Composite]:
        """Completes what is inside; nothing is pushed afterwards."""

    def close(self) -> None:
        """Ends what it began, a hung one by its deadline at the latest; idempotent."""


AnonymizerFactory = Callable[[], FrameAnonymizer]
"""Makes the anonymizer of one uninterrupted run of frames of one size; engines are shared."""
FrameCover = Callable[[Frame, str], Composite]
"""Covers a frame in full; the text says why, in a few words without personal data."""


class FrameWorker:
    """Takes arrivals, gives composites; whatever the anonymizer does, only composites leave.

    A frame that the anonymizer fails on is covered in full and the anonymizer is replaced,
    also where a library fails with what is no `Exception`, as panics of Rust do.
    A change of size or layout starts a fresh anonymizer, and so does a pause of the source,
    after what waits in the look-ahead has left.

    Args:
        inbox: arrivals, newest kept.
        make_anonymizer: called for each uninterrupted run of frames.
        put: takes each composite and its latency in s.
        clock: time.
        counters: gets faults and changes of shape.
        cover: covers a frame in full, and says why, where the anonymizer fails.
        on_fault: told of each failure.
    """

    def __init__(
        self,
        inbox: Receiver[Arrival],
        make_anonymizer: AnonymizerFactory,
        put: Callable[[Composite, float], None],
        clock: Clock,
        counters: Counters,
        *,
        cover: FrameCover = compose_unknown,
        on_fault: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._inbox = inbox
        self._make = make_anonymizer
        self._put = put
        self._clock = clock
        self._counters = counters
        self._cover = cover
        self._on_fault = on_fault
        self._anonymizer: FrameAnonymizer | None = None
        self._shape: tuple[object, ...] = ()
        self._next_index = 0
        self._decoded_s: OrderedDict[int, float] = OrderedDict()
        self._abandoned = threading.Event()
        self._busy_since: float | None = None

    @property
    def busy_s(self) -> float:
        """How long the present call into the anonymizer has lasted; 0 when there is none."""
        since = self._busy_since
        return 0.0 if since is None else self._clock.now() - since

    def abandon(self) -> None:
        """Nothing that this worker still produces will leave; it ends when its call returns."""
        self._abandoned.set()

    def run(self) -> None:
        """Works until the inbox is closed or cancelled, or until abandoned."""
        try:
            self._work()
        finally:
            self._drop_anonymizer()

    def _work(self) -> None:
        while not self._abandoned.is_set():
            try:
                arrival = self._inbox.receive(_IDLE_S)
            except TimeoutError:
                self._finish_run()
                continue
            except MailboxClosed:
                break
            self.handle(arrival)
        self._finish_run()

    def handle(self, arrival: Arrival) -> None:
        """Pushes one frame through the anonymizer."""
        self._start_run_if_shape_changed(arrival.frame)
        frame = replace(arrival.frame, index=self._next_index)
        self._next_index += 1
        self._remember(frame.pts, arrival.decoded_s)
        composites = self._composites(frame)
        for composite in composites:
            self._emit(composite)

    def _composites(self, frame: Frame) -> Sequence[Composite]:
        try:
            anonymizer = self._anonymizer or self._make()
            self._anonymizer = anonymizer
            self._busy_since = self._clock.now()
            try:
                return anonymizer.push(frame)
            finally:
                self._busy_since = None
        except BaseException as error:  # the frame is covered, whatever went wrong
            self._note(error)
            self._drop_anonymizer()
            return self._covered(frame)

    def _covered(self, frame: Frame) -> Sequence[Composite]:
        """The frame covered in full, or nothing at all where even that fails."""
        try:
            return (self._cover(frame, "anonymizer_fault"),)
        except BaseException as error:
            self._note(error)
            return ()

    def _start_run_if_shape_changed(self, frame: Frame) -> None:
        picture = frame.picture
        shape = (picture.height, picture.width, picture.layout, picture.bit_depth)
        if self._shape and shape != self._shape:
            self._counters.add("shape_changes")
            self._finish_run()
        self._shape = shape

    def _finish_run(self) -> None:
        """Lets out what waits in the look-ahead and forgets the anonymizer."""
        anonymizer, self._next_index = self._anonymizer, 0
        if anonymizer is None:
            return
        try:
            self._busy_since = self._clock.now()
            for composite in anonymizer.flush():
                self._emit(composite)
        except BaseException as error:  # what was inside is dropped, which leaks nothing
            self._note(error)
        finally:
            self._busy_since = None
            self._drop_anonymizer()

    def _note(self, error: BaseException) -> None:
        self._counters.add("engine_faults")
        self._on_fault(error)

    def _drop_anonymizer(self) -> None:
        anonymizer, self._anonymizer, self._next_index = self._anonymizer, None, 0
        if anonymizer is not None:
            with suppress(BaseException):
                anonymizer.close()

    def _remember(self, pts: int, decoded_s: float) -> None:
        self._decoded_s[pts] = decoded_s
        while len(self._decoded_s) > _REMEMBERED:
            self._decoded_s.popitem(last=False)

    def _emit(self, composite: Composite) -> None:
        if self._abandoned.is_set():
            return
        assert composite.time_base == TICKS, "composites keep the stream's timeline"
        decoded_s = self._decoded_s.pop(composite.pts, None)
        now_s = self._clock.now()
        self._put(composite, 0.0 if decoded_s is None else now_s - decoded_s)
