"""What can be learnt from anonymized faces, method by method, on faces with known labels.

As k-SALSA's Table 2 and FPSP's Table 4: train on anonymized faces, test on originals of other
people. One command prints the table:

    python -m evaluation.downstream_table CROPS LABELS.csv [--faces 600] [--k 5]

CROPS holds aligned pictures (the kveil crop: eyes at 0.30 and 0.70, height 0.37), one person
each; LABELS.csv has a column `name` with the file and one column per attribute. A column of
more than twelve numbers is an age and is put into four bands.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.errors import KveilError
from evaluation.downstream import DownstreamUse, downstream_use, gradient_features
from evaluation.errors import LabelsUnreadable
from evaluation.faces import CROP, MARGIN, Faces
from evaluation.folder_evaluation import renderer_at_hand
from evaluation.labels import UNKNOWN, Attribute
from evaluation.methods.registry import fitted_maker, method_names
from evaluation.methods.surrogate import SurrogateRenderer
from gallery.pictures import read_picture

__all__ = ["age_band", "labelled_faces", "table_rows"]

_SECRET: Final = b"the table of downstream use"
_BANDS: Final = ((13, "child"), (30, "young"), (60, "adult"))
_MOST_VALUES: Final = 12
_LANDMARKS: Final = ((0.30, 0.37), (0.70, 0.37), (0.50, 0.58), (0.35, 0.78), (0.65, 0.78))
_DONORS: Final = 300


def age_band(years: float) -> str:
    """One of four bands.

    >>> age_band(12), age_band(29), age_band(59), age_band(60)
    ('child', 'young', 'adult', 'old')
    """
    return next((name for limit, name in _BANDS if years < limit), "old")


def labelled_faces(crops: Path, table: Path, count: int) -> tuple[Faces, list[Attribute]]:
    """Reads some of the labelled pictures, chosen by a hash of their names.

    Args:
        crops: folder of aligned pictures.
        table: CSV with `name` and attributes.
        count: pictures at most.

    Raises:
        LabelsUnreadable: the table lacks the column, or names no picture of the folder.
        PeopleFolderRejected: a picture cannot be read.
    """
    try:
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as fault:
        message = f"{table}: not a readable CSV ({fault}); give one with a column `name`"
        raise LabelsUnreadable(message) from fault
    if not rows or "name" not in rows[0]:
        message = f"{table.name}: a column `name` with the pictures' files is needed"
        raise LabelsUnreadable(message)
    present = {path.name for path in crops.iterdir()} if crops.is_dir() else set()
    chosen = sorted(
        (row for row in rows if row["name"] in present),
        key=lambda row: hashlib.sha256(row["name"].encode()).digest(),
    )[:count]
    if not chosen:
        message = f"{table.name}: names no picture in {crops}; extract the pictures there"
        raise LabelsUnreadable(message)
    images = np.stack([_portrait(read_picture(crops / row["name"])) for row in chosen])
    points = np.array(_LANDMARKS, np.float32) * CROP + MARGIN
    faces = Faces(images, np.repeat(points[None], len(images), axis=0), np.arange(len(images)))
    columns = [name for name in rows[0] if name != "name"]
    attributes = [own for name in columns if (own := _attribute(name, chosen)) is not None]
    return faces, attributes


def _portrait(crop: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A crop with mirrored room around it: methods expect a portrait."""
    small = cv2.resize(crop, (CROP, CROP), interpolation=cv2.INTER_AREA)
    padded = cv2.copyMakeBorder(small, *(MARGIN,) * 4, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(padded, np.uint8)


def _attribute(name: str, rows: Sequence[dict[str, str]]) -> Attribute | None:
    """None for a column that tells nothing apart or too much."""
    words = [row[name] for row in rows]
    if len(set(words)) > _MOST_VALUES:
        if name != "age":
            return None
        words = [age_band(float(word)) if word else "" for word in words]
    known = tuple(sorted(set(words) - {""}))
    if len(known) < 2:
        return None
    values = np.array([known.index(word) if word else UNKNOWN for word in words], np.int64)
    return Attribute(name, known, values)


def table_rows(
    faces: Faces,
    attributes: Sequence[Attribute],
    methods: Sequence[str],
    k: int,
    renderer: SurrogateRenderer | None = None,
) -> dict[str, list[DownstreamUse]]:
    """Trains on three fifths of the people, anonymized by each method; tests on the others.

    Methods that need donors take them from the first half of the tested people, whose
    originals then are not tested.
    """
    train = np.arange(len(faces)) < len(faces) * 3 // 5
    rest = np.flatnonzero(~train)
    lenders, tested = rest[: min(_DONORS, len(rest) // 3)], rest[min(_DONORS, len(rest) // 3) :]
    features = gradient_features(faces.images[tested])
    known = [Attribute(own.name, own.names, own.values[train]) for own in attributes]
    wanted = [Attribute(own.name, own.names, own.values[tested]) for own in attributes]
    rows: dict[str, list[DownstreamUse]] = {}
    for name in methods:
        method = fitted_maker(name, k, faces.take(lenders), renderer)()
        release = method.anonymize(faces.take(train), _SECRET)
        rows[name] = downstream_use(
            gradient_features(release.images), known, features, wanted, tested
        )
    return rows


def _markdown(rows: dict[str, list[DownstreamUse]], attributes: Sequence[Attribute]) -> str:
    names = [own.name for own in attributes]
    lines = ["| trained on | " + " | ".join(f"{name} | κ" for name in names) + " |"]
    lines.append("|---|" + "---|---|" * len(names))
    for method, uses in rows.items():
        by_name = {use.attribute: use for use in uses}
        cells = [
            f"{by_name[name].balanced:.1%} | {by_name[name].kappa:.2f}"
            if name in by_name
            else "– | –"
            for name in names
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.downstream_table")
    parser.add_argument("crops", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--faces", type=int, default=600)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--method", action="append", choices=method_names())
    chosen = parser.parse_args()
    try:
        faces, attributes = labelled_faces(chosen.crops, chosen.labels, chosen.faces)
        methods = ["none", *(chosen.method or [n for n in method_names() if n != "none"])]
        renderer, _ = renderer_at_hand(OpenVino())
        rows = table_rows(faces, attributes, methods, chosen.k, renderer)
    except KveilError as fault:
        sys.exit(f"{fault}")
    sys.stdout.write(_markdown(rows, attributes))


if __name__ == "__main__":
    main()
