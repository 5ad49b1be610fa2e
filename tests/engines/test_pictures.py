"""Pictures keep untouched pixels, and blends replace luma and colour together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.pictures import Layout, Matrix, Picture, picture_from_bgr

pytestmark = pytest.mark.unit

LAYOUTS: list[tuple[Layout, int]] = [
    ("yuv420", 8),
    ("yuv422", 8),
    ("yuv444", 8),
    ("yuv420", 10),
    ("yuv444", 12),
    ("gray", 8),
    ("bgr", 8),
]


def picture(layout: Layout, depth: int, height: int, width: int, seed: int = 0) -> Picture:
    rng = np.random.default_rng(seed)
    low, high = 16 << (depth - 8), 235 << (depth - 8)
    shapes: list[tuple[int, ...]] = [(height, width)]
    if layout == "bgr":
        shapes = [(height, width, 3)]
    elif layout == "yuv420":
        shapes += [((height + 1) // 2, (width + 1) // 2)] * 2
    elif layout == "yuv422":
        shapes += [(height, (width + 1) // 2)] * 2
    elif layout == "yuv444":
        shapes += [(height, width)] * 2
    values = [rng.integers(low, high, shape) for shape in shapes]
    if depth == 8:
        return Picture(tuple(v.astype(np.uint8) for v in values), layout, depth)
    return Picture(tuple(v.astype(np.uint16) for v in values), layout, depth)


@pytest.mark.parametrize(("layout", "depth"), LAYOUTS)
def test_zero_alpha_changes_nothing(layout: Layout, depth: int) -> None:
    subject = picture(layout, depth, 37, 51)
    before = subject.copy()
    subject.blend(4, 6, np.full((20, 21, 3), 200, np.float32), np.zeros((20, 21), np.float32))
    for plane, original in zip(subject.planes, before.planes, strict=True):
        np.testing.assert_array_equal(plane, original)


@pytest.mark.parametrize(("layout", "depth"), LAYOUTS)
def test_full_alpha_shows_the_patch_colour(layout: Layout, depth: int) -> None:
    subject = picture(layout, depth, 40, 60)
    colour = (60.0, 60.0, 60.0) if layout == "gray" else (40.0, 120.0, 180.0)
    patch = np.broadcast_to(np.array(colour, np.float32), (16, 16, 3)).copy()
    subject.blend(8, 8, patch, np.ones((16, 16), np.float32))
    region = subject.region_bgr(8, 8, 16, 16).astype(int)
    assert np.abs(region - np.array(colour)).max() <= 2


@pytest.mark.parametrize(("layout", "depth"), LAYOUTS)
@pytest.mark.parametrize("matrix", ["bt601", "bt709", "bt2020"])
def test_fill_and_read_back_agree(layout: Layout, depth: int, matrix: Matrix) -> None:
    source = picture(layout, depth, 9, 7)
    subject = Picture(source.planes, layout, depth, matrix, True)
    subject.fill((90, 90, 90))
    assert np.abs(subject.bgr().astype(int) - 90).max() <= 1


def test_replaced_luma_never_keeps_original_chroma() -> None:
    subject = picture("yuv420", 8, 16, 16, seed=3)
    alpha = np.zeros((16, 16), np.float32)
    alpha[5, 5] = 1.0
    subject.blend(0, 0, np.full((16, 16, 3), 128, np.float32), alpha)
    assert subject.planes[0][5, 5] == pytest.approx(126, abs=1)
    assert subject.planes[1][2, 2] == 128
    assert subject.planes[2][2, 2] == 128


def test_window_off_the_chroma_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="grid"):
        picture("yuv420", 8, 16, 16).region_bgr(1, 0, 4, 4)


def test_window_outside_the_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves"):
        picture("yuv420", 8, 16, 16).region_bgr(12, 0, 8, 8)


def test_wrapped_bgr_is_not_copied() -> None:
    image = np.zeros((3, 5, 3), np.uint8)
    assert picture_from_bgr(image).planes[0] is image


@given(
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    layout=st.sampled_from(LAYOUTS),
    data=st.data(),
)
def test_pixels_outside_the_window_are_untouched(
    height: int, width: int, layout: tuple[Layout, int], data: st.DataObject
) -> None:
    subject = picture(*layout, height, width)
    before = subject.copy()
    down, right = subject.grid
    top = data.draw(st.integers(0, (height - 1) // down)) * down
    left = data.draw(st.integers(0, (width - 1) // right)) * right
    rows = data.draw(st.integers(1, height - top))
    columns = data.draw(st.integers(1, width - left))
    subject.blend(
        top, left, np.zeros((rows, columns, 3), np.float32), np.ones((rows, columns), np.float32)
    )
    outside = np.ones((height, width), bool)
    outside[top : top + rows, left : left + columns] = False
    np.testing.assert_array_equal(subject.planes[0][outside], before.planes[0][outside])


@pytest.mark.parametrize(("layout", "depth"), LAYOUTS)
def test_overwrite_equals_an_opaque_blend(layout: Layout, depth: int) -> None:
    one, other = picture(layout, depth, 33, 47), picture(layout, depth, 33, 47)
    patch = np.random.default_rng(1).integers(0, 256, (21, 27, 3)).astype(np.uint8)
    one.overwrite(12, 20, patch)
    other.blend(12, 20, patch.astype(np.float32), np.ones((21, 27), np.float32))
    for mine, theirs in zip(one.planes, other.planes, strict=True):
        assert np.abs(mine.astype(int) - theirs.astype(int)).max() <= 1


def empty(layout: Layout, depth: int, *, is_full_range: bool) -> Picture:
    planes = picture(layout, depth, 6, 8).planes
    return Picture(planes, layout, depth, "bt709", is_full_range)


@pytest.mark.parametrize("colour", [(255, 0, 0), (0, 0, 255), (0, 255, 0), (255, 255, 255)])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_purest_colours_of_full_range_survive_a_fill(
    depth: int, colour: tuple[int, int, int]
) -> None:
    subject = empty("yuv444", depth, is_full_range=True)
    subject.fill(colour)
    assert np.abs(subject.bgr().astype(int) - colour).max() <= 2


@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("layout", ["yuv420", "yuv444", "gray", "bgr"])
def test_white_of_full_range_takes_the_largest_value(layout: Layout, depth: int) -> None:
    subject, largest = empty(layout, depth, is_full_range=True), (1 << depth) - 1
    white = np.full((6, 8, 3), 255, np.uint8)
    subject.fill((255, 255, 255))
    assert (subject.planes[0] == largest).all()
    subject.fill((0, 0, 0))
    subject.overwrite(0, 0, white)
    assert (subject.planes[0] == largest).all()
    subject.fill((0, 0, 0))
    subject.blend(0, 0, white.astype(np.float32), np.ones((6, 8), np.float32))
    assert (subject.planes[0] == largest).all()
    assert all((plane == 1 << (depth - 1)).all() for plane in subject.planes[1:])
    assert (subject.bgr() == 255).all()


@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_white_of_limited_range_stays_where_the_standard_puts_it(depth: int) -> None:
    subject = empty("yuv444", depth, is_full_range=False)
    subject.fill((255, 255, 255))
    assert [int(plane[0, 0]) for plane in subject.planes] == [
        235 << (depth - 8),
        128 << (depth - 8),
        128 << (depth - 8),
    ]


@pytest.mark.parametrize(("value", "seen"), [(401, 100), (402, 100), (403, 101), (1023, 255)])
def test_deeper_samples_are_rounded_to_8_bits(value: int, seen: int) -> None:
    planes = (np.full((4, 4), value, np.uint16), *[np.full((4, 4), 512, np.uint16)] * 2)
    eight = (np.full((4, 4), seen, np.uint8), *[np.full((4, 4), 128, np.uint8)] * 2)
    deep, shallow = Picture(planes, "yuv444", 10), Picture(eight, "yuv444", 8)
    np.testing.assert_array_equal(deep.bgr(), shallow.bgr())
    np.testing.assert_array_equal(deep.region_bgr(0, 0, 4, 4), shallow.bgr())
