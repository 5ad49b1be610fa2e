"""One network output of a stream: its own thread, its own short queue, its own reconnects."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from engines.compositor import Composite
from engines.errors import KveilError
from stream.errors import MailboxCancelled, MailboxClosed
from stream.live.backoff import Backoff
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.sound import Hearing, Sound
from stream.mailbox import Mailbox
from stream.media import Sink

__all__ = ["SinkLane"]

_LOG = structlog.get_logger("kveil.sink")
_PROOF_PICTURES: Final = 50
"""So many show that a connection holds; fewer may have gone into its buffers alone."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A picture and the sound up to it; `until_s` is None for a stream without sound."""

    composite: Composite
    sounds: tuple[Sound, ...] = ()
    until_s: float | None = None


class SinkLane:
    """Feeds a sink, and opens a new one when it fails; never holds the stream up.

    Args:
        name: shown in the status; carries no secret.
        open_sink: makes a sink; it connects at its first composite.
        capacity: most composites waiting; more rides out longer stalls, fewer holds less
            delay. The oldest is dropped when full.
        backoff: pauses between attempts.
        clock: time.
        counters: gets losses and drops.
        stream: name of the stream, for the log.

    Attributes:
        trouble: one line on what is wrong, until a connection holds or has ended well.
        taken: pictures that such connections took.
    """

    def __init__(
        self,
        name: str,
        open_sink: Callable[[], Sink],
        capacity: int,
        backoff: Backoff,
        clock: Clock,
        counters: Counters,
        *,
        stream: str = "",
    ) -> None:
        self.name = name
        self.trouble = ""
        self.taken = 0
        self._stream = stream
        self._unproved = 0
        self._lost_s = 0.0
        self._open = open_sink
        self._mailbox = Mailbox[_Moment](capacity, on_full="drop_oldest")
        self._backoff = backoff
        self._clock = clock
        self._counters = counters
        self._counted_drops = 0
        self._sounds: tuple[Sound, ...] = ()
        self._until_s: float | None = None
        self._stopped = threading.Event()
        self._sink: Sink | None = None

    @property
    def waiting(self) -> int:
        """Composites in the queue."""
        return len(self._mailbox)

    def hear(self, sounds: tuple[Sound, ...], until_s: float) -> None:
        """Keeps sound for the next picture, with which it is queued."""
        self._sounds, self._until_s = sounds, until_s

    def offer(self, composite: Composite) -> None:
        """Queues a composite; drops the oldest when the sink is behind."""
        with suppress(MailboxClosed):
            self._mailbox.send(_Moment(composite, self._sounds, self._until_s))
        fresh = self._mailbox.dropped - self._counted_drops
        if fresh > 0:
            self._counted_drops += fresh
            self._counters.add("dropped_output", fresh)

    def run(self) -> None:
        """Writes until `finish` or `abort`."""
        while not self._stopped.is_set():
            try:
                self._write_one_connection()
            except MailboxCancelled:
                break
            except MailboxClosed:
                self._end_gracefully()
                break
            except BaseException as error:  # one output's fault stays its own
                self._lost(error)
        self._abort_sink()

    def finish(self) -> None:
        """Writes what is queued, then ends; idempotent."""
        self._mailbox.close()

    def abort(self) -> None:
        """Ends now, also a write that is stuck; idempotent."""
        self._stopped.set()
        self._mailbox.cancel()
        self._abort_sink()

    def _write_one_connection(self) -> None:
        first = self._mailbox.receive()
        sink = self._sink = self._open()
        self._unproved, moment = 0, first
        while True:
            _write(sink, moment)
            self._unproved += 1
            if self._unproved == _PROOF_PICTURES:
                self._backoff.proved()
                self._holds()
            moment = self._mailbox.receive()

    def _end_gracefully(self) -> None:
        sink, self._sink = self._sink, None
        if sink is None:
            return
        try:
            sink.finish()
        except BaseException as error:  # told in the status
            self._tell_lost(error)
            sink.abort()
        else:
            self._holds()

    def _lost(self, error: BaseException) -> None:
        self._abort_sink()
        self._tell_lost(error)
        if self._stopped.is_set():
            return
        self._counters.add("sink_losses")
        self._clock.wait(self._stopped, self._backoff.next_s())

    def _tell_lost(self, error: BaseException) -> None:
        """Logs the first failure alone: attempts go on for as long as the sink is away."""
        was_well, self.trouble = not self.trouble, _told(error)
        if was_well:
            self._lost_s = self._clock.now()
            _LOG.info("sink_lost", stream=self._stream, sink=self.name, reason=self.trouble)

    def _holds(self) -> None:
        """What the connection was given by now has arrived."""
        self.taken, self._unproved = self.taken + self._unproved, 0
        if self.trouble:
            self.trouble = ""
            duration_ms = round((self._clock.now() - self._lost_s) * 1e3)
            _LOG.info("sink_back", stream=self._stream, sink=self.name, duration_ms=duration_ms)

    def _abort_sink(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            with suppress(BaseException):
                sink.abort()


def _write(sink: Sink, moment: _Moment) -> None:
    sink.write(moment.composite)
    if moment.until_s is not None and isinstance(sink, Hearing):
        sink.write_sound(moment.sounds, moment.until_s)


def _told(error: BaseException) -> str:
    """One line; the text of a foreign exception may hold a URL, so only its type is told."""
    if isinstance(error, KveilError):
        return str(error)
    return f"the output failed unexpectedly ({type(error).__name__})"
