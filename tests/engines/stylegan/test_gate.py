from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Precision, Tensors
from engines.backends.fake import Answer
from engines.backends.onnxruntime import OnnxRuntime, OnnxRuntimeSession
from engines.backends.openvino import OpenVino, OpenVinoSession
from engines.errors import ModelRejected
from engines.stylegan.gate import Painting, compare_sessions
from engines.stylegan.pack import swapper_from_pack
from tests.engines.stylegan.faces import (
    drawn_face,
    generator_session,
    landmark_session,
    renderer_session,
)

pytestmark = pytest.mark.unit

LATENTS = np.random.default_rng(0).standard_normal((3, 4, 512)).astype(np.float32)


def person(tensors: Tensors) -> npt.NDArray[np.float32]:
    """A pattern of its own for every colour of a texture."""
    colour = np.asarray(tensors["texture"], np.float32)[:, 0, 0, 0]
    pattern = np.sin(np.arange(3 * 64 * 64) * (2 + colour[:, None]))
    return np.asarray(pattern, np.float32)


def painting(answer: Answer) -> Painting:
    return Painting(generator_session(), renderer_session(answer))


def faithful(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
    return {"image": person(tensors).reshape(-1, 3, 64, 64)}


def test_small_rounding_passes() -> None:
    def rounded(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        return {"image": person(tensors).astype(np.float16).reshape(-1, 3, 64, 64)}

    result = compare_sessions(painting(faithful), painting(rounded), LATENTS, "bf16")
    assert result.is_passed
    assert "used" in result.told()


def test_a_fault_of_the_small_renderer_alone_is_refused() -> None:
    def with_small(answer: Answer) -> Painting:
        return Painting(
            generator_session(), renderer_session(faithful), renderer_session(answer, size=32)
        )

    def small(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        assert tensors["texture"].shape[2:] == (32, 32)
        return {"image": person(tensors)[:, : 3 * 32 * 32].reshape(-1, 3, 32, 32)}

    def broken(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        return {"image": small(tensors)["image"][:, ::-1]}

    assert compare_sessions(with_small(small), with_small(small), LATENTS, "fp16").is_passed
    result = compare_sessions(with_small(small), with_small(broken), LATENTS, "fp16")
    assert not result.is_passed


def test_precision_that_changes_the_person_is_refused_aloud() -> None:
    def stranger(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        mixed = person(tensors) * 0.7 + person(tensors)[::-1] * 0.3
        return {"image": mixed.reshape(-1, 3, 64, 64)}

    result = compare_sessions(painting(faithful), painting(stranger), LATENTS, "fp16")
    assert not result.is_passed
    assert "refused" in result.told()


@pytest.mark.parametrize(("moved", "passes"), [(0.001, True), (0.003, False)])
def test_landmarks_that_move_are_refused(moved: float, passes: bool) -> None:
    def wide(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        colour = np.asarray(tensors["texture"], np.float32)[:, 0, 0, 0]
        pattern = np.sin(np.arange(3 * 128 * 128) * (2 + colour[:, None]))
        return {"image": pattern.reshape(-1, 3, 128, 128).astype(np.float32)}

    def reading(by: float) -> Painting:
        landmarker = landmark_session(drawn_face() + np.float32(by))
        return Painting(generator_session(size=128), renderer_session(wide, 128), None, landmarker)

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
    assert backend.loaded.count("bf16") == 4
    assert backend.loaded.count("fp32") == 5
    if damage is not None:
        kept = {key: [one[0], damage] for key, one in json.loads(verdicts.read_text()).items()}
        verdicts.write_text(json.dumps(kept))
    again = CountingProcessor()
    _, second = swapper_from_pack(again, precision="bf16", verdicts=verdicts)
    assert second == first
    assert len(again.loaded) == (5 if damage is None else 9)


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
