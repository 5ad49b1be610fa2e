"""Tells that the engines of a stream fail, as long as they do."""

from __future__ import annotations

from typing import Final

import structlog

from engines.errors import KveilError
from stream.live.clock import Clock
from stream.live.outage import Outage

__all__ = ["EngineTrouble"]

_LOG = structlog.get_logger("kveil.engines")
_LASTS_S: Final = 5.0
"""Time without a fault after which the trouble is over."""


class EngineTrouble:
    """What is wrong with the engines; faults come per frame, but are told of once.

    Args:
        stream: name of the stream, for the log.
        clock: time.
    """

    def __init__(self, stream: str, clock: Clock) -> None:
        self._outage = Outage(_LOG, ("engines_failing", "engines_back"), clock, stream=stream)

    @property
    def text(self) -> str:
        """One line without anything secret; empty while there is no trouble."""
        reason = self._outage.reason
        return f"the engines fail and frames are covered in full: {reason}" if reason else ""

    def note(self, error: BaseException) -> None:
        """A run of the engines failed."""
        self._outage.begin(_told(error))

    def check(self) -> None:
        """Ends the trouble once there was no fault for a while; called now and then."""
        self._outage.end_after(_LASTS_S)


def _told(error: BaseException) -> str:
    """One line; the text of a foreign exception may hold anything, so only its type is told."""
    if isinstance(error, KveilError):
        return str(error)
    return f"{type(error).__name__}; run `kveil doctor`"
