"""The gallery as the pipeline sees it: a face for a track, or a reason to cover it.

Call `visible` for every frame with the tracks that are in it, then `assign` for tracks that need an
answer: once when a track's embedding is ready, and again now and then while it is covered or when a
better embedding is at hand. A track that has a surrogate keeps it, whatever happens; one that
`visible` hides may come again under another number.

Streams that share a gallery measure `time_s` with one clock. Calls may come from several threads.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Collection
from typing import Final

from engines.types import Embedding
from gallery.assignments import NO_OFFER, Assignment, CoverCause, GalleryReport, Offer
from gallery.buffer import Buffer
from gallery.errors import LedgerBroken
from gallery.guard import Guard
from gallery.identifier import Identifier
from gallery.ledger import Ledger
from gallery.presence import Period, Presence, Wearer, records_of, worn_by
from gallery.releaser import Domain, Releaser
from gallery.reporting import gallery_report
from gallery.roster import Roster
from gallery.secrets import SecretRing, fresh_key
from gallery.settings import GallerySettings
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Store
from gallery.surrogates import SurrogateMaker, scope_domain

__all__ = ["Gallery"]

_LONE_CAUSES: Final = ("doubtful_person", "shared_face")
"""Why a track may wear a face of no cluster: no cluster is safe, or its own is worn in view."""


class Gallery:
    """Lends surrogates to tracks under the promise that the ledger can check.

    Args:
        settings: k, policy, scope and limits.
        maker: makes latents from donors.
        store: what workers share; a store of its own in memory if None.
        ring: keys that seal what the store holds; one that dies with the process if None.
        ledger: record of releases; kept in memory alone if None.
        session: name that workers of one session share, for the scope "session"; random if
            None.
        clock: seconds, never going back; times the pause after a failure of the store.
        make_buffer: makes the buffer of each window.
        run: what tells the tracks of this gallery from those of all others, for the scope
            "track"; random if None. A run that is to be repeated exactly gives the same.
    """

    def __init__(
        self,
        settings: GallerySettings,
        maker: SurrogateMaker,
        store: Store | None = None,
        ring: SecretRing | None = None,
        ledger: Ledger | None = None,
        session: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        make_buffer: Callable[[GallerySettings], Buffer] = Buffer,
        run: str | None = None,
    ) -> None:
        self.settings = settings
        self._roster = Roster(
            settings, store or MemoryStore(), ring or SecretRing.ephemeral(), make_buffer
        )
        self._ledger = ledger or Ledger(settings.k, settings.below_k)
        self._identifier = Identifier(self._roster, self._ledger)
        self._releaser = Releaser(settings, self._roster, self._ledger, maker)
        self._presence = Presence(settings.period_s, settings.forget_track_s)
        self._session = session or fresh_key().hex()
        self._run = run or fresh_key().hex()
        self._lock = threading.RLock()
        self._guard = Guard(clock, settings.retry_s, self._roster.drop)

    @property
    def buffer(self) -> Buffer:
        """Clusters of the present window as this worker knows them; read only.

        Raises:
            StoreUnavailable: the store has not been reached yet.
        """
        return self._roster.buffer

    @property
    def window(self) -> str:
        """Id of the present window; "" before the store was reached."""
        return self._roster.window

    @property
    def people(self) -> int:
        """People in the present window; 0 before the store was reached."""
        return self._roster.buffer.people if self._roster.window else 0

    def search_work(self, embedding: Embedding) -> int:
        """Distances that recognising this embedding computes; for benchmarks.

        Raises:
            StoreUnavailable: the store has not been reached yet.
            EmbeddingsRejected: another D than the gallery holds.
        """
        with self._lock:
            return self._roster.search_work(embedding)

    def record_of(self, stream: str, track: int) -> tuple[str, int] | None:
        """Window and record that the track was taken for; None where it has none."""
        with self._lock:
            wearer = self._presence.wearer(stream, track)
            return (wearer.window, wearer.record) if wearer and wearer.record else None

    def opaque_name(self, origin: str) -> str:
        """A stream's name that does not tell where it comes from; the same in all the session.

        Args:
            origin: what tells the stream from all others, such as the path of a file.
        """
        return hmac.digest(self._session.encode(), origin.encode(), "sha256").hex()

    def probe(self) -> None:
        """Reach the store once, to fail early; without it, failures cover faces.

        Raises:
            StoreUnavailable, SealBroken, SettingsConflict, BufferBroken: what is wrong.
        """
        with self._lock:
            self._roster.catch_up()

    def assign(
        self,
        stream: str,
        track: int,
        embedding: Embedding | None,
        attributes: str | None,
        time_s: float,
        *,
        tries_on: bool = False,
    ) -> Assignment:
        """What the track wears.

        Args:
            stream: name of the stream.
            track: number of the track within it.
            embedding: (D,) float32 of the track's sharpest frames; None where there is none.
            attributes: coarse bin such as "gender=female|age=adult"; None where unknown. Used
                as the settings say.
            time_s: stream time.
            tries_on: the caller tries surrogates on that are not settled, and settles them.

        Returns:
            The track's surrogate, which stays the same once it is settled, or a cause to cover it.
        """
        with self._lock:
            wearer = self._presence.wearer(stream, track)
            if wearer is None:
                wearer = Wearer(Assignment(None, "no_embedding"), seen_s=time_s)
                self._presence.keep(stream, track, wearer)
            wearer.seen_s = time_s
            others = self._presence.others(stream, track, time_s)
            if wearer.surrogate is None:
                domain = self._domain(stream, track)
                self._give(wearer, domain, embedding, attributes or "", others, tries_on=tries_on)
            elif embedding is not None:
                known = records_of(others)
                self._guard.run(lambda: self._identifier.reconsider(wearer, embedding, known))
            return wearer.assignment

    def draws(self, stream: str, track: int) -> Offer:
        """Surrogates that the track may get; none where there is no choice left.

        The first is the one that the track has been offered, the others are such as nobody in
        view has; nor has anybody who was lately, as long as there are enough: whoever comes back
        would be covered. It takes the place of any earlier offer to the track.
        """
        with self._lock:
            wearer = self._presence.wearer(stream, track)
            if wearer is None:
                return NO_OFFER
            lately = worn_by(self._presence.known(stream, track))
            return self._releaser.offer(wearer, self._worn_beside(stream, track, wearer), lately)

    def settle(self, stream: str, track: int, offer: int, choice: int | None) -> Assignment:
        """Let a track have one of its draws from now on, and its person wherever the scope reaches.

        Args:
            stream: name of the stream.
            track: number of the track within it.
            offer: number of the offer that was tried on, see `Assignment` and `draws`.
            choice: place in that offer; None where all of them resemble the person. Then draws of
                the next wider bin are offered, once, and no answer is settled yet.

        Returns:
            The settled surrogate, which is another one where another worker was faster, or a
            cause to cover the track. Where the offer is not the track's last one, nothing changes:
            what the track has now is given, and may have to be tried on.
        """
        with self._lock:
            wearer = self._presence.wearer(stream, track)
            if wearer is None:
                return Assignment(None, "no_surrogate")
            if not wearer.choices or wearer.assignment.offer != offer:
                return wearer.assignment
            releaser, worn = self._releaser, self._worn_beside(stream, track, wearer)
            releaser.redrawn += len(wearer.choices) if choice is None else choice
            if choice is None:
                if not releaser.widen(wearer, worn):
                    releaser.cover(wearer, "too_alike")
            elif cause := self._guard.run(lambda: releaser.settle(wearer, choice, worn)):
                releaser.cover(wearer, cause)
            return wearer.assignment

    def visible(
        self, stream: str, tracks: Collection[int], time_s: float, covered: Collection[int] = ()
    ) -> frozenset[int]:
        """Tell who is in view in a frame, before its faces are composed.

        Args:
            stream: name of the stream.
            tracks: those in view.
            time_s: stream time.
            covered: those of them that the caller covers in this frame whatever is answered: they
                show no face that another one could not wear meanwhile.

        Returns:
            Tracks that must be covered in this frame: another one in view wears their face, or
            one that nobody could tell from it.
        """
        with self._lock:
            periods = self._presence.over(stream, time_s)
            self._record(periods)
            if periods and self._roster.window:  # notice the end of the window without newcomers
                self._guard.run(self._roster.catch_up)
            hidden = self._presence.see(stream, tracks, time_s, covered)
            self._releaser.covers["shared_face"] += len(hidden)
            return hidden

    def end(self, stream: str) -> None:
        """Record a stream's last period and forget its tracks; idempotent. A namesake is new."""
        with self._lock:
            self._record(self._presence.end(stream))

    def close(self) -> None:
        """Record what is pending and close the ledger and the store."""
        with self._lock:
            for stream in self._presence.streams():
                self.end(stream)
            self._releaser.forget()
            self._roster.close()
            self._ledger.close()

    def report(self) -> GalleryReport:
        """Counts and k so far."""
        with self._lock:
            ledger, failures = self._ledger.check(), self._guard.failures
            return gallery_report(self.settings, self._roster, self._releaser, ledger, failures)

    def _give(
        self,
        wearer: Wearer,
        domain: Domain,
        embedding: Embedding | None,
        own_bin: str,
        others: Collection[Wearer],
        *,
        tries_on: bool,
    ) -> None:
        """Give a track without a surrogate one, or the cause why not."""
        releaser, worn = self._releaser, worn_by(others)

        def work() -> CoverCause | None:
            cause = self._identifier.identify(wearer, embedding, own_bin, records_of(others))
            cause = cause or releaser.release(wearer, domain, worn)
            if cause in _LONE_CAUSES and self.settings.below_k == "swap":
                lone_bin = own_bin if self.settings.attributes == "matched" else ""
                cause = releaser.release_lone(wearer, domain, lone_bin, worn)
            return cause if cause or tries_on else releaser.settle(wearer, 0, worn)

        if cause := self._guard.run(work):
            releaser.cover(wearer, cause)

    def _worn_beside(self, stream: str, track: int, wearer: Wearer) -> frozenset[str]:
        """Names and looks of what the others in view wear."""
        return worn_by(self._presence.others(stream, track, wearer.seen_s))

    def _domain(self, stream: str, track: int) -> Domain:
        """Where a surrogate of the track is the same."""
        mine = (self._run, stream, self._presence.visit(stream), track)
        return scope_domain(self.settings.scope, self._session, stream, mine)

    def _record(self, periods: list[Period]) -> None:
        """Presence is measured, not promised: a failing disk costs figures, not faces."""
        try:
            for period in periods:
                self._ledger.period(period.window, period.people)
        except LedgerBroken:
            self._releaser.covers["ledger_unavailable"] += 1
