"""k-Same 2003: Table 1, Figure 15 and Figure 18 with Eigenfaces on ORL/AT&T."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.eigenfaces import face_space, rows_from_images
from evaluation.errors import FacesUnreadable
from evaluation.faces import Faces
from evaluation.methods.baselines import cover_method
from evaluation.methods.ksame import KSameEigen, KSamePixel
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.metrics.ranking import true_ranks
from gallery.pictures import read_picture

__all__ = ["AdHocRow", "KSameRow", "ad_hoc_rows", "ksame_rows", "orl_faces", "threshold_rows"]

PAPER_TABLE_1: Final = {
    "original": ("100 %", "100 %"),
    "bar-mask": ("2 %", "100 %"),
    "t-mask": ("1 %", "100 %"),
    "blackout": ("0 %", "0 %"),
    "mosaic": ("99 %", "100 %"),
}
_COVERS = (
    "bar-mask",
    "t-mask",
    "blackout",
    "mosaic",
    "mouth-only",
    "ordinal",
    "negative",
    "noise-grey",
    "solid",
    "blur",
)
# Eyes, nose and mouth of ORL's upright, roughly centred faces, as shares of the picture.
_TYPICAL = np.array(
    [[0.31, 0.42], [0.69, 0.42], [0.50, 0.58], [0.36, 0.75], [0.64, 0.75]], np.float32
)
_SECRET = b"the reproduction's secret, of no further use"


def orl_faces(folder: Path) -> list[Faces]:
    """The pictures of ORL: one person-specific set per picture number, 40 people each.

    Args:
        folder: holds one folder per person with pictures named by number.

    Raises:
        FacesUnreadable: it does not.
    """
    people = sorted(path for path in folder.rglob("*") if path.is_dir() and _pictures(path))
    if not people:
        message = f"{folder}: no folders of pictures; unpack the ORL archive there"
        raise FacesUnreadable(message)
    count = min(len(_pictures(person)) for person in people)
    sets = []
    for number in range(count):
        images = [read_picture(_pictures(person)[number]) for person in people]
        height, width = images[0].shape[:2]
        points = np.repeat((_TYPICAL * np.array([width, height], np.float32))[None], len(people), 0)
        sets.append(Faces(np.stack(images), points, np.arange(len(people))))
    return sets


def _pictures(folder: Path) -> list[Path]:
    kinds = {".pgm", ".png", ".jpg", ".webp", ".bmp"}
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in kinds)


@dataclass(frozen=True, slots=True)
class AdHocRow:
    """One cover under the three attacks of the paper, best match, Eigenfaces.

    Attributes:
        name: of the cover.
        naive: altered pictures looked up among originals.
        reverse: originals looked up among altered pictures.
        parrot: altered pictures looked up among altered pictures, space trained on them.
    """

    name: str
    naive: Proportion
    reverse: Proportion
    parrot: Proportion


@dataclass(frozen=True, slots=True)
class KSameRow:
    """k-Same at one k, best match, naive.

    Attributes:
        k: least people per cluster.
        pixel: k-Same-Pixel.
        eigen: k-Same-Eigen.
        parrot: k-Same-Pixel against the attacker's own k-Same of the same pictures.
    """

    k: int
    pixel: Proportion
    eigen: Proportion
    parrot: Proportion


def ad_hoc_rows(sets: list[Faces]) -> list[AdHocRow]:
    """Table 1 and the other covers, over all person-specific sets."""
    rows = [_attacked("original", sets, lambda faces: faces.images)]
    rows += [_attacked(name, sets, _painted(name)) for name in _COVERS]
    return rows


def _painted(name: str) -> Callable[[Faces], NDArray[np.uint8]]:
    method = cover_method(name)
    return lambda faces: method.anonymize(faces, _SECRET).images


def threshold_rows(sets: list[Faces], levels: tuple[int, ...]) -> list[AdHocRow]:
    """Figure 15: black and white pictures by threshold."""

    def at(level: int) -> Callable[[Faces], NDArray[np.uint8]]:
        return lambda faces: np.where(faces.images >= level, 255, 0).astype(np.uint8)

    return [_attacked(str(level), sets, at(level)) for level in levels]


def _attacked(
    name: str, sets: list[Faces], alter: Callable[[Faces], NDArray[np.uint8]]
) -> AdHocRow:
    hits: list[list[NDArray[np.bool_]]] = [[], [], []]
    people = []
    for number, faces in enumerate(sets):
        original, altered = _grey_rows(faces.images), _grey_rows(alter(faces))
        people.append(faces.persons)
        for place, (training, gallery, probes) in enumerate(
            (
                (original, original, altered),
                (altered, altered, original),
                (altered, altered, altered),
            )
        ):
            hits[place].append(_found(training, gallery, probes, faces.persons, number))
    owners = np.concatenate(people)
    return AdHocRow(name, *(clustered(np.concatenate(part), owners) for part in hits))


def _grey_rows(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """One channel as rows: the pictures are grey, and so are all covers of them but one."""
    return rows_from_images(images[..., :1])


def _found(
    training: NDArray[np.float32],
    gallery: NDArray[np.float32],
    probes: NDArray[np.float32],
    persons: NDArray[np.int64],
    seed: int,
) -> NDArray[np.bool_]:
    """Whether each probe's best match is its own person."""
    space = face_space(training)
    if not len(space.basis):
        # Equal pictures span nothing: the attacker guesses.
        scores = np.zeros((len(probes), len(gallery)), np.float32)
    else:
        scores = space.scores(probes, gallery)
    return np.asarray(true_ranks(scores, persons, persons, seed) == 1)


def ksame_rows(sets: list[Faces], sizes: tuple[int, ...]) -> list[KSameRow]:
    """Figure 18, over all person-specific sets."""
    rows = []
    for k in sizes:
        hits: list[list[NDArray[np.bool_]]] = [[], [], []]
        people = []
        for number, faces in enumerate(sets):
            original = _grey_rows(faces.images)
            pixel, eigen = (
                _grey_rows(method.anonymize(faces, _SECRET).images)
                for method in (KSamePixel(k=k), KSameEigen(k=k))
            )
            people.append(faces.persons)
            hits[0].append(_found(original, original, pixel, faces.persons, number))
            hits[1].append(_found(original, original, eigen, faces.persons, number))
            hits[2].append(_found(pixel, pixel, pixel, faces.persons, number))
        owners = np.concatenate(people)
        rows.append(KSameRow(k, *(clustered(np.concatenate(part), owners) for part in hits)))
    return rows
