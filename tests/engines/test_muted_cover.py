"""The muted cover takes colours of the scene, and nothing else of a face."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.covering import cover_faces
from engines.covers import cover_named
from engines.muted_cover import CELLS, figure, ground, muted
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face, Track, TrackState
from evaluation.under_cover import is_under_cover

pytestmark = pytest.mark.unit

PARTS = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)
BOX = np.array([20, 20, 60, 60], np.float32)
POINTS = PARTS * 40 + 20


def scene(seed: int = 0, size: int = 80) -> BgrImage:
    image = np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8)
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 2), np.uint8)


def shuffled(image: BgrImage, rows: slice, columns: slice, seed: int = 1) -> BgrImage:
    """The same pixels in other places of a window."""
    changed = image.copy()
    pixels = changed[rows, columns].reshape(-1, 3)
    pixels = np.random.default_rng(seed).permutation(pixels)
    changed[rows, columns] = pixels.reshape(changed[rows, columns].shape)
    return changed


def face_at(x: float, y: float, size: float) -> Face:
    box = np.array([x, y, x + size, y + size], np.float32)
    return Face(box, PARTS * np.float32(size) + box[:2], 0.9)


def covered(
    image: BgrImage, faces: list[Face], unconfirmed: frozenset[int] = frozenset()
) -> NDArray[np.uint8]:
    tracks = [
        Track(number, face, TrackState.DETECTED, 9, number not in unconfirmed)
        for number, face in enumerate(faces)
    ]
    picture = picture_from_bgr(image.copy())
    cover_faces(picture, tracks, cover_named("muted"), 1.3)
    return picture.bgr()


@given(st.integers(0, 2**16))
@settings(max_examples=40, deadline=None)
def test_who_has_the_same_colours_gets_the_same_cover(seed: int) -> None:
    first = scene(seed)
    around = first.copy()
    around[5:75, 5:75] = scene(seed + 1)[5:75, 5:75]
    around[30:50, 30:50] = first[30:50, 30:50]
    second = shuffled(around, slice(30, 50), slice(30, 50))
    assert (muted(first, POINTS, BOX) == muted(second, POINTS, BOX)).all()


def test_neighbours_show_nothing_of_each_other_but_one_colour() -> None:
    faces = [face_at(30, 30, 40), face_at(62, 40, 36), face_at(50, 64, 30)]
    first = scene(5, 130)
    second = first
    for face in faces:
        x0, y0, x1, y1 = (int(value) for value in face.box_px)
        quarter = (x1 - x0) // 4
        second = shuffled(
            second, slice(y0 + quarter, y1 - quarter), slice(x0 + quarter, x1 - quarter)
        )
    assert (first != second).any()
    assert (covered(first, faces) == covered(second, faces)).all()


@pytest.mark.parametrize("turns", range(4))
def test_an_edge_that_cuts_a_face_gives_no_colours_of_it(turns: int) -> None:
    """The planted fault: ground ran on from the outermost pixels, which were the face itself."""
    image = np.full((80, 80, 3), (90, 110, 130), np.uint8)
    image[30:40, 55:], image[40:50, 55:] = 0, 255
    across = {0: (60, 20), 1: (20, -20), 2: (-20, 20), 3: (20, 60)}[turns]
    turned = np.ascontiguousarray(np.rot90(image, turns))
    made = np.rot90(covered(turned, [face_at(*across, 40)], frozenset({0})), -turns)
    assert np.ptp(made[25:55, -1].astype(int), axis=0).max() < 40
    assert np.ptp(image[25:55, -1]) == 255


def test_no_region_keeps_a_pixel_of_what_it_hides() -> None:
    checks = np.indices((130, 130)).sum(0) % 2 * 255
    image = np.repeat(checks.astype(np.uint8)[..., None], 3, axis=2)
    faces = [face_at(30, 30, 40), face_at(62, 40, 36), face_at(50, 64, 30)]
    made = covered(image, faces).astype(int)
    for face in faces:
        x0, y0, x1, y1 = (int(value) for value in face.box_px)
        inside = made[y0:y1, x0:x1]
        assert np.abs(np.diff(inside, axis=1)).max() < 120


def test_faces_of_neighbours_lie_on_the_ground_of_both() -> None:
    faces = [face_at(30, 30, 40), face_at(68, 34, 36)]
    made = covered(np.full((130, 140, 3), (90, 110, 130), np.uint8), faces)
    assert all(is_under_cover(made, face) for face in faces)


def test_a_find_that_is_not_confirmed_gets_ground_alone() -> None:
    image = np.full((130, 140, 3), (90, 110, 130), np.uint8)
    faces = [face_at(30, 30, 40), face_at(68, 34, 36)]
    for face in faces:
        x0, y0, x1, y1 = (int(value) for value in face.box_px)
        image[y0:y1, x0:x1] = (40, 60, 70)
    made = covered(image, faces, frozenset({1}))
    bare, figures = made[44:60, 80:94].astype(int), made[40:60, 40:60].astype(int)
    assert figures.std(axis=(0, 1)).min() > 5
    assert np.abs(bare - (90, 110, 130)).max() <= 8


@pytest.mark.parametrize(("size", "is_shown"), [(12, True), (40, False)])
def test_a_small_find_keeps_its_face(size: float, is_shown: bool) -> None:
    image = np.full((300, 300, 3), (90, 110, 130), np.uint8)
    image[100 : 100 + round(size), 100 : 100 + round(size)] = (40, 60, 70)
    made = covered(image, [face_at(100, 100, size)], frozenset({0}))
    middle = slice(100 + round(size / 4), 100 + round(size * 3 / 4))
    assert bool(made[middle, middle].std(axis=(0, 1)).max() > 5) is is_shown


@pytest.mark.parametrize("level", [0, 20, 128, 235, 255])
def test_ground_that_looks_like_what_it_hides_gets_a_face_all_the_same(level: int) -> None:
    """The planted fault: a dim face on its own colour would be left nearly as it was."""
    image = np.full((120, 120, 3), level, np.uint8)
    face = face_at(40, 40, 40)
    change = np.abs(covered(image, [face], frozenset({0})).astype(int) - image)
    assert change[50:70, 50:70].mean() >= 12


def test_the_edge_of_a_region_is_no_step() -> None:
    down, across = np.mgrid[0:200, 0:200]
    stripes = (128 + 60 * np.sin(across / 6) * np.sin(down / 6)).astype(np.uint8)
    made = covered(np.repeat(stripes[..., None], 3, axis=2), [face_at(60, 60, 80)])
    before, after = (
        np.abs(np.diff(image[..., 0].astype(int), axis=1))
        for image in (np.repeat(stripes[..., None], 3, axis=2), made)
    )
    outside = np.r_[30:50, 150:170]
    assert after[:, outside].max() <= before.max() + 4


def test_ground_goes_on_as_it_is_around() -> None:
    down, across = np.mgrid[0:90, 0:70]
    ramp = np.stack([down * 2, across * 2, down + across], axis=2).astype(np.uint8)
    spoiled = ramp.copy()
    spoiled[10:80, 10:60] = 255
    cells = cv2.resize(spoiled, (CELLS, CELLS), interpolation=cv2.INTER_AREA)
    assert np.abs(ground(np.asarray(cells, np.uint8), 90, 70).astype(int) - ramp).max() <= 8


@pytest.mark.parametrize("level", [0, 20, 128, 235, 255])
def test_it_differs_from_a_flat_place(level: int) -> None:
    crop = np.full((80, 80, 3), level, np.uint8)
    change = muted(crop, POINTS, BOX).astype(int) - crop
    assert np.abs(change[30:50, 30:50]).mean() >= 12


def test_it_is_lighter_or_darker_over_what_looks_like_it() -> None:
    once = muted(scene(), POINTS, BOX)
    twice = muted(once, POINTS, BOX)
    change = np.abs(twice[30:50, 30:50].astype(int) - once[30:50, 30:50])
    assert change.mean() >= 12


def test_a_figure_larger_than_its_region_ends_softly_in_it() -> None:
    drawn = figure(scene(), (POINTS - 40) * 2 + 40, BOX)
    assert max(drawn.alpha[0].max(), drawn.alpha[:, 0].max(), drawn.alpha[-1].max()) < 0.1
    assert drawn.alpha[30:50, 30:50].min() == 1


@pytest.mark.parametrize("level", [0, 255])
def test_it_is_drawn_over_black_and_white_too(level: int) -> None:
    drawn = figure(np.full((80, 80, 3), level, np.uint8), POINTS, BOX)
    assert drawn.pixels[30:50, 30:50].std() > 3
    assert drawn.alpha.max() == 1
