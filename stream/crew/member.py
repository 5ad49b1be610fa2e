"""One process of a crew, as seen by the process that started it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, send_handle
from queue import Empty, Full, Queue
from typing import Final

from engines.errors import EngineFault
from stream.crew.messages import (
    Answer,
    DrawFaces,
    ForgetBlocks,
    ForgetStream,
    Hello,
    NewBlock,
)
from stream.crew.shared_blocks import MappedBlock, SharedBlocks

__all__ = ["Member"]

_READY: Final = 0
"""Number of the answer that says so."""
_MOST_UNSENT: Final = 1024
"""Letters that wait to be sent. Streams wait for their answers, so even a crowd in many streams
leaves it far below; a process that lets so many wait has hung."""


@dataclass(frozen=True, slots=True)
class _Letter:
    """What is sent in one go.

    Attributes:
        gone: numbers of blocks that are no more.
        new: blocks that it does not know.
        told: a pickled message.
    """

    gone: frozenset[int]
    new: tuple[MappedBlock, ...]
    told: memoryview


class Member:
    """Starts a process, asks it and gets its answers; safe to use from several threads.

    Nobody waits to be heard: a thread of its own sends what is asked, since a process that hangs
    reads nothing and a socket holds less than one face's memory. Once it has died every request
    fails at once, the ones under way too.

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
        self._letters: Queue[_Letter | None] = Queue(_MOST_UNSENT)
        self._writer = threading.Thread(target=self._write, name="kveil-crew-writer", daemon=True)
        self._writer.start()
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

    def ask(self, request: DrawFaces, blocks: Iterable[MappedBlock]) -> Future[Answer]:
        """Sends a request; never waits for the process.

        Args:
            request: with a number of its own; not looked at any more afterwards.
            blocks: all that it names; not given back before the answer is there.

        Returns:
            The answer to come; it raises `EngineFault` where the process dies before.
        """
        told = ForkingPickler.dumps(request)
        answer: Future[Answer] = Future()
        with self._lock:
            if not self._is_dead:
                self._waiting[request.number] = answer
            if self._is_dead or not self._post(told, blocks):
                self._waiting.pop(request.number, None)
                answer.set_exception(_dead())
        return answer

    def forget(self, stream: int) -> None:
        """Tells it that a stream has ended."""
        told = ForkingPickler.dumps(ForgetStream(stream))
        with self._lock:
            if not self._is_dead:
                self._post(told, ())

    def kill(self) -> None:
        """Ends it and waits until it has ended; its requests fail. Idempotent."""
        self._process.kill()
        self._process.wait()
        self._listener.join()

    def _post(self, told: memoryview, blocks: Iterable[MappedBlock]) -> bool:
        """Leaves a message to the writer, with what must be sent before; ends it where it hangs.

        Returns:
            Whether it will be sent.
        """
        gone = frozenset(self._known - self._blocks.numbers)
        new = {one.number: one for one in blocks if one.number not in self._known - gone}
        try:
            self._letters.put_nowait(_Letter(gone, tuple(new.values()), told))
        except Full:
            self._process.kill()
            return False
        self._known = (self._known - gone) | new.keys()
        return True

    def _write(self) -> None:
        """Sends letters until there is none any more, or nobody to read them."""
        try:
            with suppress(OSError):
                while (letter := self._letters.get()) is not None:
                    self._send(letter)
        finally:  # a process that cannot be told anything is of no use
            self._process.kill()

    def _send(self, letter: _Letter) -> None:
        if letter.gone:
            self._socket.send(ForgetBlocks(letter.gone))
        for block in letter.new:
            self._socket.send(NewBlock(block.number, block.content.size))
            send_handle(self._socket, block.descriptor, self._process.pid)
        self._socket.send_bytes(letter.told)

    def _listen(self) -> None:
        """Gives answers to whoever waits for them, until the process ends."""
        try:
            with suppress(EOFError, OSError):
                while True:
                    self._tell(self._socket.recv())
        finally:
            self._end()

    def _tell(self, answer: object) -> None:
        assert isinstance(answer, Answer)
        future = self._waiting.pop(answer.number, None)
        if future is None:
            return
        if answer.fault:
            future.set_exception(EngineFault(answer.fault))
        else:
            future.set_result(answer)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        with self._lock:
            self._is_dead = True
            waiting, self._waiting = self._waiting, {}
        self._end_writer()
        self._socket.close()
        for future in waiting.values():
            future.set_exception(_dead())

    def _end_writer(self) -> None:
        """Waits for it before requests fail: it may hold the descriptors of their blocks."""
        with suppress(Empty):
            while True:
                self._letters.get_nowait()
        self._letters.put(None)
        self._writer.join()


def _dead() -> EngineFault:
    return EngineFault("a process that draws faces has died")
