"""Slow methods are tested on fewer people, with the whole gallery against them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.attacks.attack import Subjects
from evaluation.methods.registry import fitted_maker
from evaluation.protocol import judge_from_recogniser
from evaluation.workload import affordable_people, narrowed, seconds_per_face
from tests.evaluation.fakes import PixelJudge, painted_people

pytestmark = pytest.mark.unit

SUBJECTS = Subjects(
    painted_people(0, people=30, pictures=2, start=1),
    painted_people(0, people=30),
    painted_people(300, people=10),
    painted_people(400, people=50),
)


@pytest.mark.parametrize(
    ("per_face_s", "people"), [(0.001, 1000), (0.1, 400), (0.2, 200), (0.5, 100), (30.0, 60)]
)
def test_a_slower_method_is_tested_on_fewer_people(per_face_s: float, people: int) -> None:
    assert affordable_people(1000, per_face_s, 240.0) == people


def test_a_small_set_is_never_enlarged() -> None:
    assert affordable_people(40, 100.0, 1.0) == 40


def test_fewer_people_keep_their_vectors_and_the_whole_gallery() -> None:
    judge = judge_from_recogniser(PixelJudge(), SUBJECTS)
    few, (own,) = narrowed(SUBJECTS, [judge], 7)
    assert few.probes.people == 7
    assert len(few.gallery) == 30
    np.testing.assert_array_equal(own.probes, few.probes.embed(PixelJudge()))
    np.testing.assert_array_equal(own.outsiders, few.outsiders.embed(PixelJudge()))
    assert own.threshold == judge.threshold


def test_everybody_stays_when_everybody_can() -> None:
    assert narrowed(SUBJECTS, [], 30)[0] is SUBJECTS


def test_a_method_is_timed_on_a_handful() -> None:
    make = fitted_maker("solid", 5, SUBJECTS.donors)
    assert 0 < seconds_per_face(make, SUBJECTS, 5, b"s" * 32) < 1
