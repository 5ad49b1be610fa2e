"""The gate of a clip: what was found, and what so few people cannot tell."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from evaluation.clip_evaluation import evaluate_clips, gate
from evaluation.clip_exposure import measure_clip_exposure
from evaluation.exposure import Exposure, Sighting
from evaluation.footage_floor import FootageFloor
from evaluation.reports.page import page_from_record
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, painted_face

pytestmark = pytest.mark.unit

FACE = face_at(10, 10, 40)
JUDGE = PixelJudge()


def exposed(people: int, frames: int, *, matched: int = 0, bare: int = 0) -> Exposure:
    """So many people in so many frames each; the first face-frames are matched, or bare."""
    exposure = Exposure(floors={JUDGE.name: FootageFloor(JUDGE)})
    for place in range(people * frames):
        cosine = 1.0 if place < matched else 0.0
        exposure.sightings.append(
            Sighting(
                place // people,
                place % people,
                FACE,
                40.0,
                100.0,
                {JUDGE.name: cosine},
                place < bare,
                frozenset(),
            )
        )
    return exposure


def test_one_unidentified_person_is_too_few_to_tell() -> None:
    found, untold = gate(exposed(people=1, frames=20), [JUDGE])
    assert found == []
    assert len(untold) == 1
    assert "0 of 20 face-frames of 1 followed faces" in untold[0]
    assert "up to 79.3%" in untold[0]


@pytest.mark.parametrize(("people", "is_told"), [(764, False), (765, True)])
def test_none_of_765_people_is_enough_to_tell(people: int, is_told: bool) -> None:
    found, untold = gate(exposed(people, frames=2), [JUDGE])
    assert found == []
    assert (untold == []) == is_told
    if untold:
        assert "none of 765 would show that" in untold[0]


def test_more_matches_than_allowed_are_found_and_not_left_open() -> None:
    found, untold = gate(exposed(people=10, frames=10, matched=1), [JUDGE])
    assert "1 of 100 face-frames are identified by pixels (1.00%" in found[0]
    assert untold == []


def test_a_bare_face_frame_is_found_however_few_people_there_are() -> None:
    found, _ = gate(exposed(people=2, frames=50, bare=1), [JUDGE])
    assert found == ["1 of 100 face-frames are bare"]


def painted_clip(path: Path, person: int) -> Path:
    """Thirty noisy frames of one face; another number shows another person."""
    random = np.random.default_rng(person)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25, options={"qscale": "2"})
        stream.width = stream.height = 128
        for _ in range(30):
            image = np.full((128, 128, 3), 90, np.uint8)
            image[30:94, 30:94] = painted_face(person, 64)
            noisy = np.clip(image + random.normal(0, 2, image.shape), 0, 255).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(noisy, format="bgr24")))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(("person", "verdict"), [(1, "failed"), (2, "incomplete")])
def test_one_person_of_a_clip_fails_bare_and_is_too_few_to_pass(
    tmp_path: Path, person: int, verdict: str
) -> None:
    original = painted_clip(tmp_path / "a.mp4", 1)
    result = painted_clip(tmp_path / "b.mp4", person)
    finder = ScriptedFinder((face_at(30, 30, 64),))
    record = evaluate_clips(original, result, finder, [JUDGE])
    assert record["verdict"] == verdict
    reasons = record["reasons"]
    assert isinstance(reasons, list)
    assert ("too few people to tell" in reasons[-1]) == (verdict == "incomplete")
    assert "controls" not in " ".join(reasons)


def test_the_page_says_how_many_are_identified_with_their_surroundings(tmp_path: Path) -> None:
    clip = painted_clip(tmp_path / "a.mp4", 1)
    record = evaluate_clips(clip, clip, ScriptedFinder((face_at(30, 30, 64),)), [JUDGE])
    figures = record["A12"]
    assert isinstance(figures, dict)
    assert figures["identified_with_surroundings"]["pixels"]["hits"] == 30
    assert "with the surroundings 100 %" in page_from_record(record)


def test_a_clip_compared_in_one_frame_of_seven_still_shows_one_person(tmp_path: Path) -> None:
    clip = painted_clip(tmp_path / "a.mp4", 1)
    finder = ScriptedFinder((face_at(30, 30, 64),))
    measured = measure_clip_exposure(clip, clip, finder, [JUDGE], every=7)
    assert [face.frame for face in measured.faces] == [0, 7, 14, 21, 28]
    assert {face.chain for face in measured.faces} == {1}
