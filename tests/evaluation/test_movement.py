"""How far faces move as their subjects do: a frozen face and a jumping one are told."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.expressions import GAZE, SIGNALS
from evaluation.face_geometry import GEOMETRY_CROP, GeometryProbe
from evaluation.followed_faces import FollowedFace, movement_of
from evaluation.movement import (
    BANDS_DEG,
    Following,
    MovementBand,
    Side,
    bands_of_face,
    bands_of_faces,
    row_of_band,
)
from tests.evaluation.test_face_geometry import IDENTITY, crop, head, pose_probe, probe

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
FRAMES = 40


def mesh(picture: Float32) -> list[Float32]:
    """A mesh whose brows are as high, and mouth as wide, as the picture's upper half is bright."""
    points = np.zeros((468, 3), np.float32)
    points[33, 0], points[263, 0], points[168, 1], points[2, 1] = -1, 1, -1, 1
    bright = float(picture[:, :96].mean())
    points[[46, 53, 52, 65, 55, 107, 66, 105, 63, 70], 1] = -bright
    points[61, 0], points[291, 0] = -bright, bright
    return [points.ravel()]


def eye(picture: Float32) -> list[Float32]:
    """An eye whose lids are as far apart as the picture is bright, and which looks down so far."""
    contour, iris = np.zeros((71, 3), np.float32), np.zeros((5, 3), np.float32)
    contour[8, 0] = 1
    contour[3:6, 1] = iris[:, 1] = float(picture.mean())
    return [iris.ravel(), contour.ravel()]


def networks() -> GeometryProbe:
    return replace(probe(), pose=pose_probe().pose, mesh=mesh, eye=eye)


def brows_up(index: int) -> NDArray[np.uint8]:
    """A face whose upper half is brighter and darker in turns."""
    image = crop(40)
    image[: GEOMETRY_CROP // 4] = 90 + 60 * (index // 5 % 2)
    return image


def bands(after: list[NDArray[np.uint8]]) -> MovementBand:
    face = FollowedFace()
    for index, picture in enumerate(after):
        face.add(index, brows_up(index), picture, IDENTITY, (head(40, 40), head(40, 40)))
    return sum(movement_of([face], networks()), MovementBand())


def test_a_face_that_moves_as_its_subject_is_followed_and_has_no_error() -> None:
    found = bands([brows_up(index) for index in range(FRAMES)])
    for name in SIGNALS[2:]:
        assert found.following[name].correlation == pytest.approx(1.0)
        assert found.following[name].gain == pytest.approx(1.0)
        assert found.floor[name].correlation > 0.9
    assert found.mean(GAZE) == found.mean("landmarks") == found.mean("pose") == 0


def test_a_frozen_face_follows_nothing() -> None:
    frozen = bands([brows_up(0)] * FRAMES).following
    assert all(np.isnan(frozen[name].correlation) for name in SIGNALS[2:])
    assert all(frozen[name].gain == 0 for name in SIGNALS[2:])


def test_a_jumping_face_is_off() -> None:
    still = bands([brows_up(index) for index in range(FRAMES)])
    jumping = bands([np.roll(brows_up(index), 12 * (index % 2), axis=1) for index in range(FRAMES)])
    assert jumping.mean("landmarks") > 0.05 > still.mean("landmarks")


def test_frames_count_by_how_far_heads_are_turned_and_bands_add_up() -> None:
    yaw = np.array([-5, 5, 20, -50, 80], np.float32)
    signals = {name: np.arange(5, dtype=np.float32) for name in SIGNALS}
    same = Side({"pose": np.full(5, 2, np.float32)}, signals)
    found = bands_of_face(yaw, signals, same, same)
    assert [band.frames for band in found] == [2, 1, 0, 1, 0]
    assert len(found) == len(BANDS_DEG)
    assert found[0].mean("pose") == 2
    assert np.isnan(found[2].mean("pose"))
    twice = bands_of_faces([found, found])
    assert [band.frames for band in twice] == [4, 2, 0, 2, 0]
    assert twice[0].following["brows"] == found[0].following["brows"] + found[0].following["brows"]


@pytest.mark.parametrize("name", SIGNALS)
def test_half_a_smile_of_a_face_at_rest_elsewhere_is_told_as_half(name: str) -> None:
    before = {name: np.array([0, 1, 0, 1], np.float32)}
    after = Side({}, {name: np.float32(5) + before[name] / np.float32(2)})
    found = bands_of_face(np.zeros(4, np.float32), before, after, after)[0].following[name]
    assert found.correlation == pytest.approx(1.0)
    assert found.gain == pytest.approx(0.5)


def test_bands_come_back_from_a_report_as_they_were() -> None:
    band = MovementBand(3, {"pose": 1.5}, {"brows": Following(1, 2, 3)}, {"brows": Following()})
    assert MovementBand.from_record(asdict(band)) == band


def test_what_was_not_measured_is_told_so() -> None:
    assert row_of_band("none", MovementBand()) == "| none | 0 |" + " – |" * 7
    assert all(band == MovementBand() for band in movement_of([], GeometryProbe()))
