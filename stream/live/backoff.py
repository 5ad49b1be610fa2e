"""How long to wait before the next attempt to connect."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(slots=True)
class Backoff:
    """Pauses that double up to a ceiling and start over once video has proved stable.

    A connection alone proves nothing: cameras accept a session and send no picture, so only
    `proved` resets the pause.

    Attributes:
        first_s: pause after the first failure.
        ceiling_s: longest pause.

    >>> backoff = Backoff(first_s=1.0, ceiling_s=5.0)
    >>> [backoff.next_s() for _ in range(4)]
    [1.0, 2.0, 4.0, 5.0]
    >>> backoff.proved()
    >>> backoff.next_s()
    1.0
    """

    first_s: float
    ceiling_s: float
    _failures: int = 0

    def next_s(self) -> float:
        """Counts a failure and says how long to pause."""
        pause = min(self.ceiling_s, self.first_s * 2.0 ** min(self._failures, 30))
        self._failures += 1
        return pause

    def proved(self) -> None:
        """Video flows and has flowed for a while: the next failure starts from the first pause."""
        self._failures = 0
