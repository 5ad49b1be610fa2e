"""Whether a face still shows the attributes that it showed: one by one, and all together.

A small classifier on gradients of the pixels learns an attribute from untouched originals of
people outside the test. It reads every face before and after; no face recogniser and no network
of kveil's has a say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.downstream import LEAST_FACES, cohens_kappa
from evaluation.labels import Attribute
from evaluation.metrics.intervals import Proportion, clustered

__all__ = ["AttributeKept", "AttributeReader", "attribute_readers", "attributes_kept"]

Features = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AttributeKept:
    """How far an attribute outlives a method.

    Attributes:
        attribute: what is read.
        same: share of faces that read as before.
        kappa: Cohen's κ of before and after; 0 is luck, 1 is every face as before.
        shift: total variation distance of the values' shares before and after, 0…1: what
            becomes of the crowd, whoever shows what.
    """

    attribute: str
    same: Proportion
    kappa: float
    shift: float


class Classifier(Protocol):
    """A fitted classifier."""

    def predict(self, features: Features, /) -> NDArray[np.int64]:
        """(N,) values of (N, D) features."""


@dataclass(frozen=True, slots=True)
class AttributeReader:
    """Reads one attribute, and what it read of the originals.

    Attributes:
        name: of the attribute.
        values: how many values it has.
        classifier: fitted on people outside the test.
        before: (N,) what it reads off the originals of the test.
    """

    name: str
    values: int
    classifier: Classifier
    before: NDArray[np.int64]


def attribute_readers(
    outsiders: Features, labels: Sequence[Attribute], originals: Features
) -> list[AttributeReader]:
    """Learns each attribute that is known of enough outsiders.

    Args:
        outsiders: (M, D) `gradient_features` of people outside the test.
        labels: theirs.
        originals: (N, D) of the test's originals.
    """
    from sklearn.linear_model import RidgeClassifier

    readers = []
    for own in labels:
        known = own.values >= 0
        if known.sum() < LEAST_FACES or len(np.unique(own.values[known])) < 2:
            continue
        classifier = RidgeClassifier(alpha=1.0, class_weight="balanced")
        classifier.fit(outsiders[known], own.values[known])
        before = np.asarray(classifier.predict(originals), np.int64)
        readers.append(AttributeReader(own.name, len(own.names), classifier, before))
    return readers


def attributes_kept(
    readers: Sequence[AttributeReader],
    released: Features,
    rows: NDArray[np.bool_],
    persons: NDArray[np.int64],
) -> list[AttributeKept]:
    """Reads a release and compares with what was read before.

    Args:
        readers: of `attribute_readers`.
        released: (K, D) `gradient_features` of the anonymized faces.
        rows: (N,) which of the test's originals they are, K of them.
        persons: (K,) who they are.
    """
    found = []
    for reader in readers:
        before = reader.before[rows]
        after = np.asarray(reader.classifier.predict(released), np.int64)
        shares = [np.bincount(own, minlength=reader.values) / len(own) for own in (before, after)]
        found.append(
            AttributeKept(
                reader.name,
                clustered(before == after, persons),
                cohens_kappa(after, before, reader.values),
                float(np.abs(shares[0] - shares[1]).sum() / 2),
            )
        )
    return found
