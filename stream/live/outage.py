"""Something of a stream that is away: logged when that begins and when it is over, once each."""

from __future__ import annotations

from structlog.typing import FilteringBoundLogger

from engines.errors import KveilError
from stream.live.clock import Clock

__all__ = ["Outage", "told"]


class Outage:
    """What is away, and since when; attempts go on meanwhile, and each fails anew.

    Args:
        log: gets the events.
        events: what it is called when it begins, and when it is over.
        clock: time.
        names: what else the events tell, such as the stream.

    Attributes:
        reason: one line on what was wrong last; empty while all is well.
    """

    def __init__(
        self, log: FilteringBoundLogger, events: tuple[str, str], clock: Clock, **names: str
    ) -> None:
        self._log, self._events, self._clock, self._names = log, events, clock, names
        self._since_s = self._latest_s = 0.0
        self.reason = ""

    def begin(self, reason: str) -> None:
        """It is away, or still is; the first time alone is logged."""
        was_well, self.reason, self._latest_s = not self.reason, reason, self._clock.now()
        if was_well:
            self._since_s = self._latest_s
            self._log.info(self._events[0], **self._names, reason=reason)

    def end(self) -> None:
        """It is back; does nothing where it was not away."""
        self._end_at(self._clock.now())

    def end_after(self, quiet_s: float) -> None:
        """It counts as back where it has not failed for so long, since its last failure."""
        if self._clock.now() - self._latest_s > quiet_s:
            self._end_at(self._latest_s)

    def _end_at(self, at_s: float) -> None:
        if self.reason:
            self.reason = ""
            duration_ms = round((at_s - self._since_s) * 1e3)
            self._log.info(self._events[1], **self._names, duration_ms=duration_ms)


def told(error: BaseException, otherwise: str) -> str:
    """One line on an error; the text of a foreign one may hold anything, so its type is told.

    Args:
        error: what was raised.
        otherwise: said of a foreign one, before its type.

    >>> told(OSError("rtsp://user:secret@host"), "the output failed unexpectedly")
    'the output failed unexpectedly (OSError)'
    """
    return str(error) if isinstance(error, KveilError) else f"{otherwise} ({type(error).__name__})"
