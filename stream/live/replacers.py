"""The surrogates' side of live streams: one gallery for all, one lender per run of frames."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from config.settings import Settings
from engines.types import Embedding, Frame, Surrogate, Track
from gallery.gallery import Gallery
from gallery.prompt_gallery import PromptGallery
from stream.files.report import ClusterCounts
from stream.live.assembly import ReplacerMaker
from stream.live.clock import SystemClock
from stream.live.outage import Outage
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.replacement import CoverEveryFace, FaceReplacer, Replacement
from stream.swap.lending import GalleryLender, gallery_from_settings
from stream.swap.swap_setup import swap_by
from stream.swap.swapping import SurrogateSource, SwapEveryFace
from stream.swap.track_embedding import FacesAhead

__all__ = ["RunLender", "RunReplacer", "open_replacers"]

_TRACKS_OF_A_RUN: Final = 1 << 32
_STEP_S: Final = 0.02
"""Time in a frame after which no further surrogate is tried on; larger shows newcomers sooner, and
makes the frames later in which they come."""
_LOG = structlog.get_logger("kveil.ledger")
_UNRECORDED: Final = "ledger_unavailable"
_LEDGER_FAILS: Final = (
    "releases cannot be recorded, so new faces are covered; free some space on its disk, or check "
    "its rights"
)
_QUIET_S: Final = 60.0
"""Time without a release that could not be recorded after which the ledger counts as back."""


class RunLender:
    """Lends to the tracks of one run of frames.

    Each run counts its tracks from the start, but the stream goes on: to the gallery, a track
    has a number that no earlier run has used.

    Args:
        source: lends to the whole stream.
        run: number of the run.
        ledger: told of releases that could not be recorded.
    """

    def __init__(self, source: SurrogateSource, run: int, ledger: Outage) -> None:
        self._source = source
        self._ledger = ledger
        self._first = run * _TRACKS_OF_A_RUN

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        """The tracks that must be covered in this frame."""
        hidden = self._source.see(frame, [self._numbered(track) for track in tracks])
        return frozenset(number - self._first for number in hidden)

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        """The track's surrogate, or why it has none."""
        answer = self._source.lend(frame, self._numbered(track), embedding)
        if answer == _UNRECORDED:
            self._ledger.begin(_LEDGER_FAILS)
        else:
            self._ledger.end_after(_QUIET_S)
        return answer

    def counts(self) -> ClusterCounts:
        """Clusters used so far."""
        return self._source.counts()

    def _numbered(self, track: Track) -> Track:
        return replace(track, id=track.id + self._first)


class RunReplacer:
    """The swap of one run of frames, after which something else is over too.

    Args:
        swap: of the run.
        end: called when the run is over, and again whenever it is closed again.
    """

    def __init__(self, swap: SwapEveryFace, end: Callable[[], None]) -> None:
        self._swap = swap
        self._end = end

    @property
    def ahead(self) -> int:
        """Frames whose faces others work on while the caller completes the ones before."""
        return self._swap.ahead

    def foresee(self, ahead: FacesAhead) -> None:
        """Lets the run be told by frames that have not left yet."""
        self._swap.foresee(ahead)

    def begin(self, frame: Frame, tracks: Sequence[Track]) -> Callable[[], Replacement]:
        """Begins on the faces of a frame.

        Raises:
            EngineFault: a network failed; what is given may raise it as well.
        """
        return self._swap.begin(frame, tracks)

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """Patches for the tracks that can be followed.

        Raises:
            EngineFault: a network failed.
        """
        return self._swap.replace(frame, tracks)

    def counts(self) -> ClusterCounts:
        """Clusters used so far."""
        return self._swap.counts()

    def close(self) -> None:
        """Ends the run; idempotent."""
        self._swap.close()
        self._end()


class _PresentRuns:
    """Which run of each stream is the present one; its end is the stream's in the gallery.

    A worker that hung is replaced, and its run ends when another one has long begun: that end
    must not make the gallery forget who is in view now.

    Args:
        gallery: of all streams.
    """

    def __init__(self, gallery: Gallery | PromptGallery) -> None:
        self._gallery = gallery
        self._lock = threading.Lock()
        self._runs = itertools.count()
        self._present: dict[str, int] = {}

    def begin(self, stream: str) -> int:
        """Number of a new run of a stream."""
        with self._lock:
            run = self._present[stream] = next(self._runs)
            return run

    def end(self, stream: str, run: int) -> None:
        """The run is over; idempotent."""
        with self._lock:
            if self._present.get(stream) == run:
                del self._present[stream]
                self._gallery.end(stream)


@contextmanager
def open_replacers(engines: EngineSet, settings: Settings) -> Iterator[ReplacerMaker]:
    """Makes the replacers of all streams of a process, with one gallery behind them.

    Where the gallery is kept in Redis, that may hang, go away and come back: meanwhile people
    who have a surrogate keep it, new ones are covered, and no stream waits.

    Args:
        engines: shared; without a swap among them every face is covered.
        settings: gives the promises of the shared gallery and says where it is kept.

    Raises:
        SecretMissing, StoreUnavailable, SettingsConflict, SealBroken, LedgerBroken: see
            `gallery_from_settings`.
    """
    swap = engines.swap
    if swap is None:
        yield lambda _chosen, _stream: CoverEveryFace("no_surrogate")
        return
    made = gallery_from_settings(settings, swap.donors, swap.thresholds)
    is_shared = bool(settings.gallery.redis_url.get_secret_value())
    gallery = PromptGallery(made) if is_shared else made
    runs = _PresentRuns(gallery)
    ledger = Outage(_LOG, ("ledger_failing", "ledger_back"), SystemClock())

    def make(chosen: Settings, stream: str) -> FaceReplacer:
        run = runs.begin(stream)
        fitting = swap.fitting(_STEP_S)
        own = GalleryLender(gallery, stream, swap.attributes, fitting)
        lender = RunLender(own, run, ledger)
        end = partial(runs.end, stream, run)
        return RunReplacer(swap_by(swap, lender, chosen, asks_per_frame=1), end)

    try:
        yield make
    finally:
        gallery.close()
