"""What methods ask of a generator of people; see `GeneratedSurrogates`."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend
from engines.face.swapper import Control
from engines.stylegan.attributes import AttributeModel
from engines.stylegan.shape import ShapeModel
from evaluation.methods.directions import LatentDirections

__all__ = ["LatentGenerator", "PeopleGenerator"]

Crops = NDArray[np.uint8]
"""(N, S, S, 3) uint8 BGR kveil crops."""
Float32 = NDArray[np.float32]


class LatentGenerator(Protocol):
    """Encodes people and paints latents."""

    @property
    def donors(self) -> int:
        """Different surrogates to draw from."""

    def latents(self, chosen: NDArray[np.int64]) -> Float32:
        """(N, L, 512) float32 of the chosen surrogates."""

    def encoded(self, crops: Crops) -> Float32:
        """(N, L, 512) float32 latents of crops."""

    def painted(self, crops: Crops, latents: Float32) -> tuple[Float32, Float32]:
        """(N, S, S, 3) float32 patches and (N, S, S) float32 alphas, as the crops are lit."""


class PeopleGenerator(LatentGenerator, Protocol):
    """Also knows its directions, reads faces and tells people apart."""

    @property
    def directions(self) -> LatentDirections:
        """Directions in which people differ."""

    @property
    def looks(self) -> AttributeModel:
        """Attributes, linear in latents."""

    @property
    def shape(self) -> ShapeModel:
        """Takes pose out of landmarks."""

    @property
    def match(self) -> float:
        """Cosine from which the embedder calls two faces one person."""

    @property
    def backend(self) -> Backend:
        """Loads the methods' own networks."""

    @property
    def fingerprint(self) -> str:
        """Of the pack; networks trained on its latents fit no other."""

    def control(self, crops: Crops) -> Control:
        """What crops say of pose, expression and light."""

    def neutral(self, latents: Float32, light: Float32 | None = None) -> Float32:
        """(N, S, S, 3) float32: (N, L, 512) latents from the front, at rest."""

    def told_apart(self, crops: Crops) -> Float32:
        """(N, D) unit vectors of crops by the embedder."""
