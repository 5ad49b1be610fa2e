"""One folder of faces, evaluated and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path

from engines.backends.backend import Backend
from engines.errors import EngineError
from engines.stylegan.pack import bundled_pack, read_pack
from evaluation.errors import FacesUnreadable
from evaluation.exposure import FaceFinder
from evaluation.finders import finder_fingerprint
from evaluation.folder import Progress, cast_people
from evaluation.labels import labeller_at_hand, labeller_from_table
from evaluation.methods.generated import surrogates_from_pack
from evaluation.methods.surrogate import SurrogateRenderer
from evaluation.protocol import Laboratory, Plan, evaluate_folder
from evaluation.recognisers import Recogniser, network_hash
from evaluation.reports.clip_record import Record
from evaluation.reports.folder_record import folder_record
from evaluation.run_journal import RunJournal, file_hash, fingerprint_of
from evaluation.utility import UtilityProbe
from gallery.errors import GalleryError
from gallery.pictures import people_in_folder

__all__ = ["evaluated_folder", "renderer_at_hand"]


def evaluated_folder(
    folder: Path,
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    plan: Plan,
    probe: UtilityProbe,
    progress: Progress,
    backend: Backend,
    labels: Path | None = None,
    journal: Path | None = None,
) -> Record:
    """Evaluates and records; sample faces only where the plan allows them.

    Args:
        folder: a folder per person.
        finder: the evaluator's detector.
        judges: recognisers.
        plan: what to run.
        probe: measures utility.
        progress: told (stage, done, all).
        backend: loads the bundled pack.
        labels: CSV of people's attributes; the bundled attribute model when None.
        journal: file of finished methods, so that a stopped run goes on; none when None.

    Raises:
        PeopleFolderRejected: there are no pictures, or one cannot be read.
        LabelsUnreadable: the table of attributes cannot be used.
        TooFewPeople: too few to split.
        EvaluationError: there is no such method or attack.
    """
    plan.check()
    people = people_in_folder(folder)
    cast_people(people, plan.people)
    renderer, words = renderer_at_hand(backend)
    labeller = (
        labeller_from_table(labels, sorted(people))
        if labels is not None
        else labeller_at_hand(backend)
    )
    laboratory = Laboratory(judges, probe, renderer, labeller)
    if journal is not None:
        marks = _fingerprint(people, finder, judges, plan, words, labels)
        laboratory = replace(laboratory, journal=RunJournal.opened(journal, marks))
    evaluation = evaluate_folder(folder, finder, laboratory, plan, progress)
    return folder_record(evaluation, words)


def renderer_at_hand(backend: Backend) -> tuple[SurrogateRenderer | None, str]:
    """The bundled generator, or None for donors' photographs, and which of them in words."""
    try:
        return surrogates_from_pack(backend), "rendered by the bundled generator"
    except (EngineError, GalleryError) as fault:
        return None, f"photographs of other people, as a reference ({fault})"


def _fingerprint(
    people: dict[str, list[Path]],
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    plan: Plan,
    words: str,
    labels: Path | None,
) -> str:
    """Of everything that decides the figures; how many methods run at once does not."""
    files = [f"{path} {_hash_of(path)}" for paths in people.values() for path in paths]
    parts = [metadata.version("kveil"), words, _pack_hash(), finder_fingerprint(finder), *files]
    parts += [f"{name}={value}" for name, value in asdict(replace(plan, workers=1)).items()]
    parts += [f"{judge.name} {judge.threshold} {network_hash(judge)}" for judge in judges]
    if labels is not None:
        parts.append(_hash_of(labels))
    return fingerprint_of(parts)


def _hash_of(path: Path) -> str:
    try:
        return file_hash(path)
    except OSError as fault:
        message = f"{path.name}: cannot be read ({fault.strerror}); check the file"
        raise FacesUnreadable(message) from fault


def _pack_hash() -> str:
    try:
        return fingerprint_of(sorted(read_pack(bundled_pack()).sha256.values()))
    except EngineError:
        return "no pack"
