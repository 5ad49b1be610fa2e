"""The evaluation of a folder of faces: every method, every attack, one table, one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from evaluation.attacks.attack import Judge, Subjects
from evaluation.attacks.catalogue import attacks_named
from evaluation.embedding_cache import CachedRecogniser
from evaluation.exposure import FaceFinder
from evaluation.folder import Progress, cast_people, subjects
from evaluation.method_runs import MethodRuns, all_done
from evaluation.metrics.verification import genuine_and_impostor, threshold_at_fmr
from evaluation.plan import Job, Laboratory, Plan
from evaluation.recognisers import Recogniser
from evaluation.results import MethodResult
from gallery.pictures import people_in_folder

__all__ = ["Evaluation", "Laboratory", "Plan", "evaluate_folder", "evaluate_subjects"]
__all__ += ["judge_from_recogniser", "people_and_judges"]

_QUICK_PEOPLE: Final = 120
_FMR: Final = 1e-3
_TRADE_OFF_K: Final = (2, 3, 5, 10, 20)
_TRADE_OFF_METHODS: Final = ("k-Same-Pixel", "AnonFACES", "kveil")
_TRADE_OFF_ATTACKS: Final = ("A1", "A9")


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
        PeopleFolderRejected: there are no pictures, or one cannot be read.
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
    run = MethodRuns(taking_part, judges, laboratory, plan, start)
    names = plan.chosen_methods()
    jobs = [Job(name, name, plan.k, attacks_named(plan.attacks)) for name in names]
    if not plan.attacks:
        jobs += _trade_off_jobs(names, plan, taking_part)
    found = all_done(run, jobs, progress)
    over_k = {(job.name, job.k): found[job.key] for job in jobs if job.is_over_k}
    seconds = laboratory.journal.seconds + time.monotonic() - start
    labels = laboratory.labeller.source if laboratory.labeller and run.labels else ""
    results = [found[name] for name in names]
    return Evaluation(plan, taking_part, lost, judges, results, over_k, seconds, labels)


def people_and_judges(
    folder: Path,
    count: int,
    finder: FaceFinder,
    recognisers: Sequence[Recogniser],
    progress: Progress,
) -> tuple[Subjects, list[Judge]]:
    """Who of a folder takes part in a test of at most `count` people, and the judges of it.

    Raises:
        PeopleFolderRejected: there are no pictures, or one cannot be read.
        TooFewPeople: too few to split.
    """
    people = people_in_folder(folder)
    taking_part, _ = subjects(people, cast_people(people, count), finder, progress)
    return taking_part, [judge_from_recogniser(one, taking_part) for one in recognisers]


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


def _trade_off_jobs(names: Sequence[str], plan: Plan, taking_part: Subjects) -> list[Job]:
    sizes = [k for k in _TRADE_OFF_K if k <= taking_part.probes.people // 2]
    attacks = attacks_named(_TRADE_OFF_ATTACKS)
    return [
        Job(f"{name}, k = {k}", name, k, attacks, is_over_k=True)
        for name in _TRADE_OFF_METHODS
        if name in names
        for k in (sizes[::2] if plan.quick else sizes)
    ]
