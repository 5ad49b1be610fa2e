"""Low-latency HLS of a stream, made while somebody asks for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from stream.errors import MailboxClosed
from stream.live.bell import Bell
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.encoder_stage import Need
from stream.live.hls_window import HlsWindow
from stream.live.live_encoder import TICKS, EncodedPicture
from stream.live.part_cutter import PartCutter
from stream.pipeline.mailbox import Mailbox

__all__ = ["LowLatencyHls"]

_WAITING_PICTURES = 64
_LONGEST_KEYFRAME_S = 2.0
_PART_S = 0.34
_IDLE_S = 20.0


class LowLatencyHls:
    """Cuts a stream's pictures while players ask, and rests when none has for a while.

    Args:
        name: of the stream, for the thread's name.
        keyframe_s: spacing of key frames; segments longer than two seconds ask for one.
        clock: tells how long nobody has asked.
        counters: gets faults.
    """

    keeps_size = True

    def __init__(self, name: str, keyframe_s: float, clock: Clock, counters: Counters) -> None:
        self._keyframe_s = min(keyframe_s, _LONGEST_KEYFRAME_S)
        self._clock = clock
        self._counters = counters
        self._mailbox = Mailbox[EncodedPicture](
            _WAITING_PICTURES, on_full="drop_run", begins_run=lambda one: one.is_key
        )
        self._key_pts = self._newest_pts = 0
        self._lock = threading.Lock()
        self._asked_s = -1e9
        self._waiting: set[Bell] = set()
        self.window = HlsWindow(self._keyframe_s, _PART_S)
        self._thread = threading.Thread(target=self._run, name=f"{name}-hls", daemon=True)
        self._thread.start()

    def ask(self) -> HlsWindow:
        """The window; its making goes on for a while."""
        self._asked_s = self._clock.now()
        return self.window

    async def until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until something holds of the window; false if it does not in time.

        How many may wait at once is the caller's to bound.
        """
        bell = Bell(asyncio.get_running_loop())
        with self._lock:
            self._waiting.add(bell)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    while not holds() and self._thread.is_alive():
                        await bell.wait()
            return holds()
        finally:
            with self._lock:
                self._waiting.discard(bell)

    @property
    def need(self) -> Need:
        """See `Taker.need`."""
        if self._clock.now() - self._asked_s >= _IDLE_S:
            return "nothing"
        length_s = float((self._newest_pts - self._key_pts) * TICKS)
        return "key" if self._mailbox.is_starved or length_s >= self._keyframe_s else "next"

    def offer(self, picture: EncodedPicture) -> None:
        """Queues a picture."""
        self._newest_pts = picture.pts
        if picture.is_key:
            self._key_pts = picture.pts
        with suppress(MailboxClosed):
            self._mailbox.send(picture)

    def end(self) -> None:
        """No more pictures come; idempotent."""
        self._mailbox.cancel()

    def join(self, timeout_s: float = 5.0) -> bool:
        """Waits for the thread after `end`; false if it would not leave."""
        self._thread.join(timeout_s)
        self._ring()
        return not self._thread.is_alive()

    def _run(self) -> None:
        cutter, size = PartCutter(), (0, 0)
        with suppress(MailboxClosed):
            while True:
                try:
                    picture = self._mailbox.receive(_IDLE_S)
                    if picture.size != size:
                        cutter, size = self._fresh(cutter), picture.size
                    self._add(picture, cutter)
                except MailboxClosed:
                    raise
                except BaseException as error:
                    # Where nobody asks, what is old must not be shown later.
                    self._counters.add("sink_losses", not isinstance(error, TimeoutError))
                    self._mailbox.start_over()
                    cutter = self._fresh(cutter)
        cutter.close()

    def _fresh(self, cutter: PartCutter) -> PartCutter:
        cutter.close()
        self.window.clear()
        return PartCutter()

    def _add(self, picture: EncodedPicture, cutter: PartCutter) -> None:
        for fragment in cutter.cut(picture):
            self.window.initial = cutter.initial
            if self.window.add(fragment):
                self._ring()

    def _ring(self) -> None:
        with self._lock:
            waiting = tuple(self._waiting)
        for bell in waiting:
            bell.ring()
