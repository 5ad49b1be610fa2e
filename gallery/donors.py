"""Synthetic people whose latents surrogates are mixed from, and the keyed choice among them.

A donor is chosen by keyed randomness alone, see `gallery.dealing`. The subject supplies nothing but
coarse attribute bins, see `gallery.settings`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.types import Latent
from gallery.dealing import Deals, Indices, LookAlikes, look_alikes
from gallery.errors import DonorPackRejected, TooFewDonors
from gallery.secrets import KeyedRandom

__all__ = [
    "DRAWS",
    "WIDER_DRAWS",
    "Card",
    "DonorPopulation",
    "DonorRecipe",
    "dealt_card",
    "mixed_latent",
    "read_donors",
    "surrogate_latent",
]

Latents = NDArray[np.float32]
"""(n, L, 512) float32 w+, one per donor."""

_FORMAT = "kveil donors 1"
_CODES = "attribute."
_NAMES = "values."
_UNKNOWN = -1
_MAX_BYTES = 2 << 30
DRAWS = 96
"""Most draws of a bin. More cover fewer people of whom many donors remind, and take more donors
from others of the bin."""
WIDER_DRAWS = 80
"""The same of each wider bin, for whom all of those before resemble. More take longer; the draws of
two must fit into a byte with those of the bin."""
_PER_SURROGATE = 2
"""Donors that a surrogate is mixed from."""


@dataclass(frozen=True, slots=True)
class DonorPopulation:
    """Latents of synthetic people, with coarse attributes.

    Attributes:
        latents: (n, L, 512) float32 w+, n ≥ 2; owned, not to be written. Where all layers
            are the same, a view of one.
        attributes: per attribute, (n,) str values; the empty string where unknown.
        mean: (L, 512) float32, mean latent of the generator or, where none was given, of
            the donors; spreads are measured from it.
        alike: (M, 2) donors who look alike, each pair once; they are not dealt together.
        faces: (n, D) float32, what donors look like to the embedder, unit vectors; (0, 0) where
            that is not known.
        look_alikes: the same, as dealing wants it.

    Raises:
        DonorPackRejected: wrong shapes, not finite, or fewer than two donors.

    >>> people = DonorPopulation(np.eye(3, 512, dtype=np.float32)[:, None])
    >>> len(people), people.mean.shape
    (3, (1, 512))
    """

    latents: Latents
    attributes: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    mean: Latent = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    alike: Indices = field(default_factory=lambda: np.zeros((0, 2), np.intp))
    faces: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    look_alikes: LookAlikes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.latents.ndim != 3 or len(self.latents) < 2:
            raise DonorPackRejected("donor latents must have the shape (at least 2, L, 512)")
        object.__setattr__(self, "latents", self.latents.astype(np.float32, copy=False))
        if not np.isfinite(self.latents).all():
            raise DonorPackRejected("donor latents hold NaN or infinity; make the pack again")
        if not self.mean.size:
            object.__setattr__(self, "mean", self.latents.mean(axis=0, dtype=np.float64))
        object.__setattr__(self, "mean", self.mean.astype(np.float32))
        if self.mean.shape != self.latents.shape[1:] or not np.isfinite(self.mean).all():
            raise DonorPackRejected("the mean latent must be finite and of one donor's shape")
        if any(values.shape != (len(self.latents),) for values in self.attributes.values()):
            raise DonorPackRejected("every attribute needs one value per donor")
        if not _are_pairs(self.alike, len(self.latents)):
            raise DonorPackRejected("look-alikes must be pairs of different donors of the pack")
        object.__setattr__(self, "alike", self.alike.astype(np.intp))
        if self.faces.ndim != 2 or len(self.faces) not in {0, len(self.latents)}:
            raise DonorPackRejected("every donor needs one face, or none has")
        if not np.isfinite(self.faces).all():
            raise DonorPackRejected("donors' faces hold NaN or infinity; make the pack again")
        object.__setattr__(self, "look_alikes", look_alikes(self.alike, len(self.latents)))

    def __len__(self) -> int:
        return len(self.latents)

    def has(self, donor: int, wanted: Mapping[str, str]) -> bool:
        """Whether a donor has all the wanted values. Unknown attributes are ignored.

        >>> people = DonorPopulation(np.eye(2, 512)[:, None], {"age": np.array(["old", "young"])})
        >>> people.has(0, {"age": "old"}), people.has(1, {"age": "old", "hat": "red"})
        (True, False)
        """
        known = (
            (self.attributes[name], wanted[name]) for name in wanted if name in self.attributes
        )
        return all(bool(values[donor] == value) for values, value in known)

    def matching(self, wanted: Mapping[str, str], count: int) -> Indices:
        """Donors that have the wanted values; the last are given up until `count` are left.

        Args:
            wanted: attribute → value, most important first. Unknown attributes are ignored.
            count: fewest donors needed.

        Raises:
            TooFewDonors: the whole population is smaller than `count`.
        """
        if count > len(self):
            raise TooFewDonors(
                f"{len(self)} donors cannot give {count} different ones; use a larger pack, "
                "a smaller k or fewer donors per surrogate"
            )
        known = [(name, value) for name, value in wanted.items() if name in self.attributes]
        while known:
            fits = np.all([self.attributes[name] == value for name, value in known], axis=0)
            if int(fits.sum()) >= count:
                return np.flatnonzero(fits)
            known.pop()
        return np.arange(len(self), dtype=np.intp)

    def wider(self, wanted: Mapping[str, str], count: int) -> list[Indices]:
        """Donors of ever wider bins, each without those of the bins before, and of `matching`.

        The most important value is never given up: nobody gets the face of another gender.

        Args:
            wanted: attribute → value, most important first.
            count: as for `matching`.

        Raises:
            TooFewDonors: the whole population is smaller than `count`.
        """
        known, left, found = self.matching(wanted, count), dict(wanted), []
        while len(left) > 1:
            left.popitem()
            others = np.setdiff1d(self.matching(left, count), known)
            if len(others):
                found.append(others)
                known = np.concatenate([known, others])
        return found


@dataclass(frozen=True, slots=True)
class DonorRecipe:
    """How one surrogate is made of two donors: a convex mixture, so that it stays a person.

    Attributes:
        accent: share of the second donor in the first deal, 0…<½; 0 takes the main donor alone.
            Larger makes surrogates resemble each other more, and a main donor harder to tell.
        accent_again: the same in later deals. Larger makes a surrogate resemble its main donor
            less, and the other surrogates of later deals more.

    Raises:
        ValueError: a share outside its range.
    """

    accent: float = 0.05
    accent_again: float = 0.45

    def __post_init__(self) -> None:
        if (
            not 0
            <= min(self.accent, self.accent_again)
            <= max(self.accent, self.accent_again)
            < 0.5
        ):
            raise ValueError("the second donor's shares must be in 0…<½")


@dataclass(frozen=True, slots=True)
class Card:
    """What a number is dealt.

    Attributes:
        main: row of the main donor.
        pool: rows of those it was dealt from.
        is_first: that donor is dealt for the first time, and so makes most of the surrogate.
    """

    main: int
    pool: Indices
    is_first: bool


def dealt_card(
    population: DonorPopulation,
    random: KeyedRandom,
    number: int,
    *,
    draw: int = 0,
    at_once: int = 1,
    wanted: Mapping[str, str] | None = None,
    deals: Deals | None = None,
) -> Card:
    """The main donor of one number; for the arguments see `surrogate_latent`.

    Args:
        population: who can be chosen.
        random: keyed stream of the scope.
        number: of the surrogate.
        draw: which of its draws; from `DRAWS` on, `WIDER_DRAWS` are of each wider bin.
        at_once: consecutive numbers with different main donors.
        wanted: attributes.
        deals: remembers orders from call to call; they are drawn anew without.

    Raises:
        TooFewDonors: the population has fewer than that, or the pool fewer than that many draws.
    """
    needed = max(at_once, _PER_SURROGATE)
    if draw < DRAWS:
        pool = population.matching(wanted or {}, needed)
    else:
        bins = population.wider(wanted or {}, needed)
        step, draw = divmod(draw - DRAWS, WIDER_DRAWS)
        pool = bins[step] if step < len(bins) else np.zeros(0, np.intp)
    if draw >= len(pool):
        raise TooFewDonors(f"{len(pool)} donors cannot give draw {draw}; use a larger pack")
    deals = deals or Deals()
    deal, card = divmod(number, len(pool))
    if draw:
        card = (card + _step(deals, random, number, draw, len(pool), at_once)) % len(pool)
    main = int(deals.deck(random, pool, population.look_alikes, card + 1)[card])
    return Card(main, pool, deal in (-1, 0))


def _step(
    deals: Deals, random: KeyedRandom, number: int, draw: int, count: int, at_once: int
) -> int:
    """By how many cards a later draw of a number lies behind the first one."""
    own = random.child("draws", number)
    name, what = random.child("draws name", number).token(16), f"{count} {at_once}".encode()
    return int(deals.order(name, what, lambda: _steps(own, count, at_once))[draw - 1])


def _steps(random: KeyedRandom, count: int, at_once: int) -> Indices:
    """By how many cards later draws lie behind the first one, (count - 1,) in their order.

    Cards that the same cluster's other numbers may have come last.
    """
    steps = np.arange(1, count)
    is_far = (steps >= at_once) & (steps <= count - at_once)
    far, near = steps[is_far], steps[~is_far]
    parts = [part[random.sample(len(part), len(part))] for part in (far, near) if len(part)]
    return np.concatenate(parts).astype(np.intp)


def surrogate_latent(
    population: DonorPopulation,
    random: KeyedRandom,
    number: int,
    *,
    draw: int = 0,
    at_once: int = 1,
    wanted: Mapping[str, str] | None = None,
    recipe: DonorRecipe | None = None,
) -> Latent:
    """The surrogate of one number, (L, 512) float32.

    Donors are dealt like cards: in the first deal every number has a main donor of its own,
    and little of another; once all are dealt they come again, in more even mixtures. Numbers
    below 0 are dealt from the last card on. The result depends on the key, the scope (through
    `random`'s context), the number, the draw, the wanted attributes and the population: nothing
    of the subject's pixels or embedding enters.

    Args:
        population: who can be chosen.
        random: keyed stream of the scope; only children of it are drawn from, so any worker
            gets the same surrogate at any time.
        number: who has which says nothing without the key.
        draw: 0 for the first; each other draw of a number has another main donor.
        at_once: any so many consecutive numbers, as the places of a cluster, have different
            main donors in their first draws.
        wanted: attributes that the donors must have as far as possible; decided once per
            cluster, since numbers asked with other values may meet in a donor.
        recipe: how to mix.

    Raises:
        TooFewDonors: the population has fewer than that, or the pool fewer than that many draws.

    >>> people = DonorPopulation(np.random.default_rng(0).normal(size=(40, 2, 512)))
    >>> faces = [surrogate_latent(people, KeyedRandom(b"k" * 32, "s"), n) for n in (0, 0, 1)]
    >>> bool((faces[0] == faces[1]).all()), bool((faces[0] == faces[2]).any())
    (True, False)
    """
    card = dealt_card(population, random, number, draw=draw, at_once=at_once, wanted=wanted)
    return mixed_latent(population, random, number, card, recipe or DonorRecipe())


def mixed_latent(
    population: DonorPopulation,
    random: KeyedRandom,
    number: int,
    card: Card,
    recipe: DonorRecipe,
) -> Latent:
    """A main donor mixed with another one, (L, 512) float32.

    Args:
        population: who is mixed.
        random: keyed stream; only children of it are drawn from.
        number: of the surrogate; another has another donor mixed in.
        card: the main donor, and those who may be mixed in.
        recipe: how to mix.
    """
    accent = recipe.accent if card.is_first else recipe.accent_again
    # Drawn anew for every number: a rule between numbers would tell which are far apart.
    rest = card.pool[card.pool != card.main]
    other = rest[random.child("others", number, card.main).sample(len(rest), 1)]
    pair = population.latents[np.concatenate([[card.main], other])].astype(np.float64)
    return np.tensordot(np.array([1 - accent, accent]), pair, axes=1).astype(np.float32)


def read_donors(path: Path) -> DonorPopulation:
    """Reads a pack; nothing in it is executed.

    Raises:
        DonorPackRejected: absent, damaged, of another format, or holding anything but
            latents, their mean, look-alikes, faces and coarse attributes.
    """
    try:
        with zipfile.ZipFile(path) as members:
            size = sum(member.file_size for member in members.infolist())
        if size > _MAX_BYTES:
            raise DonorPackRejected(
                f"{path.name} unpacks to {size} bytes; use at most {_MAX_BYTES}"
            )
        with np.load(path, allow_pickle=False) as pack:
            arrays = {name: pack[name] for name in pack.files}
    except (OSError, ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
        raise DonorPackRejected(
            f"cannot read the donor pack {path.name}: {error}; make or fetch it again"
        ) from error
    if str(arrays.get("format", "")) != _FORMAT:
        raise DonorPackRejected(f"{path.name} is not a donor pack of format {_FORMAT!r}")
    strangers = [name for name in arrays if not _belongs(name)]
    if strangers or "latents" not in arrays or "mean" not in arrays:
        raise DonorPackRejected(
            f"{path.name} must hold latents, mean, alike, faces and coarse attributes only, not "
            f"{', '.join(sorted(strangers)) or 'less'}"
        )
    attributes = {
        name.removeprefix(_CODES): _decoded(arrays, name.removeprefix(_CODES), path.name)
        for name in arrays
        if name.startswith(_CODES)
    }
    latents, mean = arrays["latents"].astype(np.float32), arrays["mean"].astype(np.float32)
    if latents.ndim == 3 and mean.ndim == 2 and latents.shape[1] == 1:
        latents = np.broadcast_to(latents, (len(latents), len(mean), latents.shape[2]))
    alike = arrays.get("alike", np.zeros((0, 2), np.intp))
    faces = arrays.get("faces", np.zeros((0, 0))).astype(np.float32)
    return DonorPopulation(latents, attributes, mean, alike, faces)


def _belongs(name: str) -> bool:
    known = {"format", "latents", "mean", "alike", "faces"}
    return name in known or name.startswith((_CODES, _NAMES))


def _decoded(arrays: Mapping[str, NDArray[np.generic]], name: str, pack: str) -> NDArray[np.str_]:
    codes = arrays[_CODES + name]
    names = arrays.get(_NAMES + name, codes)
    if not np.issubdtype(names.dtype, np.str_) or not np.issubdtype(codes.dtype, np.integer):
        raise DonorPackRejected(f"{pack}: attribute {name!r} needs integer codes and their values")
    rows = codes.astype(np.intp)
    if rows.ndim != 1 or names.ndim != 1 or ((rows < _UNKNOWN) | (rows >= len(names))).any():
        raise DonorPackRejected(f"{pack}: attribute {name!r} has codes without values")
    return np.append(names.astype(np.str_), "")[rows]


def _are_pairs(alike: NDArray[np.generic], count: int) -> bool:
    """Whether these are (M, 2) different rows of so many."""
    if not np.issubdtype(alike.dtype, np.integer) or alike.ndim != 2 or alike.shape[1] != 2:
        return False
    rows = alike.astype(np.int64)
    return bool(((rows >= 0) & (rows < count)).all() and (rows[:, 0] != rows[:, 1]).all())
