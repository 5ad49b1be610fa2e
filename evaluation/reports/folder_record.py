"""The JSON record of an evaluated folder."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata

from evaluation.attacks.attack import Judge
from evaluation.attacks.catalogue import ATTACKS
from evaluation.protocol import Evaluation
from evaluation.recognisers import network_hash
from evaluation.reports.clip_record import Record
from evaluation.results import MethodResult, record_from_result
from evaluation.unmeasured import attacks_not_made, open_goals
from evaluation.verdict import Check, Control, controls_of, goals_of

__all__ = ["FOLDER_SCHEMA", "folder_record"]

FOLDER_SCHEMA = "kveil.evaluation.folder/2"
_OURS = "kveil"


def folder_record(evaluation: Evaluation, surrogates: str) -> Record:
    """Everything that was measured, without an embedding or a name of a person.

    Args:
        evaluation: the run.
        surrogates: what rendered kveil's surrogates, in words.
    """
    controls = controls_of(evaluation)
    ours = next((result for result in evaluation.results if result.name == _OURS), None)
    goals = goals_of(ours) if ours is not None and not ours.failure else []
    failed = _reasons(controls, ours, goals)
    open_ones = _open(evaluation, ours, goals)
    return {
        "schema": FOLDER_SCHEMA,
        "verdict": "failed" if failed else "incomplete" if open_ones else "passed",
        "reasons": failed + open_ones,
        "not_made": list(attacks_not_made(evaluation, _OURS).values()),
        "kveil": metadata.version("kveil"),
        "python": platform.python_version(),
        "seconds": round(evaluation.seconds, 1),
        "k": evaluation.plan.k,
        "deal": evaluation.plan.deal,
        "surrogates": surrogates,
        "labels": evaluation.labels,
        "subjects": _subjects(evaluation),
        "judges": [_judge(judge) for judge in evaluation.judges],
        "attacks": [{"id": attack.id, "question": attack.question} for attack in ATTACKS],
        "controls": [asdict(control) for control in controls],
        "controls_hold": bool(controls) and all(control.holds for control in controls),
        "goals": [_check(check) for check in goals],
        "methods": [_method(result) for result in evaluation.results],
        "trade_off": [
            {"method": name, "k": k, **_method(result)}
            for (name, k), result in evaluation.trade_off.items()
        ],
    }


def _reasons(
    controls: Sequence[Control], ours: MethodResult | None, goals: Sequence[Check]
) -> list[str]:
    reasons = [_control_fails(control) for control in controls if not control.holds]
    if ours is not None and ours.failure:
        reasons.append(f"{_OURS} could not run: {ours.failure}")
    reasons += [
        f"{_OURS}: {check.text} is {_worded(check, check.measured)}, "
        f"{'at least' if check.is_least else 'at most'} {_worded(check, check.limit)} wanted"
        for check in goals
        if not check.is_met
    ]
    return reasons


def _control_fails(control: Control) -> str:
    named = f"control of {control.attack} ({control.variant}, {control.judge or 'no recogniser'})"
    leak, strangers = (
        "not tried" if share is None else f"{share:.1%}"
        for share in (control.leak, control.strangers)
    )
    return f"{named} fails: leak {leak}, strangers {strangers}"


def _open(evaluation: Evaluation, ours: MethodResult | None, goals: Sequence[Check]) -> list[str]:
    """Why some goals have no figure; a method that could not run has its own reason."""
    if ours is None:
        return [f"{_OURS} was not among the methods"]
    return [] if ours.failure else open_goals(evaluation, _OURS, goals)


def _worded(check: Check, value: float) -> str:
    return f"{100 * value:.3g} %" if check.is_share else f"{value:.3g}"


def _subjects(evaluation: Evaluation) -> Record:
    taking_part = evaluation.subjects
    return {
        "released_people": taking_part.probes.people,
        "released_pictures": len(taking_part.probes),
        "gallery_people": taking_part.gallery.people,
        "donors": taking_part.donors.people,
        "outsiders": taking_part.outsiders.people,
        "pictures_without_a_face": evaluation.lost,
    }


def _judge(judge: Judge) -> Record:
    return {
        "name": judge.name,
        "threshold": judge.threshold,
        "fmr": judge.fmr,
        "impostor_pairs": judge.impostor_pairs,
        "seen_by_kveil": judge.recogniser.seen_by_kveil,
        "network_sha256": network_hash(judge.recogniser),
    }


def _check(check: Check) -> Record:
    return {
        "text": check.text,
        "measured": check.measured,
        "limit": check.limit,
        "is_least": check.is_least,
        "is_share": check.is_share,
        "is_met": check.is_met,
    }


def _method(result: MethodResult) -> Record:
    return record_from_result(result) | {"goals": [_check(check) for check in goals_of(result)]}
