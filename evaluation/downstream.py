"""Downstream use: a classifier trained on anonymized faces and tested on originals.

As in k-SALSA Table 2 and FPSP Table 4: who gets a set of anonymized faces wants to train on
it. The features are gradients of the pixels, so that no face recogniser has a say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.faces import crop_window
from evaluation.labels import Attribute
from evaluation.metrics.intervals import Proportion, clustered

__all__ = ["LEAST_FACES", "DownstreamUse", "cohens_kappa", "downstream_use", "gradient_features"]

_SIDE: Final = 64
_CELL: Final = 8
_DIRECTIONS: Final = 9
LEAST_FACES: Final = 20
"""Faces with a known label, below which nothing is learnt or judged."""


@dataclass(frozen=True, slots=True)
class DownstreamUse:
    """How well an attribute is learnt from a release.

    Attributes:
        attribute: what is told apart.
        accuracy: share of the originals of other people that are classified rightly.
        balanced: mean accuracy over the values, so that the commonest one is no answer.
        kappa: Cohen's κ; 0 is chance, 1 is perfect.
        guess: share of the commonest value in the test.
        trained_on: faces with a known label.
    """

    attribute: str
    accuracy: Proportion
    balanced: float
    kappa: float
    guess: float
    trained_on: int


def gradient_features(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(N, 576) histograms of gradient directions in 8×8 cells of the kveil crop.

    Args:
        images: (N, S, S, 3) uint8 BGR portraits.

    Returns:
        Each row has length 1.
    """
    rows = np.zeros((len(images), (_SIDE // _CELL) ** 2 * _DIRECTIONS), np.float32)
    crops = images[:, *crop_window()]
    for row, crop in zip(rows, crops, strict=True):
        grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
        grey = cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
        across, down = cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1)
        strength = np.sqrt(across**2 + down**2)
        angle = np.mod(np.arctan2(down, across), np.pi) / np.pi * _DIRECTIONS
        direction = np.minimum(angle.astype(int), _DIRECTIONS - 1)
        y, x = np.mgrid[:_SIDE, :_SIDE] // _CELL
        place = (y * (_SIDE // _CELL) + x) * _DIRECTIONS + direction
        row += np.bincount(place.ravel(), strength.ravel(), len(row)).astype(np.float32)
    rows = np.sqrt(rows)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, 1e-6), np.float32)


def downstream_use(
    release: NDArray[np.float32],
    labels: Sequence[Attribute],
    test: NDArray[np.float32],
    test_labels: Sequence[Attribute],
    persons: NDArray[np.int64],
) -> list[DownstreamUse]:
    """Trains on a release and tests on originals of other people, per attribute.

    Args:
        release: (N, D) `gradient_features` of anonymized faces.
        labels: of these faces, as of their originals.
        test: (M, D) features of originals.
        test_labels: of these, in the same order of attributes.
        persons: (M,) who they are.
    """
    from sklearn.linear_model import RidgeClassifier

    uses = []
    for known, wanted in zip(labels, test_labels, strict=True):
        train, judged = known.values >= 0, wanted.values >= 0
        if min(int(train.sum()), int(judged.sum())) < LEAST_FACES:
            continue
        if len(np.unique(known.values[train])) < 2 or len(np.unique(wanted.values[judged])) < 2:
            continue
        model = RidgeClassifier(alpha=1.0, class_weight="balanced")
        model.fit(release[train], known.values[train])
        answers = np.asarray(model.predict(test[judged]), np.int64)
        truth = wanted.values[judged]
        uses.append(
            DownstreamUse(
                known.name,
                clustered(answers == truth, persons[judged]),
                _balanced(answers, truth),
                cohens_kappa(answers, truth, len(known.names)),
                float(np.bincount(truth).max() / len(truth)),
                int(train.sum()),
            )
        )
    return uses


def _balanced(answers: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return float(np.mean([(answers[truth == value] == value).mean() for value in np.unique(truth)]))


def cohens_kappa(answers: NDArray[np.int64], truth: NDArray[np.int64], values: int) -> float:
    """Cohen's κ: agreement beyond what the shares of the values give by luck.

    >>> cohens_kappa(np.array([0, 1, 2]), np.array([0, 1, 2]), 3)
    1.0
    """
    seen = np.zeros((values, values))
    np.add.at(seen, (truth, answers), 1)
    share = seen / max(1, len(truth))
    by_luck = float((share.sum(1) * share.sum(0)).sum())
    return (float(np.trace(share)) - by_luck) / (1 - by_luck) if by_luck < 1 else 0.0
