"""Synthetic people whose latents surrogates are mixed from, and the keyed choice among them.

A donor is chosen by keyed randomness alone, see `gallery.dealing`. The subject supplies nothing but
coarse attribute bins, and those only where at least k people of the cluster share them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.types import Latent
from gallery.dealing import Indices, LookAlikes, dealt, look_alikes
from gallery.errors import DonorPackRejected, TooFewDonors
from gallery.mixing import Latents, Weights, mix_latents, randomised_weights
from gallery.secrets import KeyedRandom

__all__ = [
    "Card",
    "DonorPopulation",
    "DonorRecipe",
    "dealt_card",
    "mixed_latent",
    "read_donors",
    "shared_attributes",
    "surrogate_latent",
    "write_donors",
]

_FORMAT = "kveil donors 1"
_CODES = "attribute."
_NAMES = "values."
_UNKNOWN = -1
_MAX_BYTES = 2 << 30


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
        object.__setattr__(self, "look_alikes", look_alikes(self.alike, len(self.latents)))

    def __len__(self) -> int:
        return len(self.latents)

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


@dataclass(frozen=True, slots=True)
class DonorRecipe:
    """How one surrogate is made of donors.

    Attributes:
        donors: donors per surrogate of the first deal, ≥ 1. More make surrogates that
            resemble each other: sums of many people are all near one Gaussian, and donors
            are people unlike each other. They hide nobody better: donors are synthetic and
            chosen by the key alone.
        accent: share of the donors beside the main one in the first deal, 0…<½; larger makes
            surrogates resemble each other more, and a main donor harder to tell.
        donors_again: donors per surrogate of later deals, ≥ 1. Fewer resemble the first
            surrogate of their main donor more: of two, four in five pass for him, of six,
            one in four; more make later surrogates resemble each other more.
        spread: how unequal the weights of later deals are, 0…<1, see `randomised_weights`;
            larger makes a surrogate resemble the first one of its main donor more.
        k_floor: fewest effective donors of later deals, 1…donors_again.
        keeps_spread: a plain mean of donors lies nearer to the average face, so surrogates
            would all look alike; true stretches the mixture away from the mean until it is
            as far out as a single donor is on average.
        boldness: share of that distance; smaller paints smoother faces that resemble each
            other more, larger harder ones.
    """

    donors: int = 2
    accent: float = 0.1
    donors_again: int = 6
    spread: float = 0.4
    k_floor: float = 5.0
    keeps_spread: bool = True
    boldness: float = 1.0


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
    at_once: int = 1,
    wanted: Mapping[str, str] | None = None,
    recipe: DonorRecipe | None = None,
) -> Card:
    """The main donor of one number; for the arguments see `surrogate_latent`.

    Raises:
        TooFewDonors: the population has fewer than that, or than a surrogate takes.
    """
    recipe = recipe or DonorRecipe()
    pool = population.matching(wanted or {}, max(at_once, recipe.donors, recipe.donors_again))
    deal, card = divmod(number, len(pool))
    main = int(dealt(random.child("donors"), pool, population.look_alikes, card + 1)[card])
    return Card(main, pool, deal in (-1, 0))


def surrogate_latent(
    population: DonorPopulation,
    random: KeyedRandom,
    number: int,
    *,
    at_once: int = 1,
    wanted: Mapping[str, str] | None = None,
    recipe: DonorRecipe | None = None,
) -> Latent:
    """The surrogate of one number, (L, 512) float32.

    Donors are dealt like cards: in the first deal every number has a main donor of its own,
    and little of others; once all are dealt they come again, in even mixtures of more. Numbers
    below 0 are dealt from the last card on. The result depends on the key, the scope (through
    `random`'s context), the number, the wanted attributes and the population: nothing of the
    subject's pixels or embedding enters.

    Args:
        population: who can be chosen.
        random: keyed stream of the scope; only children of it are drawn from, so any worker
            gets the same surrogate at any time.
        number: who has which says nothing without the key.
        at_once: any so many consecutive numbers, as the places of a cluster, have different
            main donors.
        wanted: attributes that at least k people of the cluster share; decided once per
            cluster, since numbers asked with other values may meet in a donor.
        recipe: how to mix.

    Raises:
        TooFewDonors: the population has fewer than that, or than a surrogate takes.

    >>> people = DonorPopulation(np.random.default_rng(0).normal(size=(40, 2, 512)))
    >>> faces = [surrogate_latent(people, KeyedRandom(b"k" * 32, "s"), n) for n in (0, 0, 1)]
    >>> bool((faces[0] == faces[1]).all()), bool((faces[0] == faces[2]).any())
    (True, False)
    """
    recipe = recipe or DonorRecipe()
    card = dealt_card(population, random, number, at_once=at_once, wanted=wanted, recipe=recipe)
    return mixed_latent(population, random, number, card, recipe)


def mixed_latent(
    population: DonorPopulation,
    random: KeyedRandom,
    number: int,
    card: Card,
    recipe: DonorRecipe,
) -> Latent:
    """A main donor mixed with others, (L, 512) float32.

    Args:
        population: who is mixed.
        random: keyed stream; only children of it are drawn from.
        number: of the surrogate; another has others mixed in.
        card: the main donor, and those who may be mixed in.
        recipe: how to mix.
    """
    # Drawn anew for every number: a rule between numbers would tell which are far apart.
    rest = card.pool[card.pool != card.main]
    weights = _weights(random.child("weights", number), card.is_first, recipe)
    others = rest[random.child("others", number).sample(len(rest), len(weights) - 1)]
    mixed = mix_latents(population.latents[np.concatenate([[card.main], others])], weights)
    if not recipe.keeps_spread:
        return mixed
    stretch = recipe.boldness / np.sqrt(float((weights**2).sum()))
    return np.asarray(population.mean + (mixed - population.mean) * stretch, dtype=np.float32)


def _weights(random: KeyedRandom, is_first: bool, recipe: DonorRecipe) -> Weights:
    """Weights of the main donor and the others, (donors of this deal,) float64, sum 1."""
    if not is_first:
        count, floor = recipe.donors_again, recipe.k_floor
        return randomised_weights(random, count, spread=recipe.spread, k_floor=floor)
    others = recipe.donors - 1
    if not others:
        return np.ones(1)
    return np.array([1 - recipe.accent, *[recipe.accent / others] * others])


def shared_attributes(
    wanted: Mapping[str, str], people: Sequence[Mapping[str, str]], k: int
) -> dict[str, str]:
    """The wanted values that at least k people share all at once.

    Whoever sees the surrogate learns these values and can strike everybody else from the
    cluster: at least k must be left.

    Args:
        wanted: attribute → value of the subject, most important first; a value that is
            empty is left out.
        people: the distinct real people who could be behind the surrogate, the subject
            included: the members of the cluster.
        k: fewest people who must share.

    >>> crowd = [{"age": "adult", "hair": "dark"}] * 3 + [{"age": "adult", "hair": "fair"}] * 2
    >>> shared_attributes({"age": "adult", "hair": "dark"}, crowd, 5)
    {'age': 'adult'}
    """
    kept: dict[str, str] = {}
    left = list(people)
    for name, value in wanted.items():
        agreeing = [person for person in left if person.get(name) == value]
        if value and len(agreeing) >= k:
            kept[name], left = value, agreeing
    return kept


def write_donors(path: Path, population: DonorPopulation) -> None:
    """Writes a pack: an npz file without pickles, replaced at once.

    Latents are kept as float16, and once where all layers are the same.

    Raises:
        OSError: the file cannot be written.
    """
    latents, layers = population.latents, population.latents.shape[1]
    is_flat = all(bool((latents[:, 0] == latents[:, layer]).all()) for layer in range(1, layers))
    arrays: dict[str, NDArray[np.generic]] = {
        "format": np.array(_FORMAT),
        "latents": latents[:, : 1 if is_flat else layers].astype(np.float16),
        "mean": population.mean,
        "alike": population.alike.astype(np.int32),
    }
    for name, values in population.attributes.items():
        names, codes = np.unique(values, return_inverse=True)
        arrays[_CODES + name] = codes.reshape(-1).astype(np.int16)
        arrays[_NAMES + name] = names.astype(np.str_)
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    beside.replace(path)


def read_donors(path: Path) -> DonorPopulation:
    """Reads a pack; nothing in it is executed.

    Raises:
        DonorPackRejected: absent, damaged, of another format, or holding anything but
            latents, their mean, look-alikes and coarse attributes.
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
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise DonorPackRejected(
            f"cannot read the donor pack {path.name}: {error}; make or fetch it again"
        ) from error
    if str(arrays.get("format", "")) != _FORMAT:
        raise DonorPackRejected(f"{path.name} is not a donor pack of format {_FORMAT!r}")
    strangers = [name for name in arrays if not _belongs(name)]
    if strangers or "latents" not in arrays or "mean" not in arrays:
        raise DonorPackRejected(
            f"{path.name} must hold latents, mean, alike and coarse attributes only, not "
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
    return DonorPopulation(latents, attributes, mean, alike)


def _belongs(name: str) -> bool:
    return name in {"format", "latents", "mean", "alike"} or name.startswith((_CODES, _NAMES))


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
