"""The methods of a run, side by side, each against its attacks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineError, KveilError
from evaluation.attacks.attack import Bench, Finding, Judge, Subjects
from evaluation.attributes_kept import (
    AttributeKept,
    AttributeReader,
    attribute_readers,
    attributes_kept,
)
from evaluation.downstream import DownstreamUse, downstream_use, gradient_features
from evaluation.faces import Faces
from evaluation.folder import Progress
from evaluation.labels import Attribute
from evaluation.methods.registry import fitted_maker
from evaluation.metrics.diversity import identity_diversity
from evaluation.metrics.frechet import frechet_distance
from evaluation.metrics.homogeneity import Homogeneity, homogeneity_of
from evaluation.plan import Job, Laboratory, Plan
from evaluation.results import MethodResult
from evaluation.samples import strip_of_faces
from evaluation.workload import affordable_people, narrowed, seconds_per_face
from gallery.quality import information_loss

__all__ = ["MethodRuns", "all_done"]

_TRADE_OFF_PEOPLE: Final = 200
_METHOD_BUDGET_S: Final = 240.0
_QUICK_BUDGET_S: Final = 25.0
_SHOWN: Final = 6


def all_done(run: MethodRuns, jobs: Sequence[Job], progress: Progress) -> dict[str, MethodResult]:
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
class MethodRuns:
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
    readers: list[AttributeReader] = field(default_factory=list)

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
        originals = gradient_features(self.subjects.probes.images)
        self.readers = attribute_readers(self.test_features, self.test_labels, originals)

    def one(self, job: Job) -> MethodResult:
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

    def _measured(self, job: Job) -> MethodResult:
        make = fitted_maker(job.name, job.k, self.subjects.donors, self.laboratory.renderer)
        people = self.subjects.probes.people
        if job.is_over_k:
            people = min(people, _TRADE_OFF_PEOPLE)
        if self.plan.quick or job.name not in self.plan.methods:  # who names a method wants all
            per_face_s = seconds_per_face(make, self.subjects, job.k, self.plan.secret)
            budget_s = _QUICK_BUDGET_S if self.plan.quick else _METHOD_BUDGET_S
            people = affordable_people(people, per_face_s, budget_s)
        taking_part, judges = narrowed(self.subjects, self.judges, people)
        method = make()
        start = time.monotonic()
        release = method.anonymize(taking_part.probes, self.plan.secret)
        seconds = time.monotonic() - start
        bench = Bench(taking_part, make, method, release, self.plan.secret)
        findings: list[Finding] = []
        for attack in job.attacks:
            if self.stopped.is_set():
                break
            findings += attack.run(bench, judges)
        return self._result(job, bench, judges, findings, seconds)

    def _result(
        self,
        job: Job,
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
            *(([], []) if job.is_over_k else self._attributes(bench)),
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

    def _attributes(self, bench: Bench) -> tuple[list[DownstreamUse], list[AttributeKept]]:
        """What the release teaches, and what its faces still show."""
        if not self.labels:
            return [], []
        probes, outsiders = bench.subjects.probes, self.subjects.outsiders
        released = gradient_features(bench.release.images)
        rows = np.isin(self.subjects.probes.persons, probes.persons)
        return (
            downstream_use(
                released,
                self._labels_of(probes),
                self.test_features,
                self.test_labels,
                outsiders.persons,
            ),
            attributes_kept(self.readers, released, rows, probes.persons),
        )
