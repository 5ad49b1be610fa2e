"""A member of a crew: `python -m stream.crew.worker DESCRIPTOR`, started by `stream.crew.member`.

Draws the faces it is told to, one request after the other, until the socket closes: so it ends with
the process that started it, however that ends.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.compositor import Patch
from engines.blending.face_layers import PatchLayers
from engines.blending.patches import Placed
from engines.face.swapper import Swapper
from engines.types import Frame, Latent
from stream.crew.messages import (
    Answer,
    DrawFaces,
    DrawnFace,
    ForgetBlocks,
    ForgetStream,
    Hello,
    NewBlock,
    SentFace,
    SentFrame,
    SentLayer,
)
from stream.crew.shared_blocks import MappedBlock
from stream.finding.unseen_tracks import forget_unseen
from stream.memory_dumps import forbid_memory_dumps
from stream.pipeline.engine_set import open_painter
from stream.swap.face_drawing import FaceDrawer, Wearing

__all__ = ["CrewWorker", "main"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    """Something of a track, and when it was seen last."""

    value: T
    seen_frame: int


class _Stream:
    """What a member knows of one stream."""

    def __init__(self, painter: Swapper) -> None:
        self._painter = painter
        self._drawer: FaceDrawer | None = None
        self._latents: dict[int, _Known[Latent]] = {}

    def drawer(self, request: DrawFaces) -> FaceDrawer:
        """Draws the stream's faces as it was first asked to."""
        if self._drawer is None:
            self._drawer = FaceDrawer(self._painter, draws_foreground=request.draws_foreground)
        return self._drawer

    def wearing(
        self, sent: SentFace, drawer: FaceDrawer, index: int, ahead: Sequence[Frame]
    ) -> Wearing:
        """The face with the latent that is known of its track."""
        if sent.new is None:
            latent = self._latents[sent.track].value
        else:
            latent, memory = sent.new
            drawer.take_over(sent.track, memory)
        self._latents[sent.track] = _Known(latent, index)
        forget_unseen(self._latents, index)
        faces = [face for _, face in sent.ahead]
        seen = list(zip(ahead, faces, strict=True))
        return Wearing(sent.track, sent.face, latent, seen, sent.others)


class CrewWorker:
    """Answers requests.

    Args:
        painter: of this process.
    """

    def __init__(self, painter: Swapper) -> None:
        self._painter = painter
        self._streams: dict[int, _Stream] = {}
        self._blocks: dict[int, NDArray[np.uint8]] = {}

    def add_block(self, block: MappedBlock) -> None:
        """Takes a block that requests may name."""
        self._blocks[block.number] = block.content

    def forget(self, told: ForgetBlocks | ForgetStream) -> None:
        """Lets go of blocks, or of a stream."""
        if isinstance(told, ForgetStream):
            self._streams.pop(told.stream, None)
            return
        for number in told.numbers:
            self._blocks.pop(number, None)

    def answer(self, request: DrawFaces) -> Answer:
        """Does what is asked; a fault is told and not raised."""
        try:
            return self._faces(request)
        except Exception as fault:
            return Answer(request.number, fault=f"{type(fault).__name__} in a drawing process")

    def _faces(self, request: DrawFaces) -> Answer:
        stream, frame = self._stream(request), self._frame(request.frame)
        drawer, worn = stream.drawer(request), []
        for one in request.faces:
            ahead = [self._frame(seen) for seen, _ in one.ahead]
            worn.append(stream.wearing(one, drawer, frame.index, ahead))
        drawn = drawer.draw(frame, worn)
        told, start = [], 0
        for wearing in worn:
            patch = drawn.patches.get(wearing.track)
            if isinstance(patch, Patch):
                made, start = self._laid(frame, wearing, patch, request.into, start)
            else:
                made = DrawnFace(wearing.track, drawn.causes[wearing.track], is_unfit=True)
            told.append(made)
        return Answer(request.number, tuple(told))

    def _laid(
        self, frame: Frame, one: Wearing, patch: Patch, into: int, start: int
    ) -> tuple[DrawnFace, int]:
        """The layers of a face and of what is in front of it, in a block."""
        layers = PatchLayers(patch)
        placed = layers.face(frame.picture, one.face)
        if not isinstance(placed, Placed):
            return DrawnFace(one.track, placed), start
        block = self._blocks[into]
        face, start = SentLayer.of(placed, frame.picture, block, start)
        front: SentLayer | None = None
        with suppress(Exception):  # then it is painted over, as the compositor does
            before = layers.front(frame.picture, one.others)
            if before is not None:
                front, start = SentLayer.of(before, frame.picture, block, start)
        return DrawnFace(one.track, face, front), start

    def _stream(self, request: DrawFaces) -> _Stream:
        return self._streams.setdefault(request.stream, _Stream(self._painter))

    def _frame(self, sent: SentFrame) -> Frame:
        return sent.seen_in(self._blocks[sent.picture.block])


def main(descriptor: int) -> None:
    """Serves one crew until its socket closes."""
    forbid_memory_dumps()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's is for the one that started this
    cv2.setNumThreads(1)
    with Connection(descriptor) as socket, suppress(EOFError, OSError):
        hello = socket.recv()
        assert isinstance(hello, Hello)
        worker = CrewWorker(
            open_painter(hello.backend, hello.device, hello.precision, hello.donors)
        )
        socket.send(Answer(0))
        while True:
            told = socket.recv()
            if isinstance(told, NewBlock):
                worker.add_block(_mapped(told, recv_handle(socket)))
            elif isinstance(told, ForgetBlocks | ForgetStream):
                worker.forget(told)
            else:
                socket.send(worker.answer(told))


def _mapped(told: NewBlock, descriptor: int) -> MappedBlock:
    try:
        return MappedBlock.of(told.number, descriptor, told.size)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main(int(sys.argv[1]))
