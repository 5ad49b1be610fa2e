"""The commands that the laboratory adds to `kveil`: `evaluate` and `dataset`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evaluation.exposure import FaceFinder
    from evaluation.finders import FrameFinder, PortraitFinder
    from evaluation.protocol import Plan
    from evaluation.recognisers import Recogniser
    from evaluation.reports.clip_record import Record

__all__ = ["dataset", "evaluate"]

_FAILED_GATE = 6
_SAMPLE, _QUICK_SAMPLE = 300, 60


def evaluate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR | CLIP", help="A folder with one folder per person, or an original clip."
        ),
    ],
    anonymized: Annotated[
        Path | None, typer.Argument(metavar="ANON", help="The anonymized clip, beside a CLIP.")
    ] = None,
    report: Annotated[
        Path, typer.Option(help="Where the JSON goes; the HTML page is written beside it.")
    ] = Path("evaluation.json"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer people and methods: minutes, not an hour.")
    ] = False,
    people: Annotated[int, typer.Option(min=10, help="Most people in the test, DIR only.")] = 1000,
    k: Annotated[int, typer.Option(min=2, help="Least people per cluster, DIR only.")] = 5,
    deal: Annotated[
        int, typer.Option(min=0, help="Another number deals other surrogates, DIR only.")
    ] = 0,
    method: Annotated[
        list[str] | None, typer.Option(help="Only these methods; may be repeated.")
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="Only these attacks, such as A1; may be repeated. DIR only."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV with a column `person` and one per attribute. DIR only."),
    ] = None,
    recogniser: Annotated[
        list[str] | None,
        typer.Option(help="TOML of a recogniser, a preset's name or `dlib`; may be repeated."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="Folder of the presets' networks and of the detector.")
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(help="PNG of exposed faces to look at; it holds original faces. CLIP only."),
    ] = None,
    show_faces: Annotated[
        bool,
        typer.Option("--show-faces", help="Put sample faces into the page; needs their consent."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 6 when the verdict is not `passed`.")
    ] = False,
) -> None:
    """Attacks anonymized faces and writes a JSON report with an HTML page beside it.

    A stopped run of a folder goes on with the next method when it is started again.
    """
    from evaluation.inputs import check_inputs
    from evaluation.protocol import Plan

    _require_extra()
    check_inputs(source, anonymized, report, labels, sheet, recogniser or [])
    judges = _judges(recogniser or [], models)
    frames, portraits = _finders(models)
    if anonymized is not None:
        record = _evaluate_clips(source, anonymized, frames, judges, sheet, models)
    else:
        plan = Plan(
            people, k, tuple(method or ()), tuple(attack or ()), quick, show_faces, deal=deal
        )
        record = _evaluate_folder(source, portraits, judges, plan, models, labels, report)
    _write(record, report)
    _unfinished(report).unlink(missing_ok=True)
    typer.echo(f"{record['verdict']}: {report} and {report.with_suffix('.html')}")
    for line in _figures(record):
        typer.echo(f"  {line}")
    reasons = _lines(record, "reasons")
    not_made = [
        line for line in _lines(record, "not_made") if not any(line in one for one in reasons)
    ]
    for line in [*reasons, *not_made]:
        typer.echo(f"  {line}")
    if strict and record["verdict"] != "passed":
        raise typer.Exit(_FAILED_GATE)


def dataset(
    source: Annotated[
        Path, typer.Argument(metavar="IN_DIR", help="One folder per person, or with --identities.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT_DIR", help="New or resumed folder.")],
    method: Annotated[str, typer.Option(help="How faces are anonymized.")] = "kveil",
    k: Annotated[int, typer.Option(min=2, help="Least people per cluster.")] = 5,
    identities: Annotated[
        Path | None, typer.Option(help="CSV with columns file,person, where folders say nothing.")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(help="Hex secret of 32 bytes; the same one gives the same output."),
    ] = None,
    donors: Annotated[
        Path | None, typer.Option(help="Folder of faces of other people who lend theirs.")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="Also write which output came from whom, sealed with $KVEIL_GALLERY_KEYS."
        ),
    ] = None,
) -> None:
    """Anonymizes a folder of face images so that each face could be any of k people's."""
    from engines.backends.openvino import OpenVino
    from evaluation.dataset import DatasetJob, anonymize_dataset
    from evaluation.finders import product_finder
    from evaluation.folder_evaluation import renderer_at_hand

    backend = OpenVino()
    renderer = renderer_at_hand(backend)[0] if donors is None else None
    finder = product_finder(backend)
    job = DatasetJob(source, target, method, k, identities, seed, donors, mapping)
    with _Progress() as progress:
        manifest = anonymize_dataset(job, finder, progress.tell, renderer)
    typer.echo(f"{manifest['images_out']} images of {manifest['people']} people in {target}")


def _require_extra() -> None:
    """Says before the work, not after it, that the page cannot be made."""
    from importlib.util import find_spec

    from evaluation.errors import ExtraMissing

    absent = [name for name in ("jinja2", "matplotlib", "sklearn") if find_spec(name) is None]
    if absent:
        message = f"{' and '.join(absent)} are absent; pip install 'kveil[evaluate]'"
        raise ExtraMissing(message)


def _judges(names: list[str], models: Path | None) -> list[Recogniser]:
    from engines.backends.openvino import OpenVino
    from evaluation.dlib_recogniser import DLIB, dlib_recogniser
    from evaluation.recognisers import (
        models_folder,
        recognisers_from_names,
        refuse_equal_names,
    )

    judges: list[Recogniser] = [dlib_recogniser()] if DLIB in names else []
    others = [name for name in names if name != DLIB]
    if others or not judges:
        judges = [*recognisers_from_names(others, OpenVino(), models_folder(models)), *judges]
    refuse_equal_names([judge.name for judge in judges])
    return judges


def _finders(models: Path | None) -> tuple[FrameFinder, PortraitFinder]:
    from engines.backends.openvino import OpenVino
    from evaluation.finders import finder_from_models
    from evaluation.recognisers import models_folder

    return finder_from_models(OpenVino(), models_folder(models))


def _evaluate_clips(
    original: Path,
    anonymized: Path,
    finder: FaceFinder,
    judges: list[Recogniser],
    sheet: Path | None,
    models: Path | None,
) -> Record:
    from engines.backends.openvino import OpenVino
    from evaluation.clip_evaluation import evaluate_clips
    from evaluation.face_geometry import geometry_from_models
    from evaluation.recognisers import models_folder
    from evaluation.sheets import ContactSheet

    faces = ContactSheet()
    keep = faces.keep_exposed if sheet is not None else None
    geometry = geometry_from_models(OpenVino(), models_folder(models))
    record = evaluate_clips(original, anonymized, finder, judges, keep=keep, geometry=geometry)
    if sheet is not None:
        faces.write(sheet)
    return record


def _evaluate_folder(
    source: Path,
    finder: FaceFinder,
    judges: list[Recogniser],
    plan: Plan,
    models: Path | None,
    labels: Path | None,
    report: Path,
) -> Record:
    from engines.backends.openvino import OpenVino
    from evaluation.face_geometry import geometry_from_models
    from evaluation.folder_evaluation import evaluated_folder
    from evaluation.recognisers import models_folder
    from evaluation.utility import UtilityProbe

    backend = OpenVino()
    sample = _QUICK_SAMPLE if plan.quick else _SAMPLE
    geometry = geometry_from_models(backend, models_folder(models))
    probe = UtilityProbe(finder, geometry, sample)
    journal = _unfinished(report)
    with _Progress() as progress:
        return evaluated_folder(
            source, finder, judges, plan, probe, progress.tell, backend, labels, journal
        )


def _unfinished(report: Path) -> Path:
    """Where a folder's run keeps the methods that it has finished."""
    return report.with_name(report.name + ".unfinished.jsonl")


def _figures(record: Record) -> list[str]:
    """The goals of the project and what was measured, one line each; none for clips."""
    goals = record.get("goals", [])
    if record.get("schema") != "kveil.evaluation.folder/2" or not isinstance(goals, list):
        return []
    return [
        f"{goal['text']:<28} {goal['measured']:.4g} "
        f"({'≥' if goal['is_least'] else '≤'} {goal['limit']:g} wanted)"
        for goal in goals
    ]


class _Progress:
    """A line on a terminal that says what is being done; nothing where there is none."""

    def __enter__(self) -> _Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(stderr=True)
        is_seen = console.is_terminal  # a bar for nobody would still end in an empty line
        self._bar = Progress(*columns, console=console, transient=True, disable=not is_seen)
        self._task = self._bar.add_task("")
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def tell(self, stage: str, done: int, of: int) -> None:
        """Shows that `done` of `of` steps of a stage are behind us."""
        self._bar.update(self._task, description=stage, completed=done, total=of)


def _write(record: Record, report: Path) -> None:
    from evaluation.reports.page import page_from_record

    page = page_from_record(record)
    for path, text in ((report, json.dumps(record, indent=1)), (report.with_suffix(".html"), page)):
        beside = path.with_name(path.name + ".part")
        beside.write_text(text + "\n", "utf-8")
        beside.replace(path)


def _lines(record: Record, name: str) -> list[str]:
    lines = record.get(name, [])
    return [str(line) for line in lines] if isinstance(lines, list) else []
