"""State machines over arrivals, returns, duplicates, merges, crashes and losses: no promise breaks.

The same machine finds planted faults within seconds.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from benchmarks.gallery_soak import walk
from gallery.accounts import Accounts, Release
from gallery.buffer import Buffer
from gallery.entries import Entry
from gallery.ledger import Ledger
from gallery.settings import BelowK, Scope
from gallery.simulation import Crowd, Violation

pytestmark = pytest.mark.unit

HUMANS = st.integers(0, 24)
STREAMS = st.sampled_from("ab")
PICK = st.integers(0, 10**6)


class GalleryMachine(RuleBasedStateMachine):
    """Anything may happen in any order."""

    @initialize(
        below_k=st.sampled_from(["swap", "cover"]),
        scope=st.sampled_from(["track", "session", "camera", "forever"]),
        k=st.sampled_from([2, 3, 5]),
    )
    def start(self, below_k: BelowK, scope: Scope, k: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.crowd = Crowd(self.folder, below_k, scope, k)

    def track(self, pick: int) -> int:
        return self.crowd.in_view[pick % len(self.crowd.in_view)]

    def has_tracks(self) -> bool:
        return bool(self.crowd.in_view)

    @rule(human=HUMANS, stream=STREAMS, is_poor=st.booleans())
    def arrive(self, human: int, stream: str, is_poor: bool) -> None:
        self.crowd.arrive(human, stream, is_poor)

    @rule(humans=st.lists(HUMANS, min_size=2, max_size=6))
    def crowd_arrives(self, humans: list[int]) -> None:
        for human in humans:
            self.crowd.arrive(human, "a")

    @rule(pick=PICK)
    @precondition(has_tracks)
    def leave(self, pick: int) -> None:
        self.crowd.leave(self.track(pick))

    @rule(pick=PICK, is_poor=st.booleans())
    @precondition(has_tracks)
    def ask_again(self, pick: int, is_poor: bool) -> None:
        self.crowd.ask(self.track(pick), is_poor)

    @rule(human=HUMANS, stream=STREAMS)
    def misread(self, human: int, stream: str) -> None:
        self.crowd.misread(human, stream)

    @rule(seconds=st.sampled_from([0.5, 6.0, 25.0, 4000.0]))
    def wait(self, seconds: float) -> None:
        self.crowd.wait(seconds)

    @rule()
    def crash(self) -> None:
        self.crowd.crash()

    @rule()
    def rotate_keys(self) -> None:
        self.crowd.rotate_keys()

    @rule()
    def lose_store(self) -> None:
        self.crowd.lose_store()

    def teardown(self) -> None:
        if hasattr(self, "crowd"):
            try:
                self.crowd.check()
            finally:
                self.crowd.close()
                shutil.rmtree(self.folder)


TestGalleryMachine = GalleryMachine.TestCase
TestGalleryMachine.settings = settings(
    max_examples=170,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class ReclusteringBuffer(Buffer):
    """Clusters anew with every third newcomer, as batch methods do."""

    def apply(self, number: int, entry: Entry) -> None:
        super().apply(number, entry)
        if number % 3 == 0:
            dice, clusters = random.Random(number), sorted(self.clusters)
            for record in self.records.values():
                record.cluster = dice.choice(clusters)

    def candidates(self, record: int) -> tuple[int, ...]:
        cluster = self.records[record].cluster
        people = {r.person for r in self.records.values() if r.cluster == cluster}
        return tuple(sorted(people))


class SharingBuffer(Buffer):
    """Gives every other member of a cluster the first slot."""

    def apply(self, number: int, entry: Entry) -> None:
        super().apply(number, entry)
        if number in self.records and self.records[number].slot % 2:
            self.records[number].slot = 0


class ExpiringBuffer(Buffer):
    """Takes the eldest out of the candidates as time goes by."""

    def candidates(self, record: int) -> tuple[int, ...]:
        mine = self.records[record].person
        kept = [c for c in super().candidates(record) if c > self.head - 12 or c == mine]
        return tuple(kept)


class TrustingAccounts(Accounts):
    """Finds every release acceptable, and notes its faults all the same."""

    def prospect(self, release: Release) -> int:
        return 1


class TrustingLedger(Ledger):
    """Writes whatever it is told, without judging."""

    def __init__(self, *args: object, **named: object) -> None:
        super().__init__(*args, **named)  # type: ignore[arg-type]
        self.accounts = TrustingAccounts(self.accounts.k, self.accounts.below_k)


FAULTS = [ReclusteringBuffer, SharingBuffer, ExpiringBuffer]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(fault: type[Buffer], tmp_path: Path) -> None:
    def search() -> None:
        for seed in range(20):
            folder = tmp_path / str(seed)
            crowd = Crowd(folder, seed=seed, make_buffer=fault, make_ledger=TrustingLedger)
            walk(crowd, random.Random(seed), 150)

    with pytest.raises(Violation):
        search()


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_seen_in_the_ledger_files_alone(
    fault: type[Buffer], tmp_path: Path
) -> None:
    crowd = Crowd(tmp_path, make_buffer=fault, make_ledger=TrustingLedger)
    for human in [2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17, 18, 2, 3, 4, 5]:
        try:
            crowd.arrive(human, "a")
        except Violation:
            continue
        finally:
            for track in crowd.in_view:
                crowd.leave(track)
    with pytest.raises(Violation, match=r"violations"):
        crowd.check()


def test_faulty_buffer_before_a_judging_ledger_covers_faces(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, make_buffer=ReclusteringBuffer, attributes="none")
    for human in [2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6]:
        crowd.arrive(human, "a")
        crowd.leave(crowd.in_view[0])
    assert crowd.report().covers["broken_promise"] > 0
    crowd.check()


class MixingBuffer(Buffer):
    """Puts everybody into one cluster after the other, whatever they look like."""

    def _bin_for(self, own_bin: str) -> str:
        return ""


def test_candidates_of_two_bins_are_found(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, make_buffer=MixingBuffer)
    crowd.arrive(2, "a")
    with pytest.raises(Violation, match="told apart"):
        crowd.arrive(3, "a")


@pytest.mark.parametrize("scope", ["track", "session", "camera", "forever"])
@pytest.mark.parametrize("below_k", ["swap", "cover"])
def test_long_walk_breaks_nothing(below_k: BelowK, scope: Scope, tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, below_k, scope, seed=7)
    walk(crowd, random.Random(7), 400)
    assert crowd.releases > 30
    crowd.close()
