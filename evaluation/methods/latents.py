"""Methods that work on the person's own latent: AnonFACES' mix and StyleID's layer swap.

Both read the identity of real people and pass some of it on. They stand here to be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.latents import LayerWindow, composed
from evaluation.faces import Faces, crop_window
from evaluation.methods.generator import LatentGenerator
from evaluation.methods.ksame import mixed_rows, mixing_of_partition
from evaluation.methods.method import Kind, Release, alone
from evaluation.methods.surrogate import worn
from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.partition import ClusteringAlgorithm
from gallery.secrets import KeyedRandom

__all__ = ["LatentMix", "LayerSwap", "targets_of"]


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
        seed = KeyedRandom(secret, "latents").integer(2**31)
        partition = self.clustering.partition(rows, self.k, seed, faces.persons)
        mixing = mixing_of_partition(partition, faces.persons)
        mixed = mixed_rows(mixing, rows).reshape(latents.shape)
        images = worn(faces.images, *self.generator.painted(crops, mixed))
        return Release(images, partition.labels.astype(np.int64), mixing, mixed)


@dataclass(slots=True)
class LayerSwap:
    """StyleID (2023), Section 3: some layers come from a donor, the others stay.

    What stays is the person's own, so it is no k-anonymity: the mixing weights say so.

    Attributes:
        generator: encodes and renders.
        window: consecutive layers, or the numbers of the best single ones; more layers hide
            more and keep less.
    """

    generator: LatentGenerator
    window: LayerWindow | tuple[int, ...] = field(default_factory=lambda: LayerWindow(2, 8))
    name: str = "StyleID layers"
    kind: Kind = "mean"

    def fit(self, donors: Faces) -> None:
        """Learns nothing: the donors are the generator's own."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Each person's latent with a random donor's identity layers."""
        crops = faces.images[:, *crop_window()]
        own = self.generator.encoded(crops)
        targets = targets_of(self.generator, faces.persons, secret, "layers")
        swapped = self._swapped(own, targets)
        images = worn(faces.images, *self.generator.painted(crops, swapped))
        return replace(alone(images), latents=swapped)

    def _swapped(self, own: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
        if isinstance(self.window, LayerWindow):
            return composed(own, other, self.window)
        swapped = own.copy()
        swapped[:, list(self.window)] = other[:, list(self.window)]
        return swapped
