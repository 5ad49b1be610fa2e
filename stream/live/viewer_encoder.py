"""One encoder for all viewers of a stream; a slow viewer loses pictures, the others none."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from functools import partial

from engines.compositor import Composite
from stream.errors import MailboxClosed
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.encoder_share import Encoding, MakeEncoding
from stream.live.live_encoder import EncodedPicture, EncoderOptions, LiveCodec, LiveEncoder
from stream.mailbox import Mailbox

__all__ = ["Viewer", "ViewerEncoder"]

_WAITING_COMPOSITES = 2
_WAITING_PICTURES = 30
_KEY_PAUSE_S = 0.5


class Viewer:
    """One viewer's short queue between the encoder's thread and the event loop.

    When it overflows it is emptied and refilled from the next key frame, so that a viewer
    never sees a picture with its reference missing.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._pictures: deque[EncodedPicture] = deque(maxlen=_WAITING_PICTURES)
        self._arrived = asyncio.Event()
        self._needs_key = True
        self.is_closed = False
        self.overflows = 0

    def offer(self, picture: EncodedPicture) -> bool:
        """Queues a picture, from any thread; false where a key frame is needed first."""
        with self._lock:
            if self.is_closed or (self._needs_key and not picture.is_key):
                return self.is_closed
            self._needs_key = False
            if len(self._pictures) == self._pictures.maxlen:
                self._pictures.clear()
                self.overflows += 1
                if not picture.is_key:
                    self._needs_key = True
                    return False
            was_empty = not self._pictures
            self._pictures.append(picture)
        if was_empty:
            self._wake()
        return True

    async def receive(self) -> EncodedPicture | None:
        """The next picture; None once closed."""
        while not self.is_closed:
            with self._lock:
                if self._pictures:
                    return self._pictures.popleft()
                self._arrived.clear()
            await self._arrived.wait()
        return None

    def close(self) -> None:
        """Ends `receive`; idempotent, from any thread."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._arrived.set)


class ViewerEncoder:
    """An outlet that encodes while somebody watches.

    Args:
        name: of the stream, for the thread's name.
        codec: one for all of its viewers.
        options: of the encoder.
        clock: paces key frames on demand.
        counters: gets drops.
        begin: gives the encoding, where others share it; one of its own where None.
    """

    def __init__(
        self,
        name: str,
        codec: LiveCodec,
        options: EncoderOptions,
        clock: Clock,
        counters: Counters,
        begin: MakeEncoding | None = None,
    ) -> None:
        self._begin: MakeEncoding = begin or partial(LiveEncoder, options, codec)
        self._clock = clock
        self._counters = counters
        self._mailbox = Mailbox[Composite](_WAITING_COMPOSITES, on_full="drop_oldest")
        self._lock = threading.Lock()
        self._viewers: tuple[Viewer, ...] = ()
        self._encoder: Encoding | None = None
        self._size = (0, 0)
        self._key_s = -1e9
        self._thread = threading.Thread(target=self._run, name=f"{name}-{codec}", daemon=True)
        self._thread.start()

    @property
    def viewers(self) -> int:
        """How many watch."""
        return len(self._viewers)

    def add(self, viewer: Viewer) -> None:
        """Lets a viewer in, with a key frame."""
        with self._lock:
            if not self._viewers:  # what was encoded for others meanwhile is old
                self._encoder = None
            self._viewers = (*self._viewers, viewer)
        self.want_key()

    def remove(self, viewer: Viewer) -> None:
        """Lets a viewer go; idempotent."""
        viewer.close()
        with self._lock:
            self._viewers = tuple(one for one in self._viewers if one is not viewer)

    def want_key(self) -> None:
        """Somebody lost a picture: a key frame soon, at most two a second for all."""
        now_s = self._clock.now()
        encoder = self._encoder
        if encoder is not None and now_s - self._key_s >= _KEY_PAUSE_S:
            self._key_s = now_s
            encoder.want_key()

    def offer(self, composite: Composite) -> None:
        """Queues a composite while somebody watches."""
        if self._viewers:
            with suppress(MailboxClosed):
                self._mailbox.send(composite)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Lets everybody go and ends the thread; false if it would not leave."""
        for viewer in self._viewers:
            viewer.close()
        self._mailbox.cancel()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with suppress(MailboxClosed):
            while True:
                composite = self._mailbox.receive()
                try:
                    self._spread(composite)
                except BaseException:
                    # A fresh encoder takes over; the viewers wait for its key frame.
                    self._encoder = None
                    self._counters.add("sink_losses")

    def _spread(self, composite: Composite) -> None:
        """Encodes; a change of size takes a fresh encoder, which browsers follow."""
        size = (composite.picture.height, composite.picture.width)
        encoder = self._encoder
        if encoder is None or self._size != size:
            self._size = size
            encoder = self._encoder = self._begin()
        for picture in encoder.encode(composite):
            served = [viewer.offer(picture) for viewer in self._viewers]
            if not all(served):
                self.want_key()
