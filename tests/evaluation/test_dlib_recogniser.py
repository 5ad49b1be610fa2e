"""dlib's ResNet, played by a fake where it is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.commands import _judges
from evaluation.dlib_recogniser import DlibRecogniser, box_from_landmarks, dlib_recogniser
from evaluation.errors import ExtraMissing, RecogniserRejected
from evaluation.recognisers import network_hash
from tests.evaluation.fakes import face_at

pytestmark = pytest.mark.unit

IS_THERE = find_spec("dlib") is not None and find_spec("face_recognition_models") is not None


def cut(rgb: NDArray[np.uint8], box: tuple[int, int, int, int]) -> NDArray[np.uint8]:
    left, top, right, bottom = box
    return rgb[max(top, 0) : bottom, max(left, 0) : right]


def mean_colours(chips: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    return np.array([chip.mean(axis=(0, 1)) for chip in chips], np.float32)


def test_a_toml_called_dlib_beside_dlib_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = DlibRecogniser(cut, mean_colours, tmp_path / "weights.dat")
    monkeypatch.setattr("evaluation.dlib_recogniser.dlib_recogniser", lambda: judge)
    monkeypatch.setattr("evaluation.recognisers.recognisers_from_names", lambda *_: [judge])
    with pytest.raises(RecogniserRejected, match="two recognisers are called dlib"):
        _judges(["dlib", "dlib.toml"], tmp_path)


def test_chips_are_cut_in_rgb_where_the_face_is_and_give_unit_vectors(tmp_path: Path) -> None:
    judge = DlibRecogniser(cut, mean_colours, tmp_path / "weights.dat")
    image = np.zeros((200, 200, 3), np.uint8)
    face = face_at(60, 60, 80)
    left, top, right, bottom = box_from_landmarks(face.landmarks_px)
    image[top:bottom, left:right] = (0, 0, 90)
    rows = judge.embed([image] * 40, [face.landmarks_px] * 40)
    assert rows.shape == (40, 3)
    np.testing.assert_allclose(rows, np.tile([1, 0, 0], (40, 1)), atol=1e-6)
    assert judge.embed([], []).shape == (0, 128)


def test_the_report_names_the_weights_by_their_hash(tmp_path: Path) -> None:
    weights = tmp_path / "weights.dat"
    weights.write_bytes(b"weights")
    assert len(network_hash(DlibRecogniser(cut, mean_colours, weights))) == 64


@pytest.mark.skipif(IS_THERE, reason="dlib is installed")
def test_without_dlib_the_message_says_what_to_install() -> None:
    with pytest.raises(ExtraMissing, match=r"pip install 'kveil\[dlib\]'"):
        _judges(["dlib"], None)


@pytest.mark.skipif(not IS_THERE, reason="dlib-bin and face-recognition-models are not installed")
def test_the_installed_network_answers(tmp_path: Path) -> None:
    image = np.full((192, 192, 3), 127, np.uint8)
    rows = dlib_recogniser().embed([image], [face_at(32, 32, 128).landmarks_px])
    assert rows.shape == (1, 128)
    assert float(np.linalg.norm(rows[0])) == pytest.approx(1, abs=1e-5)
