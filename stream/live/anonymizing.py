"""What the live pipeline needs of an anonymizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engines.blending.compositor import Composite
from engines.types import Frame

__all__ = ["AnonymizerFactory", "FrameAnonymizer", "FrameCover"]


class FrameAnonymizer(Protocol):
    """Frames of one stream in, composites out, some frames later and in order."""

    def push(self, frame: Frame) -> Sequence[Composite]:
        """Takes the next frame; gives what is complete by now."""

    def flush(self) -> Sequence[Composite]:
        """Completes what is inside; nothing is pushed afterwards."""

    def close(self) -> None:
        """Ends what it began, a hung one by its deadline at the latest; idempotent."""


AnonymizerFactory = Callable[[], FrameAnonymizer]
"""Makes the anonymizer of one uninterrupted run of frames of one size; engines are shared."""
FrameCover = Callable[[Frame, str], Composite]
"""Covers a frame in full; the text says why, in a few words without personal data."""
