"""One worker's copy of the shared gallery: follows the log, recognises, enrols.

Enrolling is optimistic: decide, append on the condition that this copy misses nothing of the log;
otherwise catch up and decide again. Each failed try means that another worker got its entry in, so
the whole always advances. A newcomer thus costs one call of the store, as does a known person: what
is known is only believed after a look at the log. Settling a surrogate costs another one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from engines.types import Embedding
from gallery.buffer import Buffer, Placement
from gallery.entries import Entry, Joined, Same, Settled, decoded, encoded
from gallery.errors import EmbeddingsRejected, SettingsConflict, StoreUnavailable, WindowEnded
from gallery.people import PeopleIndex, Sighting
from gallery.secrets import SecretRing, fresh_key
from gallery.settings import GallerySettings
from gallery.stores.store import Store, Window

__all__ = ["Enrolment", "Roster"]

_BATCH = 1000
_TRIES = 200
_PLACES = 4
"""Settled surrogates per person, on average, from which a window is full."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What became of an embedding.

    Attributes:
        record: the record that stands for the person; None where it is not safe to say.
        is_new: this call made the record.
    """

    record: int | None
    is_new: bool


@dataclass(slots=True)
class _Copy:
    """What is known of one window."""

    window: str
    secret: bytes
    buffer: Buffer
    people: PeopleIndex
    waiting: dict[int, Embedding] = field(default_factory=dict)


class Roster:
    """Follows one store.

    Args:
        settings: those of the gallery; all workers of a store must agree on k, the policy
            below k and what is shown of attributes.
        store: where the log is.
        ring: keys that seal and open its entries.
        make_buffer: makes an empty buffer at the start of a window.
    """

    def __init__(
        self,
        settings: GallerySettings,
        store: Store,
        ring: SecretRing,
        make_buffer: Callable[[GallerySettings], Buffer] = Buffer,
    ) -> None:
        self._settings = settings
        self._store = store
        self._ring = ring
        self._make_buffer = make_buffer
        self._copy: _Copy | None = None
        self.windows = 0
        self.merges = 0

    @property
    def window(self) -> str:
        """Id of the present window; "" before the first `catch_up`."""
        return self._copy.window if self._copy else ""

    @property
    def secret(self) -> bytes:
        """The window's 32-byte secret, from which its surrogates are drawn."""
        return self._followed().secret

    @property
    def buffer(self) -> Buffer:
        """Clusters of the present window; read only."""
        return self._followed().buffer

    @property
    def index_bytes(self) -> int:
        """Bytes that the people index holds."""
        return self._copy.people.memory_bytes if self._copy else 0

    def catch_up(self) -> None:
        """Apply what all workers appended since the last call; follow into a new window.

        Raises:
            StoreUnavailable: the store does not answer, or begins windows too fast.
            SealBroken: entries that this ring cannot open.
            SettingsConflict: the window was opened with other settings.
            BufferBroken: an entry would break a cluster.
        """
        for _ in range(8):
            try:
                self._follow()
            except WindowEnded:
                self._copy = None
            else:
                return
        raise StoreUnavailable("the store ends each window at once; check its memory and TTL")

    def drop(self) -> None:
        """Forget the present window in this process alone."""
        self._copy = None

    def close(self) -> None:
        """Forget the present window in this process; the store is given back."""
        self.drop()
        self._store.close()

    def enrol(
        self, embedding: Embedding, own_bin: str, excluded: Collection[tuple[str, int]]
    ) -> Enrolment:
        """The person's record, made if there is none.

        Args:
            embedding: (D,) float32, unit length.
            own_bin: the person's attributes, "" where unknown.
            excluded: windows and records of people in view on other tracks.

        Raises:
            StoreUnavailable: the store does not answer, or others are always faster.
            EmbeddingsRejected: another D than the gallery holds.
            SealBroken, SettingsConflict, BufferBroken: see `catch_up`.
        """
        halved = embedding.astype(np.float16).astype(np.float32)  # as other workers will read it
        is_fresh = self._copy is None
        if is_fresh:
            self.catch_up()
        for _ in range(_TRIES):
            decision = self._decided(embedding, halved, own_bin, excluded)
            if isinstance(decision, Joined):
                if self._append(decision):
                    return Enrolment(self.buffer.head, is_new=True)
            elif decision is not None and is_fresh:
                return decision
            self.catch_up()
            is_fresh = True
        raise StoreUnavailable("other workers were always faster; try again")

    def _decided(
        self,
        embedding: Embedding,
        halved: Embedding,
        own_bin: str,
        excluded: Collection[tuple[str, int]],
    ) -> Joined | Enrolment | None:
        """What this copy makes of somebody; None where the window was full and is over now."""
        sighting = self.sight(embedding, excluded)
        if sighting.known is not None:
            return Enrolment(sighting.known, is_new=False)
        if self._is_full():
            self._store.forget(self.window)
            return None
        placement = self._placement(sighting, own_bin)
        if placement is None:
            return Enrolment(None, is_new=False)
        others = self._records(excluded)
        return Joined(
            placement.person, placement.cluster, placement.slot,
            any(record in others for record in sighting.resembles),
            placement.cluster_bin, own_bin, halved,
        )  # fmt: skip

    def sight(self, embedding: Embedding, excluded: Collection[tuple[str, int]] = ()) -> Sighting:
        """Who an embedding is, by what this copy holds now.

        Raises:
            EmbeddingsRejected: another D than the gallery holds.
        """
        return self._followed().people.sight(embedding, self._person_of, self._records(excluded))

    def search_work(self, embedding: Embedding) -> int:
        """Distances that `sight` computes for this embedding.

        Raises:
            EmbeddingsRejected: another D than the gallery holds.
        """
        return self._followed().people.search_work(embedding)

    def merge(self, record: int, other: int) -> bool:
        """Let `other` stand for `record` too, where that shrinks no released candidate set.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        for _ in range(_TRIES):
            if not self.buffer.may_merge(record, other):
                return False
            window = self.window
            if self._append(Same(record, other)):
                self.merges += 1
                return True
            self.catch_up()
            if self.window != window:
                return False
        return False

    def settle(self, record: int, place: bytes, draw: int) -> int | None:
        """Let a record's surrogate be this draw from now on, unless another worker was faster.

        Args:
            record: whose.
            place: the scope's domain, see `gallery.entries.Settled`.
            draw: which.

        Returns:
            The draw that it is; None where the window ended.

        Raises:
            StoreUnavailable: the store does not answer, or others are always faster.
        """
        window = self.window
        for _ in range(_TRIES):
            known = self.buffer.draw_of(record, place)
            if known is not None:
                return known
            if len(self.buffer.settled) >= _PLACES * self._settings.max_people:
                self._store.forget(window)
            if self._append(Settled(self.buffer.resolve(record), place, draw)):
                return draw
            self.catch_up()
            if self.window != window:
                return None
        raise StoreUnavailable("other workers were always faster; try again")

    def _followed(self) -> _Copy:
        if self._copy is None:
            raise StoreUnavailable("the gallery has not reached its store yet; catch up first")
        return self._copy

    def _follow(self) -> None:
        copy = self._copy or self._opened()
        self._copy = copy
        while True:
            batch = self._store.read(copy.window, copy.buffer.head, _BATCH)
            for sealed in batch:
                number = copy.buffer.head + 1
                self._apply(number, decoded(self._ring.unseal(sealed, copy.window, number)))
            self._index_waiting()
            if len(batch) < _BATCH:
                return

    def _opened(self) -> _Copy:
        """Open the store; the header carries the window's secret and what must agree."""
        names = ("k", "below_k", "attributes")
        agreed = {name: getattr(self._settings, name) for name in names}
        mine = {"secret": fresh_key().hex(), **agreed}
        name = os.urandom(16).hex()
        header = self._ring.seal(json.dumps(mine).encode(), "header", name)
        window: Window = self._store.open(name, header)
        kept = json.loads(self._ring.unseal(window.header, "header", window.id))
        if any(kept.get(name) != value for name, value in agreed.items()):
            known = ", ".join(f"{name}={kept.get(name)}" for name in names)
            raise SettingsConflict(
                f"the store holds a window with {known}; "
                "start this worker with the same, or purge the gallery"
            )
        self.windows += 1
        people = PeopleIndex(self._settings.thresholds, self._settings.search_effort)
        secret = bytes.fromhex(kept["secret"])
        return _Copy(window.id, secret, self._make_buffer(self._settings), people)

    def _is_full(self) -> bool:
        return len(self.buffer.records) >= self._settings.max_people

    def _placement(self, sighting: Sighting, own_bin: str) -> Placement | None:
        """Where a newcomer may go; None where it may be one of several people."""
        if len(sighting.resembles) > 1:
            return None
        resembles = sighting.resembles[0] if sighting.resembles else None
        return self.buffer.place(resembles, own_bin)

    def _append(self, entry: Entry) -> bool:
        copy = self._followed()
        number = copy.buffer.head + 1
        sealed = self._ring.seal(encoded(entry), copy.window, number)
        try:
            done = self._store.append(copy.window, number - 1, sealed)
        except WindowEnded:
            self._copy = None
            self.catch_up()
            return False
        if done:
            self._apply(number, entry)
            self._index_waiting()
        return done

    def _apply(self, number: int, entry: Entry) -> None:
        copy = self._followed()
        copy.buffer.apply(number, entry)
        if isinstance(entry, Joined):
            size = entry.embedding.size
            if copy.people.dimensions not in (0, size):
                raise EmbeddingsRejected("the store holds embeddings of two recognisers; purge it")
            copy.waiting[number] = entry.embedding

    def _index_waiting(self) -> None:
        copy = self._followed()
        if copy.waiting:
            copy.people.add(list(copy.waiting), np.stack(list(copy.waiting.values())))
            copy.waiting.clear()

    def _person_of(self, record: int) -> tuple[int, int]:
        """The record that stands for this one, and its person."""
        root = self.buffer.resolve(record)
        return root, self.buffer.records[root].person

    def _records(self, excluded: Collection[tuple[str, int]]) -> frozenset[int]:
        """Records of this window that the excluded tracks hold, after merges."""
        window, buffer = self.window, self.buffer
        return frozenset(buffer.resolve(r) for w, r in excluded if w == window)
