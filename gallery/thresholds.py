"""What thresholds do to newcomers and to people who return: ``python -m gallery.thresholds``.

People of a labelled set of faces are enrolled with their first picture each. Then every other
picture is somebody who returns, and every person is once a newcomer to a gallery of all the others.
Scores are exact, so the table tells about the recogniser and the size of the gallery alone. With
``--per-visit 2`` a visit is told by the mean over two pictures, as a track is by several frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from gallery.errors import TooFewPeople
from gallery.faces import FaceSet, faces_from_archive, faces_from_pictures, pictures_in_folder
from gallery.settings import Thresholds

__all__ = ["ThresholdRow", "effective_dimensions", "shown", "threshold_row", "visits_from_pictures"]

_SIZES = (20, 100, 1000, 10_000)
_CHOICES = ((0.35, 0.35), (0.45, 0.35), (0.45, 0.40), (0.45, 0.45), (0.55, 0.45), (0.65, 0.55))


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """Shares of newcomers and of returning people, 0…1.

    Attributes:
        people: in the gallery.
        thresholds: what decided.
        newcomer_taken: newcomers taken for somebody else; k is understated.
        newcomer_doubt: newcomers in doubt; they count for nobody.
        return_known: returning people recognised as themselves.
        return_doubt: returning people in doubt; never counted twice.
        return_other: returning people taken for somebody else.
        return_new: returning people who pass for new ones; k is overstated.
    """

    people: int
    thresholds: Thresholds
    newcomer_taken: float
    newcomer_doubt: float
    return_known: float
    return_doubt: float
    return_other: float
    return_new: float


def threshold_row(faces: FaceSet, thresholds: Thresholds, people: int) -> ThresholdRow:
    """What thresholds do in a gallery of so many people drawn from a set.

    Args:
        faces: labelled embeddings; cosines are taken, so any length will do.
        thresholds: when two embeddings are one person.
        people: size of the gallery, up to those of the set.

    Raises:
        TooFewPeople: the set has fewer.

    >>> eye = FaceSet(np.eye(4, dtype=np.float32), np.array([0, 0, 1, 2]))
    >>> threshold_row(eye, Thresholds(0.5, 0.5), people=3).return_new
    1.0
    """
    if not 2 <= people <= faces.n_people:
        raise TooFewPeople(f"the set has {faces.n_people} people; a gallery of {people} needs more")
    unit = faces.embeddings / np.linalg.norm(faces.embeddings, axis=1, keepdims=True)
    chosen = np.random.default_rng(0).permutation(np.unique(faces.persons))[:people]
    firsts = np.array([np.flatnonzero(faces.persons == person)[0] for person in chosen])
    enrolled = unit[firsts]
    among = np.where(np.isin(faces.persons, chosen))[0]
    again = np.setdiff1d(among, firsts)
    strangers = enrolled @ enrolled.T
    np.fill_diagonal(strangers, -1.0)
    newcomer = strangers.max(axis=1)
    known, doubt, other, new = _returns(unit[again] @ enrolled.T, faces.persons[again], chosen,
                                        thresholds)  # fmt: skip
    return ThresholdRow(
        people=people,
        thresholds=thresholds,
        newcomer_taken=float((newcomer >= thresholds.match).mean()),
        newcomer_doubt=float(
            ((newcomer >= thresholds.doubt) & (newcomer < thresholds.match)).mean()
        ),
        return_known=known,
        return_doubt=doubt,
        return_other=other,
        return_new=new,
    )


def _returns(
    scores: NDArray[np.float32],
    persons: NDArray[np.intp],
    enrolled: NDArray[np.intp],
    thresholds: Thresholds,
) -> tuple[float, float, float, float]:
    """Shares of returning people: known, in doubt, taken for another, new; NaN without any."""
    if not len(persons):
        return (float("nan"),) * 4
    best = scores.max(axis=1)
    is_self = enrolled[scores.argmax(axis=1)] == persons
    is_match = best >= thresholds.match
    return (
        float((is_match & is_self).mean()),
        float((~is_match & (best >= thresholds.doubt)).mean()),
        float((is_match & ~is_self).mean()),
        float((best < thresholds.doubt).mean()),
    )


def effective_dimensions(embeddings: NDArray[np.float32]) -> float:
    """Participation ratio (Σλ)² ⁄ Σλ² of the covariance: axes that people really spread over.

    Args:
        embeddings: (n, D) float32.

    >>> round(effective_dimensions(np.eye(4, dtype=np.float32)), 2)
    3.0
    """
    variances = np.linalg.eigvalsh(np.cov(embeddings, rowvar=False).astype(np.float64))
    return float(variances.sum() ** 2 / (variances**2).sum())


def visits_from_pictures(faces: FaceSet, per_visit: int) -> FaceSet:
    """One row per visit: the mean over so many pictures of a person, taken in order.

    People with too few pictures for one visit stay, with what there is; a last visit that
    would be short is left out.

    >>> faces = FaceSet(np.eye(3, dtype=np.float32), np.array([0, 0, 0]))
    >>> visits_from_pictures(faces, 2).embeddings.shape
    (1, 3)
    """
    unit = faces.embeddings / np.linalg.norm(faces.embeddings, axis=1, keepdims=True)
    rows: list[NDArray[np.float32]] = []
    persons: list[int] = []
    for person in np.unique(faces.persons).tolist():
        mine = np.flatnonzero(faces.persons == person)
        for start in range(0, max(1, len(mine) - per_visit + 1), per_visit):
            mean = unit[mine[start : start + per_visit]].mean(axis=0)
            rows.append((mean / np.linalg.norm(mean)).astype(np.float32))
            persons.append(person)
    return FaceSet(np.stack(rows), np.array(persons, dtype=np.intp))


def shown(rows: Sequence[ThresholdRow]) -> str:
    """The rows as a table, in percent."""
    head = (
        f"{'people':>7}{'match':>7}{'doubt':>7} |{'newcomers: taken':>18}{'doubt':>8} |"
        f"{'back: known':>13}{'doubt':>8}{'other':>8}{'new':>8}"
    )
    lines = [
        f"{row.people:7d}{row.thresholds.match:7.2f}{row.thresholds.doubt:7.2f} |"
        f"{100 * row.newcomer_taken:18.1f}{100 * row.newcomer_doubt:8.1f} |"
        f"{100 * row.return_known:13.1f}{100 * row.return_doubt:8.1f}"
        f"{100 * row.return_other:8.1f}{100 * row.return_new:8.1f}"
        for row in rows
    ]
    return "\n".join([head, *lines])


def main(
    faces: Annotated[Path, typer.Argument(help="Folder per person, or npz of embeddings.")],
    recogniser: Annotated[
        Path | None, typer.Option(help="ONNX, ArcFace family; without, the bundled embedder.")
    ] = None,
    per_visit: Annotated[int, typer.Option(min=1, help="Pictures averaged per visit.")] = 1,
) -> None:
    """Print shares in percent, for galleries of growing size."""
    found, own = _faces(faces, recogniser)
    dimensions = effective_dimensions(found.first_pictures().embeddings)
    typer.echo(f"{dimensions:.0f} of {found.embeddings.shape[1]} dimensions are effective")
    found = visits_from_pictures(found, per_visit)
    sizes = [size for size in _SIZES if size < found.n_people] + [found.n_people]
    choices = own or [Thresholds(*choice) for choice in _CHOICES]
    typer.echo(shown([threshold_row(found, choice, n) for n in sizes for choice in choices]))


def _faces(path: Path, recogniser: Path | None) -> tuple[FaceSet, list[Thresholds]]:
    """The set, and the thresholds that belong to its recogniser; none where unknown."""
    if path.suffix == ".npz":
        return faces_from_archive(path), []
    from engines.backends.openvino import OpenVino
    from gallery.embedding import bundled_embedder, embedder_from_models

    pictures, backend = pictures_in_folder(path), OpenVino(threads=2)
    if recogniser is not None:
        embedder = embedder_from_models(backend, recogniser)
        return faces_from_pictures(pictures, embedder), []
    bundled, known = bundled_embedder(backend)
    return faces_from_pictures(pictures, bundled), [Thresholds(known.match, known.doubt)]


if __name__ == "__main__":
    typer.run(main)
