"""How many people a method is tested on, and the parts of a run that go with fewer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evaluation.attacks.attack import Judge, Subjects
from evaluation.methods.method import Method

__all__ = ["affordable_people", "narrowed", "seconds_per_face"]

_STEPS: Final = (400, 200, 100, 60)
_TRIAL_PEOPLE: Final = 12
_FACES_PER_PERSON: Final = 4.5
"""Faces that all attacks together anonymize, for each person tested."""


def seconds_per_face(
    make: Callable[[], Method], subjects: Subjects, k: int, secret: bytes
) -> float:
    """Times a method on a handful of people; the first call's compiling is left out.

    Raises:
        KveilError: the method cannot run.
    """
    _, first = np.unique(subjects.probes.persons, return_index=True)
    few = subjects.probes.take(first[: max(2 * k, _TRIAL_PEOPLE)])
    make().anonymize(few, secret)
    start = time.monotonic()
    make().anonymize(few, secret)
    return (time.monotonic() - start) / max(1, len(few))


def affordable_people(people: int, per_face_s: float, budget_s: float) -> int:
    """People on whom a method can be tested within a budget; 60 at least.

    >>> affordable_people(1000, 0.02, 200.0), affordable_people(1000, 1.0, 200.0)
    (1000, 60)
    """
    for count in (people, *(step for step in _STEPS if step < people)):
        if count * _FACES_PER_PERSON * per_face_s <= budget_s:
            return count
    return min(people, _STEPS[-1])


def narrowed(
    subjects: Subjects, judges: Sequence[Judge], people: int
) -> tuple[Subjects, list[Judge]]:
    """The first `people` of the released people, and as many outsiders; the same gallery.

    The attacker still searches among everybody, so that a guess is worth the same.

    Args:
        subjects: everybody.
        judges: with their vectors of everybody.
        people: released people to keep.
    """
    kept = np.unique(subjects.probes.persons)[:people]
    rows = np.isin(subjects.probes.persons, kept)
    if rows.all():
        return subjects, list(judges)
    outside = np.isin(
        subjects.outsiders.persons, np.unique(subjects.outsiders.persons)[: max(people, 40)]
    )
    few = replace(
        subjects,
        probes=subjects.probes.take(rows),
        outsiders=subjects.outsiders.take(outside),
    )
    own = [
        replace(judge, probes=judge.probes[rows], outsiders=judge.outsiders[outside])
        for judge in judges
    ]
    return few, own
