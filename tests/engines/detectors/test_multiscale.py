from __future__ import annotations

import threading

import numpy as np
import pytest

from engines.backends.openvino import OpenVino
from engines.detectors.centerface import CenterFace
from engines.detectors.detector import overlaps_of
from engines.detectors.drawn_faces import drawn_scene
from engines.detectors.multiscale import DetectionPlan, detect_picture, merged
from engines.errors import EngineFault
from engines.models.catalogue import centerface_path
from engines.pictures import BgrImage, Picture, picture_from_bgr
from engines.types import Face

pytestmark = pytest.mark.unit


class Spy:
    """Remembers what it was shown and finds white squares on black."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        self.shapes.append(image_bgr.shape[:2])
        rows, columns = np.nonzero(image_bgr[..., 0] > 128)
        if not rows.size:
            return ()
        box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        centre = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
        return (Face(np.array(box, np.float32), np.array([centre] * 5, np.float32), 0.9),)


def square(height: int, width: int, box: tuple[int, int, int, int]) -> Picture:
    image = np.zeros((height, width, 3), np.uint8)
    image[box[1] : box[3], box[0] : box[2]] = 255
    return picture_from_bgr(image)


def face(box: list[float], score: float = 0.9) -> Face:
    middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
    return Face(np.array(box, np.float32), np.array([middle] * 5, np.float32), score)


def test_one_scale_shows_the_whole_picture_once() -> None:
    spy = Spy()
    found = detect_picture(spy, square(360, 640, (100, 60, 140, 120)), DetectionPlan(320), 0.5)
    assert spy.shapes == [(180, 320)]
    np.testing.assert_allclose(found[0].box_px, [100, 60, 140, 120], atol=2)
    np.testing.assert_allclose(found[0].landmarks_px[0], [120, 90], atol=2)


def test_portrait_pictures_are_measured_by_their_height() -> None:
    spy = Spy()
    detect_picture(spy, square(640, 360, (0, 0, 9, 9)), DetectionPlan(320), 0.5)
    assert spy.shapes == [(320, 180)]


def test_small_pictures_are_enlarged_within_bounds() -> None:
    spy = Spy()
    detect_picture(spy, square(100, 160, (9, 9, 40, 40)), DetectionPlan(1920), 0.5)
    assert spy.shapes == [(200, 320)]
    detect_picture(spy, square(1, 1, (0, 0, 1, 1)), DetectionPlan(1920), 0.5)
    assert spy.shapes[-1] == (2, 2)


def test_scales_that_come_out_alike_are_searched_once() -> None:
    spy = Spy()
    plan = DetectionPlan(1920, also_px=(1280, 320), max_upscale=1.0)
    detect_picture(spy, square(360, 640, (9, 9, 40, 40)), plan, 0.5)
    assert spy.shapes == [(360, 640), (180, 320)]


def test_extreme_shapes_keep_one_row() -> None:
    spy = Spy()
    detect_picture(spy, square(2, 4000, (0, 0, 100, 2)), DetectionPlan(320), 0.5)
    assert spy.shapes == [(1, 320)]


@pytest.mark.parametrize("left", range(180, 420, 20))
def test_face_across_tiles_is_found_once_and_whole(left: int) -> None:
    spy = Spy()
    picture = square(300, 1000, (left, 100, left + 60, 160))
    plan = DetectionPlan(1000, tile_px=300, overlap_px=80, max_upscale=1.0)
    found = detect_picture(spy, picture, plan, 0.5)
    assert spy.shapes == [(300, 300)] * 5
    assert len(found) == 1
    np.testing.assert_allclose(found[0].box_px, [left, 100, left + 60, 160], atol=1)


def test_tiles_reach_every_pixel() -> None:
    seen = np.zeros((711, 1003), np.int64)

    class Counting(Spy):
        def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
            rows = image_bgr[:, 0, 0].astype(int) * 256 + image_bgr[:, 0, 1]
            columns = image_bgr[0, :, 2].astype(int)
            assert columns.size <= 256
            seen[np.ix_(rows, np.arange(columns.size))] += 1
            self.shapes.append(image_bgr.shape[:2])
            return ()

    image = np.zeros((711, 1003, 3), np.uint8)
    image[..., 0] = (np.arange(711) // 256)[:, None]
    image[..., 1] = (np.arange(711) % 256)[:, None]
    spy = Counting()
    plan = DetectionPlan(1003, tile_px=256, overlap_px=64, max_upscale=1.0)
    detect_picture(spy, picture_from_bgr(image), plan, 0.5)
    assert (seen[:, :200].min(axis=1) > 0).all()
    assert len(spy.shapes) == 4 * 5


def test_doubles_from_two_scales_become_one_mean() -> None:
    faces = [face([0, 0, 100, 100], 0.8), face([10, 10, 110, 110], 0.8)]
    (only,) = merged(faces, [False, False])
    np.testing.assert_allclose(only.box_px, [5, 5, 105, 105], atol=0.1)
    assert only.score == pytest.approx(0.8)


def test_weak_double_hardly_moves_a_strong_find() -> None:
    faces = [face([0, 0, 100, 100], 0.9), face([15, 15, 115, 115], 0.2)]
    (only,) = merged(faces, [False, False])
    assert float(only.box_px[0]) < 1


def test_cut_find_gives_way_to_a_whole_one() -> None:
    whole, part = face([0, 0, 100, 100], 0.5), face([0, 0, 40, 100], 0.99)
    assert [f.score for f in merged([part, whole], [True, False])] == [0.5]


def test_cut_find_without_a_whole_one_stays() -> None:
    assert len(merged([face([0, 0, 40, 100]), face([300, 0, 340, 100])], [True, False])) == 2


def test_small_face_inside_a_large_false_one_stays() -> None:
    faces = [face([0, 0, 400, 400], 0.9), face([50, 50, 80, 80], 0.4)]
    assert len(merged(faces, [False, False])) == 2


def test_no_finds_are_no_faces() -> None:
    assert merged([], []) == ()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: DetectionPlan(16),
        lambda: DetectionPlan(640, also_px=(8,)),
        lambda: DetectionPlan(640, tile_px=100, overlap_px=100),
    ],
)
def test_senseless_plan_is_refused(spoil: object) -> None:
    assert callable(spoil)
    with pytest.raises(ValueError, match=r"long side|overlap"):
        spoil()


def test_fault_on_one_tile_is_not_swallowed() -> None:
    class Failing(Spy):
        def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
            if len(self.shapes) == 2:
                raise EngineFault("planted")
            return super().detect(image_bgr, min_score=min_score)

    plan = DetectionPlan(640, tile_px=200, overlap_px=50)
    with pytest.raises(EngineFault, match="planted"):
        detect_picture(Failing(), square(360, 640, (9, 9, 40, 40)), plan, 0.5)


@pytest.fixture(scope="module")
def centerface() -> CenterFace:
    return CenterFace(OpenVino(threads=2), centerface_path())


def test_full_plan_finds_the_smallest_faces(centerface: CenterFace) -> None:
    image, drawn = drawn_scene(128, 288, 8, side_px=12.0, seed=4)
    plan = DetectionPlan(1920, also_px=(320,))
    found = detect_picture(centerface, picture_from_bgr(image), plan, 0.2)
    assert found_share(drawn, found) == 1.0


def test_full_plan_finds_a_face_that_fills_the_frame(centerface: CenterFace) -> None:
    image, drawn = drawn_scene(640, 480, 1, side_px=440, seed=3)
    plan = DetectionPlan(640, also_px=(320,))
    found = detect_picture(centerface, picture_from_bgr(image), plan, 0.2)
    assert found_share(drawn, found) == 1.0


def test_threads_share_one_detector(centerface: CenterFace) -> None:
    scenes = [drawn_scene(128, 192, n, side_px=36, seed=n) for n in (1, 2, 3)]
    wrong: list[int] = []

    def work(number: int) -> None:
        image, drawn = scenes[number]
        for _ in range(3):
            plan = DetectionPlan(192)
            found = detect_picture(centerface, picture_from_bgr(image), plan, 0.3)
            if len(found) != len(drawn):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def found_share(drawn: tuple[Face, ...], found: tuple[Face, ...]) -> float:
    if not found:
        return 0.0
    overlaps = overlaps_of(np.stack([f.box_px for f in drawn]), np.stack([f.box_px for f in found]))
    return float((overlaps.max(axis=1) > 0.3).mean())
