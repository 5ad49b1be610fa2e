"""A sheet of heads, swapped ones and real ones, for somebody who must tell which is which (P1).

A clip shows in one part only, swapped or real, so that nobody is to be compared with themselves,
and no moment of it twice. Every head is cut at its native size from clips that the same encoder
wrote, so that neither size nor coding gives the answer away.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from engines.pictures import BgrImage
from engines.types import Face
from evaluation.chains import LONGEST_GAP, ChainLinker, overlap
from evaluation.clips import FramePair, paired
from evaluation.errors import LabelsUnreadable, TooFewPeople
from evaluation.exposure import FaceFinder
from evaluation.metrics.intervals import Proportion, clustered, wilson
from evaluation.painted_area import is_swapped, window_around

__all__ = [
    "Head",
    "Scores",
    "chosen_heads",
    "heads_of_clip",
    "heads_of_clips",
    "pages",
    "read_key",
    "scored",
]
__all__ += ["write_key"]

_HEAD_OVER_BOX: Final = 1.3
"""Height of a head with its hair over that of the face's box."""
_CROP: Final = 1.8
"""Side of a crop over the longer side of the face's box."""
_LEAST_HEAD_PX: Final = 96.0
_LEAST_SCORE: Final = 0.6
_SAME_PLACE: Final = 0.3
"""Overlap from which a face is found again where it was; covers in the dark show none."""
_CAPTION_PX: Final = 18
_GAP_PX: Final = 6
_WHITE: Final = 255
_REAL: Final = ("real", "r", "1", "yes", "true")
_SWAPPED: Final = ("swapped", "not", "not real", "fake", "s", "f", "0", "no", "false")


@dataclass(frozen=True, slots=True)
class Head:
    """One head at one moment.

    Attributes:
        clip: name of its clip.
        chain: number of the person in the clip, as far as the head was followed.
        frame: number of the frame.
        original: H×W×3 uint8 BGR, native size.
        anonymized: the same place afterwards.
        is_real: which of the two is shown.
    """

    clip: str
    chain: int
    frame: int
    original: BgrImage = field(repr=False)
    anonymized: BgrImage = field(repr=False)
    is_real: bool = False

    @property
    def person(self) -> str:
        """Tells people apart, over clips."""
        return f"{self.clip} {self.chain}"

    @property
    def shown(self) -> BgrImage:
        """The picture for the sheet."""
        return self.original if self.is_real else self.anonymized


def heads_of_clip(
    name: str, pairs: Iterable[FramePair], finder: FaceFinder, every: int
) -> list[Head]:
    """The heads that could be shown either way: at least 96 px high, and swapped in the output.

    Args:
        name: of the clip.
        pairs: its frames before and after.
        finder: finds faces in the originals, and again in the output.
        every: one frame in so many is looked at; more makes moments less alike.
    """
    linker, heads = ChainLinker(longest_gap=LONGEST_GAP * every), []
    for pair in pairs:
        if pair.index % every:
            continue
        faces = [face for face in finder.find(pair.original) if face.score >= _LEAST_SCORE]
        found = finder.find(pair.anonymized) if any(map(_is_large, faces)) else ()
        for face, chain in zip(faces, linker.link(pair.index, faces), strict=True):
            is_found = any(overlap(face.box_px, one.box_px) > _SAME_PLACE for one in found)
            is_shown = _is_large(face) and is_found
            if is_shown and is_swapped(pair.original, pair.anonymized, face):
                height, width = pair.original.shape[:2]
                window = window_around(face, height, width, _CROP)
                before, after = window.cut(pair.original), window.cut(pair.anonymized)
                heads.append(Head(name, chain, pair.index, before.copy(), after.copy()))
    return heads


def heads_of_clips(clips: Path, outputs: Path, finder: FaceFinder, every: int) -> list[Head]:
    """The same of all clips of a folder that have an output of their name in another.

    Raises:
        ClipsDiffer: a clip and its output do not match.
        FacesUnreadable: one of them is no clip.
    """
    return [
        head
        for clip in sorted(one for one in clips.iterdir() if (outputs / one.name).is_file())
        for head in heads_of_clip(clip.name, paired(clip, outputs / clip.name), finder, every)
    ]


def _is_large(face: Face) -> bool:
    return bool(_HEAD_OVER_BOX * (face.box_px[3] - face.box_px[1]) >= _LEAST_HEAD_PX)


def chosen_heads(heads: Sequence[Head], wanted: int, seed: int) -> list[Head]:
    """Half real heads and half swapped ones, shuffled; as many people as there are.

    Args:
        heads: of all clips.
        wanted: how many are shown; fewer where people do not suffice.
        seed: decides who is shown how, and in which order.

    Raises:
        TooFewPeople: there are no two clips, so that somebody would show in both parts.
    """
    random = np.random.default_rng(seed)
    clips: dict[str, dict[str, list[Head]]] = {}
    for head in heads:
        clips.setdefault(head.clip, {}).setdefault(head.person, []).append(head)
    names = sorted(clips)
    if len(names) < 2:
        message = f"{len(names)} clips with heads of {_LEAST_HEAD_PX:.0f} px: give more"
        raise TooFewPeople(message)
    random.shuffle(names)
    parts: tuple[list[list[Head]], list[list[Head]]] = ([], [])
    for name in names:
        min(parts, key=len).extend(clips[name].values())
    sides = [_in_turn(people, random) for people in parts]
    half = min(wanted // 2, *(len(side) for side in sides))
    shown = [_shown(head, is_real=bool(real)) for real in (0, 1) for head in sides[real][:half]]
    return [shown[place] for place in random.permutation(len(shown)).tolist()]


def _in_turn(people: Sequence[Sequence[Head]], random: np.random.Generator) -> list[Head]:
    """One head of each person, then a second one of each, and so on."""
    shuffled = [[one[at] for at in random.permutation(len(one)).tolist()] for one in people]
    most = max(len(one) for one in shuffled)
    return [one[turn] for turn in range(most) for one in shuffled if turn < len(one)]


def _shown(head: Head, *, is_real: bool) -> Head:
    return Head(head.clip, head.chain, head.frame, head.original, head.anonymized, is_real)


def pages(heads: Sequence[Head], width_px: int, height_px: int) -> list[BgrImage]:
    """Lays heads out in rows, numbered from 1, without scaling any.

    Args:
        heads: in the order of their numbers.
        width_px: of a page; a wider head has its page widened.
        height_px: from which another page begins; a higher row has a page of its own.

    Returns:
        H×W×3 uint8 BGR pages.
    """
    width_px = max([width_px, *(head.shown.shape[1] for head in heads)])
    rows: list[list[BgrImage]] = [[]]
    for number, head in enumerate(heads, 1):
        cell = _numbered(head.shown, number)
        used = sum(one.shape[1] + _GAP_PX for one in rows[-1])
        if rows[-1] and used + cell.shape[1] > width_px:
            rows.append([])
        rows[-1].append(cell)
    stacks: list[list[BgrImage]] = [[]]
    for strip in (_strip(row, width_px) for row in rows if row):
        used = sum(one.shape[0] for one in stacks[-1])
        if stacks[-1] and used + strip.shape[0] > height_px:
            stacks.append([])
        stacks[-1].append(strip)
    return [np.vstack(stack) for stack in stacks if stack]


def _numbered(image: BgrImage, number: int) -> BgrImage:
    height, width = image.shape[:2]
    cell = np.full((height + _CAPTION_PX, width, 3), _WHITE, np.uint8)
    cell[:height] = image
    place, font = (2, height + _CAPTION_PX - 4), cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(cell, str(number), place, font, 0.45, (0, 0, 0), 1, cv2.LINE_AA)
    return cell


def _strip(cells: Sequence[BgrImage], width_px: int) -> BgrImage:
    height = max(cell.shape[0] for cell in cells) + _GAP_PX
    strip, left = np.full((height, width_px, 3), _WHITE, np.uint8), 0
    for cell in cells:
        strip[: cell.shape[0], left : left + cell.shape[1]] = cell
        left += cell.shape[1] + _GAP_PX
    return strip


def write_key(path: Path, heads: Sequence[Head]) -> None:
    """Writes which head is what: `number,truth,person,frame`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["number", "truth", "person", "frame"])
        for number, head in enumerate(heads, 1):
            truth = "real" if head.is_real else "swapped"
            table.writerow([number, truth, head.person, head.frame])


def read_key(path: Path) -> dict[int, tuple[bool, str]]:
    """Whether each numbered head is real, and whose it is.

    Raises:
        LabelsUnreadable: the file is no key.
    """
    rows = _rows(path, ("number", "truth", "person"))
    return {int(row["number"]): (row["truth"] == "real", row["person"]) for row in rows}


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a reader told heads apart.

    Attributes:
        right: right answers; groups are people.
        interval: Wilson's 95 % interval as if heads of one person were independent.
        swapped_unmasked: swapped heads that were called so.
        real_unmasked: real heads that were called swapped.
    """

    right: Proportion
    interval: tuple[float, float]
    swapped_unmasked: Proportion
    real_unmasked: Proportion


def scored(answers: Path, key: Path) -> Scores:
    """Compares answers, a CSV of `number,answer` with `real` or `not`, with the key.

    Raises:
        LabelsUnreadable: one of them cannot be read, or a number has no answer.
    """
    truth, given = read_key(key), _read_answers(answers)
    if set(truth) != set(given):
        wrong = sorted(set(truth) ^ set(given))
        message = f"{answers.name}: give each number one answer, and no other; see {wrong[:10]}"
        raise LabelsUnreadable(message)
    right = [given[number] == is_real for number, (is_real, _) in truth.items()]
    share = clustered(right, [person for _, person in truth.values()])
    parts = [
        [(not given[number], who) for number, (is_real, who) in truth.items() if is_real == part]
        for part in (False, True)
    ]
    called = [clustered([one for one, _ in part], [who for _, who in part]) for part in parts]
    return Scores(share, wilson(share.hits, share.probes), *called)


def _read_answers(path: Path) -> dict[int, bool]:
    answers = {}
    for row in _rows(path, ("number", "answer")):
        word = row["answer"].strip().lower()
        if word not in _REAL + _SWAPPED:
            message = f"{path.name}: {row['number']} is {word!r}; answer `real` or `not`"
            raise LabelsUnreadable(message)
        if int(row["number"]) in answers:
            message = f"{path.name}: {row['number']} has two answers; give one"
            raise LabelsUnreadable(message)
        answers[int(row["number"])] = word in _REAL
    return answers


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Rows of a CSV whose `number` is one.

    Raises:
        LabelsUnreadable: it is not there, or has other columns.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [{key: row[key] for key in columns} for row in csv.DictReader(file)]
        if not all(row["number"].strip().isdigit() for row in rows):
            message = f"{path.name}: a number is none; give 1, 2, 3 …"
            raise LabelsUnreadable(message)
    except (OSError, KeyError, UnicodeDecodeError, AttributeError) as error:
        message = f"{path.name}: no CSV with the columns {', '.join(columns)}"
        raise LabelsUnreadable(message) from error
    return rows
