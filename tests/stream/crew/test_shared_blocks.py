"""Memory without a name is given out, taken back, and bounded."""

from __future__ import annotations

import os

import pytest

from engines.errors import EngineFault
from stream.crew.shared_blocks import MappedBlock, SharedBlocks, can_share

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(not can_share(), reason="needs memory without a name"),
]


def test_what_one_process_writes_the_other_reads() -> None:
    blocks = SharedBlocks()
    block = blocks.take(100_000)
    seen = MappedBlock.of(block.number, block.descriptor, block.content.size)
    block.content[:3] = (1, 2, 3)
    assert seen.content[:3].tolist() == [1, 2, 3]
    blocks.close()


def test_blocks_have_no_name_in_any_folder() -> None:
    blocks = SharedBlocks()
    block = blocks.take(1)
    assert os.fstat(block.descriptor).st_nlink == 0
    blocks.close()


def test_block_that_was_given_back_is_taken_again() -> None:
    blocks = SharedBlocks()
    first = blocks.take(70_000)
    blocks.give_back(first)
    assert blocks.take(100_000).number == first.number
    assert blocks.take(100_000).number != first.number
    blocks.close()


def test_free_blocks_of_other_sizes_make_room() -> None:
    blocks = SharedBlocks(most_bytes=1 << 18)
    small = [blocks.take(1 << 16) for _ in range(4)]
    with pytest.raises(EngineFault):
        blocks.take(1 << 17)
    for block in small:
        blocks.give_back(block)
    large = blocks.take(1 << 17)
    assert blocks.numbers == {large.number}
    blocks.close()


def test_what_is_given_back_after_the_end_is_let_go() -> None:
    blocks = SharedBlocks()
    block = blocks.take(1)
    blocks.close()
    blocks.give_back(block)
    assert not blocks.numbers
