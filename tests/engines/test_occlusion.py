"""Marks of things in front of a face count only where they can be trusted."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.alignment import EYES
from engines.backends.openvino import OpenVino
from engines.control_reading import ControlReader
from engines.face_look import Look, eyes_of
from engines.motion_grid import grid_in_frame
from engines.occlusion import MOST_HIDDEN, SURE, Occlusion, counted
from engines.pictures import picture_from_bgr
from engines.stylegan.masks import oval_from_points
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.swapper import Control, Rendered
from engines.types import Face, Frame
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIZE = 128
Float32 = NDArray[np.float32]


def sure_in(x0: int, y0: int, x1: int, y1: int) -> Float32:
    sure = np.zeros((SIZE, SIZE), np.float32)
    sure[y0:y1, x0:x1] = 0.95
    return sure


def test_nothing_in_front_marks_nothing() -> None:
    assert counted(np.full((SIZE, SIZE), 0.4, np.float32), drawn_face()) == (None, 0.0)


def test_a_hand_from_below_is_marked_with_its_share() -> None:
    face = oval_from_points(drawn_face(), SIZE) > 0.5
    sure = sure_in(40, 90, 80, SIZE)
    marks, share = counted(sure, drawn_face())
    assert marks is not None
    assert (marks == sure).all()
    assert share == pytest.approx((face & (marks > SURE)).sum() / face.sum())


def test_a_part_of_the_face_itself_is_not_in_front_of_it() -> None:
    inside = sure_in(50, 85, 78, 95)  # a mouth: nothing of it reaches beyond the face
    hand = sure_in(0, 55, 45, 75)
    assert counted(inside, drawn_face())[0] is None
    marks, _ = counted(np.maximum(inside, hand), drawn_face())
    assert marks is not None
    assert marks[inside > 0].max() == 0
    assert (marks[hand > 0] > SURE).all()


def test_what_is_no_number_is_nothing_in_front() -> None:
    """The planted fault: a network that went astray."""
    sure = sure_in(40, 90, 80, SIZE)
    sure[88, 40:60] = np.nan
    found, _ = counted(sure, drawn_face())
    assert found is not None
    assert np.isfinite(found).all()
    assert counted(np.full((SIZE, SIZE), np.nan, np.float32), drawn_face())[0] is None


def test_a_speck_is_noise() -> None:
    assert counted(sure_in(60, 100, 70, SIZE), drawn_face())[0] is None


def test_what_only_stands_beside_the_face_is_nothing_in_front() -> None:
    assert counted(sure_in(0, 120, 20, SIZE), drawn_face())[0] is None


def test_a_grid_that_goes_along_brings_the_marks_along() -> None:
    place = np.array([[2, 0, 10], [0, 2, 0]], np.float32)
    later = np.array([[2, 0, 30], [0, 2, 0]], np.float32)
    seen = Occlusion(sure_in(40, 40, 60, SIZE), place)
    still = grid_in_frame(place, SIZE)
    assert (seen.at(still)[:, 2:-2] > SURE).sum() == (seen.sure[:, 2:-2] > SURE).sum()
    # In the later frame's crop the same pixels of the frame lie 20 px to the right.
    moved_on = seen.at(grid_in_frame(later, SIZE)) > SURE
    assert (moved_on[60, 60:80]).all()
    assert not moved_on[60, :59].any()


class Reading:
    """A painter whose network is sure of whatever it is told."""

    size = SIZE
    sizes = (SIZE,)

    def __init__(self, sure: Float32, doubt: float = 0.0) -> None:
        self.sure = sure
        self.doubt = doubt

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        points = drawn_face()
        points[:, :2] += EYES.mean(axis=0).astype(np.float32) - eyes_of(points).mean(axis=0)
        light = np.zeros((1, 2, 4, 4, 3), np.float32)
        return Control(points[None], light, np.full(1, self.doubt, np.float32), self.sure[None])

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        raise NotImplementedError


def look_under(sure: Float32, eyes_px: float = 60, doubt: float = 0.0) -> Look:
    rng = np.random.default_rng(0)
    frame = Frame(
        picture_from_bgr(rng.integers(0, 255, (300, 300, 3)).astype(np.uint8)), 0, Fraction(1), 0
    )
    points = np.array([[120, 130], [180, 130], [150, 165], [128, 186], [172, 186]], np.float32)
    points *= np.float32(eyes_px / 60)
    face = Face(np.array([100, 90, 200, 220], np.float32), points, 0.9)
    return ControlReader(Reading(sure, doubt)).looks([(frame, face)])[0]


def test_marks_travel_with_the_look_in_the_place_they_were_read() -> None:
    look = look_under(sure_in(40, 90, 80, SIZE))
    assert look.occlusion is not None
    assert np.isfinite(look.doubt)
    across = look.occlusion.crop_from_frame[0, 0] * 60 / SIZE  # of the eyes, shares of the crop
    assert across == pytest.approx(0.4, abs=0.01)


def test_doubt_counts_only_for_what_is_seen() -> None:
    sure = sure_in(40, 90, 80, SIZE)
    hidden = counted(sure, drawn_face())[1]
    look = look_under(sure, doubt=0.02)
    assert look.doubt == pytest.approx(0.02 * (1 - hidden), rel=0.15)
    assert look_under(np.zeros_like(sure), doubt=0.02).doubt == pytest.approx(0.02)


def test_a_face_of_few_pixels_has_nothing_in_front() -> None:
    assert look_under(sure_in(40, 90, 80, SIZE), eyes_px=25).occlusion is not None
    assert look_under(sure_in(40, 90, 80, SIZE), eyes_px=23).occlusion is None


def test_a_face_of_which_most_is_hidden_is_not_followed() -> None:
    """The planted fault: a network that takes the whole face for a hand."""
    sure = np.ones((SIZE, SIZE), np.float32)
    assert counted(sure, drawn_face())[1] > MOST_HIDDEN
    look = look_under(sure)
    assert look.doubt == np.inf


def portraits() -> NDArray[np.uint8]:
    """Donors of the pack at rest, uint8[N, 256, 256, 3] BGR."""
    swapper, _ = swapper_from_pack(OpenVino())
    pack = read_pack(bundled_pack())
    at_rest = points_at_rest(load_shape_model(pack.path("shape.npz")))
    light = np.zeros((8, 2, 4, 4, 3), np.float32)
    control = Control(np.repeat(at_rest, 8, axis=0), light, np.zeros(8, np.float32))
    pixels = swapper.paint(control, donor_latents(pack, 8)).pixels
    return np.asarray(pixels.round(), np.uint8)


def found_in(images: NDArray[np.uint8], where: NDArray[np.bool_]) -> float:
    """Share of a part of faces, bool[SIZE, SIZE], that the bundled network marks."""
    swapper, _ = swapper_from_pack(OpenVino())
    control = swapper.read(images)
    assert control.occlusion is not None
    marks = [counted(*one)[0] for one in zip(control.occlusion, control.points, strict=True)]
    return float(np.mean([0.0 if one is None else (one > SURE)[where].mean() for one in marks]))


def test_the_bundled_network_finds_a_bar_before_faces_and_nothing_before_free_ones() -> None:
    free = portraits()
    barred = free.copy()
    bar = np.zeros((256, 256), np.uint8)
    cv2.line(bar, (20, 250), (170, 150), 1, 40)
    barred[:, bar > 0] = (60, 140, 60)
    at_rest = points_at_rest(load_shape_model(read_pack(bundled_pack()).path("shape.npz")))
    face = oval_from_points(at_rest[0], SIZE) > 0.9
    assert found_in(free, face) < 0.02
    assert found_in(barred, face & (bar[::2, ::2] > 0)) > 0.75
    assert found_in(barred, face & (bar[::2, ::2] == 0)) < 0.1
