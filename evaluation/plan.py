"""What a run of the evaluation does, and what it works with beside the people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from evaluation.attacks.attack import Attack
from evaluation.attacks.catalogue import attacks_named
from evaluation.errors import EvaluationError
from evaluation.labels import Labeller
from evaluation.methods.registry import CONTROLS, QUICK, method_names, variant_names
from evaluation.methods.surrogate import SurrogateRenderer
from evaluation.recognisers import Recogniser
from evaluation.run_journal import RunJournal
from evaluation.utility import UtilityProbe

__all__ = ["Job", "Laboratory", "Plan"]

_SECRET: Final = b"the evaluation's own secret, of no further use"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        people: most people in the test.
        k: least people per cluster.
        methods: by name; all, or the quick choice, when empty. Controls always run.
        attacks: by id; all, and the curves over k, when empty.
        quick: fewer people, methods and samples.
        show_faces: keep sample faces for the page; they are the originals' owners' to allow.
        workers: methods that run at once; the processor's cores, at most 4, when 0.
        deal: number of the secret by which surrogates are dealt: another one deals others.
    """

    people: int = 1000
    k: int = 5
    methods: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    quick: bool = False
    show_faces: bool = False
    workers: int = 0
    deal: int = 0

    @property
    def secret(self) -> bytes:
        """The releaser's secret, of no further use."""
        return _SECRET if self.deal == 0 else _SECRET + b", deal %d" % self.deal

    def chosen_methods(self) -> list[str]:
        """Controls first, then the methods in the registry's order."""
        wanted = self.methods or (QUICK if self.quick else tuple(method_names()))
        return [*CONTROLS, *(name for name in wanted if name not in CONTROLS)]

    def check(self) -> None:
        """Refuses names that do not exist, before an hour of work.

        Raises:
            EvaluationError: there is no such method or attack.
        """
        attacks_named(self.attacks)
        known = [*method_names(), *variant_names()]
        unknown = [name for name in self.methods if name not in known]
        if unknown:
            message = f"no method is called {unknown[0]!r}; choose one of {', '.join(known)}"
            raise EvaluationError(message)

    @property
    def at_once(self) -> int:
        """Methods that run at once, at least 1."""
        return self.workers or max(1, min(4, len(os.sched_getaffinity(0))))


@dataclass(frozen=True, slots=True)
class Laboratory:
    """What a run works with beside the people.

    Attributes:
        recognisers: judges.
        probe: measures utility.
        renderer: of kveil's surrogates; donors' photographs when None.
        labeller: says which attributes people have; none are looked at when None.
        journal: of finished methods.
    """

    recognisers: Sequence[Recogniser]
    probe: UtilityProbe
    renderer: SurrogateRenderer | None = None
    labeller: Labeller | None = None
    journal: RunJournal = field(default_factory=RunJournal)


@dataclass(frozen=True, slots=True)
class Job:
    """One method to run; over k it faces few attacks and keeps to few people."""

    key: str
    name: str
    k: int
    attacks: Sequence[Attack]
    is_over_k: bool = False
