"""StyleID (2023), Section 4: blocks of channels are exchanged, the best ranked ones first.

A channel is one coordinate of the generator's directions, in all of its layers: this
generator's layers all hold the same latent, so a channel of one layer means little. Blocks of
1, 2, 4 … up to all channels play the paper's 1 … 512.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from evaluation.faces import Faces
from evaluation.methods.disentanglement import code_swap, score_swaps
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.latents import TargetSwap
from evaluation.methods.method import Kind

__all__ = ["ChannelSwap", "Ranking", "blocks_of", "chosen_channels"]
__all__ += ["LAYER_LIKE", "block_size", "rank_blocks"]

LAYER_LIKE: Final = 18
"""Blocks that the channels are cut into where they play the layers of the paper's StyleGAN."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Blocks of channels by how well they disentangle identity.

    Attributes:
        channels: C.
        size: channels per block; the last block may hold fewer.
        order: (B,) int64 blocks, best first.
        scores: (B,) float64 Eq. 3 of each block, in their own order.
    """

    channels: int
    size: int
    order: NDArray[np.int64]
    scores: NDArray[np.float64]


def block_size(channels: int) -> int:
    """Channels of a block that plays a layer.

    >>> block_size(144)
    8
    """
    return -(-channels // LAYER_LIKE)


def blocks_of(channels: int, size: int) -> list[Bools]:
    """Masks of consecutive blocks.

    >>> [int(block.sum()) for block in blocks_of(10, 4)]
    [4, 4, 2]
    """
    number = np.arange(channels) // size
    return [number == block for block in range(-(-channels // size))]


def rank_blocks(generator: PeopleGenerator, size: int, pairs: int = 12) -> Ranking:
    """Scores each block on its own (Fig. 3b) and orders them greedily.

    Args:
        generator: tries the swaps.
        size: channels per block; smaller ones choose finer and take longer.
        pairs: synthetic people per block.

    Raises:
        EngineFault: a network failed.
    """
    directions = generator.directions
    swaps = [code_swap(directions, block) for block in blocks_of(directions.count, size)]
    scores = score_swaps(generator, swaps, pairs).scores
    order = np.argsort(-scores, kind="stable").astype(np.int64)
    return Ranking(directions.count, size, order, scores)


def chosen_channels(ranking: Ranking, channels: int) -> Bools:
    """Mask of the best blocks that together hold at least so many channels.

    >>> ranking = Ranking(4, 2, np.array([1, 0]), np.zeros(2))
    >>> chosen_channels(ranking, 1).tolist()
    [False, False, True, True]
    """
    blocks = blocks_of(ranking.channels, ranking.size)
    chosen = np.zeros(ranking.channels, np.bool_)
    for block in ranking.order:
        if int(chosen.sum()) >= channels:
            break
        chosen |= blocks[int(block)]
    return chosen


@dataclass(slots=True)
class ChannelSwap(TargetSwap):
    """The best ranked channels come from a random target, the others stay the person's.

    Attributes:
        generator: encodes, renders and ranks.
        share: of the channels that is exchanged, 0…1; more hides more and keeps less.
        size: channels per block; an eighteenth of them when None.
    """

    generator: PeopleGenerator
    use: ClassVar[str] = "channels"
    share: float = 0.5
    size: int | None = None
    name: str = "StyleID channels"
    kind: Kind = "mean"
    _ranking: Ranking | None = None

    def fit(self, donors: Faces) -> None:
        """Ranks the blocks once, on synthetic people."""
        if self._ranking is None:
            size = self.size or block_size(self.generator.directions.count)
            self._ranking = rank_blocks(self.generator, size)

    @property
    def chosen(self) -> Bools:
        """(C,) the channels that are exchanged, after `fit`."""
        assert self._ranking is not None
        return chosen_channels(self._ranking, round(self.share * self._ranking.channels))

    def _swapped(self, own: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
        return code_swap(self.generator.directions, self.chosen)(own, other)
