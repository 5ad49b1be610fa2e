"""Pose and landmarks of crops, by stand-ins that read a bright square's place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.backends.fake import FakeSession
from evaluation.face_geometry import GeometryProbe, geometry_from_models, jittered
from evaluation.followed_faces import FollowedFace, geometry_of, steadiness_of

pytestmark = pytest.mark.unit

SIZE = 128
IDENTITY = np.eye(2, 3, dtype=np.float32)


def crop(left: int) -> NDArray[np.uint8]:
    image = np.full((SIZE, SIZE, 3), 60, np.uint8)
    image[40:90, left : left + 40] = 220
    return image


def marks(tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    """68 points around the bright square, the eye corners apart by its width."""
    picture = np.asarray(next(iter(tensors.values())))[0].mean(axis=0)
    rows, columns = np.nonzero(picture > picture.mean())
    points = np.zeros((68, 2), np.float32)
    points[:] = (columns.mean() / picture.shape[1], rows.mean() / picture.shape[0])
    points[36, 0] -= 0.15
    points[45, 0] += 0.15
    return {"out": points.reshape(1, -1)}


def probe() -> GeometryProbe:
    taken = TensorSpec("image", (1, 3, 112, 112), np.dtype(np.float32))
    given = TensorSpec("out", (1, 136), np.dtype(np.float32))
    return GeometryProbe((), FakeSession(marks, (taken,), (given,)))


def followed(after: list[int]) -> FollowedFace:
    face = FollowedFace()
    for index, left in enumerate(after):
        face.add(index, crop(40), crop(left), IDENTITY)
    return face


def test_a_moved_face_has_an_error_above_the_floor() -> None:
    moved = geometry_of([followed([50] * 8)], probe())
    assert moved.landmark_error > 5 * moved.landmark_floor
    assert moved.landmark_step == pytest.approx(0.0, abs=1e-6)


def test_an_untouched_face_has_no_error() -> None:
    assert geometry_of([followed([40] * 8)], probe()).landmark_error == 0


def test_jitter_is_undone_before_landmarks_are_compared() -> None:
    assert geometry_of([followed([40] * 8)], probe()).landmark_floor < 0.03


def test_a_trembling_face_is_told_from_a_still_one() -> None:
    still = steadiness_of([followed([40] * 12)], probe())
    trembling = steadiness_of([followed([38, 42] * 6)], probe())
    assert still.jitter == pytest.approx(1.0)
    assert trembling.jitter > 10


def test_gaps_part_the_runs() -> None:
    face = followed([40] * 12)
    face.frames[6:] = range(20, 26)
    assert [(run.start, run.stop) for run in face.runs()] == [(0, 6), (6, 12)]


def test_without_networks_nothing_is_measured() -> None:
    found = geometry_of([followed([40] * 8)], GeometryProbe())
    assert np.isnan(found.pose_error_deg)
    assert np.isnan(found.landmark_error)


def test_folder_without_networks_gives_an_empty_probe(tmp_path: Path) -> None:
    from engines.backends.openvino import OpenVino

    assert geometry_from_models(OpenVino(), tmp_path).landmarks is None


def test_jittered_crops_are_the_same_for_a_seed() -> None:
    first, second = jittered(crop(40), 3), jittered(crop(40), 3)
    assert np.array_equal(first[0], second[0])
    assert not np.array_equal(first[0], jittered(crop(40), 4)[0])
