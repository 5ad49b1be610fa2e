"""What a crew and its members tell each other.

They are one program and trust each other: messages are pickled, over a socket that only the two
have. Pictures and layers lie in shared blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Precision
from engines.backends.choice import BackendName, Device
from engines.blending.patches import Placed, PlacedPlanes
from engines.pictures import Layout, Matrix, Picture, PlaneLayer
from engines.types import Box, Face, Frame, Latent
from stream.crew.shared_blocks import MappedBlock
from stream.swap.face_drawing import FaceMemory

__all__ = [
    "Answer",
    "DrawFaces",
    "DrawnFace",
    "ForgetBlocks",
    "ForgetStream",
    "Hello",
    "NewBlock",
    "SentArrays",
    "SentFace",
    "SentFrame",
    "SentLayer",
    "SentPicture",
    "picture_bytes",
    "show_picture",
]

_ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Hello:
    """First to a member: how its networks are to be opened, and the folder of the donors' pack."""

    backend: BackendName
    device: Device
    precision: Precision
    donors: str = ""


@dataclass(frozen=True, slots=True)
class NewBlock:
    """A block's descriptor follows."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class ForgetBlocks:
    """Blocks that are used no more."""

    numbers: frozenset[int]


@dataclass(frozen=True, slots=True)
class ForgetStream:
    """A stream that ended."""

    stream: int


@dataclass(frozen=True, slots=True)
class SentPicture:
    """A picture whose planes lie one after the other in a block."""

    block: int
    shapes: tuple[tuple[int, ...], ...]
    layout: Layout
    bit_depth: int
    matrix: Matrix
    is_full_range: bool

    def seen_in(self, content: NDArray[np.uint8]) -> Picture:
        """The picture, over a block's content and not copied."""
        dtype = np.dtype(np.uint8 if self.bit_depth == 8 else np.uint16)
        planes, start = [], 0
        for shape in self.shapes:
            end = start + int(np.prod(shape)) * dtype.itemsize
            planes.append(content[start:end].view(dtype).reshape(shape))
            start = _up(end)
        return Picture(tuple(planes), self.layout, self.bit_depth, self.matrix, self.is_full_range)


@dataclass(frozen=True, slots=True)
class SentFrame:
    """A frame and its picture."""

    picture: SentPicture
    pts: int
    time_base: Fraction
    index: int

    def seen_in(self, content: NDArray[np.uint8]) -> Frame:
        """The frame, over a block's content."""
        return Frame(self.picture.seen_in(content), self.pts, self.time_base, self.index)


@dataclass(frozen=True, slots=True)
class SentFace:
    """A face that is to be drawn; see `stream.swap.face_drawing.Wearing`.

    `new` is the latent of a track that the member has not drawn, and what others remember of it.
    """

    track: int
    face: Face
    new: tuple[Latent, FaceMemory | None] | None
    ahead: tuple[tuple[SentFrame, Face], ...]
    others: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class DrawFaces:
    """Asks for faces and for what is in front of them; layers go `into` a block."""

    number: int
    stream: int
    frame: SentFrame
    faces: tuple[SentFace, ...]
    draws_foreground: bool
    into: int


@dataclass(frozen=True, slots=True)
class SentArrays:
    """Arrays one after the other in a block, or here where they did not fit.

    Attributes:
        shapes: of each.
        start: first byte.
        own: float32, the arrays, where they did not fit.
    """

    shapes: tuple[tuple[int, ...], ...]
    start: int
    own: tuple[NDArray[np.float32], ...] = ()

    @classmethod
    def of(
        cls, arrays: Sequence[NDArray[np.float32]], block: NDArray[np.uint8], start: int
    ) -> tuple[SentArrays, int]:
        """Writes arrays into a block; and where the next ones may begin."""
        sent = cls(tuple(one.shape for one in arrays), start)
        end = start + sum(_up(one.nbytes) for one in arrays)
        if end > block.size:
            return replace(sent, own=tuple(arrays)), start
        for into, one in zip(sent.seen_in(block), arrays, strict=True):
            np.copyto(into, one)
        return sent, end

    def seen_in(self, content: NDArray[np.uint8]) -> Sequence[NDArray[np.float32]]:
        """The arrays, over a block's content."""
        if self.own:
            return self.own
        arrays, start = [], self.start
        for shape in self.shapes:
            size = 4 * int(np.prod(shape))
            arrays.append(content[start : start + size].view(np.float32).reshape(shape))
            start += _up(size)
        return arrays


@dataclass(frozen=True, slots=True)
class SentLayer:
    """A placed layer in a picture's planes: different weights first, then all values."""

    top: int
    left: int
    arrays: SentArrays

    @classmethod
    def of(
        cls, placed: Placed, picture: Picture, block: NDArray[np.uint8], start: int
    ) -> tuple[SentLayer, int]:
        """Writes a layer for such a picture into a block; and where the next one may begin."""
        planes = picture.planes_of(placed.pixels, placed.alpha)
        arrays, end = SentArrays.of([*planes.weights[:2], *planes.values], block, start)
        return cls(placed.top, placed.left, arrays), end

    def seen_in(self, content: NDArray[np.uint8]) -> PlacedPlanes:
        """The layer, over a block's content."""
        arrays = self.arrays.seen_in(content)
        weights = min(2, len(arrays) // 2)
        values = tuple(arrays[weights:])
        shared = tuple(arrays[min(place, weights - 1)] for place in range(len(values)))
        return PlacedPlanes(self.top, self.left, PlaneLayer(values, shared))


@dataclass(frozen=True, slots=True)
class DrawnFace:
    """What became of a face.

    Attributes:
        track: its number.
        face: what hides it, or why nothing does.
        front: what is in front of it.
        is_unfit: it could not be followed, and `face` says why.
    """

    track: int
    face: SentLayer | str
    front: SentLayer | None = None
    is_unfit: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """To a request: drawn faces, or a fault, in a few words."""

    number: int
    faces: tuple[DrawnFace, ...] = ()
    fault: str = ""


def picture_bytes(picture: Picture) -> int:
    """Size of the block that a picture needs."""
    return sum(_up(plane.nbytes) for plane in picture.planes)


def show_picture(picture: Picture, block: MappedBlock) -> SentPicture:
    """Copies a picture's planes into a block."""
    shapes = tuple(plane.shape for plane in picture.planes)
    sent = SentPicture(
        block.number,
        shapes,
        picture.layout,
        picture.bit_depth,
        picture.matrix,
        picture.is_full_range,
    )
    for into, plane in zip(sent.seen_in(block.content).planes, picture.planes, strict=True):
        np.copyto(into, plane)
    return sent


def _up(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
