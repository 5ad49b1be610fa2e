"""What may be chosen about the gallery; frozen, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Attributes", "BelowK", "GallerySettings", "Scope", "Thresholds"]

Scope = Literal["track", "session", "camera", "forever"]
"""How far one person keeps one surrogate: one track; all streams of one run; one stream, over
runs; or everywhere for as long as the window lasts."""

BelowK = Literal["swap", "cover"]
"""What happens while fewer than k people could have caused a release."""

Attributes = Literal["none", "coarse", "matched"]
"""What a surrogate shows of a person's coarse attributes: nothing; those that at least k people of
the window share; or the person's own, in clusters of people who have the same."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosine similarities that decide whether two embeddings are one person.

    Both errors are bounded in the same direction: a false *match* makes two people share one
    record and counts them once (k is understated, nobody is exposed), a false *non-match*
    counts one person twice (k is overstated). So both thresholds sit low.

    Attributes:
        match: at or above it, the same person. When it grows, fewer strangers share a record,
            and more returning people fall into doubt.
        doubt: from here up to `match`, perhaps the same person: never counted as another one.
            When it falls, the promise holds for a weaker recogniser, and more newcomers who
            resemble somebody count for nobody, or are covered. Equal to `match`, nobody is ever
            in doubt.

    Raises:
        ValueError: not -1 < doubt ≤ match < 1.
    """

    match: float = 0.45
    doubt: float = 0.40

    def __post_init__(self) -> None:
        if not -1.0 < self.doubt <= self.match < 1.0:
            raise ValueError(
                f"thresholds need -1 < doubt <= match < 1, got {self.doubt} and {self.match}"
            )


@dataclass(frozen=True, slots=True)
class GallerySettings:
    """How the gallery clusters people and lends them surrogates.

    Attributes:
        k: people that a full cluster holds, 2…50. When it grows, each release has more
            candidates, and people wait longer (or are swapped below k for longer).
        below_k: what happens while a cluster has fewer than k people.
        scope: how far one person keeps one surrogate.
        attributes: what surrogates show of their people's coarse attributes.
        thresholds: when two embeddings are one person.
        max_people: people in one window; beyond it a new window begins, so that memory is
            bounded.
        period_s: length of the periods in which presence is counted for `k_present`, seconds
            of stream time. When it grows, more people count as present.
        forget_track_s: a track unseen for this long is forgotten, seconds of stream time.
        retry_s: after the store failed, new faces are covered for this long before it is asked
            again, seconds of the gallery's clock; doubled with each failure in a row, up to 32
            times.
        search_effort: candidates that the index examines where there are more than 2,048
            people; when it grows, fewer known people are missed and a search takes longer.

    Raises:
        ValueError: a value outside its range.
    """

    k: int = 5
    below_k: BelowK = "swap"
    scope: Scope = "session"
    attributes: Attributes = "matched"
    thresholds: Thresholds = field(default_factory=Thresholds)
    max_people: int = 100_000
    period_s: float = 60.0
    forget_track_s: float = 60.0
    retry_s: float = 0.5
    search_effort: int = 64

    def __post_init__(self) -> None:
        if not 2 <= self.k <= 50:
            raise ValueError(f"k must be in 2…50, got {self.k}")
        if self.max_people < 2 * self.k:
            raise ValueError(f"max_people must be at least 2·k, got {self.max_people}")
        if min(self.period_s, self.forget_track_s) <= 0 or self.retry_s < 0:
            raise ValueError("period_s and forget_track_s must be positive, retry_s not negative")
        if self.search_effort < 8:
            raise ValueError(f"search_effort must be at least 8, got {self.search_effort}")

    @property
    def slots(self) -> int:
        """Surrogates that a cluster can lend: k, and k - 1 more for people in doubt."""
        return 2 * self.k - 1
