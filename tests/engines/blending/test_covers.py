from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from engines.blending import obscuring
from engines.blending.covers import COVERS, DEFAULT_COVER, NamedCover, cover_named, grown_box
from engines.pictures import BgrImage, Picture
from engines.types import Box

pytestmark = pytest.mark.unit

Shape = tuple[int, int]
PARTS = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)


def landmarks_in(height: int, width: int) -> NDArray[np.float32]:
    return np.asarray(PARTS * np.array([width, height]), np.float32)


def whole(height: int, width: int) -> Box:
    return np.array([0, 0, width, height], np.float32)


def middle_difference(crop: BgrImage, painted: BgrImage, box: Box) -> float:
    x0, y0, x1, y1 = (float(value) for value in box)
    rows = slice(int(y0 + (y1 - y0) / 4), max(int(y0) + 1, int(np.ceil(y1 - (y1 - y0) / 4))))
    columns = slice(int(x0 + (x1 - x0) / 4), max(int(x0) + 1, int(np.ceil(x1 - (x1 - x0) / 4))))
    difference = crop[rows, columns].astype(int) - painted[rows, columns].astype(int)
    return float(np.abs(difference).mean())


shapes = st.tuples(st.integers(2, 48), st.integers(2, 48))


@st.composite
def crops(draw: st.DrawFn) -> BgrImage:
    """Anything: noise, flat colours, and pictures made to resemble the cover itself."""
    height, width = draw(shapes)
    kind = draw(st.sampled_from(["bytes", "flat", "covered", "exchanged"]))
    if kind == "bytes":
        return draw(hnp.arrays(np.uint8, (height, width, 3)))
    if kind == "flat":
        colour = draw(hnp.arrays(np.uint8, 3))
        return np.broadcast_to(colour, (height, width, 3)).copy()
    landmarks, box = landmarks_in(height, width), whole(height, width)
    first = obscuring.solid(np.full((height, width, 3), 110, np.uint8), landmarks, box)
    if kind == "covered":
        return first
    return obscuring.solid(first, landmarks, box)


@given(crops())
@settings(max_examples=300)
def test_default_cover_differs_from_any_content(crop: BgrImage) -> None:
    height, width = crop.shape[:2]
    painted = DEFAULT_COVER.paint(crop, landmarks_in(height, width))
    assert middle_difference(crop, painted, whole(height, width)) >= 32


@given(crops(), st.sampled_from(["yuv420", "yuv444"]))
@settings(max_examples=60)
def test_default_cover_differs_after_its_way_through_planes(crop: BgrImage, layout: str) -> None:
    height, width = crop.shape[:2]
    chroma = (-(-height // 2), -(-width // 2)) if layout == "yuv420" else (height, width)
    planes = (
        crop[..., 0].copy(),
        np.resize(crop[..., 1], chroma).copy(),
        np.resize(crop[..., 2], chroma).copy(),
    )
    picture = Picture(planes, "yuv420" if layout == "yuv420" else "yuv444")
    before = picture.bgr()
    painted = DEFAULT_COVER.paint(before, landmarks_in(height, width))
    picture.blend(0, 0, painted.astype(np.float32), np.ones((height, width), np.float32))
    assert middle_difference(before, picture.bgr(), whole(height, width)) >= 32


def test_default_cover_keeps_its_phase_over_ordinary_faces() -> None:
    """Frames of one face must not flicker between the two arrangements of the tones."""
    landmarks = landmarks_in(40, 40)
    looks = [
        DEFAULT_COVER.paint(np.full((40, 40, 3), level, np.uint8), landmarks)
        for level in range(0, 256, 15)
    ]
    assert all((look == looks[0]).all() for look in looks)


def test_default_cover_of_a_part_judges_the_box_not_the_crop() -> None:
    crop = np.full((60, 60, 3), 100, np.uint8)
    box = np.array([-30, -30, 30, 30], np.float32)
    painted = DEFAULT_COVER.paint(crop, landmarks_in(60, 60), box)
    assert middle_difference(crop[:15, :15], painted[:15, :15], whole(15, 15)) >= 32


@pytest.mark.parametrize("cover", COVERS.values(), ids=lambda cover: cover.name)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 2), (33, 50), (160, 120)])
def test_every_cover_is_pure_and_keeps_the_shape(cover: NamedCover, shape: Shape) -> None:
    crop = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    before = crop.copy()
    painted = cover.paint(crop, landmarks_in(*shape))
    assert (crop == before).all()
    assert painted.shape == crop.shape
    assert painted.dtype == np.uint8
    assert not np.shares_memory(painted, crop)


@pytest.mark.parametrize("cover", COVERS.values(), ids=lambda cover: cover.name)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30, -1e30])
def test_senseless_landmarks_and_box_do_not_stop_a_cover(cover: NamedCover, value: float) -> None:
    crop = np.full((20, 30, 3), 90, np.uint8)
    landmarks = np.full((5, 2), value, np.float32)
    painted = cover.paint(crop, landmarks, np.full(4, value, np.float32))
    assert painted.shape == crop.shape


@pytest.mark.parametrize(
    "name", [name for name, cover in COVERS.items() if cover.is_safe and not cover.is_soft]
)
def test_safe_cover_shows_nothing_of_what_lies_below(name: str) -> None:
    rng = np.random.default_rng(3)
    cover, box = cover_named(name), np.array([20, 20, 60, 60], np.float32)
    first = rng.integers(0, 256, (80, 80, 3)).astype(np.uint8)
    second = rng.integers(0, 256, (80, 80, 3)).astype(np.uint8)
    landmarks = landmarks_in(80, 80)
    inside = (slice(20, 60), slice(20, 60))
    assert (
        cover.paint(first, landmarks, box)[inside] == cover.paint(second, landmarks, box)[inside]
    ).all()


def test_unsafe_covers_say_so_in_one_line() -> None:
    unsafe = [cover for cover in COVERS.values() if not cover.is_safe]
    assert len(unsafe) > 10
    for cover in unsafe:
        assert "\n" not in cover.warning
        assert 20 < len(cover.warning) < 100
    assert DEFAULT_COVER.is_safe
    assert not DEFAULT_COVER.warning


def test_unknown_name_lists_the_covers() -> None:
    with pytest.raises(KeyError, match="solid, muted, ellipse"):
        cover_named("smudge")


def test_region_has_more_room_at_the_forehead_than_at_the_chin() -> None:
    box = np.array([100.0, 100.0, 200.0, 220.0])
    x0, y0, x1, y1 = grown_box(box, 1.3)
    assert (x1 - x0) / 100 == pytest.approx(1.3)
    assert 100 - y0 > y1 - 220 > 0.15 * 120


@pytest.mark.parametrize("side", [-1, 1])
def test_region_of_a_head_seen_from_the_side_reaches_behind_it(side: int) -> None:
    box = np.array([100.0, 100.0, 200.0, 220.0])
    landmarks = landmarks_in(120, 100) + np.float32(100)
    landmarks[2, 0] = 150 + 45 * side
    x0, _, x1, _ = grown_box(box, 1.3, landmarks)
    behind, before = (100 - x0, x1 - 200) if side > 0 else (x1 - 200, 100 - x0)
    assert behind == pytest.approx(45)
    assert before == pytest.approx(15)


def test_region_of_a_head_turned_a_little_or_unknown_stays_as_it_is() -> None:
    box = np.array([100.0, 100.0, 200.0, 220.0])
    landmarks = landmarks_in(120, 100) + np.float32(100)
    landmarks[2, 0] = 170
    unknown = np.full((5, 2), np.nan, np.float32)
    for points in (landmarks, unknown):
        assert (grown_box(box, 1.3, points) == grown_box(box, 1.3)).all()


def test_eyes_are_hidden_by_bar_and_t_and_the_nose_by_t_alone() -> None:
    crop = np.full((100, 100, 3), 200, np.uint8)
    landmarks = landmarks_in(100, 100)
    bar = cover_named("bar-mask").paint(crop, landmarks)
    both = cover_named("t-mask").paint(crop, landmarks)
    for x, y in landmarks[:2].astype(int):
        assert bar[y, x].max() == 0
        assert both[y, x].max() == 0
    x, y = landmarks[2].astype(int)
    assert bar[y, x].min() == 200
    assert both[y, x].max() == 0
    x, y = landmarks[3].astype(int)
    assert both[y, x].min() == 200


def test_mouth_only_shows_the_mouth_alone() -> None:
    crop = np.full((100, 100, 3), 200, np.uint8)
    landmarks = landmarks_in(100, 100)
    shown = cover_named("mouth-only").paint(crop, landmarks)
    assert shown[int(landmarks[3, 1]), int(landmarks[3, 0])].min() == 200
    for x, y in landmarks[:3].astype(int):
        assert shown[y, x].max() == 0


def ramp() -> BgrImage:
    return np.repeat(np.tile(np.arange(256, dtype=np.uint8), (64, 1))[..., None], 3, axis=2)


def painted_ramp(name: str) -> BgrImage:
    return cover_named(name).paint(ramp(), landmarks_in(64, 256))


def test_negative_is_its_own_inverse() -> None:
    assert (painted_ramp("negative") == 255 - ramp()).all()


def test_black_and_white_covers_have_two_levels() -> None:
    for name in ("threshold", "negative-bw", "noise-bw"):
        assert set(np.unique(painted_ramp(name))) == {0, 255}
    assert painted_ramp("threshold")[0, 117].max() == 0
    assert painted_ramp("threshold")[0, 118].min() == 255


def test_ordinal_has_five_levels() -> None:
    assert len(np.unique(painted_ramp("ordinal"))) == 5


def test_mosaic_has_eight_blocks_across() -> None:
    face = np.random.default_rng(1).integers(0, 256, (80, 64, 3)).astype(np.uint8)
    painted = cover_named("mosaic").paint(face, landmarks_in(80, 64))
    assert len(np.unique(painted.reshape(-1, 3), axis=0)) <= 8 * 7
    assert painted[:10, :10].std(axis=(0, 1)).max() == 0


def test_blur_and_cartoon_lose_detail_but_keep_the_mean() -> None:
    face = np.random.default_rng(1).integers(90, 166, (80, 64, 3)).astype(np.uint8)
    blurred = cover_named("blur").paint(face, landmarks_in(80, 64))
    assert abs(float(blurred.mean()) - float(face.mean())) < 4
    assert blurred.std() < face.std() / 4
    flat = cover_named("cartoon").paint(cv2.GaussianBlur(face, (0, 0), 4).astype(np.uint8), PARTS)
    assert len(np.unique(flat)) <= 9


def test_laplace_noise_follows_its_scale_and_source() -> None:
    grey = np.full((200, 200, 3), 128, np.uint8)
    noise = np.random.default_rng(5)
    painted = obscuring.laplace(grey, scale=10.0, noise=noise).astype(float)
    assert float(np.abs(painted - 128).mean()) == pytest.approx(10.0, rel=0.05)
    again = obscuring.laplace(grey, scale=10.0, noise=np.random.default_rng(5))
    assert (again == painted).all()
    assert (obscuring.laplace(grey) != obscuring.laplace(grey)).any()


def test_random_noise_takes_the_same_pixels_in_every_face() -> None:
    grey = np.full((64, 64, 3), 128, np.uint8)
    cover = cover_named("noise-grey")
    touched = [(cover.paint(grey, PARTS) != 128).any(axis=2) for _ in range(2)]
    assert (touched[0] == touched[1]).mean() > 0.98
    assert 0.40 < touched[0].mean() < 0.50
