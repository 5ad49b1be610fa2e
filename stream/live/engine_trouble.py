"""Tells that the engines of a stream fail, as long as they do."""

from __future__ import annotations

import structlog

from engines.errors import KveilError
from stream.live.clock import Clock

__all__ = ["EngineTrouble"]

_LOG = structlog.get_logger("kveil.engines")


class EngineTrouble:
    """What is wrong with the engines; faults come per frame, but are told of once.

    Args:
        stream: name of the stream, for the log.
        clock: time.
        lasts_s: time without a fault after which the trouble is over.
    """

    def __init__(self, stream: str, clock: Clock, lasts_s: float = 5.0) -> None:
        self._stream = stream
        self._clock = clock
        self._lasts_s = lasts_s
        self._since_s: float | None = None
        self._latest_s = 0.0
        self._reason = ""

    @property
    def text(self) -> str:
        """One line without anything secret; empty while there is no trouble."""
        if self._since_s is None:
            return ""
        return f"the engines fail and frames are covered in full: {self._reason}"

    def note(self, error: BaseException) -> None:
        """A run of the engines failed."""
        self._latest_s, self._reason = self._clock.now(), _told(error)
        if self._since_s is None:
            self._since_s = self._latest_s
            _LOG.info("engines_failing", stream=self._stream, reason=self._reason)

    def check(self) -> None:
        """Ends the trouble once there was no fault for a while; called now and then."""
        since_s = self._since_s
        if since_s is None or self._clock.now() - self._latest_s <= self._lasts_s:
            return
        self._since_s = None
        duration_ms = round((self._latest_s - since_s) * 1e3)
        _LOG.info("engines_back", stream=self._stream, duration_ms=duration_ms)


def _told(error: BaseException) -> str:
    """One line; the text of a foreign exception may hold anything, so only its type is told."""
    if isinstance(error, KveilError):
        return str(error)
    return f"{type(error).__name__}; run `kveil doctor`"
