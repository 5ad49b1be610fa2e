"""The muted cover is plain, opaque over the face, and takes nothing of it but its tone."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.blending.covering import cover_faces
from engines.blending.covers import DEFAULT_MARGIN, cover_named, ellipses_over
from engines.blending.muted_cover import opacity
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face, Track, TrackState
from evaluation.bare import is_bare
from evaluation.under_cover import is_under_cover

pytestmark = pytest.mark.unit

PARTS = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)
SIZE = 160
_MIDDLE = 0.6
"""Share of a face's oval in which a cover has its tone."""
FACES = st.tuples(st.floats(30, 90), st.floats(30, 90), st.floats(12, 60))


def scene(seed: int = 0, size: int = SIZE) -> BgrImage:
    image = np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8)
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 2), np.uint8)


def face_at(x: float, y: float, size: float) -> Face:
    box = np.array([x, y, x + size, y + size], np.float32)
    return Face(box, PARTS * np.float32(size) + box[:2], 0.9)


def covered(image: BgrImage, faces: list[Face]) -> NDArray[np.uint8]:
    tracks = [Track(number, face, TrackState.DETECTED, 9) for number, face in enumerate(faces)]
    picture = picture_from_bgr(image.copy())
    cover_faces(picture, tracks, cover_named("muted"), DEFAULT_MARGIN)
    return picture.bgr()


def within(face: Face, share: float = 0.95) -> NDArray[np.bool_]:
    """The oval of a face in its box."""
    rows, columns = np.indices((SIZE, SIZE)) + 0.5
    middle, half = (face.box_px[:2] + face.box_px[2:]) / 2, np.ptp(face.box_px[::2]) / 2 * share
    inside: NDArray[np.bool_] = np.hypot(columns - middle[0], rows - middle[1]) <= half
    return inside


@given(FACES, st.integers(0, 2**16))
@settings(max_examples=40)
def test_nothing_of_a_face_enters_but_its_mean_colour(
    where: tuple[float, float, float], seed: int
) -> None:
    face = face_at(*where)
    first = np.full((SIZE, SIZE, 3), (90, 110, 130), np.uint8)
    first[within(face)] = 200
    second = first.copy()
    lively = np.random.default_rng(seed).choice(np.array([150, 250], np.uint8), second.shape)
    second[within(face)] = lively[within(face)]
    core = within(face, _MIDDLE)
    change = covered(second, [face]).astype(int) - covered(first, [face])
    # The mean of so many pixels, each 50 levels off, differs by no more than four deviations.
    most = 4 * 50 / np.sqrt(core.sum()) + 4
    assert np.abs(change).max() <= most
    assert np.ptp(change[core], axis=0).max() <= 0.6 * most


@given(st.lists(FACES, min_size=1, max_size=4))
@settings(max_examples=30)
def test_no_pixel_of_any_face_is_left(wheres: list[tuple[float, float, float]]) -> None:
    checks = (np.indices((SIZE, SIZE)).sum(0) % 2 * 255).astype(np.uint8)
    image = np.repeat(checks[..., None], 3, axis=2)
    faces = [face_at(*where) for where in wheres]
    made = covered(image, faces).astype(int)
    for face in faces:
        inside = within(face)
        steps = np.abs(np.diff(made, axis=1)).max(axis=2)
        assert steps[inside[:, 1:] & inside[:, :-1]].max() < 120


@pytest.mark.parametrize("turned", [0.5, 0.2, 0.02, 0.98])
def test_a_cover_is_opaque_over_forehead_cheeks_and_chin(turned: float) -> None:
    box = np.array([40.0, 40.0, 100.0, 120.0])
    points = PARTS * np.array([60, 80], np.float32) + 40
    points[2, 0] = 40 + 60 * turned
    alpha = opacity(SIZE, SIZE, ellipses_over(box, points, DEFAULT_MARGIN))
    forehead, chin, cheeks = alpha[32:40, 60:80], alpha[112:124, 60:80], alpha[60:100, 38:102]
    assert min(forehead.min(), chin.min(), cheeks.min()) == 1
    assert alpha[0].max() == 0


def test_a_head_seen_from_the_side_is_covered_behind_its_ear_too() -> None:
    box = np.array([40.0, 40.0, 100.0, 120.0])
    points = PARTS * np.array([60, 80], np.float32) + 40
    points[2, 0] = 42
    alpha = opacity(SIZE, SIZE, ellipses_over(box, points, DEFAULT_MARGIN))
    assert alpha[80, 100:115].min() == 1
    assert alpha[80, 20] == 0


@pytest.mark.parametrize("level", [4, 20, 128, 235, 251])
def test_a_dim_face_on_its_own_colour_is_hidden_and_no_blot_is_left(level: int) -> None:
    dim = np.random.default_rng(level).integers(level - 4, level + 5, (SIZE, SIZE, 3))
    image, face = dim.astype(np.uint8), face_at(60, 60, 40)
    made = covered(image, [face])
    assert is_bare(image, image, face.box_px)
    assert not is_bare(image, made, face.box_px)
    assert np.abs(made[70:90, 70:90].astype(int) - level).max() <= 3


def test_rim_has_the_colours_around_the_head_and_middle_the_faces_tone() -> None:
    image = np.full((SIZE, SIZE, 3), (40, 90, 140), np.uint8)
    image[within(face_at(60, 60, 40))] = (200, 210, 220)
    made = covered(image, [face_at(60, 60, 40)]).astype(int)
    assert np.abs(made[80, 80] - (200, 210, 220)).max() < 40
    for row, column in ((80, 56), (80, 104), (52, 80), (106, 80)):
        assert np.abs(made[row, column] - (40, 90, 140)).max() < 25


def test_a_neighbours_face_gives_no_colour() -> None:
    faces = [face_at(40, 60, 30), face_at(74, 60, 30)]
    alone = np.full((SIZE, SIZE, 3), (40, 90, 140), np.uint8)
    alone[within(faces[0], 1.0)] = (120, 130, 140)
    beside = alone.copy()
    beside[within(faces[1], 1.0)] = (250, 0, 250)
    own = np.s_[58:92, 38:70]
    change = covered(beside, faces).astype(int)[own] - covered(alone, faces)[own]
    assert np.abs(change).max() <= 12


@pytest.mark.parametrize("turns", range(4))
def test_an_edge_that_cuts_a_face_gives_no_colours_of_it(turns: int) -> None:
    image = np.full((SIZE, SIZE, 3), (90, 110, 130), np.uint8)
    image[70:80, 135:], image[80:90, 135:] = 0, 255
    across = {0: (140, 60), 1: (60, -20), 2: (-20, 60), 3: (60, 140)}[turns]
    turned = np.ascontiguousarray(np.rot90(image, turns))
    made = np.rot90(covered(turned, [face_at(*across, 40)]), -turns)
    assert np.ptp(made[65:95, -1].astype(int), axis=0).max() < 40


def test_it_hardly_changes_while_a_box_trembles() -> None:
    image, looks = scene(4), []
    for step in range(6):
        shake = 0.8 * np.sin(2.0 * step)
        looks.append(covered(image, [face_at(60 + shake, 60 - shake, 40)])[80, 80].astype(int))
    assert np.ptp(np.array(looks), axis=0).max() <= 6


@pytest.mark.parametrize("size", [6, 12, 60])
def test_it_shows_no_features_at_any_size(size: int) -> None:
    face = face_at(60, 60, size)
    made = covered(scene(2), [face])
    assert is_under_cover(made, face)
    middle = made[60 + size // 4 : 60 + 3 * size // 4, 60 + size // 4 : 60 + 3 * size // 4]
    assert np.abs(np.diff(middle.astype(int), axis=0)).max(initial=0) <= 6


def test_its_rim_is_no_step() -> None:
    image = np.full((SIZE, SIZE, 3), 60, np.uint8)
    image[within(face_at(50, 50, 60))] = 220
    steps = np.abs(np.diff(covered(image, [face_at(50, 50, 60)]).astype(int), axis=1))
    assert steps.max() < 40
