"""The evaluation of a folder of faces: every method, every attack, one table, one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engines.errors import KveilError
from evaluation.attacks.adaptive import AdaptiveRecognition, Inversion
from evaluation.attacks.attack import Attack, Bench, Finding, Judge, Subjects
from evaluation.attacks.candidates import Duplicates, Intersection, KnownWeights
from evaluation.attacks.linkage import Linkage
from evaluation.attacks.membership import MemberDisclosure, MembershipInference
from evaluation.attacks.parrot import ParrotRecognition
from evaluation.attacks.recognition import NaiveRecognition, ReverseRecognition
from evaluation.attacks.templates import WholeTrack
from evaluation.exposure import FaceFinder
from evaluation.faces import Faces
from evaluation.folder import Progress, cast_people, people_in_folder, subjects
from evaluation.methods.registry import CONTROLS, QUICK, fitted_maker, method_names
from evaluation.methods.surrogate import SurrogateRenderer
from evaluation.metrics.diversity import identity_diversity
from evaluation.metrics.frechet import frechet_distance
from evaluation.metrics.utility import information_loss
from evaluation.metrics.verification import genuine_and_impostor, threshold_at_fmr
from evaluation.recognisers import Recogniser
from evaluation.utility import Utility, UtilityProbe

__all__ = ["ATTACKS", "Evaluation", "MethodResult", "Plan", "evaluate_folder", "evaluate_subjects"]

ATTACKS: tuple[Attack, ...] = (
    NaiveRecognition(),
    ReverseRecognition(),
    ParrotRecognition(),
    AdaptiveRecognition(),
    Inversion(),
    WholeTrack(),
    Linkage(),
    Intersection(),
    MemberDisclosure(),
    MembershipInference(),
    Duplicates(),
    KnownWeights(),
)
_QUICK_PEOPLE = 120
_QUICK_SAMPLE = 60
_FMR = 1e-3
_SECRET = b"the evaluation's own secret, of no further use"
_TRADE_OFF_K = (2, 3, 5, 10, 20)
_TRADE_OFF_METHODS = ("k-Same-Pixel", "AnonFACES", "kveil")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        people: most people in the test.
        k: least people per cluster.
        methods: by name; all, or the quick choice, when empty. Controls always run.
        quick: fewer people, methods and samples.
        show_faces: keep sample faces for the page; they are the originals' owners' to allow.
    """

    people: int = 1000
    k: int = 5
    methods: tuple[str, ...] = ()
    quick: bool = False
    show_faces: bool = False

    def chosen_methods(self) -> list[str]:
        """Controls first, then the methods in the registry's order."""
        wanted = self.methods or (QUICK if self.quick else tuple(method_names()))
        return [*CONTROLS, *(name for name in wanted if name not in CONTROLS)]


@dataclass(frozen=True, slots=True)
class MethodResult:
    """What one method gave.

    Attributes:
        name: of the method.
        kind: control, cover, mean or surrogate.
        findings: of all attacks.
        utility: what is left of the faces.
        diversity: identities out ÷ in, by judge.
        information_loss: AnonFACES Definition 3.2, by judge.
        frechet: distance to the originals in each judge's space.
        seconds: time to anonymize the probes once.
        samples: a few originals and outputs, when allowed.
        failure: why the method could not run; empty when it did.
    """

    name: str
    kind: str
    findings: list[Finding] = field(default_factory=list)
    utility: Utility | None = None
    diversity: dict[str, float] = field(default_factory=dict)
    information_loss: dict[str, float] = field(default_factory=dict)
    frechet: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    samples: Faces | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything a report needs.

    Attributes:
        plan: what was asked for.
        subjects: who took part.
        lost: pictures without a face to align.
        judges: recognisers with their thresholds.
        results: by method, in order.
        trade_off: (method, k) → result of the methods that have a k.
        seconds: of the whole run.
    """

    plan: Plan
    subjects: Subjects
    lost: int
    judges: Sequence[Judge]
    results: list[MethodResult]
    trade_off: dict[tuple[str, int], MethodResult]
    seconds: float


def evaluate_folder(
    folder: Path,
    finder: FaceFinder,
    recognisers: Sequence[Recogniser],
    plan: Plan,
    probe: UtilityProbe,
    progress: Progress,
    renderer: SurrogateRenderer | None = None,
) -> Evaluation:
    """Reads a folder with one folder per person, and evaluates.

    Args:
        folder: the faces.
        finder: detector of the evaluator.
        recognisers: judges.
        plan: what to run.
        probe: measures utility.
        progress: told (stage, done, all).
        renderer: of kveil's surrogates; donors' photographs when None.

    Raises:
        FacesUnreadable: there are no pictures, or one cannot be read.
        TooFewPeople: too few to split.
    """
    started = time.monotonic()
    people = people_in_folder(folder)
    most = min(plan.people, _QUICK_PEOPLE) if plan.quick else plan.people
    read, lost = subjects(people, cast_people(people, most), finder, progress)
    return evaluate_subjects(
        read, recognisers, plan, probe, progress, renderer, lost=lost, started=started
    )


def evaluate_subjects(
    taking_part: Subjects,
    recognisers: Sequence[Recogniser],
    plan: Plan,
    probe: UtilityProbe,
    progress: Progress,
    renderer: SurrogateRenderer | None = None,
    *,
    lost: int = 0,
    started: float | None = None,
) -> Evaluation:
    """Runs every method against every attack; see `evaluate_folder`."""
    start = time.monotonic() if started is None else started
    judges = [judge_from_recogniser(recogniser, taking_part) for recogniser in recognisers]
    names = plan.chosen_methods()
    results = []
    for place, name in enumerate(names):
        progress("methods", place, len(names))
        results.append(_run(name, plan.k, taking_part, judges, ATTACKS, plan, renderer, probe))
    trade_off: dict[tuple[str, int], MethodResult] = {}
    chosen = [name for name in _TRADE_OFF_METHODS if name in names]
    sizes = [k for k in _TRADE_OFF_K if k <= taking_part.probes.people // 2]
    for name in chosen:
        for k in sizes[::2] if plan.quick else sizes:
            progress("trade-off over k", len(trade_off), len(chosen) * len(sizes))
            few = (NaiveRecognition(), MemberDisclosure())
            trade_off[name, k] = _run(name, k, taking_part, judges, few, plan, renderer, None)
    seconds = time.monotonic() - start
    return Evaluation(plan, taking_part, lost, judges, results, trade_off, seconds)


def judge_from_recogniser(recogniser: Recogniser, taking_part: Subjects) -> Judge:
    """Embeds the originals and fixes the threshold on pairs of different people.

    With fewer than ten impostor pairs per false match allowed, the recogniser's own
    threshold stands.
    """
    probes = taking_part.probes.embed(recogniser)
    gallery = taking_part.gallery.embed(recogniser)
    outsiders = taking_part.outsiders.embed(recogniser)
    originals = np.concatenate([gallery, outsiders])
    persons = np.concatenate([taking_part.gallery.persons, taking_part.outsiders.persons])
    _, impostor = genuine_and_impostor(probes @ originals.T, taking_part.probes.persons, persons)
    if impostor.size * _FMR < 10:
        own = recogniser.threshold
        return Judge(recogniser, own, _FMR, 0, probes, gallery, outsiders)
    fixed = threshold_at_fmr(impostor, _FMR)
    return Judge(recogniser, fixed.value, _FMR, fixed.impostor_pairs, probes, gallery, outsiders)


def _run(
    name: str,
    k: int,
    taking_part: Subjects,
    judges: Sequence[Judge],
    attacks: Sequence[Attack],
    plan: Plan,
    renderer: SurrogateRenderer | None,
    probe: UtilityProbe | None,
) -> MethodResult:
    """One method against some attacks; a method that cannot run is told, not hidden."""
    try:
        make = fitted_maker(name, k, taking_part.donors, renderer)
        method = make()
        start = time.monotonic()
        release = method.anonymize(taking_part.probes, _SECRET)
        seconds = time.monotonic() - start
    except KveilError as fault:
        return MethodResult(name, "", failure=str(fault))
    bench = Bench(taking_part, make, method, release, _SECRET)
    findings = [finding for attack in attacks for finding in attack.run(bench, judges)]
    _, first = np.unique(taking_part.probes.persons, return_index=True)
    seen = {judge.name: bench.anonymized_probes(judge) for judge in judges}
    return MethodResult(
        name,
        method.kind,
        findings,
        probe.measure(taking_part.probes, release.images) if probe is not None else None,
        {
            judge.name: identity_diversity(
                judge.probes[first], seen[judge.name][first], judge.threshold
            )
            for judge in judges
        },
        {judge.name: information_loss(judge.probes, seen[judge.name]) for judge in judges},
        {judge.name: frechet_distance(judge.probes, seen[judge.name]) for judge in judges},
        seconds,
        taking_part.probes.showing(release.images).take(first[:6]) if plan.show_faces else None,
    )
