"""The gallery as the pipeline sees it: a face for a track, or a reason to cover it.

Call `visible` for every frame with the tracks that are in it, then `assign` for tracks that need an
answer: once when a track's embedding is ready, and again now and then while it is covered or when a
better embedding is at hand. A track that has a surrogate keeps it, whatever happens.

All streams that share a gallery must measure `time_s` with one clock. Calls may come from several
threads.
"""

from __future__ import annotations

import hmac
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from engines.types import Embedding, Surrogate
from gallery.accounts import Release
from gallery.assignments import NO_OFFER, Assignment, CoverCause, GalleryReport, Offer
from gallery.buffer import Buffer
from gallery.draws import draws_of, settled_place
from gallery.errors import GalleryError, LedgerBroken, StoreUnavailable
from gallery.guard import Guard
from gallery.ledger import Ledger
from gallery.people import unit_embedding
from gallery.presence import Period, Presence, Wearer, records_of, worn_by
from gallery.roster import Roster
from gallery.secrets import Context, SecretRing, fresh_key
from gallery.settings import GallerySettings
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Store
from gallery.surrogates import (
    LONE_FACES,
    AnyFace,
    Face,
    LoneFace,
    SurrogateMaker,
    Surrogates,
    scope_domain,
)

__all__ = ["Gallery", "open_gallery"]

_FOREVER_S = 30 * 86_400.0
_Domain = tuple[Context, ...]


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
        self._surrogates = Surrogates(maker)
        self._presence = Presence(settings.period_s, settings.forget_track_s)
        self._session = session or fresh_key().hex()
        self._run = run or fresh_key().hex()
        self._lock = threading.RLock()
        self._guard = Guard(clock, settings.retry_s, self._roster.drop)
        self._covers: Counter[str] = Counter()
        self._order = 0
        self._offers = itertools.count(1)
        self._swaps_below_k = 0
        self._swaps_in_doubt = 0
        self._redrawn = 0
        self._lone_turn = 0

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
                nothing = Assignment(None, "no_embedding")
                wearer = Wearer(nothing, seen_s=time_s)
                self._presence.keep(stream, track, wearer)
            wearer.seen_s = time_s
            others = self._presence.others(stream, track, time_s)
            if wearer.surrogate is None:
                domain = self._domain(stream, track)
                self._dress(wearer, domain, embedding, attributes or "", others, tries_on=tries_on)
            elif embedding is not None:
                self._guard.run(lambda: self._reconsider(wearer, embedding, records_of(others)))
            return wearer.assignment

    def draws(self, stream: str, track: int) -> Offer:
        """Surrogates that the track may get; none where there is no choice left.

        The first is the one that the track has been offered, the others are such as nobody in
        view has. It takes the place of any earlier offer to the track.
        """
        with self._lock:
            wearer = self._presence.wearer(stream, track)
            if wearer is None or wearer.surrogate is None or not wearer.choices:
                return NO_OFFER
            worn = worn_by(self._presence.others(stream, track, wearer.seen_s))
            first, *others = wearer.choices
            wearer.choices = (first, *self._all_unworn(others, worn))
            number = next(self._offers)
            wearer.assignment = replace(wearer.assignment, offer=number)
            offered, latents = wearer.surrogate, map(self._surrogates.latent, wearer.choices)
            made = (Surrogate(offered.cluster, one, offered.k_real) for one in latents)
            return Offer(number, tuple(made))

    def settle(self, stream: str, track: int, offer: int, choice: int | None) -> Assignment:
        """Let a track have one of its draws from now on, and its person wherever the scope reaches.

        Args:
            stream: name of the stream.
            track: number of the track within it.
            offer: number of the offer that was tried on, see `Assignment` and `draws`.
            choice: place in that offer; None where all of them resemble the person.

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
            self._redrawn += len(wearer.choices) if choice is None else choice
            others = self._presence.others(stream, track, wearer.seen_s)
            if choice is None:
                self._cover(wearer, "too_alike")
            elif cause := self._guard.run(lambda: self._settle(wearer, choice, worn_by(others))):
                self._cover(wearer, cause)
            return wearer.assignment

    def visible(self, stream: str, tracks: Collection[int], time_s: float) -> frozenset[int]:
        """Tell who is in view in a frame, before its faces are composed.

        Returns:
            Tracks that must be covered in this frame: another one in view wears their face, or
            one that nobody could tell from it.
        """
        with self._lock:
            periods = self._presence.over(stream, time_s)
            self._record(periods)
            if periods and self._roster.window:  # notice the end of the window without newcomers
                self._guard.run(self._roster.catch_up)
            hidden = self._presence.see(stream, tracks, time_s)
            self._covers["shared_face"] += len(hidden)
            return hidden

    def end(self, stream: str) -> None:
        """The stream is over: record its last period and forget its tracks; idempotent.

        One of that name that comes later is another one.
        """
        with self._lock:
            self._record(self._presence.end(stream))

    def close(self) -> None:
        """Record what is pending and close the ledger and the store."""
        with self._lock:
            for stream in self._presence.streams():
                self.end(stream)
            self._surrogates.forget()
            self._roster.close()
            self._ledger.close()

    def purge(self) -> int:
        """Delete all people from the store and from this process; keys deleted.

        Tracks in view keep what they wear; the ledger keeps its record, which holds no
        biometrics.

        Raises:
            StoreUnavailable: the store does not answer; this process has forgotten anyway.
        """
        with self._lock:
            self._surrogates.forget()
            return self._roster.forget()

    def report(self) -> GalleryReport:
        """Counts and k so far."""
        with self._lock:
            check = self._ledger.check()
            buffer = self._roster.buffer if self._roster.window else None
            n_open, n_releasable = buffer.states() if buffer else (0, 0)
            return GalleryReport(
                k=self.settings.k,
                below_k=self.settings.below_k,
                scope=self.settings.scope,
                people=self.people,
                records=len(buffer.records) if buffer else 0,
                clusters_open=n_open,
                clusters_releasable=n_releasable,
                windows=self._roster.windows,
                releases=check.releases,
                people_released=check.people,
                k_real_min=check.k_real_min,
                k_real_median=check.k_real_median,
                k_joint_min=check.k_joint_min,
                k_joint_median=check.k_joint_median,
                k_present_min=check.k_present_min,
                k_present_median=check.k_present_median,
                people_below_k=check.people_below_k,
                swaps_below_k=self._swaps_below_k,
                swaps_in_doubt=self._swaps_in_doubt,
                redrawn=self._redrawn,
                covers={cause: n for cause, n in sorted(self._covers.items()) if n},
                merges=self._roster.merges,
                suspected=check.suspected,
                store_failures=self._guard.failures,
                violations=len(check.violations),
                index_bytes=self._roster.index_bytes,
            )

    def _dress(
        self,
        wearer: Wearer,
        domain: _Domain,
        embedding: Embedding | None,
        own_bin: str,
        others: Collection[Wearer],
        *,
        tries_on: bool,
    ) -> None:
        """Give a track without a surrogate one, or the cause why not."""
        worn = worn_by(others)

        def work() -> CoverCause | None:
            cause = self._identify(wearer, embedding, own_bin, records_of(others))
            if cause == "doubtful_person" and self.settings.below_k == "swap":
                lone_bin = own_bin if self.settings.attributes == "matched" else ""
                cause = self._release_lone(wearer, domain, lone_bin, worn)
            elif cause is None:
                cause = self._release(wearer, domain, worn)
            return cause if cause or tries_on else self._settle(wearer, 0, worn)

        cause = self._guard.run(work)
        if cause is not None:
            self._cover(wearer, cause)

    def _cover(self, wearer: Wearer, cause: CoverCause) -> None:
        """A track gets a cover instead of what it has, if anything."""
        if wearer.surrogate is not None:
            k_real = wearer.surrogate.k_real
            self._swaps_below_k -= 0 < k_real < self.settings.k
            self._swaps_in_doubt -= k_real == 0
        wearer.assignment, wearer.choices = Assignment(None, cause), ()
        self._covers[cause] += 1

    def _identify(
        self,
        wearer: Wearer,
        embedding: Embedding | None,
        own_bin: str,
        others: Collection[tuple[str, int]],
    ) -> CoverCause | None:
        """Find or make the track's record."""
        if embedding is None and not wearer.record:
            return "no_embedding"
        if wearer.record:
            self._roster.catch_up()
            if embedding is not None:
                self._compare(wearer, embedding, others)
            if wearer.window == self._roster.window:  # comparing may have met the window's end
                wearer.record = self._roster.buffer.resolve(wearer.record)
                return None
        if embedding is None:
            return "no_embedding"
        enrolment = self._roster.enrol(unit_embedding(embedding), own_bin, others)
        if enrolment.record is None:
            return "doubtful_person"
        wearer.window, wearer.record = self._roster.window, enrolment.record
        return None

    def _release(self, wearer: Wearer, domain: _Domain, worn: Collection[str]) -> CoverCause | None:
        """Record a release of the track's record, then let the track wear it."""
        buffer, settings = self._roster.buffer, self.settings
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
        self._swaps_below_k += k_real < settings.k
        wearer.person, wearer.cluster = record.person, record.cluster
        wearer.choices = () if settled is not None else tuple(offered[face.draw :])
        self._wear(wearer, face, face.cluster_name, k_real)
        return None

    def _release_lone(
        self, wearer: Wearer, domain: _Domain, lone_bin: str, worn: Collection[str]
    ) -> CoverCause | None:
        """Let a track wear a face that belongs to no cluster, and record that it does.

        But for the bin nothing in it depends on who comes, so it tells what a cover would: that
        the person is in doubt. It counts for nobody.
        """
        turns = ((self._lone_turn + n) % LONE_FACES for n in range(LONE_FACES))
        at = (self.settings.slots, domain, lone_bin)
        face = self._unworn((LoneFace(self._roster.secret, turn, *at) for turn in turns), worn)
        if isinstance(face, str):
            return face
        self._ledger.lone_release(self._roster.window)
        self._swaps_in_doubt += 1
        self._lone_turn = face.turn + 1
        wearer.choices = tuple(draws_of(face))
        self._wear(wearer, face, face.name, 0)
        return None

    def _settle(self, wearer: Wearer, choice: int, worn: Collection[str]) -> CoverCause | None:
        """The track's surrogate stays; of a person it is recorded for all workers."""
        if not wearer.choices or wearer.surrogate is None:
            return None
        face, offered = wearer.choices[choice], wearer.surrogate
        if choice and not self._all_unworn([face], worn):
            return "shared_face"  # somebody else got it while it was tried on
        if isinstance(face, Face) and self.settings.scope != "track":
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
        self._wear(wearer, face, offered.cluster, offered.k_real)
        return None

    def _domain(self, stream: str, track: int) -> _Domain:
        """Where a surrogate of the track is the same."""
        mine = (self._run, stream, self._presence.visit(stream), track)
        return scope_domain(self.settings.scope, self._session, stream, mine)

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

    def _reconsider(
        self, wearer: Wearer, embedding: Embedding, others: Collection[tuple[str, int]]
    ) -> None:
        """With a better embedding, the track's record may turn out to be a known person."""
        self._roster.catch_up()
        self._compare(wearer, embedding, others)

    def _compare(
        self, wearer: Wearer, embedding: Embedding, others: Collection[tuple[str, int]]
    ) -> None:
        """`_reconsider` by what this copy knows."""
        if not wearer.record or wearer.window != self._roster.window or wearer.is_suspect:
            return
        known = self._roster.sight(unit_embedding(embedding), others).known
        mine = self._roster.buffer.resolve(wearer.record)
        if known is None or known == mine or self._roster.merge(mine, known):
            return
        records = self._roster.buffer.records
        if self._roster.window == wearer.window and records[mine].person != records[known].person:
            wearer.is_suspect = True
            self._ledger.suspect(wearer.window, mine, known)

    def _record(self, periods: list[Period]) -> None:
        """Presence is measured, not promised: a failing disk costs figures, not faces."""
        try:
            for period in periods:
                self._ledger.period(period.window, period.people)
        except LedgerBroken:
            self._covers["ledger_unavailable"] += 1


def open_gallery(
    settings: GallerySettings,
    maker: SurrogateMaker,
    redis_url: str | None = None,
    namespace: str = "default",
    key_file: Path | None = None,
    ledger_folder: Path | None = None,
    window_s: float = 86_400.0,
    session: str | None = None,
    timeout_s: float = 0.25,
    run: str | None = None,
) -> Gallery:
    """A gallery on the store that the settings of a run name.

    Args:
        settings: k, policy, scope and limits.
        maker: makes latents from donors.
        redis_url: the shared store; None keeps people in this process.
        namespace: galleries with different names do not see each other.
        key_file: keys that seal what Redis holds; None takes them from the environment.
        ledger_folder: where releases are recorded; None keeps the accounts in memory.
        window_s: people are forgotten, all at once, this long after the window began; with
            the scope "forever", 30 days after the last newcomer.
        session: see `Gallery`.
        timeout_s: longest wait for Redis.
        run: see `Gallery`.

    Raises:
        SecretMissing: Redis is used and no key is at hand.
        StoreUnavailable: the URL is malformed, or the redis extra is not installed.
        LedgerBroken: the folder cannot be used.
    """
    is_forever = settings.scope == "forever"
    lifetime_s = _FOREVER_S if is_forever else window_s
    ledger = Ledger(settings.k, settings.below_k, ledger_folder)
    if redis_url is None:
        store: Store = MemoryStore(lifetime_s, is_renewed=is_forever)
        return Gallery(settings, maker, store, ledger=ledger, session=session, run=run)
    try:
        from gallery.stores.redis import RedisStore
    except ImportError:
        raise StoreUnavailable("Redis needs the extra: pip install kveil[redis]") from None
    ring = SecretRing.from_file(key_file) if key_file else SecretRing.from_environment()
    store = RedisStore(redis_url, namespace, lifetime_s, is_forever, timeout_s)
    return Gallery(settings, maker, store, ring, ledger, session, run=run)
