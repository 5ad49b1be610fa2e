"""k-Same (Newton, Sweeney & Malin, 2003): a cluster's faces become their mean."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluation.eigenfaces import FaceSpace, Rows, face_space, reduced_rows, rows_from_images
from evaluation.faces import Faces
from evaluation.methods.method import Kind, Release
from gallery.clustering.ksame import KSameClustering
from gallery.clustering.partition import ClusteringAlgorithm, Partition
from gallery.secrets import KeyedRandom

__all__ = ["KSameEigen", "KSamePixel", "mixed_rows", "mixing_of_partition", "person_weights"]
__all__ += ["space_of", "space_weights"]

_COMPONENTS = 100
_TRAINING_FACES = 300


@dataclass(slots=True)
class KSamePixel:
    """Averages the pixels of k people who are near in the face space (Figure 10).

    The paper's precondition is one image per person. Here k counts people: a person's
    images share a cluster, and each person weighs the same in its mean.

    Attributes:
        k: least people per cluster; larger hides more and keeps less.
        clustering: how people are grouped; k-Same's own greedy rule by default.
    """

    k: int = 5
    clustering: ClusteringAlgorithm = field(default_factory=KSameClustering)
    name: str = "k-Same-Pixel"
    kind: Kind = "mean"

    def fit(self, donors: Faces) -> None:
        """Learns nothing: the face space is that of the faces to protect, as in the paper."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Replaces every face by its cluster's mean.

        Raises:
            TooFewPeople: fewer than k people.
        """
        weights = space_weights(faces)
        seed = KeyedRandom(secret, "k-same").integer(2**31)
        partition = self.clustering.partition(weights, self.k, seed, faces.persons)
        mixing = mixing_of_partition(partition, faces.persons)
        mixed = self._mix(mixing, rows_from_images(faces.images))
        images = np.clip(np.rint(mixed), 0, 255).astype(np.uint8).reshape(faces.images.shape)
        return Release(images, partition.labels.astype(np.int64), mixing)

    def _mix(self, mixing: NDArray[np.float32], rows: Rows) -> Rows:
        return mixed_rows(mixing, rows)


@dataclass(slots=True)
class KSameEigen(KSamePixel):
    """Averages the projections instead, which drops what the face space does not hold."""

    name: str = "k-Same-Eigen"

    def _mix(self, mixing: NDArray[np.float32], rows: Rows) -> Rows:
        space = _space_of_rows(rows)
        return space.face(mixed_rows(mixing, space.project(rows)))


def person_weights(persons: NDArray[np.int64]) -> NDArray[np.float32]:
    """(N,) 1 ÷ images of the person, so that people and not images are averaged.

    >>> person_weights(np.array([3, 3, 8])).tolist()
    [0.5, 0.5, 1.0]
    """
    _, index, counts = np.unique(persons, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[index], np.float32)


def mixing_of_partition(partition: Partition, persons: NDArray[np.int64]) -> NDArray[np.float32]:
    """(N, N) float32: row i holds the weights of the mean of i's cluster; rows sum to 1."""
    weights = person_weights(persons)
    same = partition.labels[:, None] == partition.labels[None, :]
    mixing = same * weights[None, :]
    return np.asarray(mixing / mixing.sum(axis=1, keepdims=True), np.float32)


def mixed_rows(mixing: NDArray[np.float32], rows: Rows) -> Rows:
    """Weighted means of rows, (N, P) float32; equal rows of weights are mixed once.

    >>> mixed_rows(np.array([[0.5, 0.5]], np.float32), np.array([[0.0], [4.0]], np.float32))
    array([[2.]], dtype=float32)
    """
    kinds, index = np.unique(mixing, axis=0, return_inverse=True)
    means = np.zeros((len(kinds), rows.shape[1]), np.float32)
    for place, weights in enumerate(kinds):
        members = np.flatnonzero(weights)
        means[place] = weights[members] @ rows[members]
    return np.asarray(means[index.reshape(-1)], np.float32)


def space_of(faces: Faces) -> FaceSpace:
    """The face space of small pictures of faces."""
    return _space_of_rows(reduced_rows(faces.images))


def space_weights(faces: Faces, space: FaceSpace | None = None) -> Rows:
    """(N, C) weights of faces in a face space, which is their own if none is given."""
    rows = reduced_rows(faces.images)
    return (space or _space_of_rows(rows)).project(rows)


def _space_of_rows(rows: Rows) -> FaceSpace:
    """Of at most 300 rows, evenly spread: enough for a face space of 100 directions."""
    step = max(1, -(-len(rows) // _TRAINING_FACES))
    return face_space(rows[::step], _COMPONENTS)
