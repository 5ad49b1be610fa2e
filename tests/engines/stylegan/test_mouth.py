"""Open mouths show teeth and dark, shut ones a seam; nothing outside the lips changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import engines
from engines.stylegan.mouth import INSIDE, draw_mouth, inside_of_mouth, mouth_width, usual_inside
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    POINTS,
)

pytestmark = pytest.mark.unit

SIDE = 256
SKIN = np.array([110.0, 140.0, 190.0], np.float32)
MIDDLE = np.array([0.5, 0.75], np.float32)

Float32 = NDArray[np.float32]


def face(gap: float, width: float = 0.3, turn: float = 0.0) -> Float32:
    """Points of a face of which only the mouth, the eyes' distance and the nose matter.

    Args:
        gap: of the lips, crop units.
        width: of the mouth, crop units.
        turn: of the mouth in the picture, radians.
    """
    points = np.zeros((POINTS, 3), np.float32)
    points[EYE_LEFT_SLICE] = (0.22, 0.37, 0)
    points[EYE_RIGHT_SLICE] = (0.78, 0.37, 0)
    points[NOSE_BRIDGE_SLICE] = points[NOSE_BASE_SLICE] = (0.5, 0.45, 0)
    way = np.linspace(-1, 1, 11)
    lower = np.stack([width / 2 * way, gap / 2 * (1 - way**2)], axis=1)
    upper = np.stack([width / 2 * way, -gap / 2 * (1 - way**2)], axis=1)
    ring = np.concatenate([lower, upper[-2:0:-1]])
    turned = ring @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    points[LIPS_INNER_SLICE, :2] = MIDDLE + turned
    return points


def plain() -> Float32:
    return np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)


def drawn(points: Float32, stretch: float = 1.05) -> Float32:
    pixels = plain()
    draw_mouth(pixels, points, usual_inside(points, stretch))
    return pixels


def down_the_middle(pixels: Float32, points: Float32) -> Float32:
    """Brightness from the upper lip to the lower one over two teeth, as a share of the skin's."""
    rows = np.round(points[LIPS_INNER_SLICE][[15, 5], 1] * SIDE).astype(int)
    middle = round(MIDDLE[0] * SIDE)
    columns = pixels[rows[0] : rows[1], middle - 10 : middle + 10]
    return np.asarray(columns.mean(axis=(1, 2)) / SKIN.mean(), np.float32)


def test_a_smile_bares_the_upper_teeth_alone() -> None:
    points = face(gap=0.09)
    inside = down_the_middle(drawn(points), points)
    half = len(inside) // 2
    assert inside[half // 2 : half].mean() > 1.0
    assert inside[-4:].mean() < 0.8


def test_a_mouth_that_only_opens_shows_less_of_them() -> None:
    shown = []
    for stretch in (0.9, 0.98, 1.05):
        points = face(gap=0.09)
        shown.append(float((down_the_middle(drawn(points, stretch), points) > 0.9).mean()))
    assert shown == sorted(shown)
    assert shown[0] < shown[-1] / 2


def test_a_wide_open_mouth_is_dark_below_the_teeth() -> None:
    points = face(gap=0.14, width=0.25)
    inside = down_the_middle(drawn(points, 0.95), points)
    assert inside[len(inside) // 2 : -6].min() < 0.45


def test_shut_lips_meet_in_a_dark_line_without_pale_rags() -> None:
    points = face(gap=0.004)
    pixels = plain()
    row = round(MIDDLE[1] * SIDE)
    pixels[row - 1 : row + 1, 100:156] = 250.0
    draw_mouth(pixels, points, usual_inside(points, 1.0))
    assert pixels[row - 1 : row + 1, 110:146].mean() < SKIN.mean()
    dark = np.zeros_like(plain())
    before = dark.copy()
    draw_mouth(dark, points, usual_inside(points, 1.0))
    assert np.array_equal(dark, before)


def test_nothing_is_drawn_outside_the_lips() -> None:
    for gap in (0.0, 0.03, 0.1):
        rows, columns = np.nonzero(np.abs(drawn(face(gap)) - SKIN).max(axis=2) > 4)
        reach = gap / 2 + 0.02
        assert rows.min() / SIDE > MIDDLE[1] - reach
        assert rows.max() / SIDE < MIDDLE[1] + reach
        assert np.abs(columns / SIDE - MIDDLE[0]).max() < 0.17


def test_it_turns_with_the_mouth() -> None:
    level, turned = (np.abs(drawn(face(0.09, turn=turn)) - SKIN).max(axis=2) for turn in (0, 0.5))
    spread = np.cov(np.argwhere(turned > 20)[:, ::-1].T)
    across, down = np.linalg.eigh(spread)[1][:, -1]
    assert np.arctan(down / across) == pytest.approx(0.5, abs=0.02)
    assert (turned > 20).sum() == pytest.approx((level > 20).sum(), rel=0.1)


def test_it_opens_bit_by_bit() -> None:
    gaps = np.linspace(0.005, 0.04, 36)
    frames = [drawn(face(float(gap))) for gap in gaps]
    steps = [np.abs(after - before).max() for before, after in pairwise(frames)]
    assert max(steps) < 45


def test_a_mouth_seen_edge_on_is_left_alone() -> None:
    points = face(gap=0.09)
    points[LIPS_INNER_SLICE, 2] = (points[LIPS_INNER_SLICE, 0] - 0.5) * 4
    assert np.array_equal(drawn(points), plain())


@pytest.mark.parametrize("at", [-2.0, -0.02, 1.02, 3.0, np.float32(1e6)])
def test_mouths_beyond_the_picture_harm_nothing(at: float) -> None:
    points = face(gap=0.09)
    points[LIPS_INNER_SLICE, 0] += at - 0.5
    assert np.isfinite(drawn(points)).all()


def test_tangled_lips_harm_nothing() -> None:
    points = face(gap=0.09)
    points[LIPS_INNER_SLICE] = points[LIPS_INNER_SLICE][::-1]
    points[LIPS_INNER_SLICE][::3] *= 1.1
    assert np.isfinite(drawn(points)).all()


def test_width_is_a_share_of_the_eyes_distance() -> None:
    faces = np.stack([face(0.0, width=0.28), face(0.05, width=0.14, turn=0.7)])
    assert mouth_width(faces) == pytest.approx([0.5, 0.25], rel=1e-4)
    assert mouth_width(3 * faces) == pytest.approx([0.5, 0.25], rel=1e-4)


def test_the_mean_face_gets_a_mouth_where_its_lips_are() -> None:
    shape = load_shape_model(Path(engines.__path__[0]) / "weights" / "shape.npz")
    points = points_at_rest(shape)[0]
    rows, columns = np.nonzero(np.abs(drawn(points) - SKIN).max(axis=2) > 10)
    lips = points[LIPS_INNER_SLICE, :2] * SIDE
    assert len(rows) > 100
    assert (lips.min(axis=0) - 4 < (columns.min(), rows.min())).all()
    assert (lips.max(axis=0) + 4 > (columns.max(), rows.max())).all()


def test_a_mouth_is_drawn_about_its_middle_to_a_part_of_a_pixel() -> None:
    changed = np.abs(drawn(face(gap=0.09)) - SKIN).sum(axis=(0, 2))
    middle = float((changed * (np.arange(SIDE) + 0.5)).sum() / changed.sum())
    assert middle == pytest.approx(0.5 * SIDE, abs=0.1)


def shown(points: Float32, rows: Sequence[tuple[float, float, float]]) -> NDArray[np.uint8]:
    """A crop of plain skin whose mouth shows these colours in bands, shares of the skin's."""
    crop = plain()
    upper, lower = points[LIPS_INNER_SLICE][[15, 5], 1] * SIDE
    for row, share in enumerate(rows):
        first, last = (round(upper + (lower - upper) * end / len(rows)) for end in (row, row + 1))
        crop[first:last, 80:176] = SKIN * np.array(share, np.float32)
    return crop.astype(np.uint8)


TEETH, DARK = (1.0, 0.9, 0.8), (0.2, 0.2, 0.2)


def test_a_mouth_is_painted_as_it_was_read() -> None:
    points = face(gap=0.12)
    for rows in ((TEETH, DARK), (DARK, TEETH), (DARK, DARK)):
        read = inside_of_mouth(shown(points, rows), points)
        assert read.shape == INSIDE
        pixels = plain()
        draw_mouth(pixels, points, read)
        seen = down_the_middle(pixels, points)
        middles = seen[len(seen) // 4], seen[3 * len(seen) // 4]
        wanted = [np.mean(np.array(share) * SKIN) / SKIN.mean() for share in rows]
        assert middles == pytest.approx(wanted, abs=0.15)


@pytest.mark.parametrize("turn", [-0.6, 0.0, 0.6])
def test_a_mouth_is_read_in_any_light_and_at_any_turn(turn: float) -> None:
    points = face(gap=0.12, turn=turn)
    crop = plain()
    draw_mouth(crop, points, np.full(INSIDE, 0.3, np.float32))
    for lamp in (0.5, 1.0, 1.2):
        read = inside_of_mouth((crop * lamp).astype(np.uint8), points)
        assert read[2:4, 2:-2] == pytest.approx(np.full((2, 5, 3), 0.3), abs=0.05)


def test_what_is_read_is_too_coarse_to_tell_teeth_apart() -> None:
    points = face(gap=0.12)
    crop = shown(points, (TEETH, TEETH))
    gaps = crop.copy()
    gaps[:, 82:176:6] = gaps[:, 83:176:6] = (SKIN * 0.3).astype(np.uint8)
    apart = inside_of_mouth(gaps, points) - inside_of_mouth(crop, points)
    assert np.ptp(apart[2:4, 3:-3].mean(axis=(0, 2))) < 0.2


def test_lines_part_teeth_and_not_lips() -> None:
    points = face(gap=0.09)
    for share, is_parted in ((TEETH, True), ((0.8, 0.9, 1.0), False)):
        pixels = plain()
        draw_mouth(pixels, points, np.broadcast_to(np.array(share, np.float32), INSIDE).copy())
        row = round(MIDDLE[1] * SIDE)
        along = pixels[row, 108:148].mean(axis=1)
        assert (np.ptp(along) > 10) == is_parted


def test_the_seam_of_a_texture_does_not_line_open_lips() -> None:
    points = face(gap=0.09)
    lower = round(points[LIPS_INNER_SLICE][5, 1] * SIDE)
    spotted = plain()
    spotted[lower : lower + 2, 124:132:3] = 20.0
    draw_mouth(spotted, points, np.full(INSIDE, 0.5, np.float32))
    assert spotted[lower + 1, 122:134].mean(axis=1).min() > SKIN.mean() / 2


@pytest.mark.parametrize("at", [-2.0, 0.999, 1.5, np.float32(1e6)])
def test_lips_beyond_the_crop_are_read_as_numbers(at: float) -> None:
    points = face(gap=0.09)
    points[LIPS_INNER_SLICE, 0] += at - 0.5
    assert np.isfinite(inside_of_mouth(plain().astype(np.uint8), points)).all()
