"""What the embedder learns from: pictures of faces, and what a recogniser answers to them.

No crop has a name, and hardly anybody is seen twice, so pictures that go on from the crops
stand in for other photographs of the same people and for more people:

- heads turned by `training.turning`: somebody seen from elsewhere,
- two faces mixed, which the recogniser takes for somebody else (Beyer et al. 2022: a student
  learns a teacher's function, not its labels, and needs inputs between the known ones),
- any of these as from far away (`training.degrading`), with the answer to the sharp one.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime

from engines.face.alignment import similarity_from_points
from training.degrading import far_away

__all__ = ["DIMENSIONS", "Lessons", "seen_from_afar"]

DIMENSIONS: Final = 128
"""Of the recogniser's answers."""
MIXES: Final = 30_000
"""Pairs of faces that are mixed."""
_SHARES: Final = (0.35, 0.65)
"""How much of the first is in a mixture."""
_TURNED: Final = 0.25
_MIXED: Final = 0.25
_FAR: Final = 0.35
"""Shares of a batch."""
_TEACHER_SIZE: Final = 112
_EYES_KVEIL: Final = np.array([[0.30, 0.37], [0.70, 0.37]]) * 128
_EYES_ARCFACE: Final = np.array([[38.79, 52.1], [74.03, 52.0]])
_MOVE: Final = similarity_from_points(_EYES_KVEIL, _EYES_ARCFACE)

log = logging.getLogger(__name__)
Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


class Lessons:
    """Pictures and the recogniser's answers to them.

    Args:
        data: what `training.prepare` and `training.turning` wrote.
        teacher: ONNX recogniser on 112 px ArcFace crops, (x - 127.5) / 128.
        answers: where its answers are kept; read back if there.
        seed: decides what is drawn when.
    """

    def __init__(self, data: Path, teacher: Path, answers: Path, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._crops = np.load(data / "faces128.npy", mmap_mode="r")
        self._turned = np.load(data / "turned128.npy", mmap_mode="r")
        is_held = np.load(data / "split.npy")
        of_turned = np.load(data / "turned_rows.npy")
        self.held, self._rows = np.flatnonzero(is_held), np.flatnonzero(~is_held)
        self.held_turned = np.flatnonzero(is_held[of_turned])
        self._turned_rows = np.flatnonzero(~is_held[of_turned])
        random = np.random.default_rng(0)
        self._pairs = random.choice(self._rows, (MIXES, 2))
        self._mixtures = random.uniform(*_SHARES, MIXES).astype(np.float32)
        if not answers.exists():
            _ask(teacher, answers, self._crops, self._turned, self._mixed)
        told = np.load(answers)
        self.answers: Float32 = _unit(told["crops"] + told["mirrored"])
        """float32[N, DIMENSIONS] to the crops."""
        self.of_turned: Float32 = _unit(self.answers[of_turned] + told["turned"])
        """float32[N, DIMENSIONS] to the turned heads: half of what their crops are told to be."""
        self._of_mixed: Float32 = told["mixed"]

    def batch(self, count: int) -> tuple[UInt8, Float32]:
        """Pictures uint8[N, S, S, 3] RGB and answers float32[N, DIMENSIONS], unit length."""
        made = [self._one() for _ in range(count)]
        return np.stack([picture for picture, _ in made]), np.stack([told for _, told in made])

    def crops(self, rows: npt.NDArray[np.intp]) -> UInt8:
        """Some crops uint8[N, S, S, 3]."""
        return np.asarray(self._crops[rows], np.uint8)

    def turned(self, rows: npt.NDArray[np.intp]) -> UInt8:
        """Some turned heads uint8[N, S, S, 3]."""
        return np.asarray(self._turned[rows], np.uint8)

    def _one(self) -> tuple[UInt8, Float32]:
        random, draw = self._random, self._random.random()
        if draw < _TURNED:
            row = random.choice(self._turned_rows)
            picture, told = np.asarray(self._turned[row]), self.of_turned[row]
        elif draw < _TURNED + _MIXED:
            row = random.integers(MIXES)
            picture, told = self._mixed(int(row)), self._of_mixed[row]
        else:
            row = random.choice(self._rows)
            picture, told = np.asarray(self._crops[row]), self.answers[row]
        if random.random() < 0.5:
            picture = picture[:, ::-1]
        if random.random() < _FAR:
            picture = seen_from_afar(random, picture)
        return np.ascontiguousarray(picture), told

    def _mixed(self, at: int) -> UInt8:
        first, second = (self._crops[row].astype(np.float32) for row in self._pairs[at])
        return np.asarray(second + self._mixtures[at] * (first - second)).astype(np.uint8)


def seen_from_afar(random: np.random.Generator, picture: UInt8) -> UInt8:
    """A picture uint8[S, S, 3] as from far away; `random` decides how."""
    seen = far_away(random, picture.astype(np.float32) / np.float32(255))
    return np.asarray((seen * 255).clip(0, 255), np.uint8)


def _unit(rows: Float32) -> Float32:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _ask(
    teacher: Path, answers: Path, crops: UInt8, turned: UInt8, mixed: Callable[[int], UInt8]
) -> None:
    """Writes what the teacher answers to everything."""
    asked: dict[str, tuple[int, Callable[[int], UInt8]]] = {
        "crops": (len(crops), lambda at: crops[at]),
        "mirrored": (len(crops), lambda at: crops[at][:, ::-1]),
        "turned": (len(turned), lambda at: turned[at]),
        "mixed": (MIXES, mixed),
    }
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two threads that wait for each other lose to one
    session = onnxruntime.InferenceSession(
        str(teacher), options, providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name

    def answer(picture: UInt8) -> Float32:
        side = (_TEACHER_SIZE, _TEACHER_SIZE)
        crop = cv2.warpAffine(
            np.ascontiguousarray(picture), _MOVE, side, borderMode=cv2.BORDER_REPLICATE
        )
        fed = (crop.astype(np.float32) - 127.5) / 128
        return np.asarray(session.run(None, {name: fed.transpose(2, 0, 1)[None]})[0][0], np.float32)

    told = {}
    with ThreadPoolExecutor(2) as pool:
        for what, (count, picture) in asked.items():
            given = pool.map(lambda at, picture=picture: answer(picture(at)), range(count))
            told[what] = _unit(np.stack(list(given)))
            log.info("the teacher has seen %d %s", count, what)
    np.savez(answers, allow_pickle=False, **told)
