"""Clusters only ever grow to k people, and take nobody twice."""

from __future__ import annotations

import numpy as np
import pytest

from gallery.buffer import Buffer
from gallery.entries import Entry, Joined, Same, decoded, encoded
from gallery.errors import BufferBroken, SealBroken
from gallery.settings import Attributes, BelowK, GallerySettings, Thresholds

pytestmark = pytest.mark.unit

NOBODY = np.zeros(4, np.float32)


def buffer_of(k: int = 3, below_k: BelowK = "cover", attributes: Attributes = "matched") -> Buffer:
    return Buffer(GallerySettings(k=k, below_k=below_k, attributes=attributes))


def join(
    buffer: Buffer, resembles: int | None = None, own_bin: str = "", is_apart: bool = False
) -> int | None:
    """Enrol one newcomer where the buffer places it."""
    place = buffer.place(resembles, own_bin)
    if place is None:
        return None
    number = buffer.head + 1
    at = (place.person, place.cluster, place.slot, is_apart, place.cluster_bin, own_bin)
    buffer.apply(number, Joined(*at, NOBODY))
    return number


def crowd(buffer: Buffer, count: int) -> list[int]:
    joined = [join(buffer) for _ in range(count)]
    return [record for record in joined if record is not None]


def test_strangers_fill_one_cluster_after_the_other() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 7)
    assert [buffer.records[r].cluster for r in range(1, 8)] == [1, 1, 1, 4, 4, 4, 7]
    assert [buffer.records[r].slot for r in range(1, 8)] == [0, 1, 2, 0, 1, 2, 0]
    assert buffer.states() == (1, 2)


def test_cluster_is_releasable_from_its_kth_person_on() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 2)
    assert not buffer.is_releasable(1)
    crowd(buffer, 1)
    assert buffer.is_releasable(1)


def test_candidates_below_k_are_those_who_were_there_first() -> None:
    buffer = buffer_of(k=3, below_k="swap")
    crowd(buffer, 3)
    assert [buffer.candidates(r) for r in (1, 2, 3)] == [(1,), (1, 2), (1, 2, 3)]


def test_candidates_of_a_full_cluster_are_all_its_people() -> None:
    buffer = buffer_of(k=3, below_k="cover")
    crowd(buffer, 3)
    assert {buffer.candidates(r) for r in (1, 2, 3)} == {(1, 2, 3)}


def test_person_in_doubt_takes_a_slot_and_counts_once() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 2)
    assert join(buffer, resembles=1) == 3
    assert buffer.records[3].person == 1
    assert not buffer.is_releasable(3)
    crowd(buffer, 1)
    assert buffer.candidates(3) == (1, 2, 4)


def test_person_in_doubt_about_a_full_cluster_finds_no_place() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 3)
    assert join(buffer, resembles=1) is None


def test_people_in_doubt_never_take_the_slots_that_k_people_need() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 1)
    assert [join(buffer, resembles=1) for _ in range(4)] == [2, 3, None, None]
    crowd(buffer, 2)
    assert buffer.is_releasable(1)


def test_matched_clusters_hold_people_of_one_bin_and_count_no_others() -> None:
    buffer = buffer_of(k=3, below_k="swap")
    people = [join(buffer, own_bin=one) for one in ("f", "m", "f", "", "m", "f", "f")]
    clusters = [buffer.records[record].cluster for record in people if record]
    assert clusters == [1, 2, 1, 4, 2, 1, 7]
    assert [buffer.clusters[one].bin for one in (1, 2, 4, 7)] == ["f", "m", "", "f"]
    assert [buffer.clusters[one].number for one in (1, 2, 4, 7)] == [0, 0, 0, 1]
    assert buffer.candidates(6) == (1, 3, 6)
    assert buffer.candidates(5) == (2, 5)


def test_somebody_in_doubt_whose_bin_reads_otherwise_counts_with_the_person_resembled() -> None:
    buffer = buffer_of(k=3)
    join(buffer, own_bin="f")
    join(buffer, resembles=1, own_bin="m")
    assert buffer.clusters[1].bin == "f"
    assert buffer.clusters[1].people == [1]


def test_new_person_in_a_cluster_of_other_looks_is_refused() -> None:
    buffer = buffer_of(k=3)
    join(buffer, own_bin="f")
    with pytest.raises(BufferBroken, match="other looks"):
        buffer.apply(2, Joined(2, 1, 1, False, "f", "m", NOBODY))


def test_without_attributes_everybody_joins_one_cluster() -> None:
    buffer = buffer_of(k=3, attributes="none")
    for own_bin in ("f", "f", "f", "m", "f", "f"):
        join(buffer, own_bin=own_bin)
    assert {cluster.bin for cluster in buffer.clusters.values()} == {""}
    assert sorted(buffer.clusters) == [1, 4]


def test_coarse_attributes_are_used_once_k_people_share_them() -> None:
    buffer = buffer_of(k=3, attributes="coarse")
    for _ in range(4):
        join(buffer, own_bin="hair=red")
    bins = [buffer.clusters[buffer.records[r].cluster].bin for r in (1, 2, 3, 4)]
    assert bins == ["", "", "hair=red", "hair=red"]
    assert buffer.records[3].cluster != buffer.records[1].cluster


def test_unreleased_stranger_found_to_be_known_leaves_the_count_and_frees_a_place() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 5)
    assert buffer.may_merge(5, 1)
    buffer.apply(6, Same(5, 1))
    assert buffer.resolve(5) == 1
    assert buffer.candidates(4) == (4,)
    crowd(buffer, 2)
    assert buffer.candidates(4) == (4, 7, 8)


def test_two_strangers_of_one_open_cluster_become_one() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 2)
    buffer.apply(3, Same(2, 1))
    assert buffer.candidates(1) == (1,)
    assert buffer.people == 1


def test_records_of_one_person_merge_in_any_state_without_changing_a_count() -> None:
    buffer = buffer_of(k=3, below_k="swap")
    crowd(buffer, 2)
    join(buffer, resembles=1)
    crowd(buffer, 1)
    before = buffer.candidates(4)
    buffer.apply(5, Same(3, 1))
    assert buffer.candidates(4) == before == (1, 2, 4)


@pytest.mark.parametrize(
    ("below_k", "people", "record", "other"),
    [
        ("cover", 6, 5, 1),  # both clusters full
        ("cover", 3, 2, 1),  # one full cluster
        ("swap", 2, 2, 1),  # released as soon as enrolled
        ("swap", 4, 4, 1),  # the same, over two clusters
    ],
)
def test_merge_that_would_shrink_a_released_set_is_refused(
    below_k: BelowK, people: int, record: int, other: int
) -> None:
    buffer = buffer_of(k=3, below_k=below_k)
    crowd(buffer, people)
    assert not buffer.may_merge(record, other)
    with pytest.raises(BufferBroken, match="shrink"):
        buffer.apply(people + 1, Same(record, other))


def test_people_seen_together_never_merge() -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 1)
    join(buffer, resembles=1, is_apart=True)
    assert not buffer.may_merge(2, 1)


def test_merged_record_does_not_merge_again() -> None:
    buffer = buffer_of(k=4)
    crowd(buffer, 3)
    buffer.apply(4, Same(2, 1))
    assert not buffer.may_merge(2, 3)
    assert buffer.may_merge(1, 3)


@pytest.mark.parametrize(
    "entry",
    [
        Joined(4, 99, 0, False, "", "", NOBODY),
        Joined(4, 1, 3, False, "", "", NOBODY),
        Joined(4, 4, 1, False, "", "", NOBODY),
        Joined(1, 4, 0, False, "", "", NOBODY),
        Same(3, 9),
    ],
    ids=["no such cluster", "overfull", "wrong slot", "split person", "no such record"],
)
def test_entry_that_would_break_a_cluster_is_refused(entry: Entry) -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 3)
    with pytest.raises(BufferBroken):
        buffer.apply(4, entry)


@pytest.mark.parametrize(
    "entry",
    [Joined(2, 1, 0, False, "", "", NOBODY), Joined(2, 1, 1, False, "x", "", NOBODY),
     Joined(2, 2, 0, False, "", "", NOBODY)],
    ids=["shared slot", "other attributes", "second open cluster"],
)  # fmt: skip
def test_entry_that_does_not_fit_an_open_cluster_is_refused(entry: Entry) -> None:
    buffer = buffer_of(k=3)
    crowd(buffer, 1)
    with pytest.raises(BufferBroken):
        buffer.apply(2, entry)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_entry_out_of_order_is_refused(number: int) -> None:
    buffer = buffer_of()
    crowd(buffer, 1)
    with pytest.raises(BufferBroken, match="follows"):
        buffer.apply(number, Joined(number, 1, 1, False, "", "", NOBODY))


def test_same_entries_give_the_same_buffer() -> None:
    entries: list[Entry] = []

    class Recording(Buffer):
        def apply(self, number: int, entry: Entry) -> None:
            super().apply(number, entry)
            entries.append(entry)

    first = Recording(GallerySettings(k=3, below_k="cover"))
    crowd(first, 5)
    join(first, resembles=4)
    first.apply(7, Same(6, 4))
    second = buffer_of(k=3)
    for number, entry in enumerate(entries, 1):
        second.apply(number, decoded(encoded(entry)))
    assert second.records == first.records
    assert second.clusters == first.clusters


def test_entry_keeps_all_its_fields_as_bytes() -> None:
    embedding = np.linspace(-1, 1, 128, dtype=np.float32)
    entry = Joined(2**40, 7, 5, True, "hair=grün", "", embedding)
    back = decoded(encoded(entry))
    assert isinstance(back, Joined)
    assert (back.person, back.cluster, back.slot, back.is_apart) == (2**40, 7, 5, True)
    assert (back.cluster_bin, back.own_bin) == ("hair=grün", "")
    assert np.allclose(back.embedding, embedding, atol=1e-3)


@pytest.mark.parametrize("raw", [b"", b"S", b"X" * 40, b"J" + bytes(26) + b"\x01"])
def test_bytes_that_are_no_entry_are_refused(raw: bytes) -> None:
    with pytest.raises(SealBroken):
        decoded(raw)


@pytest.mark.parametrize(
    "wrong",
    [{"k": 1}, {"k": 51}, {"max_people": 5}, {"period_s": 0.0}, {"retry_s": -1.0},
     {"search_effort": 1}],
)  # fmt: skip
def test_setting_outside_its_range_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        GallerySettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("match", "doubt"), [(0.3, 0.4), (1.0, 0.5), (0.5, -1.0)])
def test_thresholds_out_of_order_are_refused(match: float, doubt: float) -> None:
    with pytest.raises(ValueError, match="thresholds"):
        Thresholds(match, doubt)
