"""kveil's own method: a donor's face, chosen by keyed randomness, one for each person.

Nothing of a person's looks decides which face he gets. People are put into clusters of k in
a secret order; a cluster holds one surrogate per member under a secret permutation; clusters
are sticky, so a later release of the same people shows the attacker the same candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import identity_distance
from evaluation.errors import TooFewPeople
from evaluation.faces import CROP, Faces, crop_window
from evaluation.methods.method import Kind, Release
from gallery.dealing import LookAlikes, dealt, look_alikes
from gallery.secrets import KeyedRandom

__all__ = ["DonorImages", "DonorSurrogate", "SurrogateRenderer", "oval_alpha", "worn"]

Crops = NDArray[np.uint8]


class SurrogateRenderer(Protocol):
    """Puts donors' faces on people's heads."""

    @property
    def donors(self) -> int:
        """How many different surrogates there are; 0 before `fit`."""

    @property
    def alike(self) -> LookAlikes:
        """Which donors look like which."""

    def fit(self, donors: Faces) -> None:
        """Takes donors from people outside the test; a generator has its own."""

    def latents(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """(N, L, 512) float32 of the chosen, see `wear`; (0, 0, 0) without a generator."""

    def suited(self, faces: Faces, chosen: NDArray[np.int64], secret: bytes) -> NDArray[np.int64]:
        """Whose faces N people get who were dealt `chosen`, given a picture of each.

        Below 0 for a person whose face is covered.
        """

    def wear(self, faces: Faces, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Portraits with donors in place of people.

        Args:
            faces: N portraits, for pose, expression and light.
            chosen: (N,) donor of each; `donors` more for every deal before, in which the same
                donor is somebody else's.

        Returns:
            (N, S, S, 3) uint8 BGR; a face that cannot be replaced is covered.
        """


@dataclass(slots=True)
class DonorImages:
    """Real photographs of donors: the reference until a generator renders them.

    A photograph does not follow the pose of the person it replaces, so its utility figures
    are no measure of the method; its privacy figures are.
    """

    _crops: Crops = field(default_factory=lambda: np.zeros((0, CROP, CROP, 3), np.uint8))

    @property
    def donors(self) -> int:
        """Photographs, one per donor."""
        return len(self._crops)

    @property
    def alike(self) -> LookAlikes:
        """Unknown: none."""
        return look_alikes(np.zeros((0, 2), np.intp), self.donors)

    def fit(self, donors: Faces) -> None:
        """Keeps one crop per donor."""
        _, first = np.unique(donors.persons, return_index=True)
        rows, columns = crop_window()
        self._crops = donors.images[first][:, rows, columns]

    def latents(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """None: there is no generator."""
        return np.zeros((0, 0, 0), np.float32)

    def suited(self, faces: Faces, chosen: NDArray[np.int64], secret: bytes) -> NDArray[np.int64]:
        """As they were dealt."""
        return chosen

    def wear(self, faces: Faces, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Donors' crops, matched to the mean and spread of the colours they replace.

        A donor dealt again is the same photograph.
        """
        rows, columns = crop_window()
        crops = faces.images[:, rows, columns]
        alpha = oval_alpha(crops.shape[1])
        patches = np.stack(
            [
                _matched(self._crops[number % self.donors], crop, alpha)
                for number, crop in zip(chosen, crops, strict=True)
            ]
        )
        return worn(faces.images, patches, np.repeat(alpha[None], len(crops), axis=0))


@dataclass(slots=True)
class DonorSurrogate:
    """Everybody gets a donor's face; see the module.

    Attributes:
        k: least people per cluster.
        renderer: makes the pictures.
    """

    k: int = 5
    renderer: SurrogateRenderer = field(default_factory=DonorImages)
    name: str = "kveil"
    kind: Kind = "surrogate"
    _home: dict[int, int] = field(default_factory=dict)
    _slot: dict[int, int] = field(default_factory=dict)
    _suited: dict[int, int] = field(default_factory=dict)
    _clusters: int = 0

    def __copy__(self) -> DonorSurrogate:
        """Another releaser with the same donors, who has released nothing yet."""
        return DonorSurrogate(self.k, self.renderer)

    def fit(self, donors: Faces) -> None:
        """Gives the renderer its donors."""
        self.renderer.fit(donors)

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Replaces every face; people seen before stay in their cluster.

        Raises:
            TooFewPeople: fewer than k new people, or no donors.
        """
        if not self.renderer.donors:
            message = "there are no donors: call fit with people outside the test"
            raise TooFewPeople(message)
        chosen = self._settled(faces, self.chosen_for(faces.persons, secret), secret)
        images = self.renderer.wear(faces, chosen)
        clusters = np.array([self._home[int(person)] for person in faces.persons], np.int64)
        count = len(faces)
        mixing = np.zeros((count, count), np.float32)
        return Release(images, clusters, mixing, self.renderer.latents(chosen))

    def _settled(self, faces: Faces, chosen: NDArray[np.int64], secret: bytes) -> NDArray[np.int64]:
        """Whose faces people keep, settled by their first picture."""
        people, first = np.unique(faces.persons, return_index=True)
        is_new = np.array([int(person) not in self._suited for person in people], np.bool_)
        if is_new.any():
            rows = first[is_new]
            found = self.renderer.suited(faces.take(rows), chosen[rows], secret)
            self._suited |= dict(zip(people[is_new].tolist(), found.tolist(), strict=True))
        return np.array([self._suited[int(person)] for person in faces.persons], np.int64)

    def chosen_for(self, persons: NDArray[np.int64], secret: bytes) -> NDArray[np.int64]:
        """Whose face everybody gets, (N,), as `SurrogateRenderer.wear` wants it.

        Args:
            persons: (N,) people; new ones are put into clusters.
            secret: of the releaser.

        Raises:
            TooFewPeople: fewer than k new people.
        """
        self.enrol(persons, secret)
        return self._donors(persons, secret)

    def enrol(self, persons: NDArray[np.int64], secret: bytes) -> None:
        """Puts new people into clusters of k…2k − 1 in a secret order.

        Raises:
            TooFewPeople: fewer than k new people.
        """
        new = [int(person) for person in np.unique(persons) if int(person) not in self._home]
        if not new:
            return
        if len(new) < self.k:
            message = f"{len(new)} new people cannot form a cluster of {self.k}; release more"
            raise TooFewPeople(message)
        order = KeyedRandom(secret, "order", self._clusters).permutation(len(new))
        count = len(new) // self.k
        for place, index in enumerate(order):
            group = min(place // self.k, count - 1)
            self._home[new[index]] = self._clusters + group
            self._slot[new[index]] = place - group * self.k
        self._clusters += count

    def _donors(self, persons: NDArray[np.int64], secret: bytes) -> NDArray[np.int64]:
        """Who is in each person's slot, as `SurrogateRenderer.wear` wants it.

        Donors are dealt without repetition until all are used, in the order of the product,
        see `gallery.dealing`; then again, as other people.
        """
        pool = self.renderer.donors
        slots = [self._home[int(p)] * 2 * self.k + self._slot[int(p)] for p in persons]
        used = sorted({self._home[p] * 2 * self.k + self._slot[p] for p in self._home})
        rank = {slot: place for place, slot in enumerate(used)}
        decks = [
            dealt(
                KeyedRandom(secret, "donors", deck),
                np.arange(pool),
                self.renderer.alike,
                min(pool, len(used) - deck * pool),
            )
            for deck in range(-(-len(used) // pool))
        ]
        dealt_as = [divmod(rank[slot], pool) for slot in slots]
        return np.array([decks[deal][card] + deal * pool for deal, card in dealt_as], np.int64)


def worn(
    images: NDArray[np.uint8], patches: NDArray[np.float32], alphas: NDArray[np.float32]
) -> NDArray[np.uint8]:
    """Portraits with patches blended into their kveil crops, as a new array.

    Args:
        images: (N, S, S, 3) uint8 portraits.
        patches: (N, C, C, 3) float32, 0…255.
        alphas: (N, C, C) float32, 0…1.
    """
    rows, columns = crop_window()
    result = images.copy()
    weight = alphas[..., None]
    blended = weight * patches + (1 - weight) * images[:, rows, columns]
    result[:, rows, columns] = np.clip(np.rint(blended), 0, 255).astype(np.uint8)
    return result


def oval_alpha(size: int) -> NDArray[np.float32]:
    """size×size float32: 1 on the identity oval, falling to 0 within a tenth around it."""
    steps = np.arange(size, dtype=np.float32) + 0.5
    x, y = np.meshgrid(steps, steps)
    distance = identity_distance(np.stack([x, y], -1), size)
    return np.asarray(np.clip(1 - (distance - 1) / 0.1, 0, 1), np.float32)


def _matched(
    donor: NDArray[np.uint8], crop: NDArray[np.uint8], alpha: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The donor with the mean and standard deviation of the crop's colours in the oval."""
    if donor.shape != crop.shape:
        donor = np.asarray(cv2.resize(donor, crop.shape[1::-1]), np.uint8)
    inside = alpha > 0.99
    source, target = donor.astype(np.float32), crop[inside].astype(np.float32)
    mean, spread = source[inside].mean(axis=0), source[inside].std(axis=0) + 1
    matched = (source - mean) / spread * (target.std(axis=0) + 1) + target.mean(axis=0)
    return np.asarray(np.clip(matched, 0, 255), np.float32)
