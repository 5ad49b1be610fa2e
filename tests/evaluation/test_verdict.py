"""A folder passes when every goal was measured, and by attacks that had their controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from evaluation.attacks.attack import Finding, Subjects
from evaluation.metrics.diversity import Diversity
from evaluation.metrics.intervals import clustered
from evaluation.plan import Plan
from evaluation.protocol import Evaluation
from evaluation.reports.clip_record import Record
from evaluation.reports.folder_record import folder_record
from evaluation.reports.page import page_from_record
from evaluation.results import MethodResult
from evaluation.utility import Utility
from evaluation.verdict import controls_of
from tests.evaluation.fakes import painted_people

pytestmark = pytest.mark.unit

PEOPLE = 100
VARIANTS = {
    "A1": "other photograph",
    "A4": "linear map on vectors",
    "A5": "regression on pixels",
    "A9": "any member first",
    "A9m": "photograph released",
}


def found(attack: str, hits: int) -> Finding:
    """What an attack found of a hundred people."""
    rate = clustered(np.arange(PEOPLE) < hits, np.arange(PEOPLE))
    measures = {
        "tar": 0.0,
        "tar_lower": 0.0,
        "tar_upper": 0.0,
        "auc": 0.5,
        "mean_rank_over_chance": 1.0,
        "strangers_matched": 0.0,
    }
    curves = {"roc": np.zeros((0, 2)), "cmc": np.zeros((0, 2))}
    return Finding(attack, VARIANTS[attack], "judge", rate, 0.01, measures, curves)


def result(name: str, attacks: Sequence[str], hits: int) -> MethodResult:
    """A method on which these attacks found so many."""
    seen = Utility(clustered([True] * PEOPLE, range(PEOPLE)), 1.0, 0.01)
    findings = [found(attack, hits) for attack in attacks]
    same = {"judge": Diversity(PEOPLE, PEOPLE, 0.5)}
    return MethodResult(name, "surrogate", findings, PEOPLE, seen, same)


def evaluated(
    attacks: Sequence[str],
    *,
    asked: Sequence[str] = (),
    outsiders: int = 20,
    on_controls: Sequence[str] | None = None,
) -> Evaluation:
    """A run in which these attacks came to something, on kveil and on the controls."""
    tried = attacks if on_controls is None else on_controls
    people = painted_people(0, people=2)
    taking_part = Subjects(people, people, people, painted_people(50, people=outsiders))
    results = [
        result("none", tried, PEOPLE),
        result("random stranger", tried, 0),
        result("kveil", attacks, 0),
    ]
    plan = Plan(attacks=tuple(asked))
    return Evaluation(plan, taking_part, 0, [], results, {}, 1.0)


def judged(evaluation: Evaluation) -> tuple[Record, str]:
    """The record, and its reasons in one text."""
    record = folder_record(evaluation, "photographs")
    reasons = record["reasons"]
    assert isinstance(reasons, list)
    return record, "\n".join(reasons)


def test_all_goals_measured_and_met_with_controls_pass() -> None:
    record, reasons = judged(evaluated(list(VARIANTS)))
    assert (record["verdict"], reasons) == ("passed", "")
    assert "kveil reaches 8 of 8 goals." in page_from_record(record)


def test_an_attack_that_was_not_asked_for_leaves_its_goal_open() -> None:
    record, reasons = judged(evaluated(["A1"], asked=["A1"]))
    assert record["verdict"] == "incomplete"
    for attack, goal in (("A4", "found after training"), ("A9", "a member found")):
        line = next(line for line in reasons.splitlines() if line.startswith(attack))
        assert "was not asked for, and the verdict is about what ran" in line
        assert goal in line
    assert record["not_made"] == []
    assert "goals that were measured" in page_from_record(record)


def test_an_attack_without_a_goal_passes_nothing_alone() -> None:
    record, reasons = judged(evaluated(["A9m"], asked=["A9m"]))
    assert record["verdict"] == "incomplete"
    assert "A1 was not asked for" in reasons
    assert "matched at FMR 1e-3 (TAR)" in reasons


def test_no_attack_at_all_is_incomplete_and_holds_no_control() -> None:
    record, _ = judged(evaluated([]))
    assert record["verdict"] == "incomplete"
    assert record["controls_hold"] is False
    assert "nothing here may be believed" in page_from_record(record)


def test_too_few_outsiders_are_told_for_every_attack_that_needs_them() -> None:
    record, reasons = judged(evaluated(["A1", "A9"], outsiders=19))
    assert record["verdict"] == "incomplete"
    too_few = "19 people to learn from are too few, 20 are needed"
    assert f"A4 was not made: {too_few}; not measured: found after training ÷ chance" in reasons
    page = page_from_record(record)
    for attack in ("A4", "A5", "A9m"):
        assert f"{attack} was not made: {too_few}" in page


def test_an_attack_that_met_nothing_is_told_otherwise() -> None:
    record, _ = judged(evaluated(list(VARIANTS), asked=[*VARIANTS, "A6"]))
    assert record["not_made"] == ["A6 was not made: these pictures give it nothing to attack"]


def test_a_finding_without_its_controls_is_a_control_that_fails() -> None:
    evaluation = evaluated(["A1", "A4", "A9"], on_controls=["A1", "A9"])
    record, reasons = judged(evaluation)
    assert record["verdict"] == "failed"
    assert "control of A4 (linear map on vectors, judge) fails: leak not tried" in reasons
    assert "not tried" in page_from_record(record)
    assert [one.attack for one in controls_of(evaluation) if not one.holds] == ["A4"]


def test_a_finding_with_half_of_its_controls_fails_as_well() -> None:
    evaluation = evaluated(["A1", "A4", "A9"])
    none, strangers, ours = evaluation.results
    deaf = replace(strangers, findings=[one for one in strangers.findings if one.attack != "A4"])
    record, reasons = judged(replace(evaluation, results=[none, deaf, ours]))
    assert record["verdict"] == "failed"
    assert "leak 100.0%, strangers not tried" in reasons


def test_a_shortfall_is_told_before_what_is_open() -> None:
    evaluation = evaluated(["A1"], asked=["A1"])
    none, strangers, ours = evaluation.results
    same = replace(ours, diversity={"judge": Diversity(1, PEOPLE, 0.5)})
    record, reasons = judged(replace(evaluation, results=[none, strangers, same]))
    assert record["verdict"] == "failed"
    assert reasons.splitlines()[0].startswith("kveil: identities out ÷ in")
    assert "A4 was not asked for" in reasons
