"""Promises are judged by the worst recogniser; what was not measured promises nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evaluation.clip_goals import goals_of_clip, goals_record
from evaluation.clip_quality import Constancy, QualityFigures
from evaluation.expressions import GAZE
from evaluation.followed_faces import Geometry, Steadiness
from evaluation.metrics.intervals import Proportion
from evaluation.movement import Following, MovementBand

pytestmark = pytest.mark.unit

NAN = float("nan")


def share(hits: int, probes: int) -> Proportion:
    return Proportion(hits, probes, 0.0, 1.0, 1)


GOOD = QualityFigures(
    covered=share(5, 100),
    redetected=share(95, 95),
    recognised={"a": share(0, 95), "b": share(0, 95)},
    constancy={"a": Constancy(0.001, 0.002, 0.02, 0.03, 1)},
    geometry=Geometry(2.0, 1.0, 0.5, 1.5, 0.03, 0.01, 0.01, 0.01),
    steadiness=Steadiness(1.0, 1.1, 0.9, 1),
    movement=[
        MovementBand(
            2,
            {GAZE: 8.0, f"{GAZE} floor": 2.0},
            {"lids": Following(0.95, 1.0, 1.0), "mouth": Following(0.95, 1.0, 1.0)},
            {"lids": Following(1.0, 1.0, 1.0), "mouth": Following(1.0, 1.0, 1.0)},
        )
    ],
)


def test_good_clip_meets_every_goal() -> None:
    goals = goals_of_clip(GOOD)
    assert len(goals) == 10
    assert all(goal.is_met for goal in goals)


def test_the_worst_recogniser_decides() -> None:
    leaking = replace(GOOD, recognised={"a": share(0, 95), "b": share(10, 95)})
    failed = [goal for goal in goals_of_clip(leaking) if not goal.is_met]
    assert [goal.text for goal in failed] == ["taken for the original by b"]


def test_a_frozen_face_that_looks_elsewhere_fails() -> None:
    moved = {"lids": Following(0.1, 1.0, 1.0), "mouth": Following(0.95, 1.0, 1.0)}
    frozen = replace(GOOD.movement[0], errors={GAZE: 30.0}, following=moved)
    failed = goals_of_clip(replace(GOOD, movement=[frozen]))
    assert [goal.measured for goal in failed if not goal.is_met] == [15.0, 0.1]


def test_what_was_not_measured_is_left_out_of_the_record() -> None:
    bare = QualityFigures(
        covered=share(0, 0),
        redetected=share(0, 0),
        recognised={},
        constancy={},
        geometry=Geometry(*[NAN] * 8),
        steadiness=Steadiness(NAN, NAN, NAN, 0),
    )
    assert goals_record(bare) == []
    assert len(json.dumps(goals_record(GOOD))) > 100
