"""Places for what lasts: so many of each stream, and so many of these for one holder.

A place is taken before the answer begins. Whoever holds a token cannot take every place of a
stream with it, so that other viewers get in.
"""

from __future__ import annotations

from typing import Final, Self

from stream.live.errors import ViewerRefused
from stream.service.tokens import Holder

__all__ = ["VIEWER_SETTINGS", "Place", "Places"]

VIEWER_SETTINGS: Final = ("webrtc.max_viewers", "webrtc.max_viewers_per_token")
"""Names of the settings that bound viewers of a stream, and those of one holder."""


class Places:
    """The places of all streams; lives on one event loop.

    Args:
        what: who takes them, for the message of a refusal.
        per_stream: of all holders together; more lets more in and costs more.
        per_holder: of one token, or of one address where no token is asked for.
        settings: that say the two; empty where none does.

    >>> places = Places("viewers", per_stream=2, per_holder=1)
    >>> place = places.take("door", Holder("anna", "viewer", "5e88"))
    >>> places.count("door"), places.count("yard")
    (1, 0)
    >>> place.release()
    >>> places.count()
    0
    """

    def __init__(
        self, what: str, per_stream: int, per_holder: int, settings: tuple[str, str] = ("", "")
    ) -> None:
        self._what, self._settings = what, settings
        self._per_stream, self._per_holder = per_stream, per_holder
        self._taken: set[Place] = set()

    def count(self, stream: str | None = None) -> int:
        """Places taken of a stream, or of all."""
        return sum(stream in (None, one.stream) for one in self._taken)

    def take(self, stream: str, holder: Holder) -> Place:
        """Takes a place of a stream.

        Raises:
            ViewerRefused: every one is taken, or every one that the holder may have.
        """
        total, own = (f" ({name})" if name else "" for name in self._settings)
        if self.count(stream) >= self._per_stream:
            raise ViewerRefused(
                f"every place for {self._what} of this stream is taken{total}; "
                "try again in a moment"
            )
        held = sum(one.stream == stream and one.holder.key == holder.key for one in self._taken)
        if held >= self._per_holder:
            who = "token" if holder.sha256 else "address"
            raise ViewerRefused(
                f"this {who} has all {self._per_holder} places for {self._what} of this stream "
                f"that one {who} may have{own}; give one back first"
            )
        place = Place(stream, holder, self._taken)
        self._taken.add(place)
        return place


class Place:
    """One place, until it is given back; a context manager that does so.

    Args:
        stream: whose place it is.
        holder: who has it.
        taken: the places taken; this one leaves them.
    """

    def __init__(self, stream: str, holder: Holder, taken: set[Place]) -> None:
        self.stream = stream
        self.holder = holder
        self._taken = taken

    def release(self) -> None:
        """Gives the place back; idempotent."""
        self._taken.discard(self)

    def __enter__(self) -> Self:
        """Nothing more: the place is taken."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Gives the place back."""
        self.release()
