"""Who wears glasses, by the edges around the eyes of a texture's luma.

Nobody is made of people with glasses: half of a frame is left in a mixture with others, and a
choice of people unlike each other takes these first. `glasses.csv` names crops that were looked
at, and says of each whether glasses are seen and whether it was drawn at random or sought among
those that an earlier fit took for them.
"""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from training.logistic import LogisticModel, fitted

__all__ = ["Labels", "edges", "fit_glasses", "found_and_mistaken", "read_labels"]

LABELS: Final = Path(__file__).parent / "glasses.csv"
RIDGE: Final = 0.1
FOLDS: Final = 5
_EYES: Final = (slice(32, 89), slice(8, 121))
"""Rows and columns of the texture from brows to cheeks, one more than edges are taken of."""
_CELL: Final = (4, 8)
"""Height and width in which edges are averaged, px."""

Float32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Labels:
    """What was seen on crops.

    Attributes:
        crops: int64[M], their rows in the prepared data.
        has_glasses: bool[M].
        is_random: bool[M], drawn at random among all, so that shares mean something.
    """

    crops: npt.NDArray[np.int64]
    has_glasses: Bool
    is_random: Bool


def read_labels(data: Path) -> Labels:
    """Labels of the crops that are in a folder of prepared data."""
    names = json.loads((data / "names.json").read_text())
    place = {row["name"]: number for number, row in enumerate(names)}
    with LABELS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] in place]
    return Labels(
        np.array([place[row["name"]] for row in rows], np.int64),
        np.array([row["glasses"] == "1" for row in rows], np.bool_),
        np.array([row["drawn"] == "random" for row in rows], np.bool_),
    )


def edges(luma: Float32) -> Float32:
    """Mean edges around the eyes: upward, downward, to the left and right, in cells.

    Args:
        luma: of textures, float32[N, 128, 128].

    Returns:
        float32[N, E].

    >>> edges(np.zeros((2, 128, 128), np.float32)).shape
    (2, 784)
    """
    part = luma[:, *_EYES]
    found = []
    for slope in (np.diff(part, axis=1)[:, :, :-1], np.diff(part, axis=2)[:, :-1]):
        for side in (np.maximum(slope, 0), np.maximum(-slope, 0)):
            count, height, width = side.shape
            cells = side.reshape(count, height // _CELL[0], _CELL[0], width // _CELL[1], _CELL[1])
            found.append(cells.mean(axis=(2, 4)).reshape(count, -1))
    return np.concatenate(found, axis=1)


def fit_glasses(seen: Float32, has_glasses: Bool, everybody: Float32) -> LogisticModel:
    """Fit both classes as if there were as many of each.

    Args:
        seen: edges of labelled textures, float32[M, E].
        has_glasses: bool[M].
        everybody: edges of all textures, float32[N, E]; they give mean and spread.
    """
    mean, spread = everybody.mean(axis=0), everybody.std(axis=0) + np.float32(1e-9)
    counts = 1.0 / np.where(has_glasses, has_glasses.sum(), (~has_glasses).sum())
    return fitted(seen, has_glasses.astype(np.float64), counts, (mean, spread), RIDGE)


def found_and_mistaken(
    seen: Float32, labels: Labels, everybody: Float32, free_share: float
) -> tuple[float, float]:
    """Shares of crops drawn at random with and without glasses that are refused, held out.

    Args:
        seen: edges of the labelled textures, float32[M, E].
        labels: of them.
        everybody: edges of all textures, float32[N, E].
        free_share: share of everybody that is let pass.
    """
    fold = np.random.default_rng(0).integers(0, FOLDS, len(seen))
    is_refused = np.zeros(len(seen), np.bool_)
    for turn in range(FOLDS):
        own = fold == turn
        model = fit_glasses(seen[~own], labels.has_glasses[~own], everybody)
        limit = np.quantile(model.scores(everybody), free_share)
        is_refused[own] = model.scores(seen[own]) > limit
    of_glasses = is_refused[labels.is_random & labels.has_glasses]
    of_others = is_refused[labels.is_random & ~labels.has_glasses]
    return float(of_glasses.mean()), float(of_others.mean())
