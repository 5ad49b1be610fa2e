"""Samples pass between codec and pipeline unchanged, whatever the layout, size and turn."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.pictures import Layout, Picture
from stream.media.planes import (
    fitted,
    format_of_picture,
    frame_from_picture,
    neutral_picture,
    picture_format,
    picture_from_frame,
    turned,
)
from stream.media.reading.probe import ColourTags, matrix_from_tag, quarter_turns

pytestmark = pytest.mark.unit

LAYOUTS: list[tuple[Layout, int]] = [
    ("yuv420", 8),
    ("yuv422", 8),
    ("yuv444", 8),
    ("yuv420", 10),
    ("yuv444", 12),
    ("gray", 8),
    ("gray", 16),
    ("bgr", 8),
    ("bgr", 16),
]


FOREIGN_FORMATS = [
    "nv12",
    "p010le",
    "pal8",
    "rgb24",
    "gbrp10le",
    "yuyv422",
    "yuv440p",
    "yuva420p",
    "yuv411p",
    "gbrp",
    "rgba64be",
    "ya8",
    "yuv420p9le",
    "bgra",
    "yuv422p10be",
    "monow",
]


def noise(layout: Layout, depth: int, height: int, width: int) -> Picture:
    picture = neutral_picture(height, width, layout, depth, ColourTags())
    rng = np.random.default_rng(height * 1000 + width)
    for plane in picture.planes:
        plane[...] = rng.integers(0, 1 << depth, plane.shape)
    return picture


@given(st.sampled_from(LAYOUTS), st.integers(1, 40), st.integers(1, 40), st.integers(0, 3))
def test_round_trip_keeps_every_sample(
    layout: tuple[Layout, int], height: int, width: int, turns: int
) -> None:
    if layout[0] == "yuv422" and turns % 2:
        return
    before = noise(*layout, height, width)
    name = format_of_picture(*layout)
    coded = frame_from_picture(before, name, 0, 7, Fraction(1, 25))
    upright = picture_from_frame(coded, *layout, turns)
    again = frame_from_picture(upright, name, turns, 7, Fraction(1, 25))
    after = picture_from_frame(again, *layout)
    assert (coded.pts, coded.time_base) == (7, Fraction(1, 25))
    for one, other in zip(before.planes, after.planes, strict=True):
        np.testing.assert_array_equal(one, other)


def test_picture_owns_its_samples() -> None:
    frame = av.VideoFrame(32, 16, "yuv420p")
    picture = picture_from_frame(frame, "yuv420", 8)
    picture.fill((255, 255, 255))
    again = picture_from_frame(frame, "yuv420", 8)
    assert not np.array_equal(again.planes[0], picture.planes[0])


@pytest.mark.parametrize(
    "name",
    FOREIGN_FORMATS,
)
def test_any_decoder_format_becomes_a_picture(name: str) -> None:
    layout, depth = picture_format(name)
    picture = picture_from_frame(av.VideoFrame(32, 16, name), layout, depth)
    assert (picture.height, picture.width, picture.layout) == (16, 32, layout)


@pytest.mark.parametrize("matrix", [1, 5, 9])
@pytest.mark.parametrize("full", [1, 2])
def test_colours_agree_with_the_codec_library(matrix: int, full: int) -> None:
    bgr = np.zeros((16, 16, 3), np.uint8)
    bgr[...] = (40, 120, 200)
    frame = av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(
        format="yuv444p", dst_colorspace=matrix, dst_color_range=full
    )
    frame.colorspace, frame.color_range = matrix, full
    picture = picture_from_frame(frame, "yuv444", 8)
    assert np.abs(picture.bgr().astype(int) - bgr).max() <= 3


def test_limited_picture_is_widened_for_a_full_range_encoder() -> None:
    picture = neutral_picture(16, 16, "yuv420", 8, ColourTags(range=1))
    picture.fill((255, 255, 255))
    frame = frame_from_picture(picture, "yuvj420p", 0, 0, Fraction(1))
    assert picture_from_frame(frame, "yuv420", 8).planes[0].min() >= 253


@pytest.mark.parametrize("depth", [8, 10, 12])
@pytest.mark.parametrize("layout", ["yuv420", "yuv422", "yuv444"])
@pytest.mark.parametrize("range_", [1, 2])
@pytest.mark.parametrize("turns", [0, 1])
def test_grey_keeps_its_luma_and_range_in_a_coding_of_colours(
    turns: int, range_: int, layout: Layout, depth: int
) -> None:
    picture = neutral_picture(15, 20, "gray", depth, ColourTags(range=range_))
    picture.planes[0][...] = np.arange(300).reshape(15, 20) % 219 << (depth - 8)
    pixel_format = format_of_picture(layout, depth)
    frame = frame_from_picture(picture, pixel_format, turns, 0, Fraction(1))
    assert frame.color_range == range_
    back = picture_from_frame(frame, layout, depth, turns if layout != "yuv422" else 0)
    luma = back.planes[0] if layout != "yuv422" else np.rot90(back.planes[0], turns)
    np.testing.assert_array_equal(luma, picture.planes[0])
    assert all((chroma == 1 << (depth - 1)).all() for chroma in back.planes[1:])


def test_limited_grey_is_widened_for_a_full_range_encoder() -> None:
    picture = neutral_picture(16, 16, "gray", 8, ColourTags(range=1))
    picture.planes[0][...] = 235
    frame = frame_from_picture(picture, "yuvj420p", 0, 0, Fraction(1))
    assert picture_from_frame(frame, "yuv420", 8).planes[0].min() >= 253


def test_fitted_picture_keeps_all_content_on_black() -> None:
    wide = neutral_picture(20, 80, "yuv420", 8, ColourTags(range=1))
    wide.fill((255, 255, 255))
    small = fitted(wide, 40, 40)
    assert (small.height, small.width) == (40, 40)
    rows = small.bgr().mean(axis=(1, 2))
    assert rows[:14].max() < 10
    assert rows[16:24].min() > 240


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 4, -1])
def test_turned_agrees_with_numpy(turns: int) -> None:
    plane = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.testing.assert_array_equal(turned(plane, turns), np.rot90(plane, turns))


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("flip", [False, True])
def test_quarter_turns_bring_the_shown_top_up(degrees: int, flip: bool) -> None:
    angle = np.deg2rad(degrees)
    a, b = round(np.cos(angle)), -round(np.sin(angle))
    c, d = -b, a
    if flip:
        a, c = -a, -c
    matrix = (a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    turns = quarter_turns(matrix)
    shown = np.array([[a, c], [b, d]])
    up = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}[turns]
    assert tuple(shown @ np.array(up)) == (0, -1)


def test_unknown_matrix_falls_back_by_height() -> None:
    assert matrix_from_tag(2, 576) == "bt601"
    assert matrix_from_tag(99, 1080) == "bt709"
    assert quarter_turns((0,) * 9) == 0
    assert quarter_turns(None) == 0
