"""A blind sheet shows each person one way, and scores what a reader makes of it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Face
from evaluation.blind_sheet import (
    Head,
    chosen_heads,
    heads_of_clip,
    pages,
    read_key,
    scored,
    write_key,
)
from evaluation.clips import FramePair
from evaluation.errors import LabelsUnreadable, TooFewPeople
from scripts.blind_sheet import score_line
from tests.evaluation.fakes import face_at, painted_face

pytestmark = pytest.mark.unit

REAL, SWAPPED = 40, 200


class Finds:
    """Finds the same faces in every frame."""

    name = "fixed"

    def __init__(self, *faces: Face) -> None:
        self.faces = faces

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        return self.faces


def head(clip: str, chain: int, frame: int, side: int = 120) -> Head:
    plain = [np.full((side, side, 3), grey, np.uint8) for grey in (REAL, SWAPPED)]
    return Head(clip, chain, frame, plain[0], plain[1])


def crowd() -> list[Head]:
    """Three clips of four people each, six moments of each person."""
    return [
        head(f"clip{clip}", chain, frame)
        for clip in range(3)
        for chain in range(4)
        for frame in range(0, 72, 12)
    ]


def write_answers(path: Path, answers: Sequence[str]) -> Path:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["number", "answer"])
        table.writerows(enumerate(answers, 1))
    return path


def test_half_of_the_heads_are_real_and_nobody_shows_both_ways() -> None:
    heads = chosen_heads(crowd(), 24, seed=5)
    assert Counter(one.is_real for one in heads) == {True: 12, False: 12}
    people = [{one.person for one in heads if one.is_real == part} for part in (True, False)]
    assert not people[0] & people[1]
    clips = [{one.clip for one in heads if one.is_real == part} for part in (True, False)]
    assert not clips[0] & clips[1], "a person who is lost and found again has two numbers"
    assert len(people[0] | people[1]) == 12
    moments = [(one.clip, one.chain, one.frame) for one in heads]
    assert len(set(moments)) == len(moments)


def test_a_seed_decides_the_order() -> None:
    first, again, other = (
        [(one.person, one.frame, one.is_real) for one in chosen_heads(crowd(), 24, seed)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_real_heads_show_the_original_and_swapped_ones_the_output() -> None:
    heads = chosen_heads(crowd(), 10, seed=1)
    assert all(one.shown[0, 0, 0] == (REAL if one.is_real else SWAPPED) for one in heads)


def test_a_single_person_is_refused() -> None:
    with pytest.raises(TooFewPeople):
        chosen_heads([head("clip", 1, frame) for frame in range(9)], 4, seed=0)


def test_small_and_bare_heads_are_left_out_and_the_others_keep_their_size() -> None:
    original = np.full((300, 600, 3), 128, np.uint8)
    large, small, bare = face_at(60, 80, 100), face_at(300, 100, 50), face_at(430, 80, 100)
    original[80:180, 60:160] = painted_face(1, 100)
    anonymized = original.copy()
    anonymized[80:180, 60:160] = painted_face(2, 100)
    anonymized[100:150, 300:350] = painted_face(3, 50)
    pairs = [FramePair(index, original, anonymized, index / 25) for index in range(30)]
    heads = heads_of_clip("clip", pairs, Finds(large, small, bare), every=12)
    assert [(one.chain, one.frame) for one in heads] == [(1, 0), (1, 12), (1, 24)]
    assert np.array_equal(heads[0].anonymized, anonymized[40:220, 20:200])


def test_covers_that_look_like_heads_in_the_dark_are_left_out() -> None:
    """The planted fault: blurred covers on the sheet, which no reader took for heads."""
    face = face_at(60, 80, 100)
    original = np.full((300, 300, 3), 30, np.uint8)
    original[80:180, 60:160] = painted_face(1, 100)
    anonymized = original.copy()
    anonymized[80:180, 60:160] = painted_face(2, 100)

    class FindsBefore(Finds):
        def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
            return self.faces if image is original else ()

    pair = FramePair(0, original, anonymized, 0.0)
    assert not heads_of_clip("clip", [pair], FindsBefore(face), every=1)
    assert heads_of_clip("clip", [pair], Finds(face), every=1)


def test_pages_hold_every_head_at_native_size() -> None:
    heads = [head("clip", place, 0, side) for place, side in enumerate((100, 130, 160, 250, 90))]
    sheets = pages(heads, 420, 300)
    assert len(sheets) > 1
    assert {sheet.shape[1] for sheet in sheets} == {420}
    full = sum(int((sheet == SWAPPED).all(axis=2).sum()) for sheet in sheets)
    assert full >= sum(one.shown.shape[0] ** 2 for one in heads)


def test_a_reader_who_sees_every_swap_is_right_each_time(tmp_path: Path) -> None:
    """The planted fault: swapped heads that give themselves away."""
    heads = chosen_heads(crowd(), 24, seed=5)
    write_key(tmp_path / "key.csv", heads)
    told = ["real" if one.shown[0, 0, 0] == REAL else "not" for one in heads]
    scores = scored(write_answers(tmp_path / "answers.csv", told), tmp_path / "key.csv")
    assert (scores.right.hits, scores.right.probes, scores.right.groups) == (24, 24, 12)
    assert scores.swapped_unmasked.rate == 1
    assert scores.real_unmasked.rate == 0
    assert scores.interval == pytest.approx((0.862, 1), abs=1e-3)


def test_a_reader_who_calls_everything_real_is_right_half_of_the_time(tmp_path: Path) -> None:
    """The floor: an answer that does not look."""
    write_key(tmp_path / "key.csv", chosen_heads(crowd(), 24, seed=5))
    answers = write_answers(tmp_path / "answers.csv", ["real"] * 24)
    scores = scored(answers, tmp_path / "key.csv")
    assert scores.right.rate == 0.5
    assert scores.interval[0] < 0.5 < scores.interval[1]
    assert scores.swapped_unmasked.rate == 0
    assert score_line(answers, tmp_path / "key.csv").startswith(
        "12 of 24 right: 50.0%, Wilson 95 % 31.4% to 68.6%"
    )


@pytest.mark.parametrize(
    "answers",
    [
        ["real"] * 23,  # one is missing
        ["real"] * 25,  # one too many
        ["real"] * 23 + ["perhaps"],
    ],
)
def test_answers_that_do_not_fit_the_key_are_refused(tmp_path: Path, answers: list[str]) -> None:
    write_key(tmp_path / "key.csv", chosen_heads(crowd(), 24, seed=5))
    with pytest.raises(LabelsUnreadable):
        scored(write_answers(tmp_path / "answers.csv", answers), tmp_path / "key.csv")


def test_a_sheet_in_place_of_the_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sheet.png").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(LabelsUnreadable):
        read_key(tmp_path / "sheet.png")
