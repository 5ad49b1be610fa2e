"""Seam, skin and sharpness find the fault that was planted, and nothing in the original."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.color import deltaE_ciede2000

from engines.types import Face
from evaluation.metrics.colour import ciede2000
from evaluation.metrics.seam import seam
from evaluation.metrics.sharpness import sharpness_ratio
from evaluation.metrics.skin import skin_difference
from evaluation.painted_area import is_swapped, painted_area
from evaluation.picture_worth import HEAD, PictureMeter, row
from tests.evaluation.fakes import EYES_NOSE_MOUTH

pytestmark = pytest.mark.unit

SIDE = 240
FACE = Face(
    np.array([70, 60, 170, 180], np.float32),
    np.array([70, 60], np.float32) + EYES_NOSE_MOUTH * np.array([100, 110], np.float32),
    0.9,
)
SKIN_BGR = np.array([120, 150, 200], np.float32)

Image = NDArray[np.uint8]


def portrait(seed: int = 1) -> Image:
    """Skin all over with shading and fine grain, eyes and a mouth: the neck goes on around it."""
    random = np.random.default_rng(seed)
    shade = cv2.resize(random.normal(0, 8, (6, 6)), (SIDE, SIDE))
    grain = cv2.GaussianBlur(random.normal(0, 4, (SIDE, SIDE)), (0, 0), 0.7)
    image = np.asarray(SKIN_BGR + (shade + grain)[..., None], np.float32)
    for middle, axes in (((100, 101), (9, 4)), ((140, 101), (9, 4)), ((120, 146), (16, 4))):
        cv2.ellipse(image, middle, axes, 0, 0, 360, (60, 50, 70), -1)
    return np.asarray(image.clip(0, 255), np.uint8)


def oval(soft_px: float = 0.0) -> NDArray[np.float32]:
    """H×W×1 weights of what is painted: the lower three quarters of the face."""
    shape = np.zeros((SIDE, SIDE), np.float32)
    cv2.ellipse(shape, (120, 128), (48, 58), 0, 0, 360, 1.0, -1)
    soft = cv2.GaussianBlur(shape, (0, 0), soft_px) if soft_px else shape
    return np.asarray(soft[..., None], np.float32)


MASK = oval()[..., 0] > 0.5
ORIGINAL = portrait()


def painted(colour: Image, soft_px: float = 0.0) -> Image:
    weight = oval(soft_px)
    return np.asarray(np.rint(weight * colour + (1 - weight) * ORIGINAL), np.uint8)


def tinted(*shift_bgr: float) -> Image:
    return np.asarray((ORIGINAL + np.array(shift_bgr)).clip(0, 255), np.uint8)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),  # blue: rotation
        ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0000),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),  # one is grey
        ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0009), 7.1792),  # mean hue, one way round
        ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0011), 7.2195),  # and the other
        ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((50.0, 2.5, 0.0), (56.0, -27.0, -3.0), 31.9030),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_published_pairs_have_their_published_difference(
    first: tuple[float, ...], second: tuple[float, ...], expected: float
) -> None:
    """Sharma, Wu and Dalal 2005, Table 1."""
    there, back = np.array(first), np.array(second)
    assert float(ciede2000(there, back)) == pytest.approx(expected, abs=5e-5)
    assert float(ciede2000(back, there)) == pytest.approx(expected, abs=5e-5)


def test_any_colours_differ_as_an_independent_implementation_says() -> None:
    random = np.random.default_rng(3)
    first, second = random.uniform([0, -90, -90], [100, 90, 90], (2, 2000, 3))
    expected = deltaE_ciede2000(first, second)  # type: ignore[no-untyped-call]
    assert ciede2000(first, second) == pytest.approx(expected, abs=1e-6)


def test_the_original_against_itself_is_the_floor() -> None:
    rim = seam(ORIGINAL, ORIGINAL, MASK)
    assert rim is not None
    assert (rim.gradient, rim.step) == (1.0, 1.0)
    assert skin_difference(ORIGINAL, ORIGINAL, MASK, FACE.landmarks_px) == 0.0
    assert sharpness_ratio(ORIGINAL, ORIGINAL, MASK) == 1.0


def test_a_hard_edge_of_another_tone_is_a_seam() -> None:
    rim = seam(ORIGINAL, painted(tinted(25, 25, 25)), MASK)
    assert rim is not None
    assert rim.gradient > 3
    assert rim.step > 3


def test_a_soft_edge_of_another_tone_is_a_colour_step_with_little_gradient() -> None:
    rim = seam(ORIGINAL, painted(tinted(20, 20, 20), soft_px=8), MASK)
    assert rim is not None
    assert rim.gradient < 1.6
    assert rim.step > 3


def test_another_face_of_the_same_tone_has_no_seam() -> None:
    rim = seam(ORIGINAL, painted(portrait(2), soft_px=8), MASK)
    assert rim is not None
    assert 0.6 < rim.gradient < 1.25
    assert 0.7 < rim.step < 1.6


def test_a_mask_without_rim_has_no_seam() -> None:
    assert seam(ORIGINAL, ORIGINAL, np.zeros_like(MASK)) is None


def test_a_green_cheek_differs_from_forehead_and_neck() -> None:
    green = skin_difference(ORIGINAL, painted(tinted(0, 30, -30)), MASK, FACE.landmarks_px)
    assert green is not None
    assert green > 5


def test_skin_of_the_same_tone_differs_no_more_than_before() -> None:
    same = skin_difference(ORIGINAL, painted(portrait(2)), MASK, FACE.landmarks_px)
    assert same is not None
    assert abs(same) < 2


def test_skin_beside_nothing_but_hair_is_not_measured() -> None:
    framed = np.where(MASK[..., None], ORIGINAL, np.uint8(15))
    assert skin_difference(framed, framed, MASK, FACE.landmarks_px) is None


def test_a_blurred_face_is_less_sharp() -> None:
    blurred = np.asarray(cv2.GaussianBlur(ORIGINAL, (0, 0), 2.0), np.uint8)
    ratio = sharpness_ratio(ORIGINAL, painted(blurred), MASK)
    assert ratio is not None
    assert ratio < 0.4


def test_a_grainy_face_is_sharper() -> None:
    noise = np.random.default_rng(4).normal(0, 12, ORIGINAL.shape)
    grainy = np.asarray((ORIGINAL + noise).clip(0, 255), np.uint8)
    ratio = sharpness_ratio(ORIGINAL, painted(grainy), MASK)
    assert ratio is not None
    assert ratio > 1.2


def test_coarse_shading_does_not_count_as_sharpness() -> None:
    waves = 12 * np.sin(np.arange(SIDE) / 40 * 2 * np.pi)
    shaded = np.asarray((ORIGINAL + waves[None, :, None]).clip(0, 255), np.uint8)
    ratio = sharpness_ratio(ORIGINAL, painted(shaded), MASK)
    assert ratio == pytest.approx(1, abs=0.1)


def test_what_was_painted_is_found_with_the_places_that_kept_their_colour() -> None:
    shown = painted(tinted(30, 30, 30))
    shown[120:130, 100:110] = ORIGINAL[120:130, 100:110]
    found = painted_area(ORIGINAL, shown, FACE)
    shared, either = (found & MASK).sum(), (found | MASK).sum()
    assert shared / either > 0.93
    assert found[125, 105]


def test_what_was_painted_elsewhere_is_not_taken_in() -> None:
    shown = painted(tinted(30, 30, 30))
    shown[200:230, 10:40] = 0
    assert not painted_area(ORIGINAL, shown, FACE)[200:230, 10:40].any()


def test_bare_and_covered_faces_were_not_swapped() -> None:
    assert not is_swapped(ORIGINAL, ORIGINAL, FACE)
    assert not is_swapped(ORIGINAL, painted(np.full_like(ORIGINAL, 60)), FACE)
    assert is_swapped(ORIGINAL, painted(tinted(30, 30, 30)), FACE)


def test_a_clip_is_measured_beside_its_floor() -> None:
    meter = PictureMeter()
    for shown in (ORIGINAL, painted(tinted(25, 25, 25)), painted(tinted(25, 25, 25))):
        meter.add(ORIGINAL, shown, ORIGINAL, [FACE])
    assert (meter.faces, meter.swapped) == (3, 2)
    assert min(meter.painted.gradient) > 3
    assert meter.floor.gradient == [1.0, 1.0]
    assert meter.floor.skin == [0.0, 0.0]
    assert meter.floor.sharpness == [1.0, 1.0]
    line = row("clip", meter)
    assert line.startswith("| clip | 3 | 2 |")
    assert {part.count("|") for part in [*HEAD.splitlines(), line]} == {line.count("|")}
