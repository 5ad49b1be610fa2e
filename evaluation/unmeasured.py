"""What a verdict on a folder lacks: goals that no figure answers, and attacks that came to nothing.

A verdict is `passed` only when every goal was measured. Attacks may be left out by the command,
or be impossible with so few people; either is said, since nothing else tells a goal that was
reached from one that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evaluation.attacks.attack import LEAST_OUTSIDERS
from evaluation.attacks.catalogue import attacks_named
from evaluation.methods.registry import CONTROLS
from evaluation.protocol import Evaluation
from evaluation.verdict import Check

__all__ = ["attacks_not_made", "open_goals"]

_TRAINED: Final = frozenset({"A4", "A5", "A9m"})
"""Attacks that need outsiders to learn from, or to compare with."""


@dataclass(frozen=True, slots=True)
class _Required:
    """Goals that one source answers.

    Attributes:
        goals: texts of their checks.
        attack: that answers them; empty where every run does.
    """

    goals: tuple[str, ...]
    attack: str = ""


_REQUIRED: Final = (
    _Required(("matched at FMR 1e-3 (TAR)", "TAR, upper bound", "AUC", "mean rank ÷ chance"), "A1"),
    _Required(("found after training ÷ chance",), "A4"),
    _Required(("a member found ÷ chance",), "A9"),
    _Required(("faces seen again",)),
    _Required(("identities out ÷ in",)),
)


def attacks_not_made(evaluation: Evaluation, method: str) -> dict[str, str]:
    """Attacks that were asked for and found nothing to attack, with why in words.

    Args:
        evaluation: the run.
        method: against which they should have been made; against any where it took no part.
    """
    tried = [own for own in evaluation.results if own.name not in CONTROLS and not own.failure]
    tried = [own for own in tried if own.name == method] or tried
    if not tried:
        return {}
    made = {finding.attack for own in tried for finding in own.findings}
    people = evaluation.subjects.outsiders.people
    why_trained = f"{people} people to learn from are too few, {LEAST_OUTSIDERS} are needed"
    return {
        attack.id: f"{attack.id} was not made: "
        + (
            why_trained
            if attack.id in _TRAINED and people < LEAST_OUTSIDERS
            else "these pictures give it nothing to attack"
        )
        for attack in attacks_named(evaluation.plan.attacks)
        if attack.id not in made
    }


def open_goals(evaluation: Evaluation, method: str, checks: Sequence[Check]) -> list[str]:
    """For each goal that nothing answers, why that is.

    Args:
        evaluation: the run.
        method: whose goals they are.
        checks: its goals that were measured.
    """
    measured = {check.text for check in checks}
    asked = {attack.id for attack in attacks_named(evaluation.plan.attacks)}
    not_made = attacks_not_made(evaluation, method)
    reasons = []
    for required in _REQUIRED:
        missing = [text for text in required.goals if text not in measured]
        if not missing:
            continue
        goals = ", ".join(missing)
        if required.attack and required.attack not in asked:
            reasons.append(
                f"{required.attack} was not asked for, and the verdict is about what ran: "
                f"not measured: {goals}"
            )
        elif required.attack in not_made:
            reasons.append(f"{not_made[required.attack]}; not measured: {goals}")
        else:
            reasons.append(f"not measured: {goals}")
    return reasons
