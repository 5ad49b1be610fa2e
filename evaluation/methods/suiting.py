"""Who gets whose face, as the product decides it: a donor of the person's bin, tried on first.

The gallery deals donors within bins of what the untouched head shows anyway, and a donor who
happens to resemble the person is passed over; see `engines.face.trying_on` and `gallery.draws`. The
attacks judge the same choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.face.attribute_bins import AttributeReader
from engines.face.control_reading import ControlReader
from engines.face.embedder import FaceEmbedder, PersonThresholds
from engines.face.hair_fit import SUITS, suitability_costs
from engines.face.swapper import Swapper
from engines.face.trying_on import Subject, subject_from_frame, tried_on, worth_trying
from engines.pictures import picture_from_bgr
from engines.types import Frame
from evaluation.faces import Faces, crop_window
from evaluation.methods.dressing import face_about
from gallery.dealing import dealt
from gallery.donors import Card, DonorPopulation, DonorRecipe, mixed_latent
from gallery.draws import DRAWS, WIDER_DRAWS
from gallery.secrets import KeyedRandom

__all__ = ["COVERED", "Suiting"]

COVERED: Final = -1
"""Choice of a person whom every draw resembles, those of the next wider bin as well."""
_BATCH: Final = 8
_MIXED: Final = 2
"""Donors that a surrogate is mixed from."""
_LEAST_POOL: Final = 9
"""Donors of a person's kind without which those of other kinds join them: what a cluster of five
people may need, as in the product."""
_PUBLIC_KEY: Final = b"the mixtures of donors are public"


@dataclass(frozen=True, slots=True)
class Suiting:
    """Chooses donors for people.

    Attributes:
        swapper: paints.
        population: the donors.
        embedder: tells people apart, as in the product.
        attributes: reads bins off its embeddings.
        thresholds: cosines from which a surrogate resembles its subject, and too much.
        recipe: how donors are mixed.
    """

    swapper: Swapper
    population: DonorPopulation
    embedder: FaceEmbedder
    attributes: AttributeReader
    thresholds: PersonThresholds
    recipe: DonorRecipe = field(default_factory=DonorRecipe)

    def latent(self, choice: int) -> NDArray[np.float32]:
        """(L, 512) float32 surrogate of a choice: its donor, with another of the bin.

        Which mixtures exist is public, as the weights are; which one a person gets is not.

        Args:
            choice: a donor's row; as many more as there are donors for every deal before, in
                which the same donor was somebody else's.
        """
        people = self.population
        deal, main = divmod(choice, len(people))
        own = {name: str(values[main]) for name, values in people.attributes.items()}
        card = Card(main, people.matching(own, _MIXED), is_first=deal == 0)
        return mixed_latent(people, KeyedRandom(_PUBLIC_KEY, "mixture"), choice, card, self.recipe)

    def choices(self, faces: Faces, secret: bytes) -> NDArray[np.int64]:
        """What `latent` takes for each of N people, or `COVERED`.

        Whoever cannot be painted gets the first one, since a cover hides it.

        Args:
            faces: one picture of each.
            secret: of the releaser; orders the donors of each bin.

        Raises:
            EngineFault: a network failed.
        """
        own, subjects = self._told(faces.images), self._subjects(faces)
        bins = [self.attributes.values_of(one) for one in own]
        pools = [self.population.matching(one, _LEAST_POOL) for one in bins]
        chosen = self._chosen(subjects, own, pools, secret, DRAWS)
        covered = np.flatnonzero(chosen == COVERED).tolist()
        wider = {row: self.population.wider(bins[row], _LEAST_POOL) for row in covered}
        for step in range(max(map(len, wider.values()), default=0)):
            left = [row for row in covered if chosen[row] == COVERED and step < len(wider[row])]
            if left:
                people = [subjects[row] for row in left], own[left]
                bins_now = [wider[row][step] for row in left]
                chosen[left] = self._chosen(*people, bins_now, secret, WIDER_DRAWS)
        return chosen

    def _chosen(
        self,
        subjects: Sequence[Subject | None],
        own: NDArray[np.float32],
        pools: Sequence[NDArray[np.intp]],
        secret: bytes,
        draws: int,
    ) -> NDArray[np.int64]:
        """What each of N people gets of so many draws of a pool of donors; see `choices`."""
        offered = self._offered(pools, own, secret, draws)
        chosen = np.full(len(subjects), COVERED, np.int64)
        least = np.full(len(subjects), np.inf, np.float32)
        left = np.arange(len(subjects))
        for draw in range(offered.shape[1]):
            rows = offered[left, draw]
            tried = [subjects[one] for one in left.tolist()]
            latents = np.stack([self.latent(int(row)) for row in rows])
            likeness, unfit = self._compared(tried, own[left], latents)
            is_suiting = (likeness < self.thresholds.alike) & (unfit <= SUITS)
            costs = np.where(is_suiting, -np.inf, suitability_costs(likeness, unfit))
            better = (costs < least[left]) & (likeness < self.thresholds.too_alike)
            chosen[left[better]], least[left[better]] = rows[better], costs[better]
            left = left[~is_suiting]
            if not len(left):
                break
        return chosen

    def _offered(
        self,
        pools: Sequence[NDArray[np.intp]],
        own: NDArray[np.float32],
        secret: bytes,
        draws: int,
    ) -> NDArray[np.int64]:
        """The draws that are tried on each of N people, (N, M), as `latent` wants them."""
        places, faces = _places_within(pools), self.population.faces
        decks = [self._decks(pools, draw, secret) for draw in range(draws)]
        found = []
        for pool, place, person in zip(pools, places, own, strict=True):
            rows = np.array([self._card(deck[pool.tobytes()], place) for deck in decks])
            donors = [faces[row % len(faces)] if len(faces) else None for row in rows.tolist()]
            found.append(rows[worth_trying(donors, person)])
        return np.stack(found)

    def _subjects(self, faces: Faces) -> list[Subject | None]:
        """The faces as surrogates are tried on them; None where one cannot be followed."""
        reader, found = ControlReader(self.swapper), []
        for start in range(0, len(faces), _BATCH):
            part = faces.take(list(range(start, min(start + _BATCH, len(faces)))))
            shown = [
                (Frame(picture_from_bgr(image), 0, Fraction(1, 25), row), face_about(points))
                for row, (image, points) in enumerate(zip(part.images, part.points, strict=True))
            ]
            looks = zip(shown, reader.looks(shown), strict=True)
            found += [
                subject_from_frame(frame.picture, face, look) for (frame, face), look in looks
            ]
        return found

    def _compared(
        self,
        subjects: Sequence[Subject | None],
        own: NDArray[np.float32],
        latents: NDArray[np.float32],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """How alike people are to surrogates on them, and how badly those go with their heads.

        Both are float32[N]; the former is -inf of those who cannot be painted.
        """
        likeness = np.full(len(subjects), -np.inf, np.float32)
        unfit = np.zeros(len(subjects), np.float32)
        able = [row for row, one in enumerate(subjects) if one is not None]
        for start in range(0, len(able), _BATCH):
            rows = np.array(able[start : start + _BATCH])
            tried = [one for row in rows if (one := subjects[row]) is not None]
            crops, painted = tried_on(self.swapper, tried, latents[rows])
            if len(painted):
                rows, worn = rows[painted], self.embedder.embed(crops)
                likeness[rows] = (worn * own[rows]).sum(axis=1)
                shown = zip(rows, painted, crops, worn, strict=True)
                unfit[rows] = [
                    tried[one].misfits(crop[None], self.attributes.apart(vector[None], own[row]))[0]
                    for row, one, crop, vector in shown
                ]
        return likeness, unfit

    def _told(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        rows, columns = crop_window()
        return self.embedder.embed(images[:, rows, columns])

    def _decks(
        self, pools: Sequence[NDArray[np.intp]], draw: int, secret: bytes
    ) -> dict[bytes, NDArray[np.intp]]:
        """The donors of each pool in the order of a draw."""
        decks = {}
        for pool in {pool.tobytes(): pool for pool in pools}.values():
            keyed = KeyedRandom(secret, "suited", int(pool[0]), len(pool), draw)
            decks[pool.tobytes()] = dealt(keyed, pool, self.population.look_alikes, len(pool))
        return decks

    def _card(self, deck: NDArray[np.intp], place: int) -> int:
        """Who is dealt to a place, as `latent` wants it."""
        deal, card = divmod(place, len(deck))
        return int(deck[card]) + deal * len(self.population)


def _places_within(pools: Sequence[NDArray[np.intp]]) -> list[int]:
    """How many with the same pool come before each person.

    >>> _places_within([np.arange(3), np.arange(2), np.arange(3)])
    [0, 0, 1]
    """
    counts: dict[bytes, int] = {}
    places = []
    for pool in pools:
        key = pool.tobytes()
        places.append(counts.get(key, 0))
        counts[key] = places[-1] + 1
    return places
