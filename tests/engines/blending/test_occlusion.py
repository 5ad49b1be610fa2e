"""Marks of things in front of a face count only where they can be trusted."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.blending.occlusion import MOST_HIDDEN, SURE, Marks, Occlusion, counted
from engines.face.alignment import EYES, inverse_of, similarity_from_points
from engines.face.control_reading import ControlReader, reading_eyes
from engines.face.face_look import Look, eyes_of
from engines.face.motion_grid import grid_in_frame
from engines.face.swapper import DOUBT_LIMIT, Control, Rendered
from engines.pictures import picture_from_bgr
from engines.stylegan.masks import oval_from_points
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.topology import EYE_LEFT_SLICE, NOSE_BRIDGE_SLICE
from engines.types import Face, Frame
from stream.swap.following import FOLLOWING
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIZE = 128
Float32 = NDArray[np.float32]


def sure_in(x0: int, y0: int, x1: int, y1: int) -> Float32:
    sure = np.zeros((SIZE, SIZE), np.float32)
    sure[y0:y1, x0:x1] = 0.95
    return sure


def crop_with(sure: Float32) -> NDArray[np.uint8]:
    """A plain crop in which what the network is sure of is to be seen."""
    return np.where(sure[..., None] > SURE, (60, 140, 60), (150, 170, 200)).astype(np.uint8)


def marks_of(sure: Float32, crop: NDArray[np.uint8] | None = None) -> Marks:
    return counted(sure, drawn_face(), crop_with(sure) if crop is None else crop)


def test_nothing_in_front_marks_nothing() -> None:
    assert marks_of(np.zeros((SIZE, SIZE), np.float32)) == Marks()


def test_a_hand_from_below_is_marked_with_its_share() -> None:
    face = oval_from_points(drawn_face(), SIZE) > 0.5
    sure = sure_in(40, 90, 80, SIZE)
    marks = marks_of(sure)
    assert marks.sure is not None
    assert (marks.sure > SURE)[2:-2, 2:-2][sure[2:-2, 2:-2] > 0].mean() > 0.97
    assert marks.share == pytest.approx((face & (sure > SURE)).sum() / face.sum(), rel=0.1)
    assert marks.is_clear


def test_what_lies_beside_the_picture_is_hidden_and_never_shown() -> None:
    face, pictured = oval_from_points(drawn_face(), SIZE) > 0.5, np.ones((SIZE, SIZE), np.bool_)
    pictured[:, :50] = False
    beside = sure_in(0, 0, 50, SIZE)
    marks = counted(beside, drawn_face(), crop_with(beside), pictured)
    assert marks.sure is None
    assert marks.is_clear
    assert marks.share == pytest.approx((face & ~pictured).sum() / face.sum(), rel=0.05)


def test_the_rest_of_a_hand_counts_where_it_is_joined_to_what_is_sure() -> None:
    hand = sure_in(40, 80, 90, SIZE)
    rough = np.minimum(hand, 0.3)
    rough[95:110, 50:80] = 0.9
    marks = marks_of(rough, crop_with(hand))
    assert marks.sure is not None
    assert marks.sure[84:120, 44:86].mean() > 0.95
    assert marks_of(np.minimum(hand, 0.3), crop_with(hand)).sure is None


def test_a_mark_without_an_edge_in_the_picture_covers_the_face() -> None:
    """The planted fault: a part of the face is taken for a hand, with all certainty."""
    sure = sure_in(0, 70, SIZE, SIZE)
    smooth = np.full((SIZE, SIZE, 3), 150, np.uint8)
    marks = marks_of(sure, smooth)
    assert marks.sure is None
    assert not marks.is_clear
    assert look_under(sure, is_seen=False).doubt == np.inf


def test_eyes_are_shown_in_no_case() -> None:
    """The planted fault: an eye, and then both, are taken for a hand, with all certainty."""
    x, y = drawn_face()[EYE_LEFT_SLICE, :2].mean(axis=0) * SIZE
    beside = sure_in(0, int(y) - 2, int(x), 90)
    marks = marks_of(beside)
    assert marks.sure is not None
    assert marks.sure[75:85, 5 : int(x) - 5].all()
    assert not marks.sure[int(y) - 2 : int(y) + 3, int(x) - 8 : int(x) + 3].any()
    both = marks_of(sure_in(0, 20, SIZE, 60))
    assert both.sure is None
    assert not both.is_clear


def test_a_part_of_the_face_itself_is_not_in_front_of_it() -> None:
    inside = sure_in(50, 85, 78, 95)  # a mouth: nothing of it reaches beyond the face
    hand = sure_in(0, 58, 40, 75)
    assert marks_of(inside).sure is None
    marks = marks_of(np.maximum(inside, hand))
    assert marks.sure is not None
    assert marks.sure[inside > 0].max() == 0
    assert marks.sure[62:72, 4:36].all()


def test_what_is_no_number_is_nothing_in_front() -> None:
    """The planted fault: a network that went astray."""
    sure = sure_in(40, 90, 80, SIZE)
    sure[88, 40:60] = np.nan
    found = marks_of(sure)
    assert found.sure is not None
    assert np.isfinite(found.sure).all()
    assert marks_of(np.full((SIZE, SIZE), np.nan, np.float32)) == Marks()


def test_a_speck_is_noise() -> None:
    assert marks_of(sure_in(60, 116, 70, SIZE)).sure is None


def test_what_only_stands_beside_the_face_is_nothing_in_front() -> None:
    assert marks_of(sure_in(0, 120, 20, SIZE)).sure is None


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

    def __init__(self, sure: Float32, doubt: float, lower_nose: float) -> None:
        self.sure = sure
        self.doubt = doubt
        self.lower_nose = lower_nose

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        points = drawn_face()
        points[:, :2] += EYES.mean(axis=0).astype(np.float32) - eyes_of(points).mean(axis=0)
        points[NOSE_BRIDGE_SLICE, 1] += self.lower_nose
        light = np.zeros((1, 2, 4, 4, 3), np.float32)
        return Control(points[None], light, np.full(1, self.doubt, np.float32), self.sure[None])

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        raise NotImplementedError


def test_a_bowed_head_is_not_followed() -> None:
    """The planted fault: a face was painted on the crown of a man who looked down."""
    nothing = np.zeros((SIZE, SIZE), np.float32)
    assert np.isfinite(look_under(nothing).doubt)
    assert np.isfinite(look_under(nothing, height=1.0).doubt)
    assert np.isfinite(look_under(nothing, lower_nose=0.18).doubt)
    assert look_under(nothing, height=1.0, lower_nose=0.18).doubt > DOUBT_LIMIT
    assert look_under(nothing, height=1.0, lower_nose=0.3).doubt == np.inf


def test_a_face_before_which_something_may_be_begins_no_swap_and_keeps_one() -> None:
    likely = np.full((SIZE, SIZE), 0.19, np.float32)
    assert DOUBT_LIMIT < look_under(likely).doubt <= FOLLOWING.kept * DOUBT_LIMIT
    assert look_under(1.6 * likely).doubt == np.inf


def look_under(
    sure: Float32,
    eyes_px: float = 60,
    doubt: float = 0.0,
    *,
    is_seen: bool = True,
    height: float = 1.3,
    lower_nose: float = 0.0,
) -> Look:
    """The look of a face in whose picture what the network is sure of is to be seen, or is not."""
    points = np.array([[120, 130], [180, 130], [150, 165], [128, 186], [172, 186]], np.float32)
    points *= np.float32(eyes_px / 60)
    face = Face(np.array([100, 90, 200, 90 + 100 * height], np.float32), points, 0.9)
    place = similarity_from_points(points[:2], reading_eyes(face) * np.float32(SIZE))
    crop = crop_with(sure if is_seen else np.zeros_like(sure))
    image = cv2.warpAffine(crop, inverse_of(place), (300, 300), borderMode=cv2.BORDER_REPLICATE)
    frame = Frame(picture_from_bgr(np.asarray(image, np.uint8)), 0, Fraction(1), 0)
    return ControlReader(Reading(sure, doubt, lower_nose)).looks([(frame, face)])[0]


def test_marks_travel_with_the_look_in_the_place_they_were_read() -> None:
    look = look_under(sure_in(40, 90, 80, SIZE))
    assert look.occlusion is not None
    assert np.isfinite(look.doubt)
    across = look.occlusion.crop_from_frame[0, 0] * 60 / SIZE  # of the eyes, shares of the crop
    assert across == pytest.approx(0.4 * 0.86, abs=0.01)


def test_doubt_counts_only_for_what_is_seen() -> None:
    sure = sure_in(40, 90, 80, SIZE)
    hidden = marks_of(sure).share
    look = look_under(sure, doubt=0.02)
    whole = look_under(np.zeros_like(sure), doubt=0.02).doubt
    assert whole == pytest.approx(0.02 / 0.86)  # the crop is wider than a kveil crop
    assert look.doubt == pytest.approx(whole * (1 - hidden), rel=0.15)


def test_a_face_of_few_pixels_has_nothing_in_front() -> None:
    assert look_under(sure_in(40, 90, 80, SIZE), eyes_px=17).occlusion is not None
    assert look_under(sure_in(40, 90, 80, SIZE), eyes_px=14).occlusion is None


def test_a_face_of_which_most_is_hidden_is_not_followed() -> None:
    """The planted fault: a network that takes the whole face for a hand."""
    sure = sure_in(0, 55, SIZE, SIZE)
    assert marks_of(sure).share > MOST_HIDDEN
    look = look_under(sure)
    assert look.doubt == np.inf
    assert look.is_hidden


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
    marks = [
        counted(*one).sure for one in zip(control.occlusion, control.points, images, strict=True)
    ]
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
