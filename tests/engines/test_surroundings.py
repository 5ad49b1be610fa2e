"""What is next to a swapped face is left out, and no hidden pixel comes back through it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines import face_layers, surroundings
from engines.alignment import identity_mask, inverse_of, moved
from engines.compositor import compose
from engines.hair_tone import HairColour, hair_colour
from engines.head_memory import HeadMemory, Reading
from engines.head_traits import HEAD_TRAITS
from engines.patches import Patch
from engines.pictures import BgrImage, Layout, Picture, picture_from_bgr
from engines.polar import MIDDLE, RAYS
from engines.surroundings import continued
from engines.types import Box, Frame, Track
from tests.engines.heads import DarkHair, hair_on_rays, head_on_rays
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


def altered(patch: Patch, *traits: float) -> Patch:
    own = traits or (0.5,) * HEAD_TRAITS
    return replace(patch, head=np.array(own, np.float32), hair=DarkHair())


def skinned(patch: Patch) -> Patch:
    return replace(patch, pixels=patch.pixels + np.array([-20, -5, 30], np.float32))


def rings(side_px: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Pixels next to the patch, and pixels that no ray reaches."""
    away = cv2.distanceTransform((~hidden_by(patch_at(320, 180))).astype(np.uint8), cv2.DIST_L2, 5)
    return (away > 1) & (away < 0.05 * side_px), away > 0.9 * side_px


SIDE_PX = EYES_APART / 0.4
GREY = np.array([60, 60, 60], np.float32)


def fair_brows() -> HairColour:
    return HairColour(np.array([100, 120, 140], np.float32), np.full(3, 30, np.float32), 20)


def head(hairline: float, hair: int = 30) -> BgrImage:
    """A head behind the patch of a face at (320, 180): skin up to a hairline, hair, a wall.

    Args:
        hairline: how far above the middle of the patch hair begins, shares of its side.
        hair: its grey level.
    """
    image = np.full((HEIGHT, WIDTH, 3), 190, np.uint8)
    row, column = _at(*MIDDLE)
    for radius, level in ((0.86, (hair, hair, hair)), (hairline, (75, 85, 105))):
        size = round(radius * SIDE_PX)
        cv2.ellipse(image, (column, row), (round(0.85 * size), size), 0, 0, 360, level, -1)
    return image


def _above(image: BgrImage) -> NDArray[np.float32]:
    """The window of a frame where hair begins, above the face."""
    top, bottom = (_at(0.5, MIDDLE[1] - radius)[0] for radius in (0.67, 0.43))
    left, right = (_at(share, 0.5)[1] for share in (0.35, 0.65))
    return image[top:bottom, left:right].astype(np.float32)


def test_hairline_of_the_subject_is_gone_and_the_far_scene_is_untouched() -> None:
    """The planted fault: two people who differ by where their hair begins, and in nothing else."""
    images = [head(0.54), head(0.64)]
    patch = altered(skinned(patch_at(320, 180)))
    made, kept = (
        [published(image, [track_at(320, 180)], {1: one}) for image in images]
        for one in (patch, replace(patch, head=None))
    )
    told, before = (
        float(np.abs(_above(one) - _above(other)).mean()) for one, other in (made, kept)
    )
    assert before > 15
    assert told < 0.25 * before
    _, far = rings(SIDE_PX)
    assert all(
        np.array_equal(one[far], image[far]) for one, image in zip(made, images, strict=True)
    )


def test_hairlines_that_shine_elsewhere_come_out_alike() -> None:
    """The planted fault: people who differ by where hair shines at the face, in nothing else."""
    patch, images = altered(skinned(patch_at(320, 180))), [head(0.49), head(0.49)]
    row, column = _at(*MIDDLE)
    for image, aside in zip(images, (-30, 30), strict=True):
        place = (column + aside, row - round(0.53 * SIDE_PX))
        cv2.circle(image, place, round(0.06 * SIDE_PX), (150, 150, 150), -1)
    made = [published(image, [track_at(320, 180)], {1: patch}) for image in images]
    before, after = (
        float(np.abs(one[: row - 40].astype(int) - other[: row - 40]).mean())
        for one, other in (images, made)
    )
    assert before > 0.4
    assert after < 0.2 * before


def test_what_is_farther_out_stays_sharp() -> None:
    """A stripe pattern of 8 px, drawn in: it is neither blurred nor gone."""
    image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    image[:, (np.arange(WIDTH) // 8) % 2 == 0] = 150
    made = published(image, [track_at(320, 180)], {1: altered(patch_at(320, 180))})
    near, _ = rings(SIDE_PX)
    assert made[near].astype(float).std() > 0.7 * image[near].astype(float).std()


def test_heads_of_two_surrogates_differ() -> None:
    image = head(0.55)
    high, low = (
        published(image, [track_at(320, 180)], {1: altered(skinned(patch_at(320, 180)), *rest)})
        for rest in ((0,) * HEAD_TRAITS, (1,) * HEAD_TRAITS)
    )
    assert np.abs(_above(high) - _above(low)).mean() > 10


def test_head_without_traits_is_changed_less() -> None:
    image, patch = head(0.58), patch_at(320, 180)
    _, far = rings(SIDE_PX)
    changed = [
        np.abs(published(image, [track_at(320, 180)], {1: one}).astype(int) - image)[~far].mean()
        for one in (patch, altered(patch))
    ]
    assert changed[0] < changed[1]


def test_skin_runs_on_from_the_face_and_a_wall_does_not() -> None:
    changed = []
    for level in ((62, 77, 112), (160, 160, 160)):
        image = np.full((HEIGHT, WIDTH, 3), level, np.uint8)
        made = published(image, [track_at(320, 180)], {1: skinned(patch_at(320, 180))})
        changed.append(int(np.abs(made[_at(0.98, 0.53)].astype(int) - level).max()))
    assert changed[0] > 4
    assert changed[1] < 4


def test_a_neck_is_not_made_brighter_under_a_jaw() -> None:
    """A jaw stands out from the neck by its shade; made as bright, the neck showed a pale rim."""
    dark, bright = (60, 75, 105), (100, 120, 160)
    changed = []
    for level in (dark, bright):
        image = np.full((HEIGHT, WIDTH, 3), level, np.uint8)
        made = published(image, [track_at(320, 180)], {1: skinned(patch_at(320, 180))})
        changed.append(made[_at(0.5, 1.04)].astype(int) - level)
    assert changed[0].max() < 3
    assert changed[1].min() < -3


def test_face_that_fills_the_frame_has_no_black_ring() -> None:
    patch = patch_at(48, 40)
    soft = continued(picture_from_bgr(np.full((96, 96, 3), 120, np.uint8)), patch, [])
    assert soft is not None
    assert soft.pixels[soft.alpha > 0.5].min() > 35


def test_what_is_drawn_ends_gently_beside_another_face() -> None:
    tracks = [track_at(300, 180), track_at(430, 180, number=2)]
    image = scene()
    soft = continued(picture_from_bgr(image), patch_at(300, 180), [tracks[1].face.box_px])
    assert soft is not None
    left = round(float(tracks[1].face.box_px[0])) - soft.left
    row = soft.alpha[180 - soft.top, left - 30 : left + 10]
    assert row[-5:].max() == 0
    assert row[:5].min() > 0.9
    assert np.abs(np.diff(row)).max() < 0.4


def test_covers_of_other_faces_are_not_taken_for_hair() -> None:
    """The planted fault: people in a crowd got hair in the colour of covers beside them."""
    row, column = _at(*MIDDLE)
    size = round(SIDE_PX)
    box = np.array([column - size, row - size, column + 0.2 * size, row - 0.6 * size], np.float32)
    left, top, right, bottom = (round(float(value)) for value in box)
    bare = head(0.54)
    covered = bare.copy()
    covered[max(top, 0) : bottom, left:right] = (120, 70, 20)
    patch = altered(skinned(patch_at(320, 180)))

    def drawn(image: BgrImage, others: list[Box]) -> NDArray[np.float32]:
        layer = continued(picture_from_bgr(image), patch, others)
        assert layer is not None
        whole, (high, wide) = np.zeros((HEIGHT, WIDTH, 3), np.float32), layer.alpha.shape
        window = whole[layer.top : layer.top + high, layer.left : layer.left + wide]
        np.multiply(layer.pixels, layer.alpha[..., None], out=window)
        whole[top:bottom, left:right] = 0
        return whole

    told = np.abs(drawn(bare, [box]) - drawn(covered, [box])).max()
    fault = np.abs(drawn(bare, []) - drawn(covered, [])).max()
    assert fault > 20
    assert told == 0


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


def test_surroundings_come_from_the_composite_and_not_from_the_original(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[BgrImage] = []

    def spy(picture: Picture, patch: Patch, others: list[NDArray[np.float32]]) -> None:
        seen.append(picture.bgr())

    monkeypatch.setattr(face_layers, "continued", spy)
    image, neighbour = scene(), track_at(450, 180, number=2)
    published(image, [track_at(320, 180), neighbour], {1: patch_at(320, 180)})
    x0, y0, x1, y1 = (int(v) for v in neighbour.face.box_px)
    assert not np.any(np.all(seen[0][y0:y1, x0:x1] == image[y0:y1, x0:x1], axis=-1).mean() > 0.05)


def test_failing_surroundings_cover_the_whole_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(face_layers, "continued", broken)
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


@pytest.mark.parametrize(
    "head",
    [
        np.zeros(3),
        *(np.full(HEAD_TRAITS, value) for value in (np.nan, -0.1, 1.1)),
        np.zeros((1, HEAD_TRAITS)),
    ],
)
def test_face_with_broken_traits_is_covered(head: NDArray[np.float64]) -> None:
    patch = replace(patch_at(320, 180), head=head.astype(np.float32))
    frame = Frame(picture_from_bgr(scene()), 0, Fraction(1, 25), 0, "gate")
    (outcome,) = compose(frame, [track_at(320, 180)], {1: patch}).outcomes
    assert (outcome.result, outcome.cause) == ("covered", "patch has no proper head")


@pytest.mark.parametrize(("x", "y"), [(5, 5), (635, 395), (320, 2), (-300, 180)])
def test_face_at_the_edge_of_the_frame_is_drawn_inside_it(x: float, y: float) -> None:
    soft = continued(picture_from_bgr(scene()), patch_at(x, y), [])
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
def test_planes_of_a_decoder_are_changed_in_place(layout: Layout) -> None:
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


def test_what_was_read_of_a_head_before_counts_and_is_forgotten_in_time() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 220, np.uint8)
    cv2.ellipse(image, (320, 170), (66, 92), 0, 0, 360, (60, 60, 60), -1)
    alone, memory = altered(patch_at(320, 180)), HeadMemory()
    memory.steadied(Reading.HAIR, np.full(RAYS, 0.4, np.float32))
    patch = replace(alone, memory=memory)
    shown = [continued(picture_from_bgr(image), one, []) for one in (alone, *[patch] * 90)]
    first, *later = [one.pixels for one in shown if one is not None]
    away = [
        float(np.abs(one[:100, :100] - first[:100, :100]).mean()) for one in (later[0], later[-1])
    ]
    assert away[0] > 1
    assert away[1] < 0.1 * away[0]


def test_hair_has_the_colour_of_where_most_of_it_was_seen() -> None:
    """The planted fault: black hair before a white wall became grey, as its rim had been."""
    memory, begins = HeadMemory(), np.full(RAYS, 0.5, np.float32)
    surroundings._keep_colour(memory, fair_brows())
    for ends, grey in ((0.56, 160), (0.56, 150), (0.62, 60), (0.7, 40)):
        around = head_on_rays(0.5, ends, hair=(grey, grey, grey), noise=0.0)
        found = hair_on_rays(begins, np.full(RAYS, ends, np.float32))
        surroundings._keep_colour(memory, hair_colour(around, found))
    known = memory.known(Reading.SEEN)
    assert known is not None
    assert known[0].max() < 60


def test_hair_that_was_never_seen_is_as_brows_are() -> None:
    memory = HeadMemory()
    surroundings._keep_colour(memory, fair_brows())
    surroundings._keep_colour(memory, None)
    known = memory.known(Reading.SEEN)
    assert known is not None
    assert known[0].tolist() == [100, 120, 140]
    for _ in range(3):
        surroundings._keep_colour(memory, replace(fair_brows(), mean=GREY, seen=80))
    known = memory.known(Reading.SEEN)
    assert known is not None
    assert np.abs(known[0] - GREY).max() < 5


def test_a_head_that_its_patch_hides_wears_hair() -> None:
    """The planted fault: with nothing but a wall beyond the patch, a bald egg was drawn."""
    wall, bare = np.full((HEIGHT, WIDTH, 3), 190, np.uint8), skinned(patch_at(320, 180))
    bare.pixels[round(0.38 * SIDE) : round(0.42 * SIDE)] = 40
    above, _ = rings(SIDE_PX)
    above &= np.arange(HEIGHT)[:, None] < _at(0.5, 0.2)[0]
    seen = published(wall, [track_at(320, 180)], {1: altered(bare)})
    assert np.quantile(seen[above].mean(axis=1), 0.3) < 120
    head_of = skinned(patch_at(320, 180))
    assert published(wall, [track_at(320, 180)], {1: head_of})[above].min() > 120


def test_head_is_looked_at_in_every_third_frame_and_whenever_its_face_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[None] = []
    plan = surroundings._planned

    def counted(*given: Any) -> Any:
        made.append(None)
        return plan(*given)

    monkeypatch.setattr(surroundings, "_planned", counted)
    still = replace(altered(patch_at(320, 180)), memory=HeadMemory())
    assert still.outline is not None
    wider = replace(still, outline=0.5 + 1.1 * (still.outline - 0.5).astype(np.float32))
    looks = []
    for patch in (still, still, still, still, wider, wider, still):
        assert continued(picture_from_bgr(scene()), patch, []) is not None
        looks.append(len(made))
    assert looks == [1, 1, 1, 2, 3, 3, 4]


def test_patch_whose_rim_trembles_leaves_the_surroundings_steady() -> None:
    """The planted fault: a patch that is now wider and now narrower by a hundredth of its side."""
    image, rims = scene(), []
    for memory in (HeadMemory(), None):
        drawn = []
        for turn in range(24):
            patch = altered(patch_at(320, 180))
            wider = np.asarray(cv2.dilate(patch.alpha, np.ones((3, 3))), np.float32)
            trembling = replace(patch, alpha=wider if turn % 2 else patch.alpha, memory=memory)
            shown = continued(picture_from_bgr(image), trembling, [])
            assert shown is not None
            drawn.append(shown.pixels[shown.pixels.shape[0] // 6].mean())
        rims.append(np.abs(np.diff(drawn[12:])).mean())
    assert rims[0] < 0.5 * rims[1]
