"""Aligned faces as the laboratory handles them: portraits with room around the kveil crop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import Similarity, crop_from_picture, kveil_from_landmarks, moved
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Landmarks
from evaluation.recognisers import Embeddings, Recogniser

__all__ = ["CROP", "MARGIN", "PORTRAIT", "Faces", "crop_window", "portrait_from_image"]

CROP: Final = 128
"""Side of the kveil crop inside a portrait, px."""
MARGIN: Final = 64
"""Room on each side of it, px: a head has room in it, as in the frames of a video."""
PORTRAIT: Final = CROP + 2 * MARGIN


@dataclass(frozen=True, slots=True)
class Faces:
    """Aligned faces of known people.

    Attributes:
        images: (N, S, S, 3) uint8 BGR; S is `PORTRAIT` except in experiments on raw data.
        points: (N, 5, 2) float32 landmarks, px of the portrait.
        persons: (N,) int64 number of the person.
    """

    images: NDArray[np.uint8]
    points: NDArray[np.float32]
    persons: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]) -> Faces:
        """The faces at `rows`, copied."""
        index = np.asarray(rows)
        return Faces(self.images[index], self.points[index], self.persons[index])

    def joined(self, other: Faces) -> Faces:
        """These faces followed by others."""
        return Faces(
            np.concatenate([self.images, other.images]),
            np.concatenate([self.points, other.points]),
            np.concatenate([self.persons, other.persons]),
        )

    def showing(self, images: NDArray[np.uint8]) -> Faces:
        """The same people and places with other pixels of the same shape."""
        return replace(self, images=images)

    def embed(self, judge: Recogniser) -> Embeddings:
        """(N, D) unit vectors by a recogniser, aligned by these landmarks."""
        return judge.embed(list(self.images), list(self.points))

    @property
    def people(self) -> int:
        """Distinct people."""
        return len(np.unique(self.persons))


def crop_window() -> tuple[slice, slice]:
    """Rows and columns of the kveil crop inside a portrait."""
    inner = slice(MARGIN, MARGIN + CROP)
    return inner, inner


def portrait_from_image(
    image: BgrImage, landmarks_px: Landmarks
) -> tuple[BgrImage, NDArray[np.float32]]:
    """Aligns one face.

    Args:
        image: H×W×3 uint8 BGR.
        landmarks_px: (5, 2) float32 px of the image.

    Returns:
        S×S×3 uint8 BGR portrait, black where the image ends, and the (5, 2) landmarks in it.

    Raises:
        EngineFault: the eyes coincide or are not finite.
    """
    portrait_from_frame: Similarity = kveil_from_landmarks(landmarks_px, CROP)
    portrait_from_frame[:, 2] += MARGIN
    portrait = crop_from_picture(picture_from_bgr(image), portrait_from_frame, PORTRAIT)
    return portrait, moved(portrait_from_frame, landmarks_px)
