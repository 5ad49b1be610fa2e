"""k-SALSA (Jeon et al. 2022): same-size clusters, and a centroid that keeps local style.

Two things differ from the paper. Nobody is dropped so that k divides their number: the last
cluster takes k…2k − 1. And each member wears the cluster's face under his own pose and light,
since a face is looked at in its picture; the paper releases one picture per cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import identity_mask
from evaluation.methods.directions import LatentDirections
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.latents import LatentMix
from evaluation.methods.style_alignment import AlignmentSettings, align_styles
from gallery.clustering.ksalsa import KSalsaClustering
from gallery.clustering.partition import ClusteringAlgorithm

__all__ = ["FaceStyles", "KSalsa"]

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FaceStyles:
    """Faces as a domain of `align_styles`: seen from the front under their members' light.

    Attributes:
        generator: paints.
        centroids: (B, L, 512) float32 mean latents of the clusters.
        lights: (B, 2, 4, 4, 3) float32 mean light of their members.
    """

    generator: PeopleGenerator
    centroids: Float32
    lights: Float32

    @property
    def directions(self) -> LatentDirections:
        """The generator's."""
        return self.generator.directions

    @property
    def region(self) -> Float32:
        """The identity oval."""
        return identity_mask(self.directions.picture.shape[0]).astype(np.float32)

    def represented(self, codes: Float32, clusters: NDArray[np.int64]) -> Float32:
        """The clusters' faces with the given codes."""
        latents = self.directions.moved(self.centroids[clusters], codes)
        return self.generator.neutral(latents, self.lights[clusters])


@dataclass(slots=True)
class KSalsa(LatentMix):
    """A cluster's mean face with its members' texture.

    Attributes:
        generator: encodes and renders.
        k: least people per cluster.
        settings: of the alignment; zero rounds give the paper's k-Centroid.
    """

    generator: PeopleGenerator
    use: ClassVar[str] = "k-salsa"
    clustering: ClusteringAlgorithm = field(default_factory=KSalsaClustering)
    name: str = "k-SALSA"
    settings: AlignmentSettings = field(default_factory=AlignmentSettings)

    def _representatives(
        self, crops: NDArray[np.uint8], latents: Float32, mixed: Float32, labels: NDArray[np.intp]
    ) -> Float32:
        """The clusters' latents after the alignment, one row per face."""
        light = self.generator.control(crops).light
        _, first = np.unique(labels, return_index=True)
        groups = [np.flatnonzero(labels == labels[row]) for row in first]
        lights = np.stack([light[rows].mean(axis=0) for rows in groups])
        domain = FaceStyles(self.generator, mixed[first], lights)
        codes = self.generator.directions.codes(latents)
        members = [(crops[rows].astype(np.float32), codes[rows]) for rows in groups]
        centroids = self.generator.directions.codes(mixed[first])
        found = align_styles(domain, centroids, members, self.settings)
        return self.generator.directions.moved(mixed, found.codes[labels])
