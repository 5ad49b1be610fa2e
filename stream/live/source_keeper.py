"""Keeps a source connected: watchdog, paced reconnect, and proof that video came back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Literal

import structlog

from config.service import Live
from engines.types import Frame
from stream.live.backoff import Backoff
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.outage import Outage, told
from stream.media.ends import Source

__all__ = ["SourceKeeper", "SourceState"]

SourceState = Literal["connecting", "waiting_for_video", "live", "lost", "ended", "stopped"]
_LOG = structlog.get_logger("kveil.source")


_PROOF_FRAMES: Final = 10
"""Decoded frames after which a connection counts as good again."""


class SourceKeeper:
    """Opens a source, delivers its frames, and opens it again whenever it fails or falls silent.

    `run` blocks and belongs in a thread of its own; `check` is the watchdog and is called from
    another, some ten times a second.

    Args:
        connect: opens the source; raises when it cannot.
        deliver: takes each decoded frame; must not block.
        bounds: how long to bear with silence, and to pause before another attempt.
        clock: time.
        counters: gets connects, reconnects, stalls.
        stream: name of the stream, for the log.
        repeats: a source that ends (a file) starts over instead of ending the stream.
    """

    def __init__(
        self,
        connect: Callable[[], Source],
        deliver: Callable[[Frame], None],
        bounds: Live,
        clock: Clock,
        counters: Counters,
        *,
        stream: str = "",
        repeats: bool = False,
    ) -> None:
        self._connect = connect
        self._deliver = deliver
        self._stall_s, self._repeats = bounds.stall_s, repeats
        self._clock = clock
        self._counters = counters
        self._backoff = Backoff(bounds.reconnect_first_s, bounds.reconnect_longest_s)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._heard_s = clock.now()
        self._outage = Outage(_LOG, ("source_lost", "source_back"), clock, stream=stream)
        self._was_live = False
        self._was_cut = False
        self.state: SourceState = "connecting"
        self.trouble = ""

    def replace_connect(self, connect: Callable[[], Source]) -> None:
        """Opens sources in another way from the next connection on."""
        self._connect = connect

    def run(self) -> None:
        """Connects and delivers until `stop`, or until a source that does not repeat ends."""
        while not self._stopped.is_set():
            try:
                self._read_one_connection()
            except BaseException as error:  # a reader outlives whatever a library does
                self.trouble = told(error, "the source failed unexpectedly")
            else:
                if not self._goes_on_after_end():
                    return
                if self._starts_over():
                    continue
            if self._stopped.is_set():
                break
            self.state = "lost"
            self._outage.begin(self.trouble or "it gave no video")
            self._clock.wait(self._stopped, self._backoff.next_s())
        self.state = "stopped"

    def check(self) -> None:
        """Closes a connection that has been silent for too long; `run` then opens a new one."""
        with self._lock:
            source = self._source
        if source is None or self._stopped.is_set():
            return
        if self._clock.now() - self._heard_s > self._stall_s:
            self._counters.add("source_stalls")
            self._heard_s = self._clock.now()
            self._was_cut = True
            self.trouble = f"no video for {self._stall_s:g} s; connecting again"
            source.close()

    def stop(self) -> None:
        """Ends `run` soon; idempotent, callable from any thread."""
        self._stopped.set()
        with self._lock:
            source = self._source
        if source is not None:
            source.close()

    def _goes_on_after_end(self) -> bool:
        if self._stopped.is_set() or self._was_cut or self._repeats:
            return True
        self.state = "ended"
        return False

    def _starts_over(self) -> bool:
        """A file that gave frames to its end begins again at once."""
        return self.state == "live" and self._repeats and not self._was_cut

    def _read_one_connection(self) -> None:
        self.state, self._was_cut = "connecting", False
        source = self._connect()
        self._adopt(source)
        self._counters.add("connects")
        if self._was_live:
            self._counters.add("reconnects")
        self.state = "waiting_for_video"
        try:
            self._read_frames(source)
        finally:
            self._adopt(None)
            source.close()

    def _adopt(self, source: Source | None) -> None:
        with self._lock:
            self._source = source
        self._heard_s = self._clock.now()
        if source is not None and self._stopped.is_set():
            source.close()

    def _read_frames(self, source: Source) -> None:
        for number, frame in enumerate(source.frames(), start=1):
            if self._stopped.is_set():
                return
            self._heard_s = self._clock.now()
            self.state, self.trouble, self._was_live = "live", "", True
            if number == _PROOF_FRAMES:  # a short burst is no news
                self._backoff.proved()
                self._outage.end()
            self._deliver(frame)
