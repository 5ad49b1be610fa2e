"""The evaluation of a folder of faces: every method, every attack, one table, one run."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineError, KveilError
from evaluation.attacks.attack import Attack, Bench, Finding, Judge, Subjects
from evaluation.attacks.catalogue import attacks_named
from evaluation.downstream import DownstreamUse, downstream_use, gradient_features
from evaluation.embedding_cache import CachedRecogniser
from evaluation.errors import EvaluationError
from evaluation.exposure import FaceFinder
from evaluation.faces import Faces
from evaluation.folder import Progress, cast_people, people_in_folder, subjects
from evaluation.labels import Attribute, Labeller
from evaluation.methods.registry import (
    CONTROLS,
    QUICK,
    fitted_maker,
    method_names,
    variant_names,
)
from evaluation.methods.surrogate import SurrogateRenderer
from evaluation.metrics.diversity import identity_diversity
from evaluation.metrics.frechet import frechet_distance
from evaluation.metrics.homogeneity import Homogeneity, homogeneity_of
from evaluation.metrics.utility import information_loss
from evaluation.metrics.verification import genuine_and_impostor, threshold_at_fmr
from evaluation.recognisers import Recogniser
from evaluation.results import MethodResult
from evaluation.run_journal import RunJournal
from evaluation.samples import strip_of_faces
from evaluation.utility import UtilityProbe
from evaluation.workload import affordable_people, narrowed, seconds_per_face

__all__ = ["Evaluation", "Laboratory", "Plan", "evaluate_folder", "evaluate_subjects"]
__all__ += ["judge_from_recogniser"]

_QUICK_PEOPLE: Final = 120
_FMR: Final = 1e-3
_SECRET: Final = b"the evaluation's own secret, of no further use"
_TRADE_OFF_K: Final = (2, 3, 5, 10, 20)
_TRADE_OFF_METHODS: Final = ("k-Same-Pixel", "AnonFACES", "kveil")
_TRADE_OFF_ATTACKS: Final = ("A1", "A9")
_TRADE_OFF_PEOPLE: Final = 200
_METHOD_BUDGET_S: Final = 240.0
_QUICK_BUDGET_S: Final = 25.0
_SHOWN: Final = 6


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
    """

    people: int = 1000
    k: int = 5
    methods: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    quick: bool = False
    show_faces: bool = False
    workers: int = 0

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
        labels: where the attributes come from, in words; empty without.
    """

    plan: Plan
    subjects: Subjects
    lost: int
    judges: Sequence[Judge]
    results: list[MethodResult]
    trade_off: dict[tuple[str, int], MethodResult]
    seconds: float
    labels: str = ""


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


def evaluate_folder(
    folder: Path, finder: FaceFinder, laboratory: Laboratory, plan: Plan, progress: Progress
) -> Evaluation:
    """Reads a folder with one folder per person, and evaluates.

    Args:
        folder: the faces.
        finder: detector of the evaluator.
        laboratory: judges and instruments.
        plan: what to run.
        progress: told (stage, done, all).

    Raises:
        FacesUnreadable: there are no pictures, or one cannot be read.
        TooFewPeople: too few to split.
        EvaluationError: there is no such method or attack.
    """
    plan.check()
    started = time.monotonic()
    people = people_in_folder(folder)
    most = min(plan.people, _QUICK_PEOPLE) if plan.quick else plan.people
    read, lost = subjects(people, cast_people(people, most), finder, progress)
    return evaluate_subjects(read, laboratory, plan, progress, lost=lost, started=started)


def evaluate_subjects(
    taking_part: Subjects,
    laboratory: Laboratory,
    plan: Plan,
    progress: Progress,
    *,
    lost: int = 0,
    started: float | None = None,
) -> Evaluation:
    """Runs every method against every attack; see `evaluate_folder`.

    Methods run side by side and each is noted in the journal when it is done. The outcome
    depends on neither order nor number of workers.
    """
    start = time.monotonic() if started is None else started
    judges = [
        judge_from_recogniser(CachedRecogniser(recogniser), taking_part)
        for recogniser in laboratory.recognisers
    ]
    run = _Run(taking_part, judges, laboratory, plan, start)
    names = plan.chosen_methods()
    jobs = [_Job(name, name, plan.k, attacks_named(plan.attacks)) for name in names]
    if not plan.attacks:
        jobs += _trade_off_jobs(names, plan, taking_part)
    found = _all_done(run, jobs, progress)
    over_k = {(job.name, job.k): found[job.key] for job in jobs if job.is_over_k}
    seconds = laboratory.journal.seconds + time.monotonic() - start
    labels = laboratory.labeller.source if laboratory.labeller and run.labels else ""
    results = [found[name] for name in names]
    return Evaluation(plan, taking_part, lost, judges, results, over_k, seconds, labels)


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


@dataclass(frozen=True, slots=True)
class _Job:
    """One method to run; over k it faces few attacks and keeps to few people."""

    key: str
    name: str
    k: int
    attacks: Sequence[Attack]
    is_over_k: bool = False


def _trade_off_jobs(names: Sequence[str], plan: Plan, taking_part: Subjects) -> list[_Job]:
    sizes = [k for k in _TRADE_OFF_K if k <= taking_part.probes.people // 2]
    attacks = attacks_named(_TRADE_OFF_ATTACKS)
    return [
        _Job(f"{name}, k = {k}", name, k, attacks, is_over_k=True)
        for name in _TRADE_OFF_METHODS
        if name in names
        for k in (sizes[::2] if plan.quick else sizes)
    ]


def _all_done(run: _Run, jobs: Sequence[_Job], progress: Progress) -> dict[str, MethodResult]:
    """Results by key; what the journal holds is not run again."""
    journal, done = run.laboratory.journal, 0
    found = {job.key: journal.finished[job.key] for job in jobs if job.key in journal.finished}
    left = [job for job in jobs if job.key not in found]
    run.prepare()
    with _few_threads_each(run.plan.at_once), ThreadPoolExecutor(run.plan.at_once) as pool:
        try:
            for job, result in zip(left, pool.map(run.one, left), strict=True):
                done += 1
                progress("methods", len(jobs) - len(left) + done, len(jobs))
                found[job.key] = result
        except BaseException:
            # Whoever interrupts waits for the attack under way and not for the whole run.
            run.stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _few_threads_each(workers: int) -> AbstractContextManager[object]:
    """Shares the cores: matrix products of methods side by side would crowd each other out."""
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    cores = len(os.sched_getaffinity(0))
    limits: AbstractContextManager[object] = threadpool_limits(max(1, cores // workers))
    return limits


@dataclass(slots=True)
class _Run:
    """What the methods of a run share."""

    subjects: Subjects
    judges: list[Judge]
    laboratory: Laboratory
    plan: Plan
    started: float
    stopped: Event = field(default_factory=Event)
    labels: list[Attribute] = field(default_factory=list)
    test_labels: list[Attribute] = field(default_factory=list)
    test_features: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def prepare(self) -> None:
        """Reads what is the same for all methods once."""
        labeller = self.laboratory.labeller
        if labeller is None:
            return
        try:
            labels = labeller.label(self.subjects.probes)
            self.test_labels = labeller.label(self.subjects.outsiders)
        except EngineError:
            # Attributes are a column of the report, not a reason to have none.
            return
        self.labels = labels
        self.test_features = gradient_features(self.subjects.outsiders.images)

    def one(self, job: _Job) -> MethodResult:
        """One method against its attacks; a method that cannot run is told, not hidden."""
        if self.stopped.is_set():
            return MethodResult(job.name, "")
        try:
            result = self._measured(job)
        except KveilError as fault:
            result = MethodResult(job.name, "", failure=str(fault))
        if not self.stopped.is_set():
            after_s = self.laboratory.journal.seconds + time.monotonic() - self.started
            self.laboratory.journal.note(job.key, result, round(after_s, 1))
        return result

    def _measured(self, job: _Job) -> MethodResult:
        make = fitted_maker(job.name, job.k, self.subjects.donors, self.laboratory.renderer)
        people = self.subjects.probes.people
        if job.is_over_k:
            people = min(people, _TRADE_OFF_PEOPLE)
        per_face_s = seconds_per_face(make, self.subjects, job.k, _SECRET)
        budget_s = _QUICK_BUDGET_S if self.plan.quick else _METHOD_BUDGET_S
        people = affordable_people(people, per_face_s, budget_s)
        taking_part, judges = narrowed(self.subjects, self.judges, people)
        method = make()
        start = time.monotonic()
        release = method.anonymize(taking_part.probes, _SECRET)
        seconds = time.monotonic() - start
        bench = Bench(taking_part, make, method, release, _SECRET)
        findings: list[Finding] = []
        for attack in job.attacks:
            if self.stopped.is_set():
                break
            findings += attack.run(bench, judges)
        return self._result(job, bench, judges, findings, seconds)

    def _result(
        self,
        job: _Job,
        bench: Bench,
        judges: Sequence[Judge],
        findings: list[Finding],
        seconds: float,
    ) -> MethodResult:
        probes, images = bench.subjects.probes, bench.release.images
        _, first = np.unique(probes.persons, return_index=True)
        seen = {judge.name: bench.anonymized_probes(judge) for judge in judges}
        matched = np.zeros(len(probes), bool)
        for judge in judges:
            matched |= (seen[judge.name] * judge.probes).sum(axis=1) > judge.threshold
        utility = None
        if not job.is_over_k:
            utility = self.laboratory.probe.measure(probes, images, matched)
        shown = probes.showing(images).take(first[:_SHOWN])
        return MethodResult(
            job.name,
            bench.method.kind,
            findings,
            probes.people,
            utility,
            {
                judge.name: identity_diversity(judge.probes[first], seen[judge.name][first])
                for judge in judges
            },
            {judge.name: information_loss(judge.probes, seen[judge.name]) for judge in judges},
            {judge.name: frechet_distance(judge.probes, seen[judge.name]) for judge in judges},
            [] if job.is_over_k else self._homogeneity(bench),
            [] if job.is_over_k else self._downstream(bench),
            seconds,
            strip_of_faces(shown) if self.plan.show_faces and not job.is_over_k else "",
        )

    def _labels_of(self, probes: Faces) -> list[Attribute]:
        rows = np.isin(self.subjects.probes.persons, probes.persons)
        return [Attribute(own.name, own.names, own.values[rows]) for own in self.labels]

    def _homogeneity(self, bench: Bench) -> list[Homogeneity]:
        probes, clusters = bench.subjects.probes, bench.release.clusters
        found = [
            homogeneity_of(own.name, clusters, probes.persons, own.values)
            for own in self._labels_of(probes)
        ]
        return [own for own in found if own is not None]

    def _downstream(self, bench: Bench) -> list[DownstreamUse]:
        if not self.labels:
            return []
        return downstream_use(
            bench.release.images,
            self._labels_of(bench.subjects.probes),
            self.test_features,
            self.test_labels,
            self.subjects.outsiders.persons,
        )
