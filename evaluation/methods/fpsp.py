"""FPSP (2023): clusters, and a surrogate morphed from a face and its cluster's centre.

The paper fuses the morph with four obscured copies in a VQ-VAE; the morph is where its
identity protection comes from, and it is what stands here. Its clusters have no least size,
so it is not k-anonymous, and the report says so by counting.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.eigenfaces import FaceSpace, face_space, reduced_rows
from evaluation.faces import Faces
from evaluation.methods.ksame import sampled
from evaluation.methods.method import Kind, Release
from evaluation.recognisers import Recogniser
from gallery.secrets import KeyedRandom

__all__ = ["FpspMorph", "morph"]

_COMPONENTS = 100
_ROUNDS = 30


@dataclass(slots=True)
class FpspMorph:
    """k-means, then a piecewise affine morph towards the face nearest the centre.

    Attributes:
        clusters: number of k-means clusters; the paper has 15.
        share: of the centre in shape and pixels (k in Eq. 12, t in Eq. 13), 0…1.
        embedder: features of the clustering; the donors' face space when None.
    """

    clusters: int = 15
    share: float = 0.5
    embedder: Recogniser | None = None
    name: str = "FPSP morph"
    kind: Kind = "mean"
    _space: FaceSpace | None = None

    def fit(self, donors: Faces) -> None:
        """Learns the face space that stands in for an embedder."""
        self._space = face_space(sampled(reduced_rows(donors.images)), _COMPONENTS)

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Morphs every face towards its cluster's central one."""
        features = self._features(faces)
        labels, centres = _nearest_centres(features, min(self.clusters, len(faces)), secret)
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

    def _features(self, faces: Faces) -> NDArray[np.float32]:
        if self.embedder is not None:
            return faces.embed(self.embedder)
        rows = reduced_rows(faces.images)
        space = self._space or face_space(sampled(rows), _COMPONENTS)
        return space.project(rows)


def _nearest_centres(
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


def morph(
    image: NDArray[np.uint8],
    points: NDArray[np.float32],
    other: NDArray[np.uint8],
    other_points: NDArray[np.float32],
    share: float,
) -> NDArray[np.uint8]:
    """Blends two faces in shape (Eq. 12) and in pixels (Eq. 13) over Delaunay triangles.

    Args:
        image: S×S×3 uint8.
        points: (P, 2) float32 landmarks, px.
        other: S×S×3 uint8.
        other_points: (P, 2) float32, in the same order.
        share: of the other face, 0…1.

    Returns:
        S×S×3 uint8.
    """
    size = image.shape[0]
    source, target = _with_border(points, size), _with_border(other_points, size)
    between = ((1 - share) * source + share * target).astype(np.float32)
    output = np.zeros(image.shape, np.float32)
    for triangle in _triangles(between, size):
        mask = np.zeros(image.shape[:2], np.uint8)
        cv2.fillConvexPoly(mask, np.rint(between[triangle]).astype(np.int32), 1)
        first = _warped(image, source[triangle], between[triangle])
        second = _warped(other, target[triangle], between[triangle])
        blend = (1 - share) * first + share * second
        output[mask > 0] = blend[mask > 0]
    return np.clip(np.rint(output), 0, 255).astype(np.uint8)


def _with_border(points: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    end, half = size - 1, (size - 1) / 2
    places = (0, half, end)
    border = [(x, y) for y in places for x in places if (x, y) != (half, half)]
    inside = np.clip(points, 1, size - 2)
    return np.concatenate([inside, np.array(border, np.float32)]).astype(np.float32)


def _triangles(points: NDArray[np.float32], size: int) -> NDArray[np.int64]:
    """(T, 3) indices into `points`."""
    from scipy.spatial import Delaunay

    return np.asarray(Delaunay(points / size).simplices, np.int64)


def _warped(
    image: NDArray[np.uint8], source: NDArray[np.float32], target: NDArray[np.float32]
) -> NDArray[np.float32]:
    matrix = cv2.getAffineTransform(
        np.ascontiguousarray(source, np.float32), np.ascontiguousarray(target, np.float32)
    )
    size = (image.shape[1], image.shape[0])
    warped = cv2.warpAffine(
        image, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(warped, np.float32)
