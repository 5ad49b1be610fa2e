from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Precision, Tensors
from engines.backends.onnxruntime import OnnxRuntime, OnnxRuntimeSession
from engines.backends.openvino import OpenVino, OpenVinoSession
from engines.errors import ModelRejected
from engines.stylegan.gate import Painting, compare_sessions
from engines.stylegan.pack import swapper_from_pack
from tests.engines.backends.fake import Answer
from tests.engines.stylegan.faces import (
    drawn_face,
    generator_session,
    landmark_session,
)

pytestmark = pytest.mark.unit

LATENTS = np.random.default_rng(0).standard_normal((3, 4, 512)).astype(np.float32)


def person(tensors: Tensors, size: int = 64) -> npt.NDArray[np.float32]:
    """A pattern of its own for everybody."""
    colour = np.asarray(tensors["latents"], np.float32)[:, 0, 0]
    pattern = np.sin(np.arange(3 * size * size) * (2 + colour[:, None]))
    return np.asarray(pattern, np.float32).reshape(-1, 3, size, size)


def painting(answer: Answer) -> Painting:
    return Painting(generator_session(answer), landmark_session(drawn_face()))


def faithful(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
    return {"texture": person(tensors)}


def test_small_rounding_passes() -> None:
    def rounded(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        return {"texture": person(tensors).astype(np.float16)}

    result = compare_sessions(painting(faithful), painting(rounded), LATENTS, "bf16")
    assert result.is_passed
    assert "used" in result.told()


def test_precision_that_changes_the_person_is_refused_aloud() -> None:
    def stranger(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        mixed = person(tensors) * 0.7 + person(tensors)[::-1] * 0.3
        return {"texture": mixed}

    result = compare_sessions(painting(faithful), painting(stranger), LATENTS, "fp16")
    assert not result.is_passed
    assert "refused" in result.told()


@pytest.mark.parametrize(("moved", "passes"), [(0.001, True), (0.003, False)])
def test_landmarks_that_move_are_refused(moved: float, passes: bool) -> None:
    def wide(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        return {"texture": person(tensors, 128)}

    def reading(by: float) -> Painting:
        landmarker = landmark_session(drawn_face() + np.float32(by))
        return Painting(generator_session(wide, size=128), landmarker)

    result = compare_sessions(reading(0.0), reading(moved), LATENTS, "bf16")
    assert result.is_passed is passes
    assert f"within {100 * moved:.2f} % of the crop" in result.told()


def test_precision_that_the_runtime_has_not_is_refused_aloud() -> None:
    class Processor(OnnxRuntime):
        def load(
            self,
            model: Path | bytes,
            *,
            precision: Precision = "fp32",
            shapes: Mapping[str, tuple[int, ...]] | None = None,
        ) -> OnnxRuntimeSession:
            if precision != "fp32":
                raise ModelRejected("no such arithmetic")
            return super().load(model)

    swapper, gate = swapper_from_pack(Processor(threads=1), precision="bf16")
    assert gate is not None
    assert not gate.is_passed
    assert gate.told() == "bf16 refused, fp32 is used instead: no such arithmetic"
    assert swapper.sizes


class CountingProcessor(OpenVino):
    """OpenVINO that says it has bf16, and counts what it loads."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.loaded: list[Precision] = []

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> OpenVinoSession:
        self.loaded.append(precision)
        return super().load(model, precision=precision, shapes=shapes)


@pytest.mark.parametrize("damage", [None, "{", '{"precision": 1, "unknown": 2}'])
def test_verdict_is_kept_and_a_damaged_one_is_measured_anew(
    damage: str | None, tmp_path: Path
) -> None:
    verdicts, backend = tmp_path / "gates.json", CountingProcessor()
    _, first = swapper_from_pack(backend, precision="bf16", verdicts=verdicts)
    assert backend.loaded.count("bf16") == 2
    assert backend.loaded.count("fp32") == 3
    if damage is not None:
        kept = {key: [one[0], damage] for key, one in json.loads(verdicts.read_text()).items()}
        verdicts.write_text(json.dumps(kept))
    again = CountingProcessor()
    _, second = swapper_from_pack(again, precision="bf16", verdicts=verdicts)
    assert second == first
    assert len(again.loaded) == (3 if damage is None else 5)


def test_kept_verdict_that_refused_is_obeyed(tmp_path: Path) -> None:
    verdicts = tmp_path / "gates.json"
    swapper_from_pack(CountingProcessor(), precision="bf16", verdicts=verdicts)
    kept = json.loads(verdicts.read_text())
    for one in kept.values():
        one[1] = json.dumps({**json.loads(one[1]), "cosine": 0.5})
    verdicts.write_text(json.dumps(kept))
    again = CountingProcessor()
    _, gate = swapper_from_pack(again, precision="bf16", verdicts=verdicts)
    assert gate is not None
    assert not gate.is_passed
    assert set(again.loaded) == {"fp32"}
