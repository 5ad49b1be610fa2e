"""A face that is in view for a frame or a few of a calm recording is covered in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage import data as photographs

from engines.backends.openvino import OpenVino
from engines.blending.covers import cover_named
from engines.detectors.loading import detector_from_model
from engines.detectors.multiscale import DetectionPlan
from engines.models.catalogue import centerface_path
from engines.pictures import BgrImage, Picture, picture_from_bgr
from engines.types import Face, Frame
from stream.finding.finding import FaceFinder
from stream.finding.span_search import SpanSearch
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.replacement import CoverEveryFace
from stream.pipeline.stage_clock import StageClock
from tracker.settings import TrackerSettings
from tracker.spans import KeySchedule
from tracker.tracker import Tracker

pytestmark = pytest.mark.unit

HEIGHT, WIDTH = 360, 640
TOP, LEFT = 90, 300
THUMBNAIL = np.full((36, 64), 90, np.uint8)


def head(face_px: int) -> tuple[BgrImage, tuple[int, int, int, int]]:
    """A head whose face is so many px high, and where in it the face lies."""
    rgb: NDArray[np.uint8] = photographs.astronaut()  # type: ignore[no-untyped-call]
    scale = face_px / 120
    cut = np.ascontiguousarray(rgb[10:220, 130:320, ::-1])
    small = cv2.resize(cut, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    x0, y0, x1, y1 = (round(scale * value) for value in (52, 48, 140, 168))
    return np.asarray(small, np.uint8), (x0, y0, x1, y1)


def wall() -> BgrImage:
    colours = np.random.default_rng(1).integers(40, 200, (9, 16, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(colours, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def with_head(face_px: int) -> tuple[BgrImage, tuple[int, int, int, int]]:
    scene, (small, (x0, y0, x1, y1)) = wall(), head(face_px)
    scene[TOP : TOP + small.shape[0], LEFT : LEFT + small.shape[1]] = small
    return scene, (LEFT + x0, TOP + y0, LEFT + x1, TOP + y1)


class Watchman:
    """A detector that sees a face wherever the picture is another than the wall."""

    def __init__(self) -> None:
        calm = picture_from_bgr(wall())
        self._calm = {size: calm.resized_bgr(*size[::-1]) for size in ((320, 180),)}

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        size = image_bgr.shape[1], image_bgr.shape[0]
        place = (TOP + 20) * size[0] // WIDTH, (LEFT + 20) * size[0] // WIDTH
        if np.abs(image_bgr[place].astype(int) - self._calm[size][place]).max() < 20:
            return ()
        box = np.array([LEFT, TOP, LEFT + 40, TOP + 40], np.float32) * size[0] / WIDTH
        return (Face(box, np.full((5, 2), box.mean(), np.float32), 0.9),)


def searched(pictures: list[Picture], rate: int) -> set[int]:
    plan = DetectionPlan(320)
    finder = FaceFinder(
        Watchman(),
        lambda height, width: {"near": plan, "coarse": plan, "full": plan},
        min_score=0.2,
        workers=1,
        deadline_s=5.0,
        give_up_after=5,
        clock=StageClock(),
    )
    search = SpanSearch(finder, KeySchedule())
    looked = set()
    try:
        for index, picture in enumerate(pictures):
            for one in search.push(Frame(picture, index, Fraction(1, rate), index), THUMBNAIL):
                looked |= {one.frame.index} if one.findings.faces is not None else set()
        for one in search.flush():
            looked |= {one.frame.index} if one.findings.faces is not None else set()
    finally:
        search.close()
    return looked


@pytest.mark.parametrize("face_px", [40, 100])
@pytest.mark.parametrize(("rate", "step"), [(25, 3), (30, 4), (60, 8)])
def test_passing_face_is_searched_for_or_seen_on_both_sides_in_every_phase(
    rate: int, step: int, face_px: int
) -> None:
    calm, seen = picture_from_bgr(wall()), picture_from_bgr(with_head(face_px)[0])
    for frames in range(1, 9):
        for phase in range(step):
            first = step + phase
            pictures = [calm] * first + [seen] * frames + [calm] * (step + 1)
            looked = searched(pictures, rate)
            with_face = looked & set(range(first, first + frames))
            assert with_face, (frames, phase)
            unseen = set(range(first, first + frames)) - looked
            assert all(min(with_face) < one < max(with_face) for one in unseen), (frames, phase)


def test_calm_recording_is_searched_at_its_keys_alone() -> None:
    noise = np.random.default_rng(3)
    pictures = [
        picture_from_bgr(
            np.clip(wall() + noise.normal(0, 4, (HEIGHT, WIDTH, 3)), 0, 255).astype("u1")
        )
        for _ in range(17)
    ]
    assert searched(pictures, 30) == set(range(0, 17, 4))


def dim(image: BgrImage) -> Picture:
    """The scene in 2 of 256 grey levels."""
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return Picture((7400 + 2 * grey.astype(np.uint16),), "gray", 16, "bt601", True)


def test_calm_scene_of_narrow_tones_is_searched_at_its_keys_alone() -> None:
    assert searched([dim(wall())] * 13, 30) == set(range(0, 13, 4))


def test_who_passes_in_narrow_tones_is_searched_for() -> None:
    """The planted fault: as the camera wrote it, the frame hardly differs from those around it."""
    pictures = [dim(wall())] * 13
    pictures[6] = dim(with_head(40)[0])
    assert 6 in searched(pictures, 30)


def test_frames_in_which_the_tones_become_narrow_are_searched() -> None:
    """The planted fault: a face that only the stretched frame shows was there before, unseen."""
    bright = Picture((256 * dim(wall()).planes[0] // 58,), "gray", 16, "bt601", True)
    looked = searched([bright] * 6 + [dim(wall())] * 7, 30)
    assert looked >= {6, 7}


def anonymized(pictures: list[BgrImage]) -> Iterator[BgrImage]:
    plan = DetectionPlan(WIDTH)
    finder = FaceFinder(
        detector_from_model(OpenVino(threads=2), centerface_path()),
        lambda height, width: {"near": plan, "coarse": plan, "full": plan},
        min_score=0.2,
        workers=1,
        deadline_s=20.0,
        give_up_after=5,
        clock=StageClock(),
    )
    tracker = Tracker(TrackerSettings(lookahead_frames=20))
    cover = cover_named("solid")
    subject = Anonymizer(finder, KeySchedule(), tracker, CoverEveryFace(), cover, 1.3, StageClock())
    try:
        for index, image in enumerate(pictures):
            frame = Frame(picture_from_bgr(image.copy()), index, Fraction(1, 30), index)
            yield from (one.picture.bgr() for one in subject.push(frame))
        yield from (one.picture.bgr() for one in subject.flush())
    finally:
        subject.close()


@pytest.mark.parametrize(("face_px", "first", "frames"), [(40, 21, 1), (100, 21, 3)])
def test_passing_face_is_covered(face_px: int, first: int, frames: int) -> None:
    calm, (seen, (x0, y0, x1, y1)) = wall(), with_head(face_px)
    pictures = [calm] * first + [seen] * frames + [calm] * 12
    for index, image in enumerate(anonymized(pictures)):
        if first <= index < first + frames:
            changed = np.abs(image.astype(int) - pictures[index]).mean(axis=2) > 18
            assert changed[y0:y1, x0:x1].mean() > 0.8, index
