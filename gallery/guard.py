"""What becomes of failures of the store or the ledger: a cause to cover, and a pause."""

from __future__ import annotations

from collections.abc import Callable

from gallery.assignments import CoverCause
from gallery.errors import (
    BufferBroken,
    EmbeddingsRejected,
    LedgerBroken,
    SealBroken,
    SettingsConflict,
    StoreUnavailable,
)

__all__ = ["Guard"]

_DOUBLINGS = 5


class Guard:
    """Runs what needs the store, unless it failed a moment ago.

    A store that hangs holds each caller up for its timeout, so after each failure in a row it
    is left alone for twice as long, up to 32 times the first pause.

    Args:
        clock: seconds, never going back.
        retry_s: the first pause.
        distrust: called when the store holds what it must not.
    """

    def __init__(
        self, clock: Callable[[], float], retry_s: float, distrust: Callable[[], None]
    ) -> None:
        self.failures = 0
        self._clock = clock
        self._retry_s = retry_s
        self._distrust = distrust
        self._retry_at = float("-inf")
        self._in_a_row = 0

    def run(self, work: Callable[[], CoverCause | None]) -> CoverCause | None:
        """The work's own cause to cover, or that of its failure; None where all went well."""
        if self._clock() < self._retry_at:
            return "store_unavailable"
        try:
            cause = work()
        except StoreUnavailable:
            self._pause()
            return "store_unavailable"
        except (BufferBroken, SealBroken, SettingsConflict):
            self._distrust()
            self._pause()
            return "store_untrusted"
        except EmbeddingsRejected:
            return "unusable_embedding"
        except LedgerBroken:
            return "ledger_unavailable"
        self._in_a_row = 0
        return cause

    def _pause(self) -> None:
        self.failures += 1
        self._retry_at = self._clock() + self._retry_s * 2 ** min(self._in_a_row, _DOUBLINGS)
        self._in_a_row += 1
