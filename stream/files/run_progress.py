"""Who wants to know how far a run is."""

from __future__ import annotations

from typing import Final, Protocol

__all__ = ["UNWATCHED", "RunProgress", "Unwatched"]


class RunProgress(Protocol):
    """Told how far a run is; called from the sink's thread."""

    def begin(self, name: str, frames: int | None) -> None:
        """A new file; `frames` is None where its length is unknown."""

    def advance(self, written: int) -> None:
        """So many frames of the current file are written."""

    def say(self, text: str) -> None:
        """A line worth reading, such as a warning or where the output lies."""


class Unwatched:
    """Nobody wants to know."""

    def begin(self, name: str, frames: int | None) -> None:
        """Nothing."""

    def advance(self, written: int) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""


UNWATCHED: Final[RunProgress] = Unwatched()
