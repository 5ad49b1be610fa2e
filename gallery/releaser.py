"""Which surrogate a track gets, recorded before it is shown, and its draws until one is settled."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from engines.types import Surrogate
from gallery.accounts import Release
from gallery.assignments import NO_OFFER, Assignment, CoverCause, Offer
from gallery.draws import draws_of, settled_place, wider_draws_of
from gallery.errors import GalleryError
from gallery.ledger import Ledger
from gallery.presence import Wearer
from gallery.roster import Roster
from gallery.secrets import Context
from gallery.settings import GallerySettings
from gallery.surrogates import (
    LONE_FACES,
    AnyFace,
    Face,
    LoneFace,
    SurrogateMaker,
    Surrogates,
)

__all__ = ["Domain", "Releaser"]

_ENOUGH: Final = 8
"""Draws that are left to choose from where those are left out that somebody wore lately. More cover
more people whose face was given away while they were out of view; fewer choose from less."""

Domain = tuple[Context, ...]
"""Where a surrogate of a track is the same."""


class Releaser:
    """Gives tracks surrogates under the promise that the ledger can check.

    Its methods raise what the roster and the ledger do; see `gallery.guard`. `worn` are names and
    looks of what the others in view wear.

    Args:
        settings: k, policy and scope.
        roster: people of the present window.
        ledger: record of releases.
        maker: makes latents from donors.

    Attributes:
        covers: tracks or frames refused, by cause.
        swaps_below_k: tracks that got a cluster's surrogate although k_real < k.
        swaps_in_doubt: tracks that got a surrogate of no cluster.
        redrawn: draws that were passed over.
        of_next_bin: times that a track got a surrogate of another bin, since its own has too few
            donors, or all that were drawn resemble the person.
    """

    def __init__(
        self, settings: GallerySettings, roster: Roster, ledger: Ledger, maker: SurrogateMaker
    ) -> None:
        self._settings = settings
        self.covers: Counter[str] = Counter()
        self.swaps_below_k = 0
        self.swaps_in_doubt = 0
        self.redrawn = 0
        self.of_next_bin = 0
        self._roster = roster
        self._ledger = ledger
        self._surrogates = Surrogates(maker)
        self._order = 0
        self._offers = itertools.count(1)
        self._lone_turn = 0

    def release(self, wearer: Wearer, domain: Domain, worn: Collection[str]) -> CoverCause | None:
        """Record a release of the track's record, then let the track wear it."""
        buffer, settings = self._roster.buffer, self._settings
        if wearer.window != self._roster.window:
            return "broken_promise"  # the record's number is somebody else's in another window
        if settings.below_k == "cover" and not buffer.is_releasable(wearer.record):
            return "below_k"
        record = buffer.records[wearer.record]
        cluster = buffer.clusters[record.cluster]
        at = (self._roster.secret, cluster.number, record.slot, settings.slots)
        first = Face(*at, domain, cluster.bin)
        settled = buffer.draw_of(wearer.record, settled_place(first))
        offered = draws_of(first, settled)
        face = self._unworn(offered, worn)
        if isinstance(face, str):
            return face
        candidates = buffer.candidates(wearer.record)
        release = Release(
            wearer.window, record.person, wearer.record, record.cluster, record.slot, candidates
        )
        k_real = self._ledger.release(release)
        if not k_real:
            return "broken_promise"
        self.swaps_below_k += k_real < settings.k
        wearer.person, wearer.cluster = record.person, record.cluster
        wearer.choices = () if settled is not None else tuple(offered[face.draw :])
        self.of_next_bin += not self._surrogates.is_of_bin(face)
        self._wear(wearer, face, face.cluster_name, k_real)
        return None

    def release_lone(
        self, wearer: Wearer, domain: Domain, lone_bin: str, worn: Collection[str]
    ) -> CoverCause | None:
        """Let a track wear a face that belongs to no cluster, and record that it does.

        But for the bin nothing in it depends on who comes, so it tells what a cover would: that
        the person is in doubt. It counts for nobody.
        """
        turns = ((self._lone_turn + n) % LONE_FACES for n in range(LONE_FACES))
        at = (self._settings.slots, domain, lone_bin)
        face = self._unworn((LoneFace(self._roster.secret, turn, *at) for turn in turns), worn)
        if isinstance(face, str):
            return face
        self._ledger.lone_release(self._roster.window)
        self.swaps_in_doubt += 1
        self._lone_turn = face.turn + 1
        wearer.choices = tuple(draws_of(face))
        self.of_next_bin += not self._surrogates.is_of_bin(face)
        self._wear(wearer, face, face.name, 0)
        return None

    def offer(self, wearer: Wearer, worn: Collection[str], lately: Collection[str]) -> Offer:
        """The draws that a track may get; see `Gallery.draws`.

        Args:
            wearer: the track.
            worn: names and looks of what others in view wear.
            lately: the same of all who are remembered.
        """
        if wearer.surrogate is None or not wearer.choices:
            return NO_OFFER
        first, *others = wearer.choices
        left = self._all_unworn(others, worn)
        free = self._all_unworn(left, lately)
        wearer.choices = (first, *(free if len(free) >= _ENOUGH else left))
        number = next(self._offers)
        wearer.assignment = replace(wearer.assignment, offer=number)
        offered, latents = wearer.surrogate, map(self._surrogates.latent, wearer.choices)
        made = (Surrogate(offered.cluster, one, offered.k_real) for one in latents)
        return Offer(number, tuple(made), tuple(map(self._surrogates.donor, wearer.choices)))

    def widen(self, wearer: Wearer, worn: Collection[str]) -> bool:
        """Offer draws of the next wider bin to a track whose own all resemble its person.

        Returns:
            Whether there are any that have not been offered yet.
        """
        if wearer.surrogate is None or not wearer.choices:
            return False
        wearer.choices = tuple(self._all_unworn(wider_draws_of(wearer.choices[0]), worn))
        if not wearer.choices:
            return False
        self._wear(wearer, wearer.choices[0], wearer.surrogate.cluster, wearer.surrogate.k_real)
        return True

    def settle(self, wearer: Wearer, choice: int, worn: Collection[str]) -> CoverCause | None:
        """The track's surrogate stays; of a person it is recorded for all workers."""
        if not wearer.choices or wearer.surrogate is None:
            return None
        face, offered = wearer.choices[choice], wearer.surrogate
        if choice and not self._all_unworn([face], worn):
            return "shared_face"  # somebody else got it while it was tried on
        if isinstance(face, Face) and self._settings.scope != "track":
            if wearer.window != self._roster.window:
                return "broken_promise"
            draw = self._roster.settle(wearer.record, settled_place(face), face.draw)
            if draw is None:
                return "broken_promise"
            if draw != face.draw:  # another worker was faster
                standing = self._unworn([replace(face, draw=draw)], worn)
                if isinstance(standing, str):
                    return standing
                face = standing
        wearer.choices = ()
        was_of_bin = self._surrogates.is_of_bin(replace(face, draw=0))
        self.of_next_bin += was_of_bin and not self._surrogates.is_of_bin(face)
        self._wear(wearer, face, offered.cluster, offered.k_real)
        return None

    def cover(self, wearer: Wearer, cause: CoverCause) -> None:
        """A track gets a cover instead of what it has, if anything."""
        if wearer.surrogate is not None:
            k_real = wearer.surrogate.k_real
            self.swaps_below_k -= 0 < k_real < self._settings.k
            self.swaps_in_doubt -= k_real == 0
        wearer.assignment, wearer.choices = Assignment(None, cause), ()
        self.covers[cause] += 1

    def forget(self) -> None:
        """Forget all latents."""
        self._surrogates.forget()

    def _unworn(self, faces: Iterable[AnyFace], worn: Collection[str]) -> AnyFace | CoverCause:
        """The first face that nobody in view wears, or why there is none."""
        try:
            return self._surrogates.first_unworn(faces, worn) or "shared_face"
        except GalleryError:
            return "no_surrogate"

    def _all_unworn(
        self, faces: Iterable[Face | LoneFace], worn: Collection[str]
    ) -> list[Face | LoneFace]:
        """Those of the faces that nobody in view wears, up to the first that cannot be made."""
        left: list[Face | LoneFace] = []
        with suppress(GalleryError):
            left.extend(face for face in faces if self._surrogates.is_unworn(face, worn))
        return left

    def _wear(self, wearer: Wearer, face: Face | LoneFace, cluster: str, k_real: int) -> None:
        """From now on the track wears that, after all who wear something already."""
        self._order += 1
        wearer.order, wearer.look = self._order, self._surrogates.look(face)
        surrogate = Surrogate(cluster, self._surrogates.latent(face), k_real)
        offer = next(self._offers) if wearer.choices else 0
        wearer.assignment = Assignment(surrogate, None, face.name, offer)
