"""Where a steady recording pauses: packets were lost there, and nothing else tells so.

H.264 and HEVC number their pictures, so that a lost one is missed. VP8, VP9, MPEG-4 and the like do
not: what was coded after the lost picture is shown over what was before it, without a word.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["Pauses"]

_MOST_LENGTHS: Final = 1000
"""Different times from picture to picture; with more of them a recording is not steady."""
_LEAST_PAUSE: Final = 1.75
"""In usual steps. Less is a clock that wavers."""
_STEADY: Final = 0.25
"""Most that a step differs from the usual one, as a share of it."""
_MOST_ODD: Final = 0.05
"""Share of steps that pause, and of others that are not steady. With more of them the rate varies
on purpose, as where only changes are recorded."""


class Pauses:
    """Counts how long pictures are shown, in memory that does not grow."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()

    def add(self, step: int) -> None:
        """Takes the time from one picture to the next, ticks."""
        if len(self._steps) < _MOST_LENGTHS:
            self._steps[step] += 1

    @property
    def told(self) -> str:
        """What is said of them; empty where there are none, or the rate varies anyway.

        >>> pauses = Pauses()
        >>> for step in [40] * 60 + [160]:
        ...     pauses.add(step)
        >>> pauses.told
        'pictures pause at 1 place; about 3 frames seem to be missing in the file'
        """
        usual, total = self._usual, self._steps.total()
        longer = {step: n for step, n in self._steps.items() if step >= _LEAST_PAUSE * usual}
        steady = sum(n for step, n in self._steps.items() if abs(step - usual) <= _STEADY * usual)
        places = sum(longer.values())
        most = _MOST_ODD * total
        if not places or places > most or total - places - steady > most:
            return ""
        missing = sum((round(step / usual) - 1) * n for step, n in longer.items())
        where = "1 place" if places == 1 else f"{places} places"
        return f"pictures pause at {where}; about {missing} frames seem to be missing in the file"

    @property
    def _usual(self) -> int:
        """The median step, ticks; 1 where there is none."""
        left = self._steps.total() / 2
        for step in sorted(self._steps):
            left -= self._steps[step]
            if left <= 0:
                return max(1, step)
        return 1
