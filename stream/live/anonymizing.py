"""What the live pipeline needs of an anonymizer, and a stand-in that covers everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engines.compositor import Composite, compose_unknown
from engines.types import Frame

__all__ = ["AnonymizerFactory", "CoverEverything", "FrameAnonymizer", "FrameCover"]


class FrameAnonymizer(Protocol):
    """Frames of one stream in, composites out, some frames later and in order."""

    def push(self, frame: Frame) -> Sequence[Composite]:
        """Takes the next frame; gives what is complete by now."""

    def flush(self) -> Sequence[Composite]:
        """Completes what is inside; nothing is pushed afterwards."""

    def close(self) -> None:
        """Ends its workers without waiting for a hung one; idempotent."""


AnonymizerFactory = Callable[[], FrameAnonymizer]
"""Makes the anonymizer of one uninterrupted run of frames of one size; engines are shared."""
FrameCover = Callable[[Frame, str], Composite]
"""Covers a frame in full; the text says why, in a few words without personal data."""


class CoverEverything:
    """Covers every frame in full, at once: for streams whose engines cannot be had.

    Args:
        cause: what the report says of each frame.
    """

    def __init__(self, cause: str = "no_engine") -> None:
        self._cause = cause

    def push(self, frame: Frame) -> Sequence[Composite]:
        """The frame, covered in full."""
        return (compose_unknown(frame, self._cause),)

    def flush(self) -> Sequence[Composite]:
        """Nothing waits inside."""
        return ()

    def close(self) -> None:
        """Nothing to end."""
