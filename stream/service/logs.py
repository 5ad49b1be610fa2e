"""Structured logs: one event a line, with no token, no address with secrets, nothing personal."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Final

import structlog

from config.service import Logging

__all__ = ["configure_logs", "without_secrets"]

_LOG = structlog.get_logger("kveil.libraries")
_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_ALLOWED: Final = frozenset(
    {
        "event",
        "level",
        "timestamp",
        "logger",
        "stream",
        "streams",
        "sections",
        "reason",
        "holder",
        "method",
        "route",
        "status",
        "duration_ms",
        "threads",
        "host",
        "port",
        "sink",
        "count",
        "error",
    }
)


def without_secrets(
    logger: object, method: str, event: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    """Drops every key that is not known to be harmless, tracebacks included.

    >>> dict(without_secrets(None, "info", {"event": "added", "source": "rtsp://a:b@c"}))
    {'event': 'added'}
    """
    del logger, method
    return {key: value for key, value in event.items() if key in _ALLOWED}


class _OneLine(logging.Handler):
    """Writes what a library says as one event: no traceback, and no values that it filled in."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes the first line of the pattern of a message, and the type of its exception."""
        said = record.msg.strip().splitlines() if isinstance(record.msg, str) else []
        told = {"logger": record.name, "reason": said[0] if said else type(record.msg).__name__}
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__
        _LOG.error("library_error", **told)


def configure_logs(wanted: Logging) -> None:
    """Sets the process's logging up; the media and web libraries only say errors."""
    level = _LEVELS[wanted.level]
    logging.basicConfig(level=logging.ERROR, handlers=[_OneLine()], force=True)
    for name in ("aiortc", "aioice", "uvicorn.access", "libav"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    as_text: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if wanted.format == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            without_secrets,
            as_text,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
