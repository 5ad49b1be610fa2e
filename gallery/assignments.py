"""What the gallery answers: a surrogate or a reason to cover, and a report of it all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from engines.types import Embedding, Surrogate

__all__ = ["NO_OFFER", "Assignment", "CoverCause", "GalleryReport", "Offer"]

CoverCause = Literal[
    "no_embedding",
    "unusable_embedding",
    "below_k",
    "doubtful_person",
    "store_unavailable",
    "store_untrusted",
    "ledger_unavailable",
    "broken_promise",
    "no_surrogate",
    "shared_face",
    "too_alike",
]
"""Why the gallery lends no surrogate:

- `no_embedding`, `unusable_embedding`: nothing to tell the person by;
- `below_k`: the cluster is not full and the policy says cover;
- `doubtful_person`: may be somebody of a full cluster, or of two clusters, and the policy says
  cover;
- `store_unavailable`, `store_untrusted`: the store does not answer, or holds what it must not;
- `ledger_unavailable`: the release could not be recorded;
- `broken_promise`: the release would shrink a candidate set; the ledger refused it;
- `no_surrogate`: the donors could not give one;
- `shared_face`: two tracks in view would wear faces that nobody could tell apart (told by
  `Gallery.visible` too), and no face of no cluster is left or the policy says cover;
- `too_alike`: every draw of the person's surrogate happens to resemble the person.
"""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a track wears.

    Attributes:
        surrogate: the face; None where the track is covered.
        cause: why it is covered; None where it is not.
        face: opaque name of the surrogate, the same whenever it is the same face; "" for none.
        offer: number of the offer whose first surrogate this is: it must be tried on, and
            `Gallery.settle` called, before it is shown. 0 where it stays.
    """

    surrogate: Surrogate | None
    cause: CoverCause | None
    face: str = ""
    offer: int = 0

    def __post_init__(self) -> None:
        if (self.surrogate is None) == (self.cause is None):
            raise ValueError("an assignment is either a surrogate or a cause to cover")

    @property
    def is_covered(self) -> bool:
        """No surrogate: put a solid cover over the face."""
        return self.surrogate is None

    @property
    def is_settled(self) -> bool:
        """What the track wears stays, a cover until the next answer."""
        return self.offer == 0


@dataclass(frozen=True, slots=True)
class Offer:
    """Surrogates that a track may get, until one of them is settled.

    Attributes:
        number: tells it from all other offers of the gallery; 0 where there is no choice.
        surrogates: the draws, in their order.
        donors: what their main donors look like to the embedder, where that is known.
    """

    number: int
    surrogates: tuple[Surrogate, ...]
    donors: tuple[Embedding | None, ...] = ()


NO_OFFER: Final = Offer(0, ())


@dataclass(frozen=True, slots=True)
class GalleryReport:
    """Counts since the gallery was made, and k as the ledger knows it.

    Attributes:
        k, below_k, scope: the settings.
        people, records: people and pseudonyms in the present window.
        clusters_open, clusters_releasable: clusters of the present window.
        windows: windows followed.
        releases, people_released: over all windows, as recorded by this process.
        k_real_min, k_real_median: candidates per released person; 0 where nobody was.
        k_joint_min, k_joint_median: the same for an observer who reasons jointly.
        k_present_min, k_present_median: the same for one who knows who was in view.
        people_below_k: released people with k_real < k.
        swaps_below_k: tracks that got a cluster's surrogate although k_real < k.
        swaps_in_doubt: tracks that got a surrogate of no cluster, as their person is in doubt or
            somebody else in view wears what is theirs.
        redrawn: surrogates drawn again since they happened to resemble their person.
        of_next_bin: times that a track got a surrogate of another bin than its person's, which
            has too few donors, or none that is unlike enough.
        covers: tracks or frames refused, by cause.
        merges, suspected: records merged; found to be one person too late to be merged.
        store_failures: times that the store did not answer, or could not be trusted.
        violations: broken promises; anything but 0 is a defect.
        index_bytes: memory of the people index.
    """

    k: int
    below_k: str
    scope: str
    people: int = 0
    records: int = 0
    clusters_open: int = 0
    clusters_releasable: int = 0
    windows: int = 0
    releases: int = 0
    people_released: int = 0
    k_real_min: int = 0
    k_real_median: float = 0.0
    k_joint_min: int = 0
    k_joint_median: float = 0.0
    k_present_min: int = 0
    k_present_median: float = 0.0
    people_below_k: int = 0
    swaps_below_k: int = 0
    swaps_in_doubt: int = 0
    redrawn: int = 0
    of_next_bin: int = 0
    covers: dict[str, int] = field(default_factory=dict)
    merges: int = 0
    suspected: int = 0
    store_failures: int = 0
    violations: int = 0
    index_bytes: int = 0
