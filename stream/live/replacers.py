"""The surrogates' side of live streams: one gallery for all, one lender per run of frames."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from config.settings import Settings
from stream.engine_set import EngineSet
from stream.lending import GalleryLender, gallery_from_settings
from stream.live.assembly import ReplacerMaker
from stream.live.joint_painting import JointPainter
from stream.replacement import CoverEveryFace, FaceReplacer
from stream.swapping import Painter, SwapEveryFace

__all__ = ["open_replacers"]


@contextmanager
def open_replacers(
    engines: EngineSet, settings: Settings, batch_wait_s: float = 0.0
) -> Iterator[ReplacerMaker]:
    """Makes the replacers of all streams of a process, with one gallery behind them.

    A track's number means nothing after the anonymizer was replaced, so each run of frames
    speaks to the gallery under a name of its own.

    Args:
        engines: shared; without a swap among them every face is covered.
        settings: gives the promises of the shared gallery.
        batch_wait_s: how long a stream's faces wait for those of others; 0 for never.
    """
    swap = engines.swap
    if swap is None:
        yield lambda _chosen, _stream: CoverEveryFace("no_surrogate")
        return
    gallery = gallery_from_settings(settings, swap.donors, swap.thresholds)
    runs = itertools.count()
    deadline_s = settings.limits.engine_deadline_s
    painter: Painter = swap.painter
    if batch_wait_s > 0:
        painter = JointPainter(swap.painter, batch_wait_s, deadline_s)

    def make(chosen: Settings, stream: str) -> FaceReplacer:
        del chosen
        lender = GalleryLender(gallery, f"{stream}/{next(runs)}")
        return SwapEveryFace(painter, swap.embedder, lender)

    try:
        yield make
    finally:
        gallery.close()
