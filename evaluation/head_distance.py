"""How far swapped heads are from the heads of other people, beside how far real ones are (P8).

The people of all clips are dealt into two halves, many times. The Fréchet distance in a network's
feature space between the swapped heads of one half and the untouched ones of the other is divided
by the distance between both halves untouched: 1 where swapped heads are as heads are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from evaluation.blind_sheet import Head
from evaluation.errors import TooFewPeople
from evaluation.metrics.frechet import frechet_distance

__all__ = ["HeadDistance", "HeadFeatures", "head_distance"]

_DEALS: Final = 20
_LEAST_PEOPLE: Final = 4
Float32 = NDArray[np.float32]


class HeadFeatures(Protocol):
    """A network that turns pictures into features."""

    def embed_crops(self, crops: NDArray[np.uint8]) -> Float32:
        """(N, D) unit rows of (N, side, side, 3) uint8 BGR pictures."""


@dataclass(frozen=True, slots=True)
class HeadDistance:
    """Distances over all deals.

    Attributes:
        heads: that were compared, each before and after.
        people: whose they are.
        ratio: distance of swapped heads over that of real ones, means over the deals.
        lowest: of the ratios of single deals.
        highest: likewise.
    """

    heads: int
    people: int
    ratio: float
    lowest: float
    highest: float


def head_distance(
    heads: Sequence[Head], features: HeadFeatures, side_px: int, seed: int = 0
) -> HeadDistance:
    """Compares heads before and after.

    Args:
        heads: of all clips; which side of each would be shown does not matter.
        features: the network.
        side_px: of the pictures that it takes.
        seed: decides the deals.

    Raises:
        TooFewPeople: fewer than four people.
        EngineFault: the network failed.
    """
    people = np.array([head.person for head in heads])
    names = np.unique(people)
    if len(names) < _LEAST_PEOPLE:
        raise TooFewPeople(f"{len(names)} people: {_LEAST_PEOPLE} are needed, give more clips")
    shown = [head.original for head in heads] + [head.anonymized for head in heads]
    before, after = _turned(features.embed_crops(_squares(shown, side_px)))
    random = np.random.default_rng(seed)
    found = []
    for _ in range(_DEALS):
        is_here = np.isin(people, random.permutation(names)[: len(names) // 2])
        others = before[~is_here]
        found.append([frechet_distance(part[is_here], others) for part in (after, before)])
    swapped, real = np.array(found).T
    ratios = swapped / real
    return HeadDistance(
        heads=len(heads),
        people=len(names),
        ratio=float(swapped.mean() / real.mean()),
        lowest=float(ratios.min()),
        highest=float(ratios.max()),
    )


def _turned(features: Float32) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both halves of the rows in the axes that they span: equal distances, and fewer numbers."""
    axes = np.linalg.svd(features.astype(np.float64), full_matrices=False)[2]
    first, second = np.split(features @ axes.T, 2)
    return first, second


def _squares(images: Sequence[BgrImage], side_px: int) -> NDArray[np.uint8]:
    """Pictures at one size; heads at the edge of a frame are filled up with their own edge."""
    squares = []
    for image in images:
        height, width = image.shape[:2]
        side = max(height, width)
        bounds = (0, side - height, 0, side - width, cv2.BORDER_REPLICATE)
        whole = cv2.copyMakeBorder(image, *bounds)
        squares.append(cv2.resize(whole, (side_px, side_px), interpolation=cv2.INTER_AREA))
    return np.stack(squares).astype(np.uint8, copy=False)
