"""Who is in view, who was shown together, and who must be hidden."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engines.types import Surrogate
from gallery.assignments import Assignment
from gallery.presence import Period, Presence, Wearer, records_of, worn_by

pytestmark = pytest.mark.unit

LATENT = np.zeros((1, 512), np.float32)


def wearer(face: str, order: int, person: int = 0, seen_s: float = 0.0) -> Wearer:
    worn = Assignment(Surrogate("c", LATENT, 3), None, face)
    return Wearer(worn, seen_s, "w", record=order, person=person or order, cluster=1, order=order)


def covered() -> Wearer:
    return Wearer(Assignment(None, "below_k"), 0.0, "w", record=9)


def presence_of(**wearers: Wearer) -> Presence:
    presence = Presence(period_s=10.0, forget_track_s=30.0)
    for name, one in wearers.items():
        presence.keep("door", int(name[1:]), one)
    return presence


def test_second_wearer_of_a_face_is_hidden_whatever_its_number() -> None:
    presence = presence_of(t1=wearer("f", order=2), t2=wearer("f", order=1), t3=wearer("g", 3))
    assert presence.see("door", [1, 2, 3], 0.0) == {1}
    assert presence.see("door", [1, 3], 0.1) == frozenset()


def test_covered_and_unknown_tracks_hide_nobody() -> None:
    presence = presence_of(t1=covered(), t2=covered())
    assert presence.see("door", [1, 2, 77], 0.0) == frozenset()


def test_who_is_covered_anyway_takes_nobodys_face_until_it_is_shown_again() -> None:
    presence = presence_of(t1=wearer("f", order=1, person=4), t2=wearer("f", order=2, person=5))
    assert presence.see("door", [1, 2], 0.0, covered=[1]) == frozenset()
    assert presence.end("door") == [Period("w", frozenset({5}))]
    presence = presence_of(t1=wearer("f", order=1), t2=wearer("f", order=2))
    presence.see("door", [1, 2], 0.0, covered=[1])
    assert presence.see("door", [1, 2], 0.1) == {2}


def test_others_are_the_people_in_view_of_the_same_stream() -> None:
    presence = presence_of(t1=wearer("f", 1), t2=wearer("g", 2), t3=covered())
    presence.see("door", [1, 3], 1.0)
    assert records_of(presence.others("door", 3, 1.0)) == [("w", 1)]
    assert set(records_of(presence.others("door", 2, 1.0))) == {("w", 1), ("w", 9)}
    assert presence.others("gate", 1, 1.0) == []


def test_what_is_worn_is_named_by_face_and_by_look() -> None:
    dressed = replace(wearer("f", 1), look="donor 7")
    assert worn_by([dressed, covered()]) == {"f", "donor 7"}


def test_second_wearer_of_a_look_is_hidden() -> None:
    one, other = (replace(wearer(face, n), look="donor 7") for n, face in ((1, "f"), (2, "g")))
    presence = presence_of(t1=other, t2=one, t3=replace(wearer("h", 3), look="donor 8"))
    assert presence.see("door", [1, 2, 3], 0.0) == {1}


def test_stream_that_comes_again_is_another_visit() -> None:
    presence = presence_of(t1=wearer("f", 1))
    first = presence.visit("door")
    assert presence.visit("door") == first != presence.visit("gate")
    presence.end("door")
    assert presence.visit("door") not in {first, presence.visit("gate")}


def test_track_asked_about_at_this_very_time_counts_as_in_view() -> None:
    presence = presence_of(t1=wearer("f", 1, seen_s=5.0))
    assert records_of(presence.others("door", 2, 5.0)) == [("w", 1)]
    assert presence.others("door", 2, 5.1) == []


def test_period_is_handed_over_once_when_it_is_over() -> None:
    presence = presence_of(t1=wearer("f", 1), t2=wearer("g", 2), t3=covered())
    presence.see("door", [1, 2, 3], 1.0)
    assert presence.over("door", 9.9) == []
    assert presence.over("door", 10.0) == [Period("w", frozenset({1, 2}))]
    assert presence.over("door", 20.0) == []


def test_end_of_a_stream_hands_over_and_forgets() -> None:
    presence = presence_of(t1=wearer("f", 1))
    presence.see("door", [1], 1.0)
    assert presence.end("door") == [Period("w", frozenset({1}))]
    assert presence.wearer("door", 1) is None
    assert presence.end("door") == []


def test_hidden_wearer_was_not_shown() -> None:
    presence = presence_of(t1=wearer("f", 1, person=4), t2=wearer("f", 2, person=5))
    presence.see("door", [1, 2], 1.0)
    assert presence.end("door") == [Period("w", frozenset({4}))]


def test_time_that_jumps_back_forgets_the_stream() -> None:
    presence = presence_of(t1=wearer("f", 1))
    presence.over("door", 50.0)
    presence.over("door", 49.5)
    assert presence.wearer("door", 1) is not None
    presence.over("door", 0.0)
    assert presence.wearer("door", 1) is None


def test_long_unseen_track_is_forgotten_and_one_in_view_is_not() -> None:
    presence = presence_of(t1=wearer("f", 1), t2=wearer("g", 2))
    presence.see("door", [2], 29.0)
    presence.see("door", [2], 40.0)
    assert presence.wearer("door", 1) is None
    assert presence.wearer("door", 2) is not None
