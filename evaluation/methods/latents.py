"""Methods that work on the person's own latent: AnonFACES' mix and StyleID's layer swap.

Both read the identity of real people and pass some of it on. They stand here to be compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evaluation.faces import Faces, crop_window
from evaluation.methods.generator import LatentGenerator
from evaluation.methods.ksame import mixed_rows, mixing_of_partition
from evaluation.methods.layer_window import LayerWindow, composed
from evaluation.methods.method import Kind, Release, alone
from evaluation.methods.surrogate import worn
from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.partition import ClusteringAlgorithm
from gallery.secrets import KeyedRandom

__all__ = ["LatentMix", "LayerSwap", "TargetSwap", "targets_of"]

Float32 = NDArray[np.float32]


def targets_of(
    generator: LatentGenerator, persons: NDArray[np.int64], secret: bytes, use: str
) -> NDArray[np.float32]:
    """A random synthetic target for each person, the same over his pictures: (N, L, 512).

    The draw depends on the person's number alone, so that parts of a data set that are
    released one after the other do not begin with the same targets.
    """
    people, index = np.unique(persons, return_inverse=True)
    drawn = [KeyedRandom(secret, use, int(person)).integer(generator.donors) for person in people]
    return generator.latents(np.array(drawn, np.int64))[index]


@dataclass(slots=True)
class LatentMix:
    """AnonFACES (2020), Equation 1: the mean latent of a Ward cluster, rendered for each member.

    Attributes:
        generator: encodes and renders.
        k: least people per cluster.
    """

    generator: LatentGenerator
    k: int = 5
    use: ClassVar[str] = "latents"
    """What the clustering's seed is for."""
    clustering: ClusteringAlgorithm = field(default_factory=lambda: HierarchicalClustering("ward"))
    name: str = "AnonFACES latent"
    kind: Kind = "mean"

    def fit(self, donors: Faces) -> None:
        """Learns nothing: the generator is trained."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Everybody gets his cluster's mean person, under his own pose and light.

        Raises:
            TooFewPeople: fewer than k people.
        """
        crops = faces.images[:, *crop_window()]
        latents = self.generator.encoded(crops)
        rows = latents.reshape(len(latents), -1)
        seed = KeyedRandom(secret, self.use).integer(2**31)
        partition = self.clustering.partition(rows, self.k, seed, faces.persons)
        mixing = mixing_of_partition(partition, faces.persons)
        mixed = mixed_rows(mixing, rows).reshape(latents.shape)
        made = self._representatives(crops, latents, mixed, partition.labels)
        images = worn(faces.images, *self.generator.painted(crops, made))
        return Release(images, partition.labels.astype(np.int64), mixing, made)

    def _representatives(
        self, crops: NDArray[np.uint8], latents: Float32, mixed: Float32, labels: NDArray[np.intp]
    ) -> Float32:
        """(N, L, 512) what stands for each face's cluster: the mean of its members."""
        return mixed


@dataclass(slots=True)
class TargetSwap(ABC):
    """A part of each person's latent comes from a random target, the rest stays.

    What stays is the person's own, so it is no k-anonymity: the mixing weights say so.
    """

    generator: LatentGenerator
    use: ClassVar[str]
    """What the targets' draws are for."""

    @abstractmethod
    def fit(self, donors: Faces) -> None:
        """Gets ready; learns nothing from people, for the donors are the generator's own."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Each person's latent with a random target's part; see `fit` for what may be raised."""
        self.fit(faces)
        crops = faces.images[:, *crop_window()]
        own = self.generator.encoded(crops)
        targets = targets_of(self.generator, faces.persons, secret, self.use)
        made = self._swapped(own, targets)
        images = worn(faces.images, *self.generator.painted(crops, made))
        return replace(alone(images), latents=made)

    @abstractmethod
    def _swapped(self, own: Float32, other: Float32) -> Float32:
        """(N, L, 512) latents with the target's part."""


@dataclass(slots=True)
class LayerSwap(TargetSwap):
    """StyleID (2023), Section 3: some layers come from a donor, the others stay.

    Attributes:
        generator: encodes and renders.
        window: consecutive layers, or the numbers of the best single ones; more layers hide
            more and keep less.
    """

    use: ClassVar[str] = "layers"
    window: LayerWindow | tuple[int, ...] = field(default_factory=lambda: LayerWindow(2, 8))
    name: str = "StyleID layers"
    kind: Kind = "mean"

    def fit(self, donors: Faces) -> None:
        """Learns nothing."""

    def _swapped(self, own: Float32, other: Float32) -> Float32:
        if isinstance(self.window, LayerWindow):
            return composed(own, other, self.window)
        swapped = own.copy()
        swapped[:, list(self.window)] = other[:, list(self.window)]
        return swapped
