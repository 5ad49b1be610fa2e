"""The JSON record of an evaluated folder."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from importlib import metadata

import numpy as np
from numpy.typing import NDArray

from evaluation.attacks.attack import Finding, Judge
from evaluation.protocol import ATTACKS, Evaluation, MethodResult
from evaluation.recognisers import network_hash
from evaluation.reports.clip_record import Record
from evaluation.verdict import Check, Control, controls_of, goals_of

__all__ = ["FOLDER_SCHEMA", "folder_record"]

FOLDER_SCHEMA = "kveil.evaluation.folder/1"
_OURS = "kveil"
_CURVE_POINTS = 40
_CURVES_OF = ("A1", "other photograph")


def folder_record(evaluation: Evaluation, surrogates: str) -> Record:
    """Everything that was measured, without an embedding or a name of a person.

    Args:
        evaluation: the run.
        surrogates: what rendered kveil's surrogates, in words.
    """
    controls = controls_of(evaluation)
    ours = next((result for result in evaluation.results if result.name == _OURS), None)
    goals = goals_of(ours) if ours is not None and not ours.failure else []
    reasons = _reasons(controls, ours, goals)
    return {
        "schema": FOLDER_SCHEMA,
        "verdict": "failed" if reasons else "passed" if goals else "incomplete",
        "reasons": reasons or ([] if goals else [f"{_OURS} was not among the methods"]),
        "kveil": metadata.version("kveil"),
        "python": platform.python_version(),
        "seconds": round(evaluation.seconds, 1),
        "k": evaluation.plan.k,
        "surrogates": surrogates,
        "subjects": _subjects(evaluation),
        "judges": [_judge(judge) for judge in evaluation.judges],
        "attacks": [{"id": attack.id, "question": attack.question} for attack in ATTACKS],
        "controls": [_control(control) for control in controls],
        "controls_hold": all(control.holds for control in controls),
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
    reasons = [
        f"control of {control.attack} ({control.variant}, {control.judge or 'no recogniser'}) "
        f"fails: leak {control.leak:.1%}, strangers {control.strangers:.1%}"
        for control in controls
        if not control.holds
    ]
    if ours is not None and ours.failure:
        reasons.append(f"{_OURS} could not run: {ours.failure}")
    reasons += [
        f"{_OURS}: {check.text} is {check.measured:.3g}, goal {check.limit:g}"
        for check in goals
        if not check.is_met
    ]
    return reasons


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


def _control(control: Control) -> Record:
    return {
        "attack": control.attack,
        "variant": control.variant,
        "judge": control.judge,
        "leak": control.leak,
        "strangers": control.strangers,
        "chance": control.chance,
        "holds": control.holds,
    }


def _check(check: Check) -> Record:
    return {
        "text": check.text,
        "measured": check.measured,
        "limit": check.limit,
        "is_met": check.is_met,
    }


def _method(result: MethodResult) -> Record:
    utility = result.utility
    return {
        "name": result.name,
        "kind": result.kind,
        "failure": result.failure,
        "seconds": round(result.seconds, 3),
        "findings": [_finding(finding) for finding in result.findings],
        "diversity": result.diversity,
        "information_loss": result.information_loss,
        "frechet": result.frechet,
        "utility": None
        if utility is None
        else {
            "redetected": utility.redetected.as_dict(),
            "pose_error_deg": _finite(utility.pose_error_deg),
            "landmark_error": _finite(utility.landmark_error),
        },
        "goals": [_check(check) for check in goals_of(result)],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finding(finding: Finding) -> Record:
    record: Record = {
        "attack": finding.attack,
        "variant": finding.variant,
        "judge": finding.judge,
        **finding.rate.as_dict(),
        "chance": finding.chance,
        "measures": dict(finding.measures),
    }
    if (finding.attack, finding.variant) == _CURVES_OF:
        record["curves"] = {name: _thinned(curve) for name, curve in finding.curves.items()}
    return record


def _thinned(curve: NDArray[np.float64]) -> list[list[float]]:
    rows = np.unique(np.geomspace(1, len(curve), _CURVE_POINTS).astype(int)) - 1
    return [[round(float(value), 5) for value in curve[row]] for row in rows]
