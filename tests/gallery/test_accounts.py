"""Candidate sets over all releases, against brute force and against each way to break them."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gallery.accounts import Accounts, Release, joint_candidates

pytestmark = pytest.mark.unit


def release(
    person: int,
    candidates: tuple[int, ...],
    cluster: int = 1,
    slot: int | None = None,
    record: int | None = None,
    window: str = "w",
) -> Release:
    slot = person if slot is None else slot
    return Release(window, person, record or person, cluster, slot, candidates)


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6))
@settings(max_examples=200)
def test_joint_candidates_equal_brute_force_over_all_assignments(sizes: list[int]) -> None:
    people = range(max(*sizes, len(sizes)))
    possible: list[set[int]] = [set() for _ in sizes]
    for chosen in permutations(people, len(sizes)):
        if all(person < n for person, n in zip(chosen, sizes, strict=True)):
            for owner, person in zip(possible, chosen, strict=True):
                owner.add(person)
    if all(possible):  # otherwise nobody can have caused them: not a history of releases
        found = joint_candidates(list(enumerate(sizes)))
        assert found == [len(owner) for owner in possible]


def test_joint_candidates_of_nobody_are_none() -> None:
    assert joint_candidates([]) == []


def test_releases_of_a_full_cluster_keep_k_under_every_observer() -> None:
    accounts = Accounts(3, "cover")
    for person in (1, 2, 3, 1, 2, 1):
        assert accounts.add(release(person, (1, 2, 3))) == 3
    assert accounts.k_real() == accounts.k_joint() == [3, 3, 3]
    assert accounts.violations == []


def test_releases_one_by_one_are_told_apart_by_joint_reasoning() -> None:
    accounts = Accounts(3)
    for person in (1, 2, 3):
        accounts.add(release(person, tuple(range(1, person + 1))))
    assert accounts.k_real() == [1, 2, 3]
    assert accounts.k_joint() == [1, 1, 1]
    assert accounts.violations == []


@pytest.mark.parametrize(
    ("second", "word"),
    [
        (release(1, (1, 2)), "fell"),
        (release(1, (1, 4, 5), cluster=4), "changed clusters"),
        (release(2, (1, 2, 3), slot=1), "shared"),
        (release(1, (1, 2, 3), slot=2), "shared with record 1, or changed"),
        (release(2, (2, 1, 3)), "nested"),
        (release(2, (1, 3, 4)), "among its own"),
    ],
    ids=["shrunk", "re-clustered", "shared slot", "moved slot", "reordered", "not itself"],
)
def test_release_that_breaks_a_promise_is_foreseen_and_noted(second: Release, word: str) -> None:
    accounts = Accounts(3)
    accounts.add(release(1, (1, 2, 3)))
    assert accounts.prospect(second) == 0
    accounts.add(second)
    assert any(word in violation for violation in accounts.violations)


def test_release_below_k_breaks_the_policy_to_cover() -> None:
    assert Accounts(3, "cover").prospect(release(1, (1, 2))) == 0
    assert Accounts(3, "swap").prospect(release(1, (1, 2))) == 2


def test_order_in_which_releases_are_read_does_not_hide_a_fall() -> None:
    accounts = Accounts(3)
    accounts.add(release(1, (1, 2)))
    accounts.add(release(1, (1, 2, 3)))
    assert any("fell from 3 to 2" in violation for violation in accounts.violations)


def test_records_of_one_person_share_its_standing_but_not_its_slot() -> None:
    accounts = Accounts(3, "cover")
    accounts.add(release(1, (1, 2, 4), slot=0))
    assert accounts.add(release(1, (1, 2, 4), slot=2, record=3)) == 3
    assert len(accounts.people) == 1
    assert accounts.violations == []


def test_same_numbers_in_another_window_are_other_people() -> None:
    accounts = Accounts(3)
    accounts.add(release(1, (1, 2, 3)))
    accounts.add(release(1, (1,), cluster=9, window="v"))
    assert accounts.k_real() == [1, 3]
    assert accounts.violations == []


def test_presence_is_intersected_over_periods() -> None:
    accounts = Accounts(3, "cover")
    for person in (1, 2, 3):
        accounts.add(release(person, (1, 2, 3)))
    accounts.add_period("w", [1, 2, 3])
    assert accounts.k_present() == [3, 3, 3]
    accounts.add_period("w", [1, 2])
    assert accounts.k_present() == [2, 2, 3]
    accounts.add_period("w", [9])
    assert accounts.k_present() == [2, 2, 3]


def test_folded_windows_keep_their_numbers_and_free_their_people() -> None:
    accounts = Accounts(3)
    accounts.add(release(1, (1,)))
    accounts.add_period("w", [1])
    accounts.add(release(1, (1,), window="v"))
    before = accounts.k_real(), accounts.k_joint(), accounts.k_present()
    accounts.fold(but="v")
    assert [window for window, _ in accounts.people] == ["v"]
    assert (accounts.k_real(), accounts.k_joint(), accounts.k_present()) == before
    assert accounts.windows == {"v", "w"}


def test_noted_violations_are_bounded() -> None:
    accounts = Accounts(3, "cover")
    for _ in range(1100):
        accounts.add(release(1, (1,)))
    assert len(accounts.violations) == 1000
