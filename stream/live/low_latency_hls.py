"""Low-latency HLS of a stream, made while somebody asks for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from engines.compositor import Composite
from stream.errors import MailboxClosed
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.encoder_share import EncoderShares, Encoding
from stream.live.hls_window import HlsWindow
from stream.live.live_encoder import EncoderOptions
from stream.live.part_cutter import PartCutter
from stream.mailbox import Mailbox
from stream.marking import sei_nal

__all__ = ["LowLatencyHls"]

_WAITING_COMPOSITES = 4
_LONGEST_KEYFRAME_S = 2.0
_PART_S = 0.34
_IDLE_S = 20.0


class LowLatencyHls:
    """An outlet that encodes and cuts while players ask, and rests when none has for a while.

    Args:
        name: of the stream, for the thread's name.
        options: of the encoder; key frames come every two seconds at least.
        clock: tells how long nobody has asked.
        counters: gets faults.
        is_marked: adds the machine-readable mark to key frames.
        shares: the encoders of the stream; one of its own where None.
    """

    def __init__(
        self,
        name: str,
        options: EncoderOptions,
        clock: Clock,
        counters: Counters,
        *,
        is_marked: bool,
        shares: EncoderShares | None = None,
    ) -> None:
        self._shares = shares or EncoderShares(sei_nal() if is_marked else b"")
        keyframe_s = min(options.keyframe_s, _LONGEST_KEYFRAME_S)
        self._options = replace(options, keyframe_s=keyframe_s)
        self._clock = clock
        self._counters = counters
        self._mailbox = Mailbox[Composite](_WAITING_COMPOSITES, on_full="drop_oldest")
        self._lock = threading.Lock()
        self._asked_s = -1e9
        self._waiting: set[_Bell] = set()
        self.window = HlsWindow(keyframe_s, _PART_S)
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
        bell = _Bell(asyncio.get_running_loop())
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

    def offer(self, composite: Composite) -> None:
        """Queues a composite while players ask."""
        if self._clock.now() - self._asked_s < _IDLE_S:
            with suppress(MailboxClosed):
                self._mailbox.send(composite)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Ends the thread; false if it would not leave."""
        self._mailbox.cancel()
        self._thread.join(timeout_s)
        self._ring()
        return not self._thread.is_alive()

    def _run(self) -> None:
        encoder, cutter = self._fresh()
        with suppress(MailboxClosed):
            while True:
                try:
                    composite = self._mailbox.receive(_IDLE_S)
                except TimeoutError:  # nobody asks: what is old must not be shown later
                    cutter.close()
                    encoder, cutter = self._fresh()
                    continue
                try:
                    self._add(composite, encoder, cutter)
                except BaseException:  # a fresh encoder takes over
                    self._counters.add("sink_losses")
                    cutter.close()
                    encoder, cutter = self._fresh()
        cutter.close()

    def _fresh(self) -> tuple[Encoding, PartCutter]:
        self.window.clear()
        return self._shares.begin(self._options, "h264"), PartCutter()

    def _add(self, composite: Composite, encoder: Encoding, cutter: PartCutter) -> None:
        for picture in encoder.encode(composite):
            for fragment in cutter.cut(picture):
                self.window.initial = cutter.initial
                if self.window.add(fragment):
                    self._ring()

    def _ring(self) -> None:
        with self._lock:
            waiting = tuple(self._waiting)
        for bell in waiting:
            bell.ring()


class _Bell:
    """Wakes a coroutine from another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rung = asyncio.Event()

    async def wait(self) -> None:
        """Waits for the next ring, or returns at once if there was one since."""
        await self._rung.wait()
        self._rung.clear()

    def ring(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._rung.set)
