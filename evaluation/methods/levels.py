"""StyleID's tunable anonymity (2023, Section 2.4): one setting, low, medium or high.

Low changes as few channels as take the face just beyond the recogniser's threshold: software
is misled, people are not. Medium takes everything that says who it is from a random target
that shares the person's gender presentation and age. High gives no attribute away either: the
targets' attributes are dealt out so that each cluster of k people shows what the whole crowd
shows (l-diversity and t-closeness, which the paper leaves to an outer loop).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evaluation.errors import EvaluationError, TooFewPeople
from evaluation.faces import Faces, crop_window
from evaluation.methods.attribute_control import corrected, read_values
from evaluation.methods.channels import (
    Ranking,
    block_size,
    chosen_channels,
    rank_blocks,
)
from evaluation.methods.disentanglement import code_swap, score_swaps
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.latents import targets_of
from evaluation.methods.method import Kind, Release, alone
from evaluation.methods.surrogate import worn
from gallery.clustering.partition import Partition
from gallery.clustering.shuffle import RandomClustering
from gallery.diversity import AttributeDiversity, attribute_diversity
from gallery.secrets import KeyedRandom

__all__ = ["LEVELS", "Level", "TunableStyleId", "dealt_values", "least_channels"]

Level = Literal["low", "medium", "high"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_PAIRS: Final = 12
_CROWD: Final = 512
_L_MIN: Final = 1.5
_T_MAX: Final = 0.5


@dataclass(slots=True)
class TunableStyleId:
    """One of three levels of anonymity.

    Attributes:
        generator: encodes, paints and reads.
        level: low, medium or high.
        k: least people per cluster of the high level.
        diversity: after a high release, what its worst cluster tells, by attribute.
    """

    generator: PeopleGenerator
    level: Level = "medium"
    k: int = 5
    name: str = ""
    diversity: dict[str, AttributeDiversity] = field(default_factory=dict)
    _channels: NDArray[np.bool_] | None = None
    _crowd: dict[str, NDArray[np.int64]] | None = None

    def __post_init__(self) -> None:
        self.name = f"StyleID {self.level}"

    @property
    def kind(self) -> Kind:
        """High depends on nobody's looks; the others keep something of the person."""
        return "surrogate" if self.level == "high" else "mean"

    def fit(self, donors: Faces) -> None:
        """Finds the channels of the low level, on synthetic people."""
        if self.level == "low" and self._channels is None:
            self._channels = least_channels(self.generator)

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Releases at the chosen level.

        Raises:
            TooFewPeople: high, and fewer than k people.
            EvaluationError: high, and the attributes of a cluster would tell too much.
        """
        crops = faces.images[:, *crop_window()]
        targets = targets_of(self.generator, faces.persons, secret, "level")
        partition: Partition | None = None
        if self.level == "low":
            self.fit(faces)
            assert self._channels is not None
            swap = code_swap(self.generator.directions, self._channels)
            made = swap(self.generator.encoded(crops), targets)
        elif self.level == "medium":
            own = _of_person(self.generator.encoded(crops), faces.persons)
            made = self._corrected(targets, read_values(self.generator.looks, own))
        else:
            partition, made = self._dealt(faces.persons, targets, secret)
        images = worn(faces.images, *self.generator.painted(crops, made))
        if partition is None:
            return replace(alone(images), latents=made)
        nobody = np.zeros((len(faces), len(faces)), np.float32)
        return Release(images, partition.labels.astype(np.int64), nobody, made)

    def _corrected(
        self, targets: NDArray[np.float32], wanted: dict[str, NDArray[np.int64]]
    ) -> NDArray[np.float32]:
        return corrected(self.generator.looks, self.generator.directions, targets, wanted)

    def _dealt(
        self, persons: NDArray[np.int64], targets: NDArray[np.float32], secret: bytes
    ) -> tuple[Partition, NDArray[np.float32]]:
        people = len(np.unique(persons))
        if people < self.k:
            message = f"{people} people cannot hide among {self.k}; release more"
            raise TooFewPeople(message)
        # Each part of a data set deals its own cards.
        own = KeyedRandom(secret, "level part", int(persons.min())).token(32)
        seed = KeyedRandom(own, "level clusters").integer(2**31)
        nothing = np.zeros((len(persons), 1), np.float32)
        partition = RandomClustering().partition(nothing, self.k, seed, persons)
        if self._crowd is None:
            synthetic = self.generator.latents(np.arange(_CROWD))
            self._crowd = read_values(self.generator.looks, synthetic)
        wanted = dealt_values(self._crowd, partition, own)
        made = self._corrected(targets, wanted)
        self.diversity = {}
        shown = read_values(self.generator.looks, made)
        for name, values in shown.items():
            found = attribute_diversity(partition, values)
            self.diversity[name] = found
            if found.effective < _L_MIN or found.distance > _T_MAX:
                message = (
                    f"a cluster would show {found.effective:.1f} values of {name}, "
                    f"{found.distance:.2f} away from everybody's; use a larger k"
                )
                raise EvaluationError(message)
        return partition, made


def _of_person(latents: NDArray[np.float32], persons: NDArray[np.int64]) -> NDArray[np.float32]:
    """Each picture's latent replaced by the mean of its person's."""
    _, index = np.unique(persons, return_inverse=True)
    return np.stack([latents[index == person].mean(axis=0) for person in index])


def dealt_values(
    crowd: dict[str, NDArray[np.int64]], partition: Partition, secret: bytes
) -> dict[str, NDArray[np.int64]]:
    """Deals the crowd's values out so that each cluster gets its share of every value.

    The crowd is brought into order by its values, thinned to as many as there are people, and
    dealt round robin; within a cluster a secret permutation decides. Nothing of the people
    themselves enters.

    Args:
        crowd: per attribute, (M,) values of synthetic people.
        partition: the clusters.
        secret: of the release.

    Returns:
        Per attribute, (n,) values, one for each row of the partition.
    """
    names = sorted(crowd)
    order = np.lexsort([crowd[name] for name in names[::-1]])
    people = partition.n_people
    kept = order[((np.arange(people) + 0.5) * len(order) / people).astype(np.int64)]
    seats = [
        (place, cluster)
        for cluster, size in enumerate(partition.sizes.tolist())
        for place in range(size)
    ]
    of_cluster: list[list[int]] = [[] for _ in range(partition.n_clusters)]
    for (_, cluster), number in zip(sorted(seats), kept, strict=True):
        of_cluster[cluster].append(int(number))
    of_person = np.zeros(people, np.int64)
    for cluster, numbers in enumerate(of_cluster):
        members = np.flatnonzero(partition.people_labels == cluster)
        shuffle = KeyedRandom(secret, "level values", cluster).permutation(len(members))
        of_person[members[shuffle]] = numbers
    return {name: crowd[name][of_person][partition.persons] for name in names}


def least_channels(generator: PeopleGenerator) -> NDArray[np.bool_]:
    """(C,) the fewest best ranked channels that take synthetic people beyond the threshold.

    Beyond: the mean identity distance reaches Γ, that of two vectors whose cosine is the
    embedder's threshold. All channels, where even they do not.
    """
    size = block_size(generator.directions.count)
    ranking: Ranking = rank_blocks(generator, size, _PAIRS)
    counts = range(size, ranking.channels + size, size)
    choices = [chosen_channels(ranking, channels) for channels in counts]
    swaps = [code_swap(generator.directions, choice) for choice in choices]
    distance = score_swaps(generator, swaps, _PAIRS).identity.mean(axis=1)
    wanted = float(np.sqrt(2 - 2 * generator.match))
    enough = np.flatnonzero(distance >= wanted)
    return choices[int(enough[0])] if len(enough) else choices[-1]
