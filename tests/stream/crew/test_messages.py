"""Pictures and layers come out of shared memory as they went in."""

from __future__ import annotations

import numpy as np
import pytest

from engines.blending.patches import Placed
from engines.pictures import Layout, Picture, Plane
from stream.crew.messages import SentArrays, SentLayer, picture_bytes, show_picture
from stream.crew.shared_blocks import MappedBlock

pytestmark = pytest.mark.unit

LAYOUTS: list[tuple[Layout, int]] = [
    ("yuv420", 8),
    ("yuv420", 10),
    ("yuv422", 8),
    ("yuv444", 12),
    ("gray", 8),
    ("bgr", 8),
]


def picture_of(layout: Layout, depth: int, height: int = 45, width: int = 67) -> Picture:
    half = (-(-height // 2), -(-width // 2))
    chroma = {"yuv420": half, "yuv422": (height, half[1]), "yuv444": (height, width)}
    shapes: list[tuple[int, ...]] = [(height, width, 3) if layout == "bgr" else (height, width)]
    shapes += [chroma[layout]] * 2 if layout in chroma else []
    rng = np.random.default_rng(3)
    samples = [rng.integers(0, 1 << depth, shape) for shape in shapes]
    if depth == 8:
        planes: tuple[Plane, ...] = tuple(one.astype(np.uint8) for one in samples)
    else:
        planes = tuple(one.astype(np.uint16) for one in samples)
    return Picture(planes, layout, depth, "bt601", True)


def block_of(size: int) -> MappedBlock:
    return MappedBlock(7, -1, np.zeros(size, np.uint8))


@pytest.mark.parametrize(("layout", "depth"), LAYOUTS)
def test_picture_is_seen_as_it_is(layout: Layout, depth: int) -> None:
    picture = picture_of(layout, depth)
    block = block_of(picture_bytes(picture))
    seen = show_picture(picture, block).seen_in(block.content)
    assert (seen.layout, seen.bit_depth) == (picture.layout, picture.bit_depth)
    assert (seen.matrix, seen.is_full_range) == (picture.matrix, picture.is_full_range)
    for plane, own in zip(seen.planes, picture.planes, strict=True):
        assert np.array_equal(plane, own)


@pytest.mark.parametrize("room", [1 << 20, 16])
@pytest.mark.parametrize(("layout", "depth"), LAYOUTS)
def test_layer_is_laid_as_by_the_process_itself(layout: Layout, depth: int, room: int) -> None:
    rng = np.random.default_rng(4)
    pixels = rng.uniform(0, 255, (33, 41, 3)).astype(np.float32)
    alpha = rng.uniform(0, 1, (33, 41)).astype(np.float32)
    expected, picture = picture_of(layout, depth), picture_of(layout, depth)
    expected.blend(4, 6, pixels, alpha)
    block = np.zeros(room, np.uint8)
    sent, _ = SentLayer.of(Placed(4, 6, pixels, alpha), picture, block, 0)
    sent.seen_in(block).lay(picture)
    for plane, own in zip(picture.planes, expected.planes, strict=True):
        assert np.array_equal(plane, own)


def test_what_does_not_fit_takes_no_room() -> None:
    block = np.zeros(4096, np.uint8)
    large, small = np.ones((64, 64), np.float32), np.ones((8, 8), np.float32)
    first, start = SentArrays.of([large], block, 0)
    second, end = SentArrays.of([small, small], block, start)
    assert (start, end) == (0, 512)
    assert np.array_equal(first.seen_in(block)[0], large)
    assert all(np.array_equal(one, small) for one in second.seen_in(block))
