"""What the embedder learns from: nobody held out, and the sharp face's answer to its pictures."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.engines.models.packs import network
from training import lessons as module
from training.lessons import DIMENSIONS, Lessons, seen_from_afar

pytestmark = pytest.mark.unit

PEOPLE, HELD, SIDE = 12, 3, 128


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Faces of noise, the last of them held out, half of them also turned."""
    monkeypatch.setattr(module, "MIXES", 6)
    random = np.random.default_rng(0)
    coarse = random.integers(20, 235, (PEOPLE, 8, 8, 3), np.uint8)
    crops = coarse.repeat(16, axis=1).repeat(16, axis=2)
    rows = np.arange(0, PEOPLE, 2)
    np.save(tmp_path / "faces128.npy", crops)
    np.save(tmp_path / "split.npy", np.arange(PEOPLE) >= PEOPLE - HELD)
    np.save(tmp_path / "turned128.npy", crops[rows, :, ::-1] // 2)
    np.save(tmp_path / "turned_rows.npy", rows)
    weights = random.normal(0, 1, (3 * 7 * 7, DIMENSIONS)).astype(np.float32)
    nodes = [
        helper.make_node(
            "AveragePool", ["face"], ["small"], kernel_shape=[16] * 2, strides=[16] * 2
        ),
        helper.make_node("Flatten", ["small"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["embedding"]),
    ]
    shapes = {"face": (1, 3, 112, 112)}, {"embedding": (1, DIMENSIONS)}
    (tmp_path / "teacher.onnx").write_bytes(network(nodes, *shapes, {"weights": weights}))
    return tmp_path


def lessons_of(data: Path, seed: int = 0) -> Lessons:
    return Lessons(data, data / "teacher.onnx", data / "answers.npz", seed)


def test_the_teacher_is_asked_once(data: Path) -> None:
    first = lessons_of(data)
    (data / "teacher.onnx").unlink()
    again = lessons_of(data)
    assert np.array_equal(first.answers, again.answers)
    assert first.answers.shape == (PEOPLE, DIMENSIONS)
    assert np.allclose(np.linalg.norm(first.of_turned, axis=1), 1, atol=1e-5)


def test_batches_follow_from_their_seed(data: Path) -> None:
    (one, told), (same, also), (other, _) = (lessons_of(data, n).batch(8) for n in (3, 3, 4))
    assert one.shape == (8, SIDE, SIDE, 3)
    assert one.dtype == np.uint8
    assert told.shape == (8, DIMENSIONS)
    assert np.array_equal(one, same)
    assert np.array_equal(told, also)
    assert not np.array_equal(one, other)


def test_nobody_who_is_held_out_is_learnt_from(data: Path) -> None:
    lessons = lessons_of(data)
    _, told = lessons.batch(300)
    held = np.concatenate([lessons.answers[lessons.held], lessons.of_turned[lessons.held_turned]])
    assert len(held) > HELD
    assert (told @ held.T).max() < 0.999
    assert (told @ lessons.answers[: PEOPLE - HELD].T).max() > 0.999


def test_pictures_from_afar_are_told_to_be_the_sharp_face(data: Path) -> None:
    """The planted fault: a blurred face would be asked about as it is, and all look alike."""
    lessons = lessons_of(data)
    pictures, told = lessons.batch(200)
    known = np.concatenate([lessons.answers, lessons.of_turned])
    pure = (told @ known.T).max(axis=1) > 0.999
    slope = np.abs(np.diff(pictures.astype(np.float32), axis=2)).max(axis=(1, 2, 3))
    assert (pure & (slope < 20)).any(), "blurred, with a sharp face's answer"
    assert (~pure).any(), "two faces mixed"
    far = seen_from_afar(np.random.default_rng(0), lessons.crops(lessons.held)[0])
    assert far.shape == (SIDE, SIDE, 3)
