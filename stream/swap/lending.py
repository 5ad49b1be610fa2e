"""The gallery as one stream's source of surrogates."""

from __future__ import annotations

import hmac
import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from config.settings import Settings
from engines.face.embedder import PersonThresholds
from engines.types import Embedding, Face, Frame, Surrogate, Track
from gallery.assignments import Assignment, GalleryReport, Offer
from gallery.donors import DonorPopulation
from gallery.errors import StoreUnavailable
from gallery.gallery import Gallery
from gallery.ledger import Ledger
from gallery.opening import open_gallery
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings, Thresholds
from gallery.stores.memory import MemoryStore
from gallery.surrogates import DonorMaker
from stream.file_names import text_of
from stream.files.report import ClusterCounts
from stream.finding.unseen_tracks import forget_unseen
from stream.swap.fitting import TRYING_ON, Draws, Fit, Fitting, Trial
from stream.swap.swapping import cause_by_track
from stream.swap.track_embedding import FacesAhead

__all__ = [
    "BinReader",
    "GalleryLender",
    "SharedGallery",
    "file_stream",
    "gallery_from_settings",
]

_TRIED_AHEAD: Final = 3
"""Frames ahead in which surrogates are tried on besides the present one. More find more of those
that resemble the person later, and cost as many paintings of each draw that may be chosen."""
_WINDOW_DIGITS: Final = 32
"""Hexadecimal digits of a window's name, see `gallery.stores.store`."""


class BinReader(Protocol):
    """Reads attributes; `engines.face.attribute_bins.AttributeReader` does."""

    def bin_of(self, embedding: Embedding) -> str | None:
        """Such as "gender=female|age=adult"; None where nothing is sure."""


class SharedGallery(Protocol):
    """What a lender asks: the gallery itself, or one that answers in its name."""

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
        """What a track shows; see `Gallery.assign`."""

    def draws(self, stream: str, track: int) -> Offer:
        """Surrogates that a track may get; see `Gallery.draws`."""

    def settle(self, stream: str, track: int, offer: int, choice: int | None) -> Assignment:
        """Lets a track have one of them; see `Gallery.settle`."""

    def visible(
        self, stream: str, tracks: Collection[int], time_s: float, covered: Collection[int] = ()
    ) -> frozenset[int]:
        """Tracks that must be covered in a frame; see `Gallery.visible`."""

    def report(self) -> GalleryReport:
        """Counts and k so far."""


@dataclass(slots=True)
class _Tried:
    """A track on which surrogates are tried.

    Attributes:
        fitting: tries them on.
        trial: how far it is.
        offer: number of the gallery's offer that they are from.
        seen_frame: index of the last frame that the track was in view.
    """

    fitting: Fitting
    trial: Trial
    offer: int
    seen_frame: int


class GalleryLender:
    """Asks the gallery in the name of one stream.

    Args:
        gallery: shared by all streams.
        stream: name of this one.
        attributes: reads bins off the embeddings of new tracks; None for no bins.
        fitting: tries surrogates on before they are given, in one call of `lend` or in several;
            None gives them untried.
    """

    def __init__(
        self,
        gallery: SharedGallery,
        stream: str,
        attributes: BinReader | None = None,
        fitting: Fitting | None = None,
    ) -> None:
        self._gallery = gallery
        self._stream = stream
        self._attributes = attributes
        self._fitting = fitting
        self._trials: dict[int, _Tried] = {}
        self._ahead: FacesAhead | None = None

    def foresee(self, ahead: FacesAhead) -> None:
        """From now on surrogates are also tried on in frames that have not left yet."""
        self._ahead = ahead

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        """Tells the gallery who is in view; gives the tracks whose face another one wears.

        Who is covered in this frame, whatever is answered, wears none in it.
        """
        numbers = [track.id for track in tracks]
        for number in self._trials.keys() & set(numbers):
            self._trials[number].seen_frame = frame.index
        forget_unseen(self._trials, frame.index)
        covered = [track.id for track in tracks if cause_by_track(track)]
        return self._gallery.visible(self._stream, numbers, frame.time_s, covered)

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        """The track's surrogate, or why it has none.

        Where it is `TRYING_ON`, the next frame's call goes on, whatever embedding it brings.

        Raises:
            EngineFault: a network failed; the next call begins anew.
        """
        tried = self._trials.pop(track.id, None)
        if tried is None:
            begun = self._begin(frame, track, embedding)
            if not isinstance(begun, _Tried):
                return begun
            tried = begun
            if tried.fitting.is_spread:
                self._trials[track.id] = tried
                return TRYING_ON
        tried.seen_frame = frame.index
        return self._go_on(track, tried)

    def _begin(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str | _Tried:
        """What the gallery gives; a trial where that must be tried on."""
        own_bin = self._attributes.bin_of(embedding) if self._attributes else None
        at, tries_on = (self._stream, track.id), self._fitting is not None
        answer = self._gallery.assign(*at, embedding, own_bin, frame.time_s, tries_on=tries_on)
        if answer.surrogate is None or answer.is_settled or self._fitting is None:
            return _given(answer)
        first = answer.surrogate.latent
        places = [(frame, track.face), *self._places_ahead(frame, track.id)]
        trial = self._fitting.begin(places, embedding, first)
        if isinstance(trial, Fit):
            return trial.cause
        return _Tried(self._fitting, trial, answer.offer, frame.index)

    def _places_ahead(self, frame: Frame, track: int) -> list[tuple[Frame, Face]]:
        """A few places of the face in frames that have not left yet, spread over them."""
        ahead = [] if self._ahead is None else self._ahead(track)
        later = [one for one in ahead if one[0].index > frame.index]
        places = np.linspace(-1, len(later) - 1, min(_TRIED_AHEAD, len(later)) + 1)[1:]
        return [later[place] for place in places.round().astype(int).tolist()]

    def _go_on(self, track: Track, tried: _Tried) -> Surrogate | str:
        """One step of a trial, and what comes of it."""
        at = (self._stream, track.id)

        def draws() -> Draws:
            offer = self._gallery.draws(*at)
            tried.offer = offer.number
            return Draws([one.latent for one in offer.surrogates], offer.donors)

        while fit := tried.fitting.step(tried.trial, draws):
            if fit.cause:
                return fit.cause
            answer = self._gallery.settle(*at, tried.offer, fit.choice)
            if fit.choice is not None or answer.surrogate is None or answer.is_settled:
                return _given(answer)
            # All resemble: draws of a wider bin are offered.
            wider = tried.trial.anew(answer.surrogate.latent)
            tried = replace(tried, trial=wider, offer=answer.offer)
        self._trials[track.id] = tried
        return TRYING_ON

    def counts(self) -> ClusterCounts:
        """Clusters used so far, by all streams of the gallery."""
        known = self._gallery.report()
        return ClusterCounts(
            k=known.k,
            k_real_min=known.k_real_min,
            k_real_median=known.k_real_median,
            k_present_min=known.k_present_min,
            clusters=known.clusters_open + known.clusters_releasable,
            people=known.people,
            swaps_below_k=known.swaps_below_k,
            swaps_in_doubt=known.swaps_in_doubt,
            redrawn=known.redrawn,
            of_next_bin=known.of_next_bin,
            store_failures=known.store_failures,
        )


def _given(answer: Assignment) -> Surrogate | str:
    """What a track may show of an answer: nothing that has not been tried on."""
    if answer.surrogate is None:
        return str(answer.cause)
    return answer.surrogate if answer.is_settled else "no_surrogate"


def file_stream(gallery: Gallery, path: Path, track: int = 0) -> str:
    """The name under which a file is a stream of a gallery: its own, and telling no path.

    Args:
        gallery: that of the run.
        path: the file.
        track: number of the video track, where several of the file are read; else 0.
    """
    place = text_of(str(path.resolve()))
    return gallery.opaque_name(f"{place}\0{track}" if track else place)


def gallery_from_settings(
    settings: Settings,
    donors: DonorPopulation,
    people: PersonThresholds,
    run_key: bytes | None = None,
) -> Gallery:
    """The gallery that the settings ask for: in this process, or shared through Redis.

    A Redis that does not answer yet is no error: faces are covered and counted until it does.
    Call `Gallery.probe` to fail instead.

    Args:
        settings: `privacy` gives k, policy and scope, `gallery` where people are kept.
        donors: synthetic people.
        people: which embeddings are one person.
        run_key: makes the surrogates a function of this key and of what is seen, so that a
            second run over the same input lends the same ones; with Redis, for as long as its
            window lasts. None: fresh secrets.

    Raises:
        SecretMissing: Redis is asked for and no key is at hand.
        StoreUnavailable: the URL is malformed, or the redis extra is not installed.
        SettingsConflict: others use that Redis with another k, policy below k or choice of
            attributes.
        SealBroken: that Redis holds what this key cannot open.
        LedgerBroken: the ledger's folder cannot be used.
    """
    wanted, kept = _wanted(settings, people), settings.gallery
    maker, url = DonorMaker(donors), kept.redis_url.get_secret_value()
    folder = Path(kept.ledger) if kept.ledger else None
    if run_key is not None and not url:
        ring, store = SecretRing.ephemeral(), MemoryStore()
        header = {
            "secret": run_key.hex(),
            "k": wanted.k,
            "below_k": wanted.below_k,
            "attributes": wanted.attributes,
        }
        window = _window_of(run_key)
        store.open(window, ring.seal(json.dumps(header).encode(), "header", window))
        ledger = Ledger(wanted.k, wanted.below_k, folder)
        return Gallery(wanted, maker, store, ring, ledger, session=window, run=window)
    run = _window_of(run_key) if run_key else None
    gallery = open_gallery(
        wanted,
        maker,
        redis_url=url or None,
        namespace=kept.namespace,
        key_file=Path(kept.key_file) if kept.key_file else None,
        ledger_folder=folder,
        window_s=3600.0 * kept.window_h,
        session=kept.session or run,
        timeout_s=kept.timeout_s,
        run=run,
    )
    with suppress(StoreUnavailable):
        gallery.probe()
    return gallery


def _window_of(run_key: bytes) -> str:
    """A run's name in store and ledger: its own, the same when it is resumed, telling no key."""
    return hmac.digest(run_key, b"kveil window of a run", "sha256").hex()[:_WINDOW_DIGITS]


def _wanted(settings: Settings, people: PersonThresholds) -> GallerySettings:
    privacy = settings.privacy
    return GallerySettings(
        k=privacy.k,
        below_k=privacy.below_k,
        scope=privacy.scope,
        attributes=settings.gallery.attributes,
        thresholds=Thresholds(match=people.match, doubt=people.doubt),
    )
