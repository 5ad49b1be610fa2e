"""What is around a swapped face loses its detail, and no hidden pixel comes back through it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines import compositor
from engines.alignment import identity_mask, inverse_of, moved
from engines.compositor import compose
from engines.patches import Patch
from engines.pictures import BgrImage, Layout, Picture, picture_from_bgr
from engines.surroundings import softened
from engines.types import Frame, Track
from tests.engines.noisy_scene import (
    EYES_APART,
    HEIGHT,
    SIDE,
    WIDTH,
    patch_at,
    roughness,
    scene,
    track_at,
)

pytestmark = pytest.mark.unit


def published(image: BgrImage, tracks: list[Track], patches: dict[int, Patch]) -> BgrImage:
    frame = Frame(picture_from_bgr(image.copy()), 0, Fraction(1, 25), 0, "gate")
    made = compose(frame, tracks, patches)
    assert not made.is_fully_covered, made.cause
    return made.picture.bgr()


def hidden_by(patch: Patch) -> NDArray[np.bool_]:
    """Pixels of the frame that the patch hides wholly or in part."""
    back = inverse_of(patch.crop_from_frame)
    seen = cv2.warpAffine(
        (patch.alpha > 0).astype(np.float32), back.astype(np.float64), (WIDTH, HEIGHT)
    )
    return np.asarray(seen > 0, np.bool_)


def patch_hides_wholly(patch: Patch) -> NDArray[np.bool_]:
    opaque = identity_mask(SIDE).astype(np.float32)
    back = inverse_of(patch.crop_from_frame).astype(np.float64)
    return np.asarray(cv2.warpAffine(opaque, back, (WIDTH, HEIGHT)) >= 1, np.bool_)


def _at(x: float, y: float) -> tuple[int, int]:
    """Row and column of the frame at a share of the crop of a face at (320, 180)."""
    seen = moved(inverse_of(patch_at(320, 180).crop_from_frame), np.array([[x, y]]) * SIDE)[0]
    return int(seen[1]), int(seen[0])


def under_the_chin(made: BgrImage) -> BgrImage:
    row, column = _at(0.5, 0.965)
    return made[row - 2 : row + 3, column - 8 : column + 8]


def test_detail_beside_the_face_is_gone_and_the_far_scene_is_untouched() -> None:
    image, patch = scene(), patch_at(320, 180)
    made = published(image, [track_at(320, 180)], {1: patch})
    hidden = hidden_by(patch)
    away = cv2.distanceTransform((~hidden).astype(np.uint8), cv2.DIST_L2, 5)
    assert roughness(made, (away > 1) & (away < 8)) < 0.1 * roughness(image, (away > 1))
    far = away > 1.2 * 0.46 * EYES_APART / 0.4
    assert np.array_equal(made[far], image[far])


def test_no_sharp_line_shines_through_where_the_blur_becomes_less() -> None:
    image, patch = scene(), patch_at(320, 180)
    made = published(image, [track_at(320, 180)], {1: patch})
    away = cv2.distanceTransform((~hidden_by(patch)).astype(np.uint8), cv2.DIST_L2, 5)
    side = EYES_APART / 0.4
    rings = [(away > a * side) & (away < (a + 0.03) * side) for a in (0.08, 0.11, 0.14, 0.17)]
    left = [roughness(made, ring) / roughness(image, ring) for ring in rings]
    assert (np.diff(left) > -0.01).all()  # strands vary by so much
    assert left[2] < 0.15  # a cross-fade leaves half


def test_hair_and_the_wall_behind_it_stay_apart() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 230, np.uint8)
    image[:, 240:400] = 30
    made = published(image, [track_at(320, 180)], {1: patch_at(320, 180)})
    wall, hair = made[180, 228:235].mean(), made[180, 245:251].mean()
    assert wall > 205  # 180 after a blur as wide
    assert hair < 75  # 100


def test_a_thin_line_of_any_contrast_is_gone() -> None:
    """The planted fault: what differs most, as fine as the rim of an ear."""
    plain = np.full((HEIGHT, WIDTH, 3), 230, np.uint8)
    image = plain.copy()
    for row in range(100, 260, 20):
        image[row : row + 4, 230:410] = 0
    place = ([track_at(320, 180)], {1: patch_at(320, 180)})
    made, without = published(image, *place), published(plain, *place)
    away = cv2.distanceTransform((~hidden_by(patch_at(320, 180))).astype(np.uint8), cv2.DIST_L2, 5)
    near = (away > 4) & (away < 20)
    spread = made[near].std() - without[near].std()
    assert spread < 0.25 * (image[near].std() - plain[near].std())


def test_beside_the_neck_what_the_patch_hides_is_filled_by_what_is_around_it() -> None:
    image, patch = np.full((HEIGHT, WIDTH, 3), 60, np.uint8), patch_at(320, 180)
    made = published(image, [track_at(320, 180)], {1: patch})
    row, column = _at(0.25, 0.85)
    assert hidden_by(patch)[row, column]
    beside = made[row - 1 : row + 2, column - 1 : column + 2]
    assert np.abs(beside.astype(int) - 60).max() < 5  # the face has 90 to 110


@pytest.mark.parametrize("collar", [20, 240])
def test_a_neck_and_no_collar_is_next_to_the_chin(collar: int) -> None:
    """The planted fault: a collar far darker or brighter than skin, up to the subject's chin."""
    image, patch = np.full((HEIGHT, WIDTH, 3), collar, np.uint8), patch_at(320, 180)
    made = published(image, [track_at(320, 180)], {1: patch})
    assert hidden_by(patch)[_at(0.5, 0.94)]
    assert 55 < under_the_chin(made).mean() < 90


@pytest.mark.parametrize("level", [5, 250])
def test_hair_next_to_a_face_is_neither_darker_nor_lighter_than_its_bounds(level: int) -> None:
    """The planted fault: black hair and white hair, next to skin of brightness 100."""
    image, patch = np.full((HEIGHT, WIDTH, 3), level, np.uint8), patch_at(320, 180)
    made = published(image, [track_at(320, 180)], {1: patch})
    row, column = _at(0.5, 0.09)
    above = made[row - 2 : row + 2, column - 12 : column + 12].mean()
    assert 40 < above < 90


def test_fair_hair_turns_as_dark_as_the_surrogates_and_a_fair_wall_does_not() -> None:
    """The planted fault: a wall of the hair's colour, which must not turn dark with it."""
    dark = replace(patch_at(320, 180), head=np.array([0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], np.float32))
    beside = []
    for wall in (60, 200):
        image = np.full((HEIGHT, WIDTH, 3), wall, np.uint8)
        image[80:300, 250:390] = 200
        made = published(image, [track_at(320, 180)], {1: dark})
        row, column = _at(0.02, 0.3)
        beside.append(made[row - 3 : row + 3, column - 3 : column + 3].mean())
    assert beside[0] < 165
    assert beside[1] > 195


def test_hairline_is_the_surrogates_and_not_the_subjects() -> None:
    """Of two people one has a fringe over half the forehead, as far as the patch hides it."""
    patch, made = patch_at(320, 180), []
    for fringe in (60, 180):
        image = np.full((HEIGHT, WIDTH, 3), 60, np.uint8)
        image[patch_hides_wholly(patch) & (np.arange(WIDTH) > 320)] = fringe
        made.append(published(image, [track_at(320, 180)], {1: patch}))
    assert np.array_equal(made[0], made[1])
    other = replace(patch, head=np.array([0.5, 1, 1, 1, 0.5, 0.5, 0.5], np.float32))
    assert not np.array_equal(made[0], published(image, [track_at(320, 180)], {1: other}))


def test_hair_casts_a_shadow_on_the_forehead_and_on_nothing_else() -> None:
    image, patch = np.full((HEIGHT, WIDTH, 3), 60, np.uint8), patch_at(320, 180)
    soft = softened(picture_from_bgr(image), patch, [])
    assert soft is not None
    places = [_at(0.5, y) for y in (0.12, 0.15, 0.18, 0.40, 0.55)]
    weight = [float(soft.alpha[y - soft.top, x - soft.left]) for y, x in places]
    layer = [float(soft.pixels[y - soft.top, x - soft.left].mean()) for y, x in places]
    shown = [one * share + 100 * (1 - share) for one, share in zip(layer, weight, strict=True)]
    assert shown[0] + 5 < shown[1] < shown[2] - 3
    assert weight[3:] == [0, 0]


def test_neck_stays_a_neck_and_the_same_beside_the_face_does_not() -> None:
    necks, ears = [], []
    for place in (slice(262, 400), slice(150, 200)):
        image = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
        image[place, 300:340] = 100
        image[place, 385:398] = 100
        made = published(image, [track_at(320, 180)], {1: patch_at(320, 180)})
        necks.append(made[285, 314:326].mean())
        ears.append(made[170:180, 388:395].mean())
    assert necks[0] < 120
    assert ears[1] > 180


def test_a_busy_wall_gets_no_strands() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 220, np.uint8)
    image[::6] = 190
    image[60:160, 260:380] = 40
    made = published(image, [track_at(320, 180)], {1: patch_at(320, 180)})
    beside = np.zeros((HEIGHT, WIDTH), bool)
    beside[170:220, 382:388] = True
    assert roughness(made, beside) < 0.05 * roughness(image, beside)


def test_face_that_fills_the_frame_has_no_black_ring() -> None:
    patch = patch_at(48, 40)
    soft = softened(picture_from_bgr(np.full((96, 96, 3), 120, np.uint8)), patch, [])
    assert soft is not None
    assert soft.pixels[soft.alpha > 0.5].min() > 35


def test_another_face_is_not_read_even_where_nothing_else_is_known() -> None:
    patch, other = patch_at(20, 14), np.array([26, 0, 40, 40], np.float32)
    made = []
    for level in (0, 255):
        image = np.full((40, 40, 3), 60, np.uint8)
        image[:, 28:] = level
        soft = softened(picture_from_bgr(image), patch, [other])
        assert soft is not None
        made.append(soft.pixels[:, :20])
    assert np.abs(made[0] - made[1]).max() < 1


def test_softening_ends_gently_beside_another_face() -> None:
    tracks = [track_at(300, 180), track_at(430, 180, number=2)]
    image = scene()
    soft = softened(picture_from_bgr(image), patch_at(300, 180), [tracks[1].face.box_px])
    assert soft is not None
    left = round(float(tracks[1].face.box_px[0])) - soft.left
    row = soft.alpha[180 - soft.top, left - 30 : left + 10]
    assert row[-5:].max() == 0
    assert row[:5].min() > 0.9
    assert np.abs(np.diff(row)).max() < 0.4


def test_painted_face_stays_as_it_was_painted() -> None:
    patch = patch_at(320, 180)
    soft = published(scene(), [track_at(320, 180)], {1: patch})
    sharp = published(scene(), [track_at(320, 180)], {1: replace(patch, outline=None)})
    middle = moved(inverse_of(patch.crop_from_frame), np.array([[0.5, 0.53]]) * SIDE)[0]
    x, y = (int(v) for v in middle)
    assert np.array_equal(
        soft[y - 20 : y + 20, x - 12 : x + 12], sharp[y - 20 : y + 20, x - 12 : x + 12]
    )


def test_pixels_under_a_patch_have_no_part_in_what_is_published() -> None:
    patch = patch_at(320, 180)
    image, other = scene(), scene()
    inside = patch_hides_wholly(patch)
    other[inside] = 255 - other[inside]
    tracks, patches = [track_at(320, 180)], {1: patch}
    assert np.array_equal(published(image, tracks, patches), published(other, tracks, patches))


@pytest.mark.parametrize("apart", [90, 130, 180])
def test_neighbours_covered_face_does_not_come_back_through_the_blur(apart: int) -> None:
    neighbour = track_at(320 + apart, 180, number=2)
    x0, y0, x1, y1 = (int(v) for v in neighbour.face.box_px)
    image, other = scene(), scene()
    other[y0:y1, x0:x1] = 255 - other[y0:y1, x0:x1]
    tracks, patches = [track_at(320, 180), neighbour], {1: patch_at(320, 180)}
    first, second = published(image, tracks, patches), published(other, tracks, patches)
    assert np.array_equal(first, second)
    covered = published(image, tracks, {})[y0:y1, x0:x1]
    own = hidden_by(patch_at(320, 180))[y0:y1, x0:x1]
    assert np.array_equal(first[y0:y1, x0:x1][~own], covered[~own])


@pytest.mark.parametrize("apart", [110, 150])
def test_neighbours_synthetic_face_keeps_its_detail(apart: int) -> None:
    tracks = [track_at(300, 180), track_at(300 + apart, 180, number=2)]
    patches = {1: patch_at(300, 180), 2: patch_at(300 + apart, 180)}
    made = published(scene(), tracks, patches)
    sharp = {number: replace(patch, outline=None) for number, patch in patches.items()}
    where = np.zeros((HEIGHT, WIDTH), bool)
    where[180:230, 290 + apart : 310 + apart] = True
    assert roughness(made, where) > 0.9 * roughness(published(scene(), tracks, sharp), where)


def test_blur_is_painted_from_the_composite_and_not_from_the_original(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[BgrImage] = []

    def spy(picture: Picture, patch: Patch, others: list[NDArray[np.float32]]) -> None:
        seen.append(picture.bgr())

    monkeypatch.setattr(compositor, "softened", spy)
    image, neighbour = scene(), track_at(450, 180, number=2)
    published(image, [track_at(320, 180), neighbour], {1: patch_at(320, 180)})
    x0, y0, x1, y1 = (int(v) for v in neighbour.face.box_px)
    assert not np.any(np.all(seen[0][y0:y1, x0:x1] == image[y0:y1, x0:x1], axis=-1).mean() > 0.05)


def test_failing_blur_covers_the_whole_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(compositor, "softened", broken)
    frame = Frame(picture_from_bgr(scene()), 0, Fraction(1, 25), 0, "gate")
    assert compose(frame, [track_at(320, 180)], {1: patch_at(320, 180)}).is_fully_covered


@pytest.mark.parametrize(
    "outline",
    [np.zeros((0, 2)), np.zeros((2, 2)), np.full((5, 2), np.nan), np.zeros((5, 3)), np.zeros(8)],
)
def test_face_with_a_broken_outline_is_covered(outline: NDArray[np.float64]) -> None:
    patch = replace(patch_at(320, 180), outline=outline.astype(np.float32))
    frame = Frame(picture_from_bgr(scene()), 0, Fraction(1, 25), 0, "gate")
    (outcome,) = compose(frame, [track_at(320, 180)], {1: patch}).outcomes
    assert (outcome.result, outcome.cause) == ("covered", "patch has no proper outline")


def test_hair_stays_where_it_is_when_the_jaw_opens() -> None:
    image, patch = np.full((HEIGHT, WIDTH, 3), 120, np.uint8), patch_at(320, 180)
    assert patch.outline is not None
    still = replace(patch, rest=patch.outline)
    lower = patch.outline + np.where(patch.outline[:, 1:] > 0.7, np.array([0, 0.08], np.float32), 0)
    opened = replace(patch, outline=lower.astype(np.float32), rest=patch.outline)
    places = [softened(picture_from_bgr(image), one, []) for one in (still, opened)]
    above = slice(0, _at(0.5, 0.3)[0])
    shown = [soft.layer[: above.stop - soft.top, :, :3] for soft in places if soft is not None]
    assert np.abs(shown[0] - shown[1]).max() < 1


@pytest.mark.parametrize("rest", [np.zeros((0, 2)), np.full((5, 2), np.nan), np.zeros((5, 3))])
def test_face_with_a_broken_rest_is_covered(rest: NDArray[np.float64]) -> None:
    patch = replace(patch_at(320, 180), rest=rest.astype(np.float32))
    frame = Frame(picture_from_bgr(scene()), 0, Fraction(1, 25), 0, "gate")
    (outcome,) = compose(frame, [track_at(320, 180)], {1: patch}).outcomes
    assert (outcome.result, outcome.cause) == ("covered", "patch has no proper outline")


@pytest.mark.parametrize(
    "head", [np.zeros(3), np.full(7, np.nan), np.full(7, -0.1), np.full(7, 1.1), np.zeros((1, 7))]
)
def test_face_with_broken_traits_is_covered(head: NDArray[np.float64]) -> None:
    patch = replace(patch_at(320, 180), head=head.astype(np.float32))
    frame = Frame(picture_from_bgr(scene()), 0, Fraction(1, 25), 0, "gate")
    (outcome,) = compose(frame, [track_at(320, 180)], {1: patch}).outcomes
    assert (outcome.result, outcome.cause) == ("covered", "patch has no proper head")


@pytest.mark.parametrize(("x", "y"), [(5, 5), (635, 395), (320, 2), (-300, 180)])
def test_face_at_the_edge_of_the_frame_is_softened_inside_it(x: float, y: float) -> None:
    soft = softened(picture_from_bgr(scene()), patch_at(x, y), [])
    if soft is None:
        assert x < -100
        return
    height, width = soft.alpha.shape
    assert soft.top >= 0
    assert soft.left >= 0
    assert soft.top + height <= HEIGHT
    assert soft.left + width <= WIDTH
    seen = soft.alpha > 0.5
    assert soft.pixels[seen].mean() > 60, "black beyond the frame must not run in"


@pytest.mark.parametrize("layout", ["yuv420", "yuv422", "gray"])
def test_planes_of_a_decoder_are_softened_in_place(layout: Layout) -> None:
    random = np.random.default_rng(2)
    rows, columns = HEIGHT // 2, WIDTH // 2
    shapes: dict[str, list[tuple[int, ...]]] = {
        "yuv420": [(HEIGHT, WIDTH), (rows, columns), (rows, columns)],
        "yuv422": [(HEIGHT, WIDTH), (HEIGHT, columns), (HEIGHT, columns)],
        "gray": [(HEIGHT, WIDTH)],
    }
    planes = tuple(random.integers(40, 200, shape).astype(np.uint8) for shape in shapes[layout])
    frame = Frame(Picture(planes, layout, 8), 0, Fraction(1, 25), 0, "gate")
    made = compose(frame, [track_at(320, 180)], {1: patch_at(320, 180)})
    assert [one.result for one in made.outcomes] == ["swapped"]
