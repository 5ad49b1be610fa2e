"""Reads where hair begins and ends above a swapped face, off what is around it.

A small network marks hair around a face of which it sees nothing but the mean colour: what lies
under the patch is hidden from it. Along every ray that points up come skin beyond the patch, hair
and what is behind the head; either of the first two may be missing. Both borders are drawn as
shortest paths from ray to ray (dynamic programming, after Amini, Weymouth and Jain 1990) through
what the network tells. A cap or a scarf may count as hair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Session
from engines.errors import EngineFault, ModelRejected
from engines.polar import (
    GRID,
    RAYS,
    REACH,
    STEPS,
    UP,
    distances,
    ellipse,
    grid_from_rays,
    rays_from_grid,
)
from engines.stylegan.drawing import rise

__all__ = ["OUTLINE", "RATHER", "Hair", "HairNetwork", "HairReader", "hair_from_stack"]

_UPPER: Final = np.flatnonzero(UP > 0.15)
"""The rays that are read, one beside the other."""
OUTLINE: Final = ellipse(0.95, 0.72, 0.6)
"""Where hair ends on most heads around the middle of a patch, float32[RAYS]."""
_UNUSUAL: Final = 0.16
_USUAL: Final = 0.6
"""How far from there hair ends before it counts, and how much that counts against what is seen."""
RATHER: Final = 1.5
_SUREST: Final = 3.0
"""What is added to the network's logits, and how much a single place may say for hair or against
it. A head whose hair is overlooked keeps the hairline that tells of it; see item 7 of
`docs/training.md`."""
_SURELY: Final = (0.5, 2.5)
"""Logits between which a place becomes hair for sure."""
_JUMP: Final = 0.35
_MOST_STEPS: Final = 2
"""What a step of a border from ray to ray costs, and how many it may take."""
_NEVER: Final = np.float32(1e3)

_STEP: Final = np.float32(REACH / STEPS)
_EDGES: Final = np.arange(STEPS + 1, dtype=np.float32)[None] * _STEP

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hair:
    """Where hair is on each ray; none where both are equal.

    Attributes:
        begins: float32[RAYS], shares of the patch's side, never inside the patch.
        ends: float32[RAYS], no less.
        places: float32[RAYS, STEPS], how surely each place is hair, 0 to 1.
        hidden: float32[RAYS], how much of that width was not seen, but must be there.
    """

    begins: Float32
    ends: Float32
    places: Float32
    hidden: Float32

    def stacked(self) -> Float32:
        """All of it in one array, float32[3 + STEPS, RAYS]."""
        rays = (self.begins[None], self.ends[None], self.hidden[None])
        return np.concatenate([*rays, self.places.T])


def hair_from_stack(stack: Float32) -> Hair:
    """The inverse of `Hair.stacked`, of any stacks' mean or median."""
    return Hair(stack[0], stack[1], np.ascontiguousarray(stack[3:].T), stack[2])


class HairReader(Protocol):
    """Reads the hair around a face."""

    def read(self, around: Float32, hidden: Float32, skin: Float32) -> Hair:
        """See `HairNetwork.read`."""


class HairNetwork:
    """Reads hair with a network.

    Args:
        network: `around` float32[1, 4, GRID, GRID] in [-1, 1], RGB and where the patch is ->
            `hair` float32[1, 1, GRID, GRID], logits.

    Raises:
        ModelRejected: its inputs or outputs have other names or shapes.
    """

    def __init__(self, network: Session) -> None:
        fed = {one.name: one.shape[1:] for one in network.inputs}
        told = {one.name: one.shape[1:] for one in network.outputs}
        if fed != {"around": (4, GRID, GRID)} or told != {"hair": (1, GRID, GRID)}:
            raise ModelRejected("this network reads no hair; restore the model pack")
        self._network = network

    def read(self, around: Float32, hidden: Float32, skin: Float32) -> Hair:
        """Where hair begins and ends.

        Args:
            around: float32[GRID, GRID, 3] BGR, what is around the face.
            hidden: float32[RAYS], where the patch ends.
            skin: float32[3] BGR of the painted face.

        Raises:
            EngineFault: the network failed.
        """
        patch = grid_from_rays((hidden[:, None] - distances())[..., None]) > 0
        seen = np.where(patch[..., None], skin, around)[..., ::-1].transpose(2, 0, 1)
        fed = np.concatenate([seen, 255.0 * patch[None]]).astype(np.float32)[None]
        told = self._network.run({"around": fed / np.float32(127.5) - np.float32(1)})["hair"]
        if not np.isfinite(told).all():
            raise EngineFault("the hair network returned values that are not numbers")
        return _borders(rays_from_grid(told.reshape(GRID, GRID, 1)).reshape(RAYS, STEPS), hidden)


def _borders(told: Float32, hidden: Float32) -> Hair:
    """Where hair is by the logits of places float32[RAYS, STEPS]."""
    hides = hidden[_UPPER][:, None]
    evidence = np.clip(told[_UPPER] + RATHER, -_SUREST, _SUREST) * (distances() > hides)
    sums = np.pad(np.cumsum(evidence, axis=1, dtype=np.float32), ((0, 0), (1, 0)))
    most = sums - np.minimum.accumulate(sums, axis=1)
    unusual = _unusual(_EDGES - OUTLINE[_UPPER][:, None])
    ends = _shortest(np.asarray(unusual - most, np.float32))
    after = np.arange(STEPS + 1)[None] > ends[:, None]
    begins = _shortest(np.where(after, _NEVER, sums).astype(np.float32))
    first = np.maximum(begins * _STEP, hidden[_UPPER])
    last = np.maximum(ends * _STEP, first)
    # Hair that comes into view grows out of the patch, whatever was between two readings.
    first, last = np.where(last > first, (first, last), hidden[_UPPER])
    return Hair(
        _everywhere(first, hidden),
        _everywhere(last, np.maximum(OUTLINE, hidden)),
        rise(told, *_SURELY),
        np.zeros(RAYS, np.float32),
    )


def _shortest(costs: Float32) -> Int64:
    """A border across rays that goes to and fro as little as is worth it: int64[N].

    Args:
        costs: float32[N, S] of a border at each step.

    >>> costs = np.ones((3, 9), np.float32)
    >>> costs[0, 4] = costs[2, 5] = 0
    >>> _shortest(costs).tolist() in ([4, 4, 5], [4, 5, 5])
    True
    """
    count, steps = costs.shape
    turns = np.float32(_JUMP) * np.abs(np.arange(-_MOST_STEPS, _MOST_STEPS + 1), dtype=np.float32)
    around = np.full(steps + 2 * _MOST_STEPS, _NEVER * _NEVER, np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(around, len(turns))
    came = np.zeros((count, steps), np.int64)
    places, total = np.arange(steps), costs[0].copy()
    for row in range(1, count):
        around[_MOST_STEPS:-_MOST_STEPS] = total
        ways = windows + turns
        best = ways.argmin(axis=1)
        came[row] = places + best - _MOST_STEPS
        total = ways[places, best] + costs[row]
    border = np.zeros(count, np.int64)
    border[-1] = total.argmin()
    for row in range(count - 1, 0, -1):
        border[row - 1] = came[row, border[row]]
    return border


def _unusual(away: Float32) -> Float32:
    square = np.float32(0.5 * _USUAL) * np.square(away / np.float32(_UNUSUAL))
    return np.asarray(square / (1 + square / 4), np.float32)


def _everywhere(upper: Float32, others: Float32) -> Float32:
    """Values of the upper rays among those of the others, float32[RAYS]."""
    values = np.array(others[:RAYS], np.float32)
    values[_UPPER] = upper
    return values
