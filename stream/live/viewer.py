"""One viewer's short queue of encoded pictures, between the encoder's thread and the event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from stream.errors import MailboxClosed
from stream.live.bell import Bell
from stream.live.encoder_stage import Need
from stream.live.live_encoder import EncodedPicture
from stream.pipeline.mailbox import Mailbox

__all__ = ["Viewer"]

_WAITING_PICTURES: Final = 30


class Viewer:
    """Whoever watches by WebRTC; one that is slow loses pictures up to a key frame.

    Args:
        loop: on which `receive` is awaited.
    """

    keeps_size = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pictures = Mailbox[EncodedPicture](
            _WAITING_PICTURES, on_full="drop_run", begins_run=lambda one: one.is_key
        )
        self._arrived = Bell(loop)

    @property
    def need(self) -> Need:
        """See `Taker.need`."""
        return "key" if self._pictures.is_starved else "next"

    @property
    def dropped(self) -> int:
        """Pictures that it lost because it was slow."""
        return self._pictures.dropped

    def offer(self, picture: EncodedPicture) -> None:
        """Queues a picture, from any thread."""
        with suppress(MailboxClosed):
            self._pictures.send(picture)
        self._arrived.ring()

    async def receive(self) -> EncodedPicture | None:
        """The next picture; None once ended."""
        while True:
            try:
                return self._pictures.receive(0.0)
            except TimeoutError:
                await self._arrived.wait()
            except MailboxClosed:
                return None

    def end(self) -> None:
        """Ends `receive`; idempotent, from any thread."""
        self._pictures.cancel()
        self._arrived.ring()
