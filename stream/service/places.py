"""Places for answers that last: so many of each stream, taken before the answer begins."""

from __future__ import annotations

from stream.live.errors import ViewerRefused

__all__ = ["Place", "Places"]


class Places:
    """The places of all streams; lives on one event loop.

    >>> places = Places()
    >>> place = places.take("door", most=1)
    >>> places.count("door"), places.count("yard")
    (1, 0)
    >>> place.release()
    >>> places.count()
    0
    """

    def __init__(self) -> None:
        self._taken: set[Place] = set()

    def count(self, stream: str | None = None) -> int:
        """Places taken of a stream, or of all."""
        return sum(stream in (None, one.stream) for one in self._taken)

    def take(self, stream: str, most: int) -> Place:
        """Takes a place of a stream, which has `most` of them.

        Raises:
            ViewerRefused: every one is taken.
        """
        if self.count(stream) >= most:
            raise ViewerRefused("every place for previews is taken; try again in a moment")
        place = Place(stream, self._taken)
        self._taken.add(place)
        return place


class Place:
    """One place, until it is given back.

    Args:
        stream: whose place it is.
        taken: the places taken; this one leaves them.
    """

    def __init__(self, stream: str, taken: set[Place]) -> None:
        self.stream = stream
        self._taken = taken

    def release(self) -> None:
        """Gives the place back; idempotent."""
        self._taken.discard(self)
