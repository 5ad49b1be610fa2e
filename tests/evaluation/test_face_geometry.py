"""Pose and landmarks of crops, by stand-ins that read a bright square's place."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.backends.openvino import OpenVino
from engines.detectors.loading import detector_from_model
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.models.catalogue import centerface_path
from engines.pictures import picture_from_bgr
from evaluation.face_geometry import (
    HEAD_CROP,
    HEAD_MARGIN,
    GeometryProbe,
    geometry_from_models,
    head_from_landmarks,
    jittered,
)
from evaluation.followed_faces import FollowedFace, geometry_of, steadiness_of
from evaluation.methods.surrogate import oval_alpha
from tests.engines.backends.fake import FakeSession

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


def head(grey: int, around: int) -> NDArray[np.uint8]:
    """A face of one grey before another."""
    image = np.full((HEAD_CROP, HEAD_CROP, 3), around, np.uint8)
    middle = image[HEAD_MARGIN:-HEAD_MARGIN, HEAD_MARGIN:-HEAD_MARGIN]
    middle[oval_alpha(len(middle)) > 0] = grey
    return image


def pose(tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    """A head's mean brightness, as if it were its angles."""
    mean = np.asarray(next(iter(tensors.values()))).mean()
    return {"out": np.full((1, 3), 100 * mean, np.float32)}


def pose_probe() -> GeometryProbe:
    taken = TensorSpec("image", (1, 3, 64, 64), np.dtype(np.float32))
    given = TensorSpec("out", (1, 3), np.dtype(np.float32))
    return GeometryProbe((FakeSession(pose, (taken,), (given,)),))


def probe() -> GeometryProbe:
    taken = TensorSpec("image", (1, 3, 112, 112), np.dtype(np.float32))
    given = TensorSpec("out", (1, 136), np.dtype(np.float32))
    return GeometryProbe((), FakeSession(marks, (taken,), (given,)))


def followed(after: list[int], surroundings: int | None = None) -> FollowedFace:
    face = FollowedFace()
    for index, left in enumerate(after):
        heads = (head(40, 40), head(left, 40 if surroundings is None else surroundings))
        face.add(index, crop(40), crop(left), IDENTITY, heads)
    return face


def test_a_moved_face_has_an_error_above_the_floor() -> None:
    moved = geometry_of([followed([50] * 8)], probe())
    assert moved.landmark_error > 5 * moved.landmark_floor
    assert moved.landmark_step == pytest.approx(0.0, abs=1e-6)


def test_a_constant_offset_is_told_from_movement_that_is_not_followed() -> None:
    still = geometry_of([followed([50] * 8)], probe())
    assert still.landmark_movement < 0.01 * still.landmark_error
    swaying = geometry_of([followed([30, 50] * 4)], probe())
    assert swaying.landmark_movement > 0.5 * swaying.landmark_error


def test_an_untouched_face_has_no_error() -> None:
    assert geometry_of([followed([40] * 8)], probe()).landmark_error == 0


def test_what_surroundings_alone_do_to_a_pose_is_told_apart() -> None:
    both = geometry_of([followed([90] * 8, surroundings=60)], pose_probe())
    face = geometry_of([followed([90] * 8)], pose_probe())
    assert face.pose_surroundings_deg < 0.2 * face.pose_error_deg
    assert 3 * face.pose_surroundings_deg < both.pose_surroundings_deg < both.pose_error_deg
    assert both.pose_error_deg > face.pose_error_deg


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
    probe = geometry_from_models(OpenVino(), tmp_path)
    assert probe.pose == ()
    assert probe.landmarks is None


def test_jittered_crops_are_the_same_for_a_seed() -> None:
    first, second = jittered(crop(40), 3), jittered(crop(40), 3)
    assert np.array_equal(first[0], second[0])
    assert not np.array_equal(first[0], jittered(crop(40), 4)[0])


@pytest.mark.data
def test_poses_of_whole_heads_are_truer_to_the_mirror_than_of_close_faces(
    shared_data: Path,
) -> None:
    backend = OpenVino(threads=2)
    networks = geometry_from_models(backend, shared_data / "models")
    detector = detector_from_model(backend, centerface_path())
    close, heads = [], []
    for clip in sorted((shared_data / "video").glob("*.mp4")):
        with av.open(str(clip)) as container:
            frame = next(container.decode(video=0)).to_ndarray(format="bgr24")
        image = np.asarray(frame, np.uint8)
        picture = picture_from_bgr(image)
        for face in detector.detect(image, min_score=0.6):
            if face.box_px[2] - face.box_px[0] >= 40:
                tight = kveil_from_landmarks(face.landmarks_px, SIZE)
                close.append(crop_from_picture(picture, tight, SIZE))
                wide = head_from_landmarks(face.landmarks_px)
                heads.append(crop_from_picture(picture, wide, HEAD_CROP))
    assert len(heads) >= 5
    assert _mirror_error(networks, heads) < 0.6 * _mirror_error(networks, close)


def _mirror_error(networks: GeometryProbe, crops: list[NDArray[np.uint8]]) -> float:
    """Degrees between a pose and that of the mirrored face, mirrored back."""
    found = networks.pose_deg(crops)
    mirrored = networks.pose_deg([np.ascontiguousarray(one[:, ::-1]) for one in crops])
    assert found is not None
    assert mirrored is not None
    return float(np.abs(found - mirrored * [-1, 1, -1]).mean())
