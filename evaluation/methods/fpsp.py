"""FPSP (2023): clusters, and a surrogate morphed from a face and its cluster's centre.

The paper fuses the morph with four obscured copies in a VQ-VAE; the morph is where its
identity protection comes from, and it is what stands here. Its clusters have no least size,
so it is not k-anonymous, and the report says so by counting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BRIDGE_SLICE,
)
from evaluation.eigenfaces import FaceSpace
from evaluation.faces import Faces
from evaluation.methods.ksame import space_of, space_weights
from evaluation.methods.method import Kind, Release
from evaluation.methods.morphing import morph
from gallery.secrets import KeyedRandom

__all__ = ["FpspMorph", "five_points", "nearest_centres"]

_ROUNDS = 30
_OTHER_CORNER = 10
"""Of the outer lips' ring, which starts at the left corner of the picture."""


@dataclass(slots=True)
class FpspMorph:
    """k-means in a face space, then a piecewise affine morph towards the face nearest the centre.

    Attributes:
        clusters: number of k-means clusters; the paper has 15.
        share: of the centre in shape and pixels (k in Eq. 12, t in Eq. 13), 0…1.
    """

    clusters: int = 15
    share: float = 0.5
    name: str = "FPSP morph"
    kind: Kind = "mean"
    _space: FaceSpace | None = None

    def fit(self, donors: Faces) -> None:
        """Learns the face space that stands in for an embedder."""
        self._space = space_of(donors)

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Morphs every face towards its cluster's central one."""
        features = space_weights(faces, self._space)
        labels, centres = nearest_centres(features, min(self.clusters, len(faces)), secret)
        images = np.stack(
            [
                morph(
                    faces.images[row],
                    faces.points[row],
                    faces.images[centres[label]],
                    faces.points[centres[label]],
                    self.share,
                )
                for row, label in enumerate(labels)
            ]
        )
        mixing = np.eye(len(faces), dtype=np.float32) * np.float32(1 - self.share)
        mixing[np.arange(len(faces)), centres[labels]] += np.float32(self.share)
        # Each output keeps a share of its own original, so it depends on that person alone.
        return Release(images, np.arange(len(faces)), mixing)


def nearest_centres(
    features: NDArray[np.float32], count: int, secret: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """k-means (Eq. 11): label of each face, and the face nearest each centre."""
    start = KeyedRandom(secret, "fpsp").sample(len(features), count)
    centres = features[start].astype(np.float64)
    for _ in range(_ROUNDS):
        distances = _squared(features, centres)
        labels = distances.argmin(axis=1)
        moved = np.stack(
            [
                features[labels == place].mean(axis=0) if (labels == place).any() else centre
                for place, centre in enumerate(centres)
            ]
        )
        if np.allclose(moved, centres):
            break
        centres = moved
    return labels, _squared(features, centres).argmin(axis=0)


def _squared(features: NDArray[np.float32], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    squared = (features**2).sum(1)[:, None] + (centres**2).sum(1)[None]
    return np.asarray(squared - 2 * features @ centres.T, np.float64)


def five_points(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """(N, 5, 2) eyes, nose and corners of the mouth of (N, MESH_POINTS, 2) mesh points."""
    eyes = [places[:, part].mean(axis=1) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    nose = places[:, NOSE_BRIDGE_SLICE.stop - 1]
    lips = places[:, LIPS_OUTER_SLICE]
    corners = [lips[:, 0], lips[:, _OTHER_CORNER]]
    return np.stack([*eyes, nose, *corners], axis=1).astype(np.float32)
