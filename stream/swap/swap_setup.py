"""What the swap of a stream is made of, by its settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from config.settings import Settings
from gallery.gallery import Gallery
from stream.crew.crew_drawing import CrewDrawing
from stream.pipeline.engine_set import EngineSet, SwapEngines
from stream.swap.lending import gallery_from_settings
from stream.swap.swapping import SurrogateSource, SwapEveryFace

__all__ = ["shared_gallery", "swap_by"]


def swap_by(
    engines: SwapEngines,
    source: SurrogateSource,
    settings: Settings,
    asks_per_frame: int | None = None,
) -> SwapEveryFace:
    """The replacer of one stream.

    Args:
        engines: shared by all streams; their crew, where they have one, draws for it.
        source: lends the surrogates.
        settings: of the stream.
        asks_per_frame: see `SwapEveryFace`.
    """
    return SwapEveryFace(
        engines.painter,
        engines.embedder,
        source,
        settings.privacy,
        settings.cover.margin,
        elsewhere=None if engines.crew is None else partial(CrewDrawing, engines.crew),
        asks_per_frame=asks_per_frame,
    )


@contextmanager
def shared_gallery(
    settings: Settings, engines: EngineSet, run_key: bytes | None = None
) -> Iterator[Gallery | None]:
    """The gallery of several recordings, closed at the end; None where faces are only covered.

    Args:
        settings: of the run.
        engines: shared by all recordings.
        run_key: see `gallery_from_settings`.

    Raises:
        KveilError: see `gallery_from_settings`; or its store does not answer.
    """
    if engines.swap is None:
        yield None
        return
    gallery = gallery_from_settings(settings, engines.swap.donors, engines.swap.thresholds, run_key)
    try:
        gallery.probe()
        yield gallery
    finally:
        gallery.close()
