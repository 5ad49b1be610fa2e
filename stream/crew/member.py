"""One process of a crew, as seen by the process that started it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import Final

from engines.errors import EngineFault
from stream.crew.messages import (
    Answer,
    DrawFaces,
    DrawHead,
    ForgetBlocks,
    ForgetStream,
    Hello,
    NewBlock,
)
from stream.crew.shared_blocks import MappedBlock, SharedBlocks

__all__ = ["Member"]

_READY: Final = 0
"""Number of the answer that says so."""


class Member:
    """Starts a process, asks it and gets its answers; safe to use from several threads.

    Once it has died every request fails at once, the ones under way too.

    Args:
        hello: how it opens its networks.
        blocks: where pictures and layers lie.
    """

    def __init__(self, hello: Hello, blocks: SharedBlocks) -> None:
        self._blocks = blocks
        self._known: set[int] = set()
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {_READY: Future()}
        self._is_dead = False
        self.work = 0
        ours, theirs = socket.socketpair()
        with theirs:
            # Without -P a folder `stream` where the user happens to be would be run instead.
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "stream.crew.worker", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._ready = self._waiting[_READY]
        self._socket = Connection(ours.detach())
        self._socket.send(hello)
        self._listener = threading.Thread(target=self._listen, name="kveil-crew", daemon=True)
        self._listener.start()

    @property
    def is_ready(self) -> bool:
        """Whether it has opened its networks, and lives."""
        return self._ready.done() and not self._is_dead

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, or was ended."""
        return self._is_dead

    def wait_until_ready(self, seconds: float) -> None:
        """Waits for its networks, or until it has died."""
        with suppress(TimeoutError, EngineFault):
            self._ready.result(seconds)

    def ask(self, request: DrawFaces | DrawHead, blocks: Iterable[MappedBlock]) -> Future[Answer]:
        """Sends a request.

        Args:
            request: with a number of its own.
            blocks: all that it names.

        Returns:
            The answer to come; it raises `EngineFault` where the process dies before.
        """
        answer: Future[Answer] = Future()
        with self._lock:
            if self._is_dead:
                answer.set_exception(_dead())
                return answer
            self._waiting[request.number] = answer
            try:
                self._introduce(blocks)
                self._socket.send(request)
            except OSError:
                self._waiting.pop(request.number, None)
                answer.set_exception(_dead())
        return answer

    def forget(self, stream: int) -> None:
        """Tells it that a stream has ended."""
        with self._lock, suppress(OSError):
            if not self._is_dead:
                self._socket.send(ForgetStream(stream))

    def kill(self) -> None:
        """Ends it and waits until it has ended; its requests fail. Idempotent."""
        self._process.kill()
        self._process.wait()
        self._listener.join()

    def _introduce(self, blocks: Iterable[MappedBlock]) -> None:
        """Hands over blocks that it does not know, and takes back those that are no more."""
        gone = frozenset(self._known - self._blocks.numbers)
        if gone:
            self._known -= gone
            self._socket.send(ForgetBlocks(gone))
        for block in blocks:
            if block.number not in self._known:
                self._known.add(block.number)
                self._socket.send(NewBlock(block.number, block.content.size))
                send_handle(self._socket, block.descriptor, self._process.pid)

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                answer = self._socket.recv()
                assert isinstance(answer, Answer)
                future = self._waiting.pop(answer.number, None)
                if future is None:
                    continue
                if answer.fault:
                    future.set_exception(EngineFault(answer.fault))
                else:
                    future.set_result(answer)
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        with self._lock:
            self._is_dead = True
            waiting, self._waiting = self._waiting, {}
            self._socket.close()
        for future in waiting.values():
            future.set_exception(_dead())


def _dead() -> EngineFault:
    return EngineFault("a process that draws faces has died")
