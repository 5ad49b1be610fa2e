"""Verification: whether two faces are called one person at a fixed false match rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.intervals import Proportion, clustered

__all__ = ["Threshold", "Verification", "area_under_curve", "genuine_and_impostor"]
__all__ += ["threshold_at_fmr", "verification_from_scores"]

Scores = NDArray[np.float32]
CURVE_POINTS = 101


@dataclass(frozen=True, slots=True)
class Threshold:
    """A decision threshold fixed on pairs of originals.

    Attributes:
        value: cosine above which two faces match; larger matches less.
        fmr: the false match rate it was made for.
        impostor_pairs: pairs of different people it was fixed on.
    """

    value: float
    fmr: float
    impostor_pairs: int


@dataclass(frozen=True, slots=True)
class Verification:
    """Verification of probes against references at a threshold of originals.

    Attributes:
        tar: share of genuine pairs above the threshold (true accept rate).
        strangers_matched: share of pairs of different people above the threshold; where it
            is far from the rate that the threshold was made for, the outputs look alike to
            the recogniser, or like nobody.
        auc: chance that a genuine pair outscores an impostor pair; 0.5 tells nothing.
        curve: (101, 2) false and true match rates of these scores.
    """

    tar: Proportion
    strangers_matched: float
    auc: float
    curve: NDArray[np.float64]


def genuine_and_impostor(
    scores: Scores, probes: NDArray[np.int64], gallery: NDArray[np.int64]
) -> tuple[Scores, Scores]:
    """Splits a (P, G) score matrix into scores of the same and of different people."""
    same = probes[:, None] == gallery[None, :]
    return scores[same], scores[~same]


def threshold_at_fmr(impostor: Scores, fmr: float = 1e-3) -> Threshold:
    """The smallest threshold that at most `fmr` of the impostor scores exceed.

    Args:
        impostor: (N,) scores of pairs of different people, originals only.
        fmr: false match rate; a smaller one matches less.

    Raises:
        ValueError: fewer than 1 ÷ fmr pairs, which cannot show such a rate.

    >>> threshold_at_fmr(np.arange(1000, dtype=np.float32), 0.01).value
    989.0
    """
    if impostor.size * fmr < 1:
        message = f"{impostor.size} impostor pairs cannot fix a threshold at FMR {fmr}: add people"
        raise ValueError(message)
    allowed = int(np.floor(impostor.size * fmr))
    value = np.partition(impostor, impostor.size - 1 - allowed)[impostor.size - 1 - allowed]
    return Threshold(float(value), fmr, int(impostor.size))


def area_under_curve(genuine: Scores, impostor: Scores) -> float:
    """Mann–Whitney estimate of the area under the ROC curve; ties count half.

    >>> area_under_curve(np.array([1, 3], np.float32), np.array([0, 2], np.float32))
    0.75
    """
    if not genuine.size or not impostor.size:
        return 0.5
    ordered = np.sort(impostor)
    below = np.searchsorted(ordered, genuine, side="left")
    up_to = np.searchsorted(ordered, genuine, side="right")
    return float((below + up_to).mean() / (2 * impostor.size))


def verification_from_scores(
    scores: Scores,
    probes: NDArray[np.int64],
    gallery: NDArray[np.int64],
    threshold: float,
) -> Verification:
    """TAR at a threshold of originals, AUC and curve.

    Args:
        scores: (P, G) similarity of probes and gallery.
        probes: (P,) person of each probe.
        gallery: (G,) person of each gallery image.
        threshold: fixed on pairs of originals, never on these scores.
    """
    genuine, impostor = genuine_and_impostor(scores, probes, gallery)
    owners = np.broadcast_to(probes[:, None], scores.shape)[probes[:, None] == gallery[None, :]]
    tar = clustered(genuine > threshold, owners)
    strangers = float((impostor > threshold).mean()) if impostor.size else 0.0
    area = area_under_curve(genuine, impostor)
    return Verification(tar, strangers, area, _curve(genuine, impostor))


def _curve(genuine: Scores, impostor: Scores) -> NDArray[np.float64]:
    """False and true match rates, evenly spaced on a logarithmic axis of the false one."""
    false_rates = np.concatenate([[0.0], np.logspace(-4, 0, CURVE_POINTS - 1)])
    if not genuine.size or not impostor.size:
        return np.stack([false_rates, false_rates], axis=1)
    edges = np.quantile(impostor, 1 - false_rates)
    true_rates = 1 - np.searchsorted(np.sort(genuine), edges, side="right") / genuine.size
    true_rates[-1] = 1.0
    return np.stack([false_rates, true_rates], axis=1)
