"""Whether the figures may be believed, and whether they are good enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scipy.stats import binom

from evaluation.attacks.attack import Finding
from evaluation.methods.registry import CONTROLS
from evaluation.metrics.intervals import Z999, Proportion, wilson
from evaluation.protocol import Evaluation
from evaluation.results import MethodResult

__all__ = ["Check", "Control", "controls_of", "goals_of", "worst"]

_LEAST_LEAK: Final = 0.5
"""Share of people whom an attack must find when nothing was done."""
_LEAKS_OTHERWISE: Final = {"A13": 0.3}
_WEAK_LEARNERS: Final = frozenset(
    {("A5", "regression on pixels"), ("A5", "kernel regression on pixels")}
)
_TIMES_CHANCE: Final = 10.0
"""What a weak learner must reach when nothing was done, since how many it finds among all depends
on how many there are; larger asks more of it."""
_BY_LUCK: Final = 0.001
"""Likelihood below which hits among strangers are no luck; a report has some fifty controls."""
_NOT_ON_STRANGERS: Final = frozenset({("A3", "stolen secret")})
"""A stranger drawn by a stolen secret is the same stranger: no chance to expect there."""


@dataclass(frozen=True, slots=True)
class Control:
    """Whether one attack found its leak and spared the strangers.

    Attributes:
        attack: id.
        variant: of the attack.
        judge: recogniser; empty without one.
        leak: share found where nothing was done; None where the attack was not made there.
        strangers: share found among random strangers; None likewise.
        chance: of a guess.
        holds: both are as they must be.
    """

    attack: str
    variant: str
    judge: str
    leak: float | None
    strangers: float | None
    chance: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Check:
    """One goal.

    Attributes:
        text: in words.
        measured: what came out.
        limit: what must be reached.
        is_least: the limit is the least wanted, else the most.
        is_share: the figure is a share, to be written as a percentage.
        by_luck: a guess could have made as many hits, so that the limit does not bind.
    """

    text: str
    measured: float
    limit: float
    is_least: bool = False
    is_share: bool = False
    by_luck: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the figure is within its limit."""
        within = self.measured >= self.limit if self.is_least else self.measured <= self.limit
        return within or self.by_luck


def controls_of(evaluation: Evaluation) -> list[Control]:
    """Leak and strangers of every attack that ran on both, or found something on a method.

    What an attack found on a method says nothing unless it ran on both controls as well.
    """
    by_name = {result.name: result for result in evaluation.results}
    leaks, strangers = (
        {_key(finding): finding for finding in by_name[name].findings} for name in CONTROLS
    )
    judged = {
        _key(finding): finding
        for result in evaluation.results
        if result.name not in CONTROLS
        for finding in result.findings
    }
    keys = [key for key in leaks if key in strangers]
    keys += [key for key in judged if key not in leaks or key not in strangers]
    return [_control(key, leaks.get(key), strangers.get(key), judged.get(key)) for key in keys]


def _control(
    key: tuple[str, str, str], leak: Finding | None, other: Finding | None, judged: Finding | None
) -> Control:
    """One control, from what was found where nothing was done, among strangers, on a method."""
    if leak is None or other is None:
        known = leak or other or judged
        chance = 0.0 if known is None else known.chance
        return Control(*key, _share(leak), _share(other), chance, holds=False)
    spared = _is_luck(other.rate, other.chance) or key[:2] in _NOT_ON_STRANGERS
    holds = _leaks(leak) and spared
    return Control(*key, leak.rate.rate, other.rate.rate, other.chance, holds)


def _share(finding: Finding | None) -> float | None:
    return None if finding is None else finding.rate.rate


def _leaks(finding: Finding) -> bool:
    """Whether an attack found enough where nothing was done."""
    if (finding.attack, finding.variant) in _WEAK_LEARNERS:
        low = wilson(finding.rate.hits, finding.rate.probes, Z999)[0]
        return low >= _TIMES_CHANCE * finding.chance
    return finding.rate.rate >= _LEAKS_OTHERWISE.get(finding.attack, _LEAST_LEAK)


def _is_luck(rate: Proportion, chance: float) -> bool:
    """Whether a guess makes so many hits or more, by the binomial itself: hits are few here."""
    return bool(binom.sf(rate.hits - 1, rate.probes, chance) >= _BY_LUCK)


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.attack, finding.variant, finding.judge


def worst(findings: Iterable[Finding], attack: str, variant: str | None = None) -> Finding | None:
    """The finding of an attack with the highest rate over judges and variants."""
    chosen = [
        finding
        for finding in findings
        if finding.attack == attack and variant in (None, finding.variant)
    ]
    return max(chosen, key=lambda finding: finding.rate.rate, default=None)


def goals_of(result: MethodResult) -> list[Check]:
    """The goals of the project for one method, by the worst recogniser."""
    naive = [f for f in result.findings if f.attack == "A1" and f.variant == "other photograph"]
    checks = []
    if naive:
        tar = max(f.measures["tar"] for f in naive)
        upper = max(f.measures["tar_upper"] for f in naive)
        auc = max(f.measures["auc"] for f in naive)
        rank = min(f.measures["mean_rank_over_chance"] for f in naive)
        checks += [
            Check("matched at FMR 1e-3 (TAR)", tar, 0.005, is_share=True),
            Check("TAR, upper bound", upper, 0.01, is_share=True),
            Check("AUC", auc, 0.62),
            Check("mean rank ÷ chance", rank, 0.75, is_least=True),
        ]
    for attack, variant, words in (
        ("A4", None, "found after training ÷ chance"),
        ("A9", "any member first", "a member found ÷ chance"),
    ):
        finding = worst(result.findings, attack, variant)
        if finding is not None and finding.chance > 0:
            ratio = finding.rate.rate / finding.chance
            # As many hits as a guess could have made by luck are no shortfall.
            lucky = wilson(finding.rate.hits, finding.rate.probes)[0] <= finding.chance
            checks.append(Check(words, ratio, 2.0, by_luck=lucky))
    if result.utility is not None:
        seen = result.utility.redetected.rate
        checks.append(Check("faces seen again", seen, 0.99, is_least=True, is_share=True))
    if result.diversity:
        least = min(own.ratio for own in result.diversity.values())
        checks.append(Check("identities out ÷ in", least, 0.70, is_least=True, is_share=True))
    return checks
