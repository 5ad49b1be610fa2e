"""What the swap of a stream is made of, by its settings."""

from __future__ import annotations

from functools import partial

from config.settings import Settings
from engines.control_reading import Painter
from stream.crew.crew_drawing import CrewDrawing
from stream.engine_set import SwapEngines
from stream.swapping import SurrogateSource, SwapEveryFace

__all__ = ["swap_by"]


def swap_by(
    engines: SwapEngines,
    source: SurrogateSource,
    settings: Settings,
    painter: Painter | None = None,
    asks_per_frame: int | None = None,
) -> SwapEveryFace:
    """The replacer of one stream.

    Args:
        engines: shared by all streams; their crew, where they have one, draws for it.
        source: lends the surrogates.
        settings: of the stream.
        painter: paints in this process; the engines' own where None.
        asks_per_frame: see `SwapEveryFace`.
    """
    return SwapEveryFace(
        painter or engines.painter,
        engines.embedder,
        source,
        settings.privacy,
        settings.cover.margin,
        elsewhere=None if engines.crew is None else partial(CrewDrawing, engines.crew),
        asks_per_frame=asks_per_frame,
    )
