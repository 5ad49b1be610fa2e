"""One output of a stream: its own thread, its own short queue, its own reconnects."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from stream.errors import MailboxCancelled, MailboxClosed
from stream.live.backoff import Backoff
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.encoder_stage import Need
from stream.live.live_encoder import TICKS, EncodedPicture
from stream.live.outage import Outage, told
from stream.live.sound import Sound
from stream.pipeline.mailbox import Mailbox

__all__ = ["PictureSink", "SinkLane"]

_LOG = structlog.get_logger("kveil.sink")
_FAILED: Final = "the output failed unexpectedly"
_PROOF_PICTURES: Final = 50
"""So many show that a connection holds; fewer may have gone into its buffers alone."""
_WAITING_SOUNDS: Final = 256
"""Sounds that may wait for their picture; the oldest make room and become silence."""
_TOLERANCE_S: Final = 1e-4


class PictureSink(Protocol):
    """Takes encoded pictures, beginning with a key frame. Blocking: runs in a lane's thread."""

    def write(self, picture: EncodedPicture) -> None:
        """Writes or sends one picture; may block until `abort`.

        Raises:
            KveilError: disk full, connection lost or refused.
        """

    def write_sound(self, sounds: Sequence[Sound], until_s: float) -> None:
        """Encodes sound; what lacks before `until_s` is silence.

        Raises:
            KveilError: the output is gone.
        """

    def finish(self) -> None:
        """Completes the output; graceful end, idempotent.

        Raises:
            KveilError: not all that was written has arrived.
        """

    def abort(self) -> None:
        """Ends at once; idempotent, callable from any thread."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A picture and the sound up to it; `until_s` is None for a stream without sound."""

    picture: EncodedPicture
    sounds: tuple[Sound, ...] = ()
    until_s: float | None = None


class SinkLane:
    """Feeds a sink, and opens a new one when it fails; never holds the stream up.

    While a sink is away, the lane takes no pictures. One that is behind loses those up to a
    key frame.

    Args:
        name: shown in the status; carries no secret.
        open_sink: makes a sink, once there is a picture for it.
        capacity: most encoded pictures waiting; more rides out longer stalls, fewer holds less
            delay.
        backoff: pauses between attempts.
        clock: time.
        counters: gets losses and drops.
        stream: name of the stream, for the log.

    Attributes:
        taken: pictures that such connections took.
    """

    keeps_size = True

    def __init__(
        self,
        name: str,
        open_sink: Callable[[], PictureSink],
        capacity: int,
        backoff: Backoff,
        clock: Clock,
        counters: Counters,
        *,
        stream: str = "",
    ) -> None:
        self.name = name
        self.taken = 0
        self._unproved = 0
        self._outage = Outage(_LOG, ("sink_lost", "sink_back"), clock, stream=stream, sink=name)
        self._open = open_sink
        self._mailbox = Mailbox[_Moment](
            capacity, on_full="drop_run", begins_run=lambda moment: moment.picture.is_key
        )
        self._backoff = backoff
        self._clock = clock
        self._counters = counters
        self._counted_drops = 0
        self._heard: deque[tuple[tuple[Sound, ...], float]] = deque(maxlen=_WAITING_SOUNDS)
        self._is_away = False
        self._stopped = threading.Event()
        self._sink: PictureSink | None = None

    @property
    def trouble(self) -> str:
        """One line on what is wrong, until a connection holds or has ended well; else empty."""
        return self._outage.reason

    @property
    def waiting(self) -> int:
        """Pictures in the queue."""
        return len(self._mailbox)

    @property
    def need(self) -> Need:
        """See `Taker.need`."""
        if self._is_away:
            return "nothing"
        return "key" if self._mailbox.is_starved else "next"

    def hear(self, sounds: tuple[Sound, ...], until_s: float) -> None:
        """Keeps sound for the picture of its time, with which it is queued."""
        self._heard.append((sounds, until_s))

    def offer(self, picture: EncodedPicture) -> None:
        """Queues a picture; leaves out those up to a key frame when the sink is behind."""
        with suppress(MailboxClosed):
            self._mailbox.send(_Moment(picture, *self._heard_until(picture)))
        fresh = self._mailbox.dropped - self._counted_drops
        self._counted_drops += fresh
        self._counters.add("dropped_output", fresh)

    def _heard_until(self, picture: EncodedPicture) -> tuple[tuple[Sound, ...], float | None]:
        time_s = float(picture.pts * TICKS) + _TOLERANCE_S
        found: list[Sound] = []
        until_s = None
        while self._heard and self._heard[0][1] <= time_s:
            sounds, until_s = self._heard.popleft()
            found += sounds
        return tuple(found), until_s

    def run(self) -> None:
        """Writes until `end` or `abort`."""
        first: _Moment | None = None
        while not self._stopped.is_set():
            try:
                first = self._write_one_connection(first or self._mailbox.receive())
            except MailboxCancelled:
                break
            except MailboxClosed:
                self._end_gracefully()
                break
            except BaseException as error:  # one output's fault stays its own
                first = None
                self._lost(error)
        self._abort_sink()

    def end(self) -> None:
        """Writes what is queued, then ends; idempotent."""
        self._mailbox.close()

    def abort(self) -> None:
        """Ends now, also a write that is stuck; idempotent."""
        self._stopped.set()
        self._mailbox.cancel()
        self._abort_sink()

    def give_up(self) -> None:
        """Notes that it does not end, and why, where nothing has been told of it before."""
        if not self.trouble:
            self._outage.begin(f"{self.name} does not take what it is sent, nor a goodbye")

    def _write_one_connection(self, first: _Moment) -> _Moment:
        """Writes pictures of one size; gives the first of another, with which the next begins."""
        sink = self._sink = self._open()
        if self._stopped.is_set():  # meanwhile
            raise MailboxCancelled("the output was aborted while it connected")
        self._unproved, moment = 0, first
        while moment.picture.size == first.picture.size:
            _write(sink, moment)
            self._unproved += 1
            if self._unproved == _PROOF_PICTURES:
                self._backoff.proved()
                self._holds()
            moment = self._mailbox.receive()
        self._end_gracefully()
        return moment

    def _end_gracefully(self) -> None:
        sink, self._sink = self._sink, None
        if sink is None:
            return
        try:
            sink.finish()
        except BaseException as error:  # told in the status
            self._outage.begin(told(error, _FAILED))
            sink.abort()
        else:
            self._holds()

    def _lost(self, error: BaseException) -> None:
        self._abort_sink()
        self._outage.begin(told(error, _FAILED))
        if self._stopped.is_set():
            return
        self._counters.add("sink_losses")
        self._is_away = True
        self._clock.wait(self._stopped, self._backoff.next_s())
        self._heard.clear()
        self._mailbox.start_over()
        self._is_away = False

    def _holds(self) -> None:
        """What the connection was given by now has arrived."""
        self.taken, self._unproved = self.taken + self._unproved, 0
        self._outage.end()

    def _abort_sink(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            with suppress(BaseException):
                sink.abort()


def _write(sink: PictureSink, moment: _Moment) -> None:
    sink.write(moment.picture)
    if moment.until_s is not None:
        sink.write_sound(moment.sounds, moment.until_s)
