"""In a video, tones in which faces are searched stay as they were while lamps come and go."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from skimage import data as photographs

from engines.backends.openvino import OpenVino
from engines.detectors.detector import Detector
from engines.detectors.loading import detector_from_model
from engines.detectors.multiscale import DetectionPlan, detect_picture
from engines.detectors.tones import SteadyTones, Tones, steady_tones, tones_of
from engines.models.catalogue import centerface_path
from engines.pictures import Picture, Plane

pytestmark = pytest.mark.unit

Floats = NDArray[np.float64]
SIDE = 384
PERIOD_S = 0.04
FACE = slice(30, 140), slice(130, 210)
"""Rows and columns of the face in the scene."""


@pytest.fixture(scope="module")
def scene() -> Floats:
    """A portrait in grey, 0…1."""
    rgb: NDArray[np.uint8] = photographs.astronaut()  # type: ignore[no-untyped-call]
    grey = cv2.resize(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), (SIDE, SIDE))
    return np.asarray(grey, np.float64) / 255


@pytest.fixture(scope="module")
def detector() -> Detector:
    return detector_from_model(OpenVino(threads=2), centerface_path())


def deep(values: Floats) -> Picture:
    return Picture((np.rint(values).astype(np.uint16),), "gray", 16, "bt601", True)


def video(values: Floats) -> Picture:
    """4:2:0 in 8 bits without colour."""
    chroma = np.full((SIDE // 2, SIDE // 2), 128, np.uint8)
    planes: tuple[Plane, ...] = (np.rint(values).astype(np.uint8), chroma, chroma.copy())
    return Picture(planes, "yuv420", 8)


def with_lamp(values: Floats, side: int, level: float) -> Floats:
    """A bright square in the lower right corner."""
    lit = values.copy()
    if side:
        lit[-side:, -side:] = level
    return lit


def in_turn(pictures: Iterable[Picture]) -> list[SteadyTones]:
    """What each frame of a video is searched in."""
    states: list[SteadyTones] = []
    for number, picture in enumerate(pictures):
        states.append(steady_tones(picture, number * PERIOD_S, states[-1] if states else None))
    return states


def face_in(picture: Picture, tones: Tones) -> Floats:
    return np.asarray(tones[picture.luma[FACE]], np.float64)


def best_of(picture: Picture, ways: tuple[Tones, ...]) -> Tones:
    """The tones that tell most of the face."""
    return max(ways, key=lambda tones: float(face_in(picture, tones).std()))


def least_change(picture: Picture, before: Iterable[Tones], after: Iterable[Tones]) -> float:
    """By how many grey levels the steadiest of the views that tell the face changes."""
    views = [[face_in(picture, tones) for tones in ways] for ways in (before, after)]
    telling = [[view for view in side if view.std() > 20] for side in views]
    return min(float(np.abs(was - now).mean()) for was in telling[0] for now in telling[1])


@pytest.mark.parametrize("side", [6, 19, 40, 90, 150])
@pytest.mark.parametrize("level", [9000, 65535])
def test_lamp_that_comes_and_goes_leaves_the_searched_face_as_it_was(
    side: int, level: int, scene: Floats
) -> None:
    sides = [0] * 10 + [side] * 100 + [0] * 20 + [side, 0] * 10
    pictures = [deep(with_lamp(7400 + 600 * scene, one, level)) for one in sides]
    states = in_turn(pictures)
    for picture, before, after in zip(pictures[1:], states, states[1:], strict=False):
        assert least_change(picture, before.tones, after.tones) < 6.0
    assert all(1 <= len(state.tones) <= 3 for state in states)


def test_face_is_found_in_every_frame_while_a_lamp_comes_and_goes(
    scene: Floats, detector: Detector
) -> None:
    sides = [0, 0, 0, 120, 120, 120, 0, 0]
    pictures = [deep(with_lamp(29300 + 12 * scene, side, 65535)) for side in sides]
    for picture, state in zip(pictures, in_turn(pictures), strict=True):
        found = detect_picture(detector, picture, DetectionPlan(SIDE), 0.5, state.tones)
        assert len(found) == 1
        assert found[0].score > 0.8


def test_scene_at_the_limit_is_not_shown_in_turns(scene: Floats) -> None:
    """The range wavers about 48 of 256 levels."""
    pictures = [video(60 + (46 + 6 * (n % 2)) * scene) for n in range(20)]
    assert {len(state.tones) > 0 for state in in_turn(pictures)} == {True}


def test_shadows_at_the_limit_are_not_shown_in_turns(scene: Floats) -> None:
    def half_dark(rows: int) -> Picture:
        values = np.full((SIDE, SIDE), 0.6) + np.linspace(0, 0.37, SIDE)
        values[:rows] = scene[:rows] * 0.004
        return deep(65535 * values)

    pictures = [half_dark(7 if n % 2 else 6) for n in range(20)]
    shown = [len(state.tones) for state in in_turn(pictures)]
    assert len({len(tones_of(picture)) for picture in pictures}) == 2
    assert len(set(shown[2:])) == 1


def test_held_tones_are_forgotten_in_an_ordinary_scene(scene: Floats) -> None:
    dark = [video(16 + 30 * scene) for _ in range(5)]
    light = [video(with_lamp(16 + 30 * scene, 200, 200) + 60 * (scene > 0.8)) for _ in range(80)]
    states = in_turn([*dark, *light])
    assert len(states[6].tones) == 1
    assert states[-1].tones == ()


def test_first_frame_of_another_scene_is_searched_in_its_own_tones(scene: Floats) -> None:
    pictures = [deep(7400 + 600 * scene)] * 10 + [deep(7700 + 60 * scene)] * 10
    states = in_turn(pictures)
    assert float(face_in(pictures[10], best_of(pictures[10], states[10].tones)).std()) > 40


ranges = st.tuples(st.integers(0, 60_000), st.integers(8, 5000), st.sampled_from([0, 8, 40, 200]))
"""Lowest value, width of the range (fewer levels than eight show nobody), and side of a lamp."""


@settings(max_examples=40)
@example([(0, 40, 0), (48332, 40, 8)])
@given(st.lists(ranges, min_size=2, max_size=8))
def test_every_frame_is_searched_as_if_it_were_alone(frames: list[tuple[int, int, int]]) -> None:
    """What is held comes on top: no frame is seen worse for what came before."""
    noise = np.random.default_rng(1).random((SIDE // 4, SIDE // 4))
    pictures = [
        deep(with_lamp(low + width * noise, side // 4, 65535)) for low, width, side in frames
    ]
    for picture, state in zip(pictures, in_turn(pictures), strict=True):
        alone = steady_tones(picture, 0.0, None)
        if alone.held is not None:
            views = [tones[picture.luma].astype(float) for tones in (alone.tones[0], *state.tones)]
            assert min(np.abs(views[0] - view).max() for view in views[1:]) <= 12
