"""The gallery's counts, gathered from those who keep them."""

from __future__ import annotations

from gallery.assignments import GalleryReport
from gallery.ledger import LedgerCheck
from gallery.releaser import Releaser
from gallery.roster import Roster
from gallery.settings import GallerySettings

__all__ = ["gallery_report"]


def gallery_report(
    settings: GallerySettings,
    roster: Roster,
    releaser: Releaser,
    ledger: LedgerCheck,
    store_failures: int,
) -> GalleryReport:
    """Counts and k so far.

    Args:
        settings: k, policy and scope.
        roster: people of the present window.
        releaser: what tracks were given and refused.
        ledger: what the record of releases says.
        store_failures: times that the store failed.
    """
    buffer = roster.buffer if roster.window else None
    n_open, n_releasable = buffer.states() if buffer else (0, 0)
    return GalleryReport(
        k=settings.k,
        below_k=settings.below_k,
        scope=settings.scope,
        people=buffer.people if buffer else 0,
        records=len(buffer.records) if buffer else 0,
        clusters_open=n_open,
        clusters_releasable=n_releasable,
        windows=roster.windows,
        releases=ledger.releases,
        people_released=ledger.people,
        k_real_min=ledger.k_real_min,
        k_real_median=ledger.k_real_median,
        k_joint_min=ledger.k_joint_min,
        k_joint_median=ledger.k_joint_median,
        k_present_min=ledger.k_present_min,
        k_present_median=ledger.k_present_median,
        people_below_k=ledger.people_below_k,
        swaps_below_k=releaser.swaps_below_k,
        swaps_in_doubt=releaser.swaps_in_doubt,
        redrawn=releaser.redrawn,
        of_next_bin=releaser.of_next_bin,
        covers={cause: n for cause, n in sorted(releaser.covers.items()) if n},
        merges=roster.merges,
        suspected=ledger.suspected,
        store_failures=store_failures,
        violations=len(ledger.violations),
        index_bytes=roster.index_bytes,
    )
