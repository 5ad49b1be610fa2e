"""A12 on frames whose truth is known: every fault that it must see is planted here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.bare import central_difference
from evaluation.clip_controls import run_clip_controls
from evaluation.clips import FramePair
from evaluation.errors import RecogniserRejected
from evaluation.exposure import measure_exposure, size_label
from evaluation.sheets import ContactSheet
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, painted_face

pytestmark = pytest.mark.unit

FACES = (face_at(20, 20, 48), face_at(100, 30, 40), face_at(160, 90, 20), face_at(4, 4, 10))
JUDGES = [PixelJudge()]


def scene(offset: int = 0) -> NDArray[np.uint8]:
    """A frame with the four faces; another offset gives other people."""
    image = np.full((140, 220, 3), 90, np.uint8)
    for number, face in enumerate(FACES):
        x0, y0, x1, y1 = face.box_px.astype(int)
        image[y0:y1, x0:x1] = painted_face(offset + number, x1 - x0)
    return image


def pairs(anonymized: NDArray[np.uint8], count: int = 10) -> Iterator[FramePair]:
    for index in range(count):
        yield FramePair(index, scene(), anonymized, index / 25)


def test_untouched_faces_are_bare_and_recognised() -> None:
    exposure = measure_exposure(pairs(scene()), ScriptedFinder(FACES), JUDGES)
    assert exposure.frames == 10
    assert exposure.bare().hits == exposure.bare().probes == 30
    assert exposure.recognisable("pixels").rate == 1.0
    assert exposure.bare().groups == 3
    assert exposure.exposed_chains().rate == 1.0


@pytest.mark.parametrize("every", [1, 7, 15])
def test_a_person_is_one_person_however_seldom_he_is_looked_at(every: int) -> None:
    looks = (pair for pair in pairs(scene(), 120) if pair.index % every == 0)
    exposure = measure_exposure(looks, ScriptedFinder(FACES), (), every=every)
    assert exposure.bare().probes == 3 * len(range(0, 120, every))
    assert exposure.bare().groups == 3


def test_other_faces_are_neither_bare_nor_recognised() -> None:
    exposure = measure_exposure(pairs(scene(offset=50)), ScriptedFinder(FACES), JUDGES)
    assert exposure.bare().hits == 0
    assert exposure.recognisable("pixels").hits == 0
    assert exposure.strangers["pixels"] == (0, 60)


def test_one_missed_frame_of_one_face_is_counted_with_its_size() -> None:
    def with_hole() -> Iterator[FramePair]:
        for pair in pairs(scene(offset=50)):
            shown = pair.anonymized.copy()
            if pair.index == 4:
                x0, y0, x1, y1 = FACES[2].box_px.astype(int)
                shown[y0:y1, x0:x1] = pair.original[y0:y1, x0:x1]
            yield FramePair(pair.index, pair.original, shown, pair.time_s)

    sheet = ContactSheet()
    finder = ScriptedFinder(FACES)
    exposure = measure_exposure(with_hole(), finder, JUDGES, keep=sheet.keep_exposed)
    assert exposure.bare().hits == 1
    assert exposure.bare(16, 24).hits == 1
    assert exposure.bare(24).hits == 0
    assert exposure.exposed_chains().hits == 1
    assert sheet.seen == 1


def test_faces_below_the_least_size_are_not_counted() -> None:
    finder = ScriptedFinder(FACES)
    all_sizes = measure_exposure(pairs(scene()), finder, JUDGES, least_px=1)
    assert all_sizes.bare().probes == 40


def test_faces_below_the_least_score_are_not_counted() -> None:
    finder = ScriptedFinder((face_at(20, 20, 48, score=0.4),))
    assert measure_exposure(pairs(scene()), finder, JUDGES).bare().probes == 0


def test_controls_on_any_clip_find_the_leak_and_spare_the_cover() -> None:
    controls = run_clip_controls(pairs(scene()), ScriptedFinder(FACES), JUDGES, every=5)
    assert controls.hold(JUDGES)


def test_a_blind_judge_fails_the_controls() -> None:
    blind = [PixelJudge(threshold=1.1)]
    controls = run_clip_controls(pairs(scene()), ScriptedFinder(FACES), blind, every=5)
    assert not controls.hold(blind)


def test_two_judges_of_one_name_are_refused_instead_of_one_hiding_the_other() -> None:
    twins = [PixelJudge(), PixelJudge(threshold=1.1)]
    with pytest.raises(RecogniserRejected, match="two recognisers are called pixels"):
        measure_exposure(pairs(scene()), ScriptedFinder(FACES), twins)


def test_a_box_outside_the_frame_still_compares_a_pixel() -> None:
    box = np.array([300, 300, 340, 340], np.float32)
    assert central_difference(scene(), scene(), box) == 0


@pytest.mark.parametrize(
    ("size", "label"), [(16, "16-24 px"), (31.9, "24-32 px"), (64, "64-96 px"), (160, "160+ px")]
)
def test_each_size_has_its_class(size: float, label: str) -> None:
    assert size_label(size) == label


def test_an_empty_sheet_is_still_a_picture() -> None:
    assert ContactSheet().image().ndim == 3
