"""The command that the gallery adds to `kveil`: `tune`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from gallery.clustering.registry import algorithm_by_name
from gallery.errors import EmbeddingsRejected, PeopleFolderRejected
from gallery.faces import (
    FaceSet,
    faces_from_archive,
    faces_from_pictures,
    pictures_in_folder,
    values_from_csv,
)
from gallery.tuning import Judge, Recommendation, TuningPoint, recommend, sweep
from gallery.tuning_table import tuning_table

__all__ = ["tune"]

In = Annotated[
    Path,
    typer.Argument(
        metavar="IN_DIR",
        help="One folder per person, one picture per person, or an npz with `embeddings`.",
    ),
]
RecogniserFile = Annotated[
    Path | None,
    typer.Option(help="ONNX recogniser of the ArcFace family (112 px, RGB); not for an npz."),
]
OneEach = Annotated[
    bool,
    typer.Option("--one-each", help="First picture of each person only (AnonFACES Def. 3.1)."),
]
Out = Annotated[Path | None, typer.Option(help="Folder for the plots and the JSON.")]


def tune(
    in_dir: In,
    recogniser: RecogniserFile = None,
    judge: Annotated[
        Path | None,
        typer.Option(help="Second recogniser (for an npz: second npz), which only measures."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Cosine from which the judge calls two faces one person.")
    ] = 0.35,
    k_max: Annotated[int, typer.Option(min=3, help="Largest k to try.")] = 20,
    k_min: Annotated[int, typer.Option(min=2, help="Least k to recommend.")] = 2,
    algorithm: Annotated[str, typer.Option(help="How to cluster.")] = "hierarchical-ward",
    attributes: Annotated[
        Path | None, typer.Option(help="CSV: `file` and one column per attribute.")
    ] = None,
    people: Annotated[int, typer.Option(min=3, help="Most people to use.")] = 1000,
    one_each: OneEach = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the clustering.")] = 0,
    out: Out = None,
) -> None:
    """Sweeps k and recommends one: information loss, re-identification, homogeneity."""
    chosen = algorithm_by_name(algorithm)
    faces = _faces(in_dir, recogniser, attributes, people, one_each=one_each)
    judged = faces
    if judge is not None:
        is_archive = in_dir.suffix == ".npz"
        if is_archive != (judge.suffix == ".npz"):
            raise PeopleFolderRejected("an npz is judged by an npz, pictures by an ONNX recogniser")
        judged = _faces(judge if is_archive else in_dir, judge, None, people, one_each=one_each)
    view = _view(faces, judged, threshold)
    points = sweep(faces, range(2, k_max + 1), chosen, seed, view)
    advice = recommend(points, k_min=k_min)
    typer.echo(tuning_table(points))
    typer.echo(f"recommended k = {advice.k}: {advice.reason}")
    if judge is None:
        typer.echo("the clustering recogniser judged itself; --judge gives an independent figure")
    if out is not None:
        _write_tuning(out, faces, points, advice)


def _faces(
    in_dir: Path, recogniser: Path | None, attributes: Path | None, people: int, *, one_each: bool
) -> FaceSet:
    """Embedded faces of the first `people` people."""
    if in_dir.suffix == ".npz":
        if attributes is not None:
            raise PeopleFolderRejected("an npz holds its attributes as `attribute.<name>` arrays")
        faces = faces_from_archive(in_dir).first_people(people)
        return faces.first_pictures() if one_each else faces
    if recogniser is None:
        raise PeopleFolderRejected(
            "pictures need a recogniser: give --recogniser FILE.onnx, or an npz of embeddings"
        )
    from engines.backends.openvino import OpenVino
    from gallery.embedding import embedder_from_models

    pictures = pictures_in_folder(in_dir, most_people=people, one_each=one_each)
    values = values_from_csv(attributes) if attributes is not None else None
    return faces_from_pictures(pictures, embedder_from_models(OpenVino(), recogniser), values)


def _view(faces: FaceSet, judged: FaceSet, threshold: float) -> Judge:
    if not np.array_equal(judged.persons, faces.persons):
        raise EmbeddingsRejected("the judge found faces in other pictures than the recogniser")
    return Judge(judged.embeddings, threshold)


def _write_tuning(
    out: Path, faces: FaceSet, points: Sequence[TuningPoint], advice: Recommendation
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    record = {
        "recommended": dataclasses.asdict(advice),
        "people": faces.n_people,
        "pictures": len(faces.persons),
        "pictures_skipped": faces.skipped,
        "points": [dataclasses.asdict(point) for point in points],
    }
    beside = out / "tuning.json.new"
    beside.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    beside.replace(out / "tuning.json")
    if not _can_plot():
        typer.echo("no plots without matplotlib: pip install kveil[evaluate]")
        return
    from gallery import tuning_plots

    tuning_plots.save(tuning_plots.tradeoff_figure(points, advice), out / "tradeoff.png")
    tuning_plots.save(tuning_plots.dendrogram_figure(faces), out / "dendrogram.png")
    if points[0].homogeneity:
        tuning_plots.save(tuning_plots.homogeneity_figure(points), out / "homogeneity.png")


def _can_plot() -> bool:
    return find_spec("matplotlib") is not None
