"""Says what the modules log as plain lines, for a command that shows one stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping

import structlog

from stream.service.logs import without_secrets

__all__ = ["say_logs"]


class _Sayer:
    """Where structlog leaves its lines: every level says them alike."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.info = self.warning = self.error = say


def say_logs(say: Callable[[str], None]) -> None:
    """From now on events from `info` up are said, without what could be secret.

    Args:
        say: takes a line; from any thread.
    """
    structlog.configure(
        processors=[without_secrets, _line],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: _Sayer(say),
        cache_logger_on_first_use=False,
    )


def _line(logger: object, method: str, event: MutableMapping[str, object]) -> str:
    """One event in words.

    >>> _line(None, "info", {"event": "source_lost", "reason": "it is silent"})
    'source lost: it is silent'
    >>> _line(None, "info", {"event": "source_back", "duration_ms": 3210})
    'source back after 3.2 s'
    >>> _line(None, "warning", {"event": "method_unsafe", "reason": "eyes are seen"})
    'warning: method unsafe: eyes are seen'
    """
    del logger
    words = str(event["event"]).replace("_", " ")
    duration_ms = event.get("duration_ms")
    about = event.get("reason") or event.get("sink")
    if isinstance(duration_ms, int | float):
        words += f" after {duration_ms / 1e3:.1f} s"
    if about:
        words += f": {about}"
    return words if method == "info" else f"{method}: {words}"
