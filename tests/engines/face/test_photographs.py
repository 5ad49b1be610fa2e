"""Detectors on a real face: the astronaut photograph that ships in scikit-image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from skimage import data as photographs

from engines.backends.backend import Backend
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.detectors.gate import parity_defect
from engines.detectors.loading import detector_from_model
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.models.catalogue import centerface_path
from engines.pictures import BgrImage, picture_from_bgr

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def astronaut() -> BgrImage:
    rgb: BgrImage = photographs.astronaut()  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(rgb[:, :, ::-1])


def test_face_lies_where_it_is(astronaut: BgrImage) -> None:
    found = detector_from_model(OpenVino(threads=2), centerface_path()).detect(
        astronaut, min_score=0.5
    )
    assert len(found) == 1
    np.testing.assert_allclose(found[0].box_px, [181.5, 58.2, 269.9, 177.8], atol=2)
    eyes, mouth = found[0].landmarks_px[:2], found[0].landmarks_px[3:]
    assert eyes[0, 0] < eyes[1, 0]
    assert eyes[:, 1].max() < mouth[:, 1].min()
    crop = crop_from_picture(
        picture_from_bgr(astronaut), kveil_from_landmarks(found[0].landmarks_px, 128), 128
    )
    skin, sclera_row = crop[70:90, 50:78].mean((0, 1)), crop[47].mean()
    assert skin[2] > skin[0]
    assert sclera_row < crop[70].mean()


def test_bf16_finds_the_same_face(astronaut: BgrImage) -> None:
    backend = OpenVino(threads=2)
    if not backend.has_bf16:
        pytest.skip("this processor has no bf16")
    exact, quick = (
        detector_from_model(backend, centerface_path(), precision).detect(astronaut, min_score=0.3)
        for precision in ("fp32", "bf16")
    )
    assert parity_defect(exact, quick) == ""


@pytest.mark.data
@pytest.mark.parametrize("backend", [OpenVino(threads=2), OnnxRuntime(threads=2)])
@pytest.mark.parametrize("name", ["face_detection_yunet_2026may", "scrfd_500m_bnkps"])
def test_models_that_users_bring_agree_with_the_default(
    astronaut: BgrImage, backend: Backend, name: str, shared_data: Path
) -> None:
    detector = detector_from_model(backend, shared_data / "models" / f"{name}.onnx")
    default = detector_from_model(backend, centerface_path())
    (ours,) = default.detect(astronaut, min_score=0.5)
    (theirs,) = detector.detect(astronaut, min_score=0.5)
    assert parity_defect([ours], [theirs], slack=2.5) == ""
