"""A4 adaptive and A5 inversion: attackers who train on anonymized faces of other people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.errors import KveilError
from evaluation.attacks.attack import Bench, Finding, Judge
from evaluation.attacks.recognition import finding_from_scores
from evaluation.eigenfaces import FaceSpace, face_space, rows_from_images

__all__ = ["AdaptiveRecognition", "Inversion", "ridge_map"]

TRAINING_SECRET = b"a secret of the attacker's own training set"
_LEAST_PEOPLE = 20
_RIDGE = 0.3
_SMALL = 32
_COMPONENTS = 120

Rows = NDArray[np.float32]


def ridge_map(inputs: Rows, targets: Rows, ridge: float = _RIDGE) -> NDArray[np.float64]:
    """The affine map from inputs to targets with least squared error and a penalty.

    Args:
        inputs: (N, D).
        targets: (N, E).
        ridge: penalty relative to the mean variance of the inputs; larger forgets more.

    Returns:
        (D + 1, E): weights, then the offset.

    >>> x = np.array([[0.0], [1.0], [2.0]], np.float32)
    >>> ridge_map(x, 2 * x + 1, 0).round(3).tolist()
    [[2.0], [1.0]]
    """
    means = inputs.mean(axis=0, dtype=np.float64), targets.mean(axis=0, dtype=np.float64)
    x, y = inputs - means[0], targets - means[1]
    gram = x.T @ x
    penalty = ridge * np.trace(gram) / len(gram) + 1e-9
    weights = np.linalg.solve(gram + penalty * np.eye(len(gram)), x.T @ y)
    return np.concatenate([weights, (means[1] - means[0] @ weights)[None]])


def _applied(mapping: NDArray[np.float64], rows: Rows) -> Rows:
    mapped = rows @ mapping[:-1] + mapping[-1]
    length = np.linalg.norm(mapped, axis=1, keepdims=True)
    return np.asarray(mapped / np.maximum(length, 1e-12), np.float32)


@dataclass(frozen=True, slots=True)
class AdaptiveRecognition:
    """A4: a linear map from what the judge sees of anonymized faces to what it saw before.

    Trained on outsiders, tested on the probes. It undoes whatever a method does to every
    face alike; a retrained network would find more, so a good result here is no proof.
    """

    id: ClassVar[str] = "A4"
    question: ClassVar[str] = "Does training on other people's anonymized faces help?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Same protocol as A1 after the learned map."""
        outsiders, probes = bench.subjects.outsiders, bench.subjects.probes
        gallery = bench.subjects.gallery
        inside = np.isin(probes.persons, gallery.persons)
        if outsiders.people < _LEAST_PEOPLE or not inside.any():
            return []
        try:
            release = bench.make().anonymize(outsiders, TRAINING_SECRET)
        except KveilError:
            return []
        bench.releases["outsiders"] = release
        findings = []
        for judge in judges:
            seen = bench.seen(judge, outsiders, release, "outsiders")
            mapping = ridge_map(seen, judge.outsiders)
            restored = _applied(mapping, bench.anonymized_probes(judge)[inside])
            findings.append(
                finding_from_scores(
                    self.id,
                    "linear map on vectors",
                    judge,
                    restored @ judge.gallery.T,
                    probes.persons[inside],
                    gallery.persons,
                )
            )
        return findings


@dataclass(frozen=True, slots=True)
class Inversion:
    """A5: a regression from anonymized pixels to the original's place in a face space.

    Works on 32×32 grey portraits: enough for blur, pixelation and masks. The restored face
    is compared with the gallery in that space.
    """

    id: ClassVar[str] = "A5"
    question: ClassVar[str] = "Can the original be restored from the pixels?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """One finding; the face space is the judge, so `judges` only gives a threshold."""
        outsiders, probes = bench.subjects.outsiders, bench.subjects.probes
        gallery, release = bench.subjects.gallery, bench.releases.get("outsiders")
        inside = np.isin(probes.persons, gallery.persons)
        if release is None or not inside.any() or not judges:
            return []
        space = face_space(_small(outsiders.images), _COMPONENTS)
        mapping = ridge_map(_small(release.images), _unit(space, outsiders.images), 0.1)
        restored = _applied(mapping, _small(bench.release.images[inside]))
        scores = restored @ _unit(space, gallery.images).T
        judge = Judge(
            _FaceSpaceJudge(),
            1.0,
            1e-3,
            0,
            judges[0].probes,
            judges[0].gallery,
            judges[0].outsiders,
        )
        found = finding_from_scores(
            self.id,
            "regression on pixels",
            judge,
            scores,
            probes.persons[inside],
            gallery.persons,
        )
        return [found]


@dataclass(frozen=True, slots=True)
class _FaceSpaceJudge:
    name: str = "face space"
    threshold: float = 1.0
    seen_by_kveil: bool = False

    def embed(self, images: object, landmarks_px: object) -> Rows:
        raise NotImplementedError("the face space compares pixels, not crops")


def _small(images: NDArray[np.uint8]) -> Rows:
    """(N, 1024) grey pixels, each face with zero mean and unit spread."""
    small = [
        cv2.resize(
            cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (_SMALL, _SMALL), interpolation=cv2.INTER_AREA
        )
        for image in images
    ]
    rows = rows_from_images(np.stack(small).astype(np.uint8))
    rows -= rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(rows.std(axis=1, keepdims=True), 1), np.float32)


def _unit(space: FaceSpace, images: NDArray[np.uint8]) -> Rows:
    """Whitened weights, so that light does not drown identity."""
    weights = space.project(_small(images)) / np.sqrt(space.variances).astype(np.float32)
    return np.asarray(weights / np.linalg.norm(weights, axis=1, keepdims=True), np.float32)
