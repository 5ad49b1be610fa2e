"""From a place in a cluster to a synthetic face, drawn with the window's secret.

A surrogate depends on the secret, the cluster, a secret permutation of its slots, the scope, the
attributes that the whole cluster shares and the number of its draw: never on the person behind it.
Where no cluster is safe for a track, it may have a face of no cluster. Whoever lacks the secret
cannot tell which slot of a cluster a face belongs to, nor that two faces belong to one cluster.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import numpy as np

from engines.types import Embedding, Latent
from gallery.dealing import Deals
from gallery.donors import DonorPopulation, DonorRecipe, dealt_card, mixed_latent
from gallery.errors import DonorError
from gallery.secrets import Context, KeyedRandom
from gallery.settings import Scope

__all__ = [
    "LONE_FACES",
    "AnyFace",
    "DonorMaker",
    "Face",
    "LoneFace",
    "Made",
    "SurrogateMaker",
    "Surrogates",
    "scope_domain",
]

LONE_FACES: Final = 100
"""Surrogates that no cluster lends, per scope. More: fewer who are in view at once want the same
one, and one of them a cover; fewer donors are left for clusters."""


@dataclass(frozen=True, slots=True)
class Made:
    """A surrogate as its maker gives it.

    Attributes:
        latent: (L, 512) float32.
        main: the donor that makes most of it, so that two with the same one, of whatever scope,
            are practically one face; None where it is not made of donors.
        is_of_bin: whether that donor has all values of the bin that was asked for.
        face: what that donor looks like to the embedder; None where that is not known.
    """

    latent: Latent
    main: int | None = None
    is_of_bin: bool = True
    face: Embedding | None = None


class SurrogateMaker(Protocol):
    """Makes latents; `DonorMaker` makes them from donors, tests from noise."""

    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        """A surrogate that depends on these arguments alone.

        Args:
            keyed: the scope's random stream, the only source of randomness.
            number: which of the scope's faces, of any sign; different numbers must give faces
                that nobody confuses.
            places: how many faces a cluster may need; so many consecutive numbers, at most,
                are its.
            attribute_bin: attributes that all the cluster's people share, as
                "name=value|name=value"; "" for any.
            draw: 0 for the first; each other draw of a number gives another face.

        Raises:
            GalleryError: none can be made; the face is covered.
        """
        ...

    def forget(self) -> None:
        """Forgets what it remembers of keyed streams."""
        ...


@dataclass(frozen=True, slots=True)
class DonorMaker:
    """Mixes donors; no two faces of a scope share their main one until all are dealt.

    Attributes:
        population: who can be chosen.
        recipe: how to mix.
        deals: orders that were drawn, for the next draws.

    >>> people = DonorPopulation(np.random.default_rng(0).normal(size=(60, 2, 512)))
    >>> DonorMaker(people).make(KeyedRandom(b"k" * 32, "s1"), 0, 9, "", 0).latent.shape
    (2, 512)
    """

    population: DonorPopulation
    recipe: DonorRecipe = field(default_factory=DonorRecipe)
    deals: Deals = field(default_factory=Deals, repr=False, compare=False)

    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        """See `SurrogateMaker.make`.

        Raises:
            TooFewDonors: the population has fewer than places, or than a face takes, or the bin
                fewer than that many draws.
        """
        wanted = dict(part.split("=", 1) for part in attribute_bin.split("|") if "=" in part)
        people = self.population
        card = dealt_card(
            people, keyed, number, draw=draw, at_once=places, wanted=wanted, deals=self.deals
        )
        latent = mixed_latent(people, keyed, number, card, self.recipe)
        face = people.faces[card.main] if len(people.faces) else None
        return Made(latent, card.main, people.has(card.main, wanted), face)

    def forget(self) -> None:
        """See `SurrogateMaker.forget`."""
        self.deals.forget()


@dataclass(frozen=True, slots=True)
class Face:
    """Which surrogate: everything that its latent depends on.

    Attributes:
        secret: the window's secret.
        cluster: clusters of the window and of the same bin that were opened before its own.
        slot: place in the cluster, before the secret permutation.
        slots: places that the cluster has.
        domain: where the surrogate is the same; see `scope_domain`.
        attribute_bin: attributes that all the cluster's people share; "" for none.
        draw: how many faces of the same place were drawn before it.
    """

    secret: bytes
    cluster: int
    slot: int
    slots: int
    domain: tuple[Context, ...]
    attribute_bin: str
    draw: int = 0

    def __repr__(self) -> str:
        return f"Face(cluster={self.cluster}, slot={self.slot})"

    @property
    def place(self) -> int:
        """The slot after a permutation that only the secret tells.

        The first half of the slots, which every cluster fills, is permuted, and so is the second,
        which records in doubt fill now and then.
        """
        order = KeyedRandom(self.secret, "places", *self._at)
        first, second = (order.permutation(count) for count in (self._filled, self._spare))
        if self.slot < self._filled:
            return int(first[self.slot])
        return self._filled + int(second[self.slot - self._filled])

    @property
    def name(self) -> str:
        """Opaque name of this very surrogate, 16 hex digits; nothing links it to others."""
        keyed = KeyedRandom(self.secret, "face name", *self._at, self.slot, self.draw)
        return keyed.token(8).hex()

    @property
    def cluster_name(self) -> str:
        """Opaque name of the cluster within the scope, 12 hex digits."""
        return KeyedRandom(self.secret, "cluster name", *self._at).token(6).hex()

    @property
    def number(self) -> int:
        """Number of the face within its domain and bin; those of one cluster follow each other.

        Places that are filled count from 0 upwards, the others downwards from where lone faces
        end, so that hardly any surrogate is dealt to nobody.
        """
        place = self.place
        if place < self._filled:
            return self.cluster * self._filled + place
        return -1 - LONE_FACES - (self.cluster * self._spare + place - self._filled)

    @property
    def _at(self) -> tuple[Context, ...]:
        return (self.cluster, self.attribute_bin, *self.domain)

    @property
    def _filled(self) -> int:
        return (self.slots + 1) // 2

    @property
    def _spare(self) -> int:
        return self.slots // 2

    def keyed(self) -> KeyedRandom:
        """The random stream that the latents of the domain's faces are drawn from."""
        return _surrogates_of(self.secret, self.domain)


@dataclass(frozen=True, slots=True)
class LoneFace:
    """The surrogate of a track for whose person no cluster has a safe place.

    It depends on the secret, the scope, whose turn it is and the person's bin, so beside the bin it
    tells of the person what a cover would. Other tracks have it after `LONE_FACES` more.

    Attributes:
        secret: the window's secret.
        turn: which of them, 0…LONE_FACES - 1.
        slots: places that a cluster has.
        domain: where the surrogate is the same; see `scope_domain`.
        attribute_bin: the person's own attributes, where surrogates match them; "" for none.
        draw: how many faces of the same turn were drawn before it.
    """

    secret: bytes
    turn: int
    slots: int
    domain: tuple[Context, ...]
    attribute_bin: str = ""
    draw: int = 0

    def __repr__(self) -> str:
        return f"LoneFace(turn={self.turn})"

    @property
    def name(self) -> str:
        """Opaque name of this very surrogate, 16 hex digits; nothing links it to others."""
        at = (self.attribute_bin, *self.domain, self.turn, self.draw)
        return KeyedRandom(self.secret, "lone face", *at).token(8).hex()

    @property
    def number(self) -> int:
        """Number of the face within its domain and bin, which no face of a cluster has."""
        return -1 - self.turn

    def keyed(self) -> KeyedRandom:
        """The random stream that the latents of the domain's faces are drawn from."""
        return _surrogates_of(self.secret, self.domain)


def _surrogates_of(secret: bytes, domain: tuple[Context, ...]) -> KeyedRandom:
    return KeyedRandom(secret, "surrogates", *domain)


def scope_domain(
    scope: Scope, session: str, stream: str, track: tuple[Context, ...]
) -> tuple[Context, ...]:
    """What a surrogate's scope adds to its context: same domain, same surrogate.

    Args:
        scope: how far one person keeps one surrogate.
        session: name that workers of one session share.
        stream: name of the stream.
        track: what no other track has, of whatever stream and run.

    >>> scope_domain("camera", "s1", "door", (7,)) == scope_domain("camera", "s2", "door", (9,))
    True
    """
    if scope == "track":
        return ("track", *track)
    if scope == "session":
        return ("session", session)
    if scope == "camera":
        return ("camera", stream)
    return ("forever",)


AnyFace = TypeVar("AnyFace", Face, LoneFace)


class Surrogates:
    """Latents of faces, remembered for as long as they fit.

    Args:
        maker: makes them.
        limit: latents kept; a forgotten one is made again, the same.
    """

    def __init__(self, maker: SurrogateMaker, limit: int = 256) -> None:
        self._maker = maker
        self._limit = limit
        self._kept: OrderedDict[Face | LoneFace, Made] = OrderedDict()

    def latent(self, face: Face | LoneFace) -> Latent:
        """The face's latent, (L, 512) float32, not to be written to.

        Raises:
            DonorError: the maker gave something else.
            GalleryError: the maker could not make one.
        """
        return self._made(face).latent

    def donor(self, face: Face | LoneFace) -> Embedding | None:
        """What the face's main donor looks like to the embedder; None where that is not known.

        Raises:
            DonorError, GalleryError: see `latent`.
        """
        return self._made(face).face

    def look(self, face: Face | LoneFace) -> str:
        """The same for all faces, of whatever scope and window, that nobody could tell apart.

        Raises:
            DonorError, GalleryError: see `latent`.
        """
        main = self._made(face).main
        return face.name if main is None else f"donor {main}"

    def is_of_bin(self, face: Face | LoneFace) -> bool:
        """Whether the face shows all values of its bin; donors of some bins may be too few.

        Raises:
            DonorError, GalleryError: see `latent`.
        """
        return self._made(face).is_of_bin

    def first_unworn(self, faces: Iterable[AnyFace], worn: Collection[str]) -> AnyFace | None:
        """The first face that looks like none of those that are worn; None where all do.

        Args:
            faces: in the order of preference.
            worn: names and looks of what others wear.

        Raises:
            DonorError, GalleryError: see `latent`.
        """
        return next((face for face in faces if self.is_unworn(face, worn)), None)

    def is_unworn(self, face: Face | LoneFace, worn: Collection[str]) -> bool:
        """Whether a face looks like none of those that are worn.

        Raises:
            DonorError, GalleryError: see `latent`.
        """
        return face.name not in worn and self.look(face) not in worn

    def forget(self) -> None:
        """Forget all latents."""
        self._kept.clear()
        self._maker.forget()

    def _made(self, face: Face | LoneFace) -> Made:
        made = self._kept.pop(face, None)
        if made is None:
            wanted = (face.slots, face.attribute_bin, face.draw)
            made = self._maker.make(face.keyed(), face.number, *wanted)
            latent = made.latent
            if latent.ndim != 2 or latent.dtype != np.float32 or not np.isfinite(latent).all():
                raise DonorError("a surrogate must be a finite (L, 512) float32 latent")
            latent.setflags(write=False)
        self._kept[face] = made
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        return made
