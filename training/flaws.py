"""What looks wrong with a painted face, learnt from people who were looked at.

Sums of parts have flaws that no part has: an eye unlike the other, smeared, black or white eyes,
the shadow of a brim, patches on nose or lip, half a moustache, specks, milky mouths. `flaws.npz`
holds the latents of people who were looked at as they are painted at rest, in even light or under
an everyday lamp, and `flaws.csv` what was seen of each: 0 for what passes for a photograph, 1 for
what may, 2 where a stranger would say that something is wrong with this face.

A logistic regression on how the two sides of a portrait differ, on its detail of four sizes, place
by place, and on how sure the landmark network is of itself, tells of people who were not looked at.
Where it refuses half of all, it refuses seven in ten of the flawed, held out: it thins them out and
leaves too many. So whoever was looked at is judged by what was seen, see `training.donors`.
"""

import csv
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from training.logistic import LogisticModel, fitted

__all__ = ["FLAWED", "Seen", "features", "fit_flaws", "held_out", "read_seen"]

LABELS: Final = Path(__file__).parent / "flaws.csv"
LATENTS: Final = Path(__file__).parent / "flaws.npz"
FLAWED: Final = 2
"""What was seen of people who do not pass for photographed ones."""
RIDGE: Final = 1.0
FOLDS: Final = 8
SAME: Final = 0.5
"""Distance of latents up to which two are one person, computed twice; others are 10 apart."""
_CELLS: Final = 16
"""Across a portrait; what is seen is averaged in them."""
_BLURS_PX: Final = (1.0, 2.0, 4.0, 8.0)
"""Deviations between which detail is told apart, of portraits of 128 px."""
_DOUBT: Final = 0.3
"""What doubt may weigh, where all cells together may weigh 1."""
_AT_ONCE: Final = 200

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Seen:
    """People who were looked at.

    Attributes:
        latents: float32[M, 512].
        verdict: int64[M]; 0, 1 or FLAWED.
    """

    latents: Float32
    verdict: Int64

    def row_of(self, latents: Float32) -> Int64:
        """Which of them people float32[N, 512] are, int64[N]; -1 for people not looked at.

        >>> seen = Seen(np.eye(2, dtype=np.float32), np.array([0, 2]))
        >>> seen.row_of(np.array([[0, 1.001], [1, 1]], np.float32)).tolist()
        [1, -1]
        """
        found = np.full(len(latents), -1, np.int64)
        lengths = np.square(self.latents).sum(axis=1)
        for start in range(0, len(latents), _AT_ONCE):
            part = latents[start : start + _AT_ONCE]
            squares = lengths - 2 * part @ self.latents.T + np.square(part).sum(axis=1)[:, None]
            nearest = squares.argmin(axis=1)
            is_same = squares[np.arange(len(part)), nearest] < SAME**2
            found[start : start + _AT_ONCE] = np.where(is_same, nearest, -1)
        return found


def read_seen() -> Seen:
    """Everybody who was looked at."""
    with np.load(LATENTS, allow_pickle=False) as file:
        latents = np.asarray(file["latents"], np.float32)
    with LABELS.open(newline="") as file:
        verdict = {int(row["person"]): int(row["seen"]) for row in csv.DictReader(file)}
    return Seen(latents, np.array([verdict[row] for row in range(len(latents))], np.int64))


def features(portraits: UInt8, doubt: Float32) -> Float32:
    """What is told of people by their portraits.

    Args:
        portraits: at rest in even light, uint8[N, 128, 128, 3] BGR.
        doubt: of the landmark network, float32[N]; see `engines.swapper.Control`.

    Returns:
        float32[N, E]: differences of the sides and detail of each size, in cells; then doubt.

    >>> features(np.zeros((2, 128, 128, 3), np.uint8), np.ones(2, np.float32)).shape
    (2, 1281)
    """
    found = np.stack([_in_cells(portrait) for portrait in portraits])
    return np.concatenate([found, doubt[:, None]], axis=1).astype(np.float32)


def _in_cells(portrait: UInt8) -> Float32:
    """Differences of the sides and detail of each size, float32[5 * 256] in [0, 2]."""
    luma = cv2.cvtColor(portrait, cv2.COLOR_BGR2GRAY).astype(np.float32) / np.float32(127.5)
    blurred = [luma, *(cv2.GaussianBlur(luma, (0, 0), deviation) for deviation in _BLURS_PX)]
    pairs = [(luma, luma[:, ::-1]), *pairwise(blurred)]
    size = (_CELLS, _CELLS)
    cells = [cv2.resize(np.abs(a - b), size, interpolation=cv2.INTER_AREA) for a, b in pairs]
    return np.asarray(np.stack(cells).ravel(), np.float32)


def fit_flaws(found: Float32, verdict: Int64) -> LogisticModel:
    """Fit what may be a photograph as half flawed.

    Args:
        found: features of people who were looked at, float32[M, E].
        verdict: of them, int64[M].
    """
    mean, spread = found.mean(axis=0), found.std(axis=0) + np.float32(1e-6)
    spread[:-1] *= np.float32(np.sqrt(found.shape[1] - 1))
    spread[-1] /= np.float32(_DOUBT)
    wanted = verdict / FLAWED
    return fitted(found, wanted, np.ones(len(wanted)), (mean, spread), RIDGE)


def held_out(found: Float32, verdict: Int64, refused: float) -> dict[str, float]:
    """How well a fit tells people that it was not fitted to.

    Args:
        found: features of people who were looked at, float32[M, E].
        verdict: of them, int64[M].
        refused: share of people with the highest scores who are refused, 0 to 1.

    Returns:
        Area under the curve of the flawed among all; shares of the flawed, and of those who pass
        for photographed, that are refused.
    """
    fold = np.random.default_rng(0).integers(0, FOLDS, len(found))
    scores = np.empty(len(found), np.float32)
    for turn in range(FOLDS):
        own = fold == turn
        scores[own] = fit_flaws(found[~own], verdict[~own]).scores(found[own])
    is_flawed, is_refused = verdict == FLAWED, scores > np.quantile(scores, 1 - refused)
    rank = np.argsort(np.argsort(scores))[is_flawed]
    below = rank.sum() - len(rank) * (len(rank) - 1) / 2
    return {
        "flaws_auc": float(below / (len(rank) * (~is_flawed).sum())),
        "flaws_found": float(is_refused[is_flawed].mean()),
        "flaws_mistaken": float(is_refused[verdict == 0].mean()),
    }
