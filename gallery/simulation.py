"""A simulated crowd before a gallery, and an oracle that knows who everybody really is.

The oracle knows what the gallery cannot: which human being stands behind each track. After every
step it holds the gallery to what it promises:

- nothing that was released changes: a track keeps its surrogate, a person its own within the scope;
- two people in view together never wear the same face;
- a human being is never released from two clusters of one window, nor counted twice in one;
- the human beings who could have caused all of a person's releases are never fewer than
  min(k, k_real), and never fewer than k where the policy is to cover;
- whoever counts as a candidate has the same attributes, where surrogates match them;
- the ledger finds no violation, and still finds none when it is read back from its files.

People have two looks each, whose embeddings fall into doubt of each other, and some have a twin.
So the recogniser errs as `docs/gallery.md` assumes it may: the same person never scores below
the threshold of doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from engines.types import Embedding
from gallery.assignments import Assignment, GalleryReport
from gallery.buffer import Buffer
from gallery.gallery import Gallery
from gallery.ledger import Ledger, check_folder
from gallery.people import unit_embedding
from gallery.secrets import KeyedRandom, SecretRing
from gallery.settings import Attributes, BelowK, GallerySettings, Scope, Thresholds
from gallery.stores.memory import MemoryStore
from gallery.surrogates import Made

__all__ = ["Crowd", "NoiseMaker", "Oracle", "Violation", "look"]

DIMENSIONS = 48
THRESHOLDS = Thresholds(match=0.85, doubt=0.70)


class Violation(AssertionError):
    """The gallery broke a promise; the message says which."""


class NoiseMaker:
    """Latents of noise, for simulations."""

    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        """One row of noise; see `SurrogateMaker.make`."""
        noise = keyed.child(number, places, attribute_bin, draw).normal(1, 16)
        return Made(noise.repeat(32, axis=1))

    def forget(self) -> None:
        """Nothing is remembered."""


def look(human: int, is_poor: bool = False, seed: int = 0) -> Embedding:
    """A human being's embedding, (48,) float32, unit length; the same from any process.

    Humans 10n and 10n + 1 are twins: their cosine is 0.95 on good looks, 1 on poor ones. A
    poor look has a cosine of 0.78 or 0.82 with the good ones: in doubt.

    >>> round(float(look(3) @ look(3, is_poor=True)), 2), round(float(look(0) @ look(1)), 2)
    (0.82, 0.95)
    """
    twin = human - 1 if human % 10 == 1 else human
    base, poorly = _direction(seed, "human", twin), _direction(seed, "poor", twin)
    if is_poor:
        return _turned(base, poorly, 0.82)
    if twin == human:
        return base
    blur = _turned(base, poorly, 0.0)  # twins differ in other ways, so both look poor alike
    return _turned(base, _turned(blur, _direction(seed, "twin", human), 0.0), 0.95)


@lru_cache(maxsize=8192)
def _direction(*what: str | int) -> Embedding:
    """A random unit vector that belongs to these words."""
    return unit_embedding(KeyedRandom(b"simulated crowd!", *what).normal(DIMENSIONS))


def _turned(base: Embedding, towards: Embedding, cosine: float) -> Embedding:
    """A unit vector at this cosine from `base`, turned towards another direction."""
    sideways = unit_embedding(towards - (towards @ base) * base)
    return unit_embedding(cosine * base + np.sqrt(1 - cosine**2) * sideways)


@dataclass(slots=True)
class _Truth:
    """A track as the oracle sees it."""

    human: int
    stream: str
    assignment: Assignment | None = None


class Oracle:
    """Holds what was released against the truth.

    Args:
        settings: those of the gallery.
    """

    def __init__(self, settings: GallerySettings) -> None:
        self._settings = settings
        self._faces: dict[tuple[str, str, int], str] = {}
        self._owners: dict[tuple[str, str], int] = {}
        self._humans_of: dict[tuple[str, int], set[int]] = {}
        self._clusters_of: dict[tuple[str, int], set[int]] = {}
        self._left: dict[tuple[str, int], set[int]] = {}
        self._misread: set[tuple[str, int]] = set()

    def saw(self, human: int, window: str, record: int) -> None:
        """A human was taken for a record."""
        self._humans_of.setdefault((window, record), set()).add(human)

    def misread(self, window: str, record: int) -> None:
        """A record was made for a human who scored below doubt: no promise covers that."""
        self._misread.add((window, record))

    def corrected(self, window: str, record: int) -> None:
        """The record was merged in time: the promises hold as if it had never been."""
        self._misread.discard((window, record))

    def released(
        self, human: int, window: str, record: int, domain: str, face: str, buffer: Buffer
    ) -> None:
        """A human's track got a surrogate.

        Raises:
            Violation: the person's face changed, or the human has too few candidates.
        """
        if self._faces.setdefault((window, domain, record), face) != face:
            raise Violation(f"record {record} changed its face")
        if self._owners.setdefault((window, face), record) != record:
            raise Violation(f"records {self._owners[window, face]} and {record} share a face")
        cluster = buffer.records[record].cluster
        clusters = self._clusters_of.setdefault((window, human), set())
        clusters.add(cluster)
        if any(self._is_misread(window, buffer, c) for c in clusters):
            return
        if len(clusters) > 1:
            raise Violation(f"human {human} was released from clusters {sorted(clusters)}")
        claimed = buffer.candidates(record)
        bins = {buffer.records[person].bin for person in claimed}
        if self._settings.attributes == "matched" and len(bins) > 1:
            raise Violation(f"candidates of the bins {sorted(bins)} are told apart")
        humans = self._distinct_humans(window, buffer, claimed)
        if len(claimed) > humans:
            raise Violation(f"{len(claimed)} candidates claimed, {humans} humans are there")
        left = self._left.setdefault((window, human), set(claimed))
        before = len(left)
        left &= set(claimed)
        floor = self._settings.k if self._settings.below_k == "cover" else before
        if len(left) < min(self._settings.k, floor):
            raise Violation(f"human {human} has {len(left)} candidates left, of {before}")

    def lent_alone(self, window: str, face: str) -> None:
        """A track got a surrogate though it was taken for nobody.

        Raises:
            Violation: the policy forbids it, or somebody else owns the face.
        """
        if self._settings.below_k == "cover":
            raise Violation("a face of no cluster was lent, and the policy says cover")
        if (window, face) in self._owners:
            raise Violation(f"record {self._owners[window, face]} shares its face")

    def _is_misread(self, window: str, buffer: Buffer, cluster: int) -> bool:
        """Whether the recogniser failed beyond what is promised, in this cluster."""
        return any((window, r) in self._misread for r in buffer.clusters[cluster].records)

    def _distinct_humans(self, window: str, buffer: Buffer, people: tuple[int, ...]) -> int:
        """The most people that can be given a human each, no human twice (augmenting paths)."""
        options = {person: set[int]() for person in people}
        for record, kept in buffer.records.items():
            if kept.person in options:
                options[kept.person] |= self._humans_of.get((window, record), set())
        taken: dict[int, int] = {}

        def place(person: int, tried: set[int]) -> bool:
            for human in options[person] - tried:
                tried.add(human)
                if human not in taken or place(taken[human], tried):
                    taken[human] = person
                    return True
            return False

        return sum(place(person, set()) for person in people)


class Crowd:
    """Drives a gallery step by step; every step ends with the oracle's checks.

    Args:
        folder: for the ledger's files.
        below_k, scope, k, attributes: settings of the gallery.
        seed: other seeds give other people.
        make_buffer, make_ledger: make the parts that keep the promises; faulty ones plant a
            violation.
    """

    def __init__(
        self,
        folder: Path,
        below_k: BelowK = "swap",
        scope: Scope = "session",
        k: int = 3,
        seed: int = 0,
        make_buffer: Callable[[GallerySettings], Buffer] = Buffer,
        make_ledger: Callable[..., Ledger] = Ledger,
        attributes: Attributes = "matched",
    ) -> None:
        self._make_ledger = make_ledger
        self.settings = GallerySettings(
            k=k, below_k=below_k, scope=scope, attributes=attributes, thresholds=THRESHOLDS,
            period_s=5.0, forget_track_s=20.0, retry_s=0.0,
        )  # fmt: skip
        self.time_s = 0.0
        self._folder = folder
        self._seed = seed
        self._make_buffer = make_buffer
        self._store = MemoryStore(3600.0, clock=lambda: self.time_s)
        self._ring = SecretRing.ephemeral()
        self._tracks: dict[int, _Truth] = {}
        self._next_track = 1
        self._oracle = Oracle(self.settings)
        self.steps = 0
        self.releases = 0
        self._gallery = self._started()

    @property
    def in_view(self) -> list[int]:
        """Tracks in view, all streams."""
        return list(self._tracks)

    def arrive(self, human: int, stream: str, is_poor: bool = False) -> None:
        """A human, known or not, comes into view on a new track."""
        track, self._next_track = self._next_track, self._next_track + 1
        self._tracks[track] = _Truth(human, stream)
        self._show(stream)
        self.ask(track, is_poor)

    def leave(self, track: int) -> None:
        """A track ends."""
        truth = self._tracks.pop(track)
        self._show(truth.stream)
        self._step()

    def ask(self, track: int, is_poor: bool = False) -> None:
        """The pipeline asks for a track, again or for the first time."""
        truth = self._tracks[track]
        embedding = look(truth.human, is_poor, self._seed)
        attributes = "hair=dark" if truth.human % 3 else "hair=fair"
        tries_on = track % 2 == 1
        answer = self._gallery.assign(
            truth.stream, track, embedding, attributes, self.time_s, tries_on=tries_on
        )
        if not answer.is_settled:
            answer = self._tried_on(track, truth.stream)
        self._judge(track, truth, answer)
        self._show(truth.stream)
        self._step()

    def misread(self, human: int, stream: str) -> None:
        """A track is first taken for a stranger by a useless frame, then read well."""
        track, self._next_track = self._next_track, self._next_track + 1
        truth = self._tracks[track] = _Truth(human, stream)
        useless = look(1_000_003 + 10 * track, seed=self._seed)
        first = self._gallery.assign(stream, track, useless, None, self.time_s)
        taken_for = self._gallery.record_of(stream, track)
        if taken_for is not None:
            self._oracle.misread(*taken_for)
        self._judge(track, truth, first)
        self.ask(track)
        if taken_for is not None and self._gallery.record_of(stream, track) != taken_for:
            self._oracle.corrected(*taken_for)

    def wait(self, seconds: float) -> None:
        """Time passes; tracks stay in view."""
        self.time_s += seconds
        for stream in {truth.stream for truth in self._tracks.values()}:
            self._show(stream)
        self._step()

    def crash(self) -> None:
        """The process dies and starts anew on the same store and ledger; tracks are lost."""
        self._tracks.clear()
        self._ledger.close()
        self._gallery = self._started()
        self._step()

    def lose_store(self) -> None:
        """The store forgets everything, as when Redis restarts empty."""
        self._store.forget()
        self._step()

    def rotate_keys(self) -> None:
        """The process starts anew with a new sealing key that still opens the old one's."""
        self._ring = self._ring.rotated()
        self.crash()

    def report(self) -> GalleryReport:
        """The gallery's own report."""
        return self._gallery.report()

    def check(self) -> None:
        """The ledger's own check, from memory and from its files.

        Raises:
            Violation: it found one.
        """
        report = self._gallery.report()
        if report.violations:
            raise Violation(f"the ledger counts {report.violations} violations")
        check = check_folder(self._folder)
        if not check.is_ok:
            raise Violation(check.violations[0])

    def close(self) -> None:
        """Close the gallery."""
        self._gallery.close()

    def _started(self) -> Gallery:
        self._ledger = self._make_ledger(
            self.settings.k, self.settings.below_k, self._folder, is_durable=False
        )
        return Gallery(
            self.settings, NoiseMaker(), self._store, self._ring, self._ledger, "session",
            clock=lambda: self.time_s, make_buffer=self._make_buffer,
        )  # fmt: skip

    def _judge(self, track: int, truth: _Truth, answer: Assignment) -> None:
        """Hold an answer against the truth."""
        before = truth.assignment
        if before is not None and before.surrogate is not None:
            if answer.face != before.face:
                raise Violation(f"track {track} changed its face")
            return
        if answer.surrogate is not None and self._is_worn_in_view(truth.stream, answer.face):
            raise Violation(f"track {track} got the face of another one in view")
        truth.assignment = answer
        taken_for = self._gallery.record_of(truth.stream, track)
        if taken_for is None:
            if answer.surrogate is not None:
                self._oracle.lent_alone(self._gallery.window, answer.face)
            return
        window, record = taken_for
        self._oracle.saw(truth.human, window, record)
        if answer.surrogate is not None:
            self.releases += 1
            domains = {"track": str(track), "camera": truth.stream}
            self._oracle.released(
                truth.human, window, record,
                domains.get(self.settings.scope, ""), answer.face, self._gallery.buffer,
            )  # fmt: skip

    def _tried_on(self, track: int, stream: str) -> Assignment:
        """Takes any draw, or none at all: as if the others resembled the human.

        Of those whom all draws resemble two in three take a draw of the next wider bin.
        """
        rare = 13
        answer = self._settled(track, stream, is_unlike=track % rare != 0)
        while answer.surrogate is not None and not answer.is_settled:
            rare *= 3
            answer = self._settled(track, stream, is_unlike=track % rare != 0)
        return answer

    def _settled(self, track: int, stream: str, *, is_unlike: bool) -> Assignment:
        offer = self._gallery.draws(stream, track)
        choice = track // 2 % len(offer.surrogates) if is_unlike else None
        return self._gallery.settle(stream, track, offer.number, choice)

    def _is_worn_in_view(self, stream: str, face: str) -> bool:
        seen = [truth for truth in self._tracks.values() if truth.stream == stream]
        return any(truth.assignment and truth.assignment.face == face for truth in seen)

    def _show(self, stream: str) -> None:
        """One frame of a stream: nobody in it may share a face."""
        tracks = [t for t, truth in self._tracks.items() if truth.stream == stream]
        hidden = self._gallery.visible(stream, tracks, self.time_s)
        worn: dict[str, int] = {}
        for track in tracks:
            answer = self._tracks[track].assignment
            if answer is None or answer.surrogate is None or track in hidden:
                continue
            if worn.setdefault(answer.face, track) != track:
                raise Violation(f"tracks {worn[answer.face]} and {track} wear one face")

    def _step(self) -> None:
        self.steps += 1
        self.time_s += 0.04
