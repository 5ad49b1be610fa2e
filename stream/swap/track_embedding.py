"""A track's embedding: the mean over its sharpest frames, as many as the look-ahead shows.

A single frame may be blurred, turned away or half hidden; whoever is then taken for a stranger
on the next visit counts twice, and k is overstated. Frames that wait behind the one that leaves
are at hand before the track is shown for the first time, so they cost no delay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.types import Embedding, Face, Frame
from gallery.people import SharpestMean

__all__ = ["Embedder", "FacesAhead", "Foresighted", "TrackEmbedder", "sharpness"]

Crops = NDArray[np.uint8]
FacesAhead = Callable[[int], Sequence[tuple[Frame, Face]]]
"""Frames that have not left yet, and where a track's face is in them."""

_LOOKED_AT = 10
_MEASURED_PX = 112


class Embedder(Protocol):
    """Describes people, to tell them apart; never used to make a surrogate."""

    def embed(self, crops: Crops) -> NDArray[np.float32]:
        """(N, D) float32 unit vectors of uint8 N×S×S×3 BGR kveil crops."""


@runtime_checkable
class Foresighted(Protocol):
    """A replacer that makes use of frames which have not left yet."""

    def foresee(self, ahead: FacesAhead) -> None:
        """Told once how to look ahead."""


def sharpness(crop: NDArray[np.uint8]) -> float:
    """Variance of the Laplacian at 112 px: larger for sharper pictures of one face.

    Args:
        crop: uint8 S×S×3 BGR.

    >>> flat, noisy = np.zeros((2, 64, 64, 3), np.uint8)
    >>> noisy[::2] = 255
    >>> sharpness(flat) < sharpness(noisy)
    True
    """
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    small = cv2.resize(grey, (_MEASURED_PX, _MEASURED_PX), interpolation=cv2.INTER_AREA)
    return float(np.var(cv2.Laplacian(small, cv2.CV_32F)))


class TrackEmbedder:
    """Adds the sharpest frames ahead of a track to its mean.

    Args:
        embedder: describes single crops.
        size: side of the crops, px.
        frames: most frames in a mean; 1 takes the present one alone. When it grows, noise
            averages out, and each new track costs more.
    """

    def __init__(self, embedder: Embedder, size: int, frames: int = 5) -> None:
        self._embedder = embedder
        self._size = size
        self._frames = frames
        self._ahead: FacesAhead | None = None

    def foresee(self, ahead: FacesAhead) -> None:
        """From now on look at these frames too."""
        self._ahead = ahead

    def mean(self) -> SharpestMean:
        """An empty mean for a new track."""
        return SharpestMean(self._frames)

    def embed(self, track: int, crop: NDArray[np.uint8], mean: SharpestMean) -> Embedding:
        """The mean with the present crop and the sharpest ones ahead.

        Args:
            track: number of the track.
            crop: uint8 S×S×3 BGR kveil crop of the present frame.
            mean: what was seen of the track before; gets the new frames.

        Raises:
            EngineFault: the network failed.
            EmbeddingsRejected: frames that cancel each other.
        """
        crops = [crop, *self._crops_ahead(track)]
        ranked = sorted(((sharpness(one), -place) for place, one in enumerate(crops)), reverse=True)
        chosen = ranked[: self._frames]
        found = self._embedder.embed(np.stack([crops[-place] for _, place in chosen]))
        for (sharp, _), embedding in zip(chosen, found, strict=True):
            mean.add(embedding, sharp)
        return mean.embedding()

    def _crops_ahead(self, track: int) -> list[NDArray[np.uint8]]:
        """A few crops, spread over the frames ahead: neighbours in time say the same."""
        if self._ahead is None or self._frames == 1:
            return []
        ahead = self._ahead(track)
        places = np.linspace(0, len(ahead) - 1, min(_LOOKED_AT, len(ahead))).round().astype(int)
        return [
            crop_from_picture(
                frame.picture, kveil_from_landmarks(face.landmarks_px, self._size), self._size
            )
            for frame, face in (ahead[place] for place in places.tolist())
        ]
