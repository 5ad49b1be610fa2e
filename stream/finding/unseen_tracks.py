"""Tracks that were not seen for long are forgotten, at the same time by all who know them."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

__all__ = ["forget_unseen"]

_FORGET_FRAMES: Final = 100


class _Seen(Protocol):
    """What is remembered of a track."""

    @property
    def seen_frame(self) -> int:
        """Index of the last frame that it was seen in."""


S = TypeVar("S", bound=_Seen)


def forget_unseen(known: dict[int, S], index: int) -> list[S]:
    """Takes tracks out that were not seen in the last hundred frames, and gives them.

    Args:
        known: what is remembered, by track; changed.
        index: of the frame now.
    """
    stale = [number for number, one in known.items() if index - one.seen_frame > _FORGET_FRAMES]
    return [known.pop(number) for number in stale]
