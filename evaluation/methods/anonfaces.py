"""AnonFACES (2020): embed, cluster, mix, assess the risk, adjust the weights.

Differences that the paper's errors ask for: weights never fall below what keeps k people in
the mean (k_eff = exp H(w) ≥ k is enforced, else the cluster is covered), the assessment ends,
and whoever adjusts the weights should not be who judges the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluation.eigenfaces import FaceSpace, rows_from_images
from evaluation.faces import Faces
from evaluation.methods.ksame import mixed_rows, mixing_of_partition, space_of, space_weights
from evaluation.methods.method import Kind, Release
from evaluation.recognisers import Recogniser
from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.partition import ClusteringAlgorithm
from gallery.secrets import KeyedRandom

__all__ = ["AnonFaces", "effective_people"]

_MOST_ROUNDS = 8


@dataclass(slots=True)
class AnonFaces:
    """Ward clusters, mixed with weights that a risk assessment adjusts.

    Without a generator the mix is one of pixels, as in the paper's AAM baseline; the mixing
    rule, Equation 1, is the same.

    Attributes:
        k: least people per cluster.
        embedder: who says which faces are alike; the face space of the donors when None.
        adjuster: recogniser of the risk assessment; none is made when None.
        spread: radius of the random weights around 1 (Section 5.3), 0…1.
        step: β, taken from the weight of a member at risk, 0…1.
    """

    k: int = 5
    embedder: Recogniser | None = None
    adjuster: Recogniser | None = None
    spread: float = 0.2
    step: float = 0.3
    clustering: ClusteringAlgorithm = field(default_factory=lambda: HierarchicalClustering("ward"))
    name: str = "AnonFACES"
    kind: Kind = "mean"
    _space: FaceSpace | None = None

    def fit(self, donors: Faces) -> None:
        """Learns the face space that stands in for an embedder."""
        self._space = space_of(donors)

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Replaces every face by its cluster's mix.

        Raises:
            TooFewPeople: fewer than k people.
        """
        seed = KeyedRandom(secret, "anonfaces").integer(2**31)
        features = (
            space_weights(faces, self._space)
            if self.embedder is None
            else faces.embed(self.embedder)
        )
        partition = self.clustering.partition(features, self.k, seed, faces.persons)
        mixing = mixing_of_partition(partition, faces.persons)
        mixing = self._randomised(mixing, partition.labels, secret)
        if self.adjuster is not None:
            mixing = self._assessed(mixing, faces, self.adjuster)
        return Release(_mixed(mixing, faces), partition.labels.astype(np.int64), mixing)

    def _randomised(
        self, mixing: NDArray[np.float32], labels: NDArray[np.intp], secret: bytes
    ) -> NDArray[np.float32]:
        """Weights drawn around their mean, the same for all members of a cluster."""
        random = KeyedRandom(secret, "weights")
        factors = 1 + self.spread * (2 * random.uniform(len(labels)) - 1)
        weighted = mixing * factors[None, :].astype(np.float32)
        return np.asarray(weighted / weighted.sum(axis=1, keepdims=True), np.float32)

    def _assessed(
        self, mixing: NDArray[np.float32], faces: Faces, adjuster: Recogniser
    ) -> NDArray[np.float32]:
        """Takes weight from members whom the mix still resembles, while k stay in it."""
        truth = faces.embed(adjuster)
        for _ in range(_MOST_ROUNDS):
            mixed = faces.showing(_mixed(mixing, faces)).embed(adjuster)
            cosines = mixed @ truth.T
            at_risk = (cosines > adjuster.threshold) & (mixing > 0)
            if not at_risk.any():
                break
            lowered = np.where(at_risk, mixing * (1 - self.step), mixing)
            lowered /= lowered.sum(axis=1, keepdims=True)
            keeps_k = effective_people(lowered, faces.persons) >= self.k - 0.5
            if not keeps_k.any():
                break
            mixing = np.where(keeps_k[:, None], lowered, mixing).astype(np.float32)
        return mixing


def effective_people(
    mixing: NDArray[np.float32], persons: NDArray[np.int64]
) -> NDArray[np.float64]:
    """k_eff = exp H(w) of each row of weights, counted on people; 0 for a row of zeros.

    >>> effective_people(np.array([[0.5, 0.25, 0.25]], np.float32), np.array([0, 1, 1])).tolist()
    [2.0]
    """
    _, index = np.unique(persons, return_inverse=True)
    shares = np.zeros((len(mixing), int(index.max(initial=-1)) + 1))
    np.add.at(shares.T, index, mixing.T.astype(np.float64))
    totals = shares.sum(axis=1, keepdims=True)
    shares = np.divide(shares, totals, out=np.zeros_like(shares), where=totals > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    effective = np.exp(-(shares * logs).sum(axis=1))
    return np.where(totals[:, 0] > 0, effective.round(9), 0.0)


def _mixed(mixing: NDArray[np.float32], faces: Faces) -> NDArray[np.uint8]:
    mixed = mixed_rows(mixing, rows_from_images(faces.images))
    pixels = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    return np.asarray(pixels.reshape(faces.images.shape), np.uint8)
