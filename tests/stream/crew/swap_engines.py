from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from config.loading import load_settings
from stream.pipeline.engine_set import EngineSet, open_engines


@contextmanager
def swap_engines(processes: int, *, is_recorded: bool) -> Iterator[EngineSet]:
    """The bundled engines of the swap, on one thread, with so many drawing processes."""
    settings = load_settings()
    limits = settings.limits.model_copy(update={"threads": 1, "drawing_processes": processes})
    chosen = settings.model_copy(update={"method": "swap", "limits": limits})
    with open_engines(chosen, is_recorded=is_recorded) as opened:
        yield opened
