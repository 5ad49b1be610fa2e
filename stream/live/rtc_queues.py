"""Bounds for the WebRTC library's queues, which have none of their own.

An unread or slow track would otherwise fill the memory and grow its delay without end. Both
queues are put in place after the offer was taken and before the connection starts.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from typing import Generic, TypeVar

from aiortc import RTCPeerConnection

__all__ = ["NewestQueue", "SheddingQueue", "bound_queues"]

T = TypeVar("T")
_ENCODED = 60
_DECODED = 2
_DECODED_SOUNDS = 25
_TRACK_QUEUE = "_queue"
_RECEIVER_QUEUE = "_RTCRtpReceiver__decoder_queue"


class NewestQueue(asyncio.Queue[T], Generic[T]):
    """Keeps the newest items: a put into a full queue drops the oldest."""

    def __init__(self, maxsize: int, on_drop: Callable[[], None] = lambda: None) -> None:
        super().__init__(maxsize)
        self._on_drop = on_drop

    async def put(self, item: T) -> None:
        """Never waits."""
        if self.full():
            self.get_nowait()
            self._on_drop()
        self.put_nowait(item)


class SheddingQueue(queue.Queue[T], Generic[T]):
    """Refuses items while full; the end marker None always gets in."""

    def __init__(self, maxsize: int, on_drop: Callable[[], None] = lambda: None) -> None:
        super().__init__(0)
        self._most = maxsize
        self._on_drop = on_drop

    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None:
        """Drops the item where the decoder is behind; the decoder then asks for a key frame."""
        if item is not None and self.qsize() >= self._most:
            self._on_drop()
            return
        super().put(item, block, timeout)


def bound_queues(connection: RTCPeerConnection, on_drop: Callable[[], None]) -> None:
    """Bounds every receiver of a connection; call between offer and answer.

    Args:
        connection: its remote description is set, its local one is not.
        on_drop: told of each picture dropped, from any thread.
    """
    for transceiver in connection.getTransceivers():
        receiver = transceiver.receiver
        if not hasattr(receiver, _RECEIVER_QUEUE):
            raise RuntimeError("the WebRTC library changed; its queues cannot be bounded")
        setattr(receiver, _RECEIVER_QUEUE, SheddingQueue(_ENCODED, on_drop))
        track = receiver.track
        if track is not None:
            most = _DECODED if track.kind == "video" else _DECODED_SOUNDS
            setattr(track, _TRACK_QUEUE, NewestQueue(most, on_drop))
