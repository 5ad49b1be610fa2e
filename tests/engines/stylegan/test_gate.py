from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Tensors
from engines.stylegan.gate import compare_sessions
from tests.engines.stylegan.faces import generator_session

pytestmark = pytest.mark.unit

LATENTS = np.random.default_rng(0).standard_normal((3, 4, 512)).astype(np.float32)


def person(tensors: Tensors) -> npt.NDArray[np.float32]:
    latents = np.asarray(tensors["latents"], np.float32)
    return np.tanh(np.repeat(latents.reshape(len(latents), -1), 6, axis=1))[:, : 3 * 64 * 64]


def faithful(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
    return {"image": person(tensors).reshape(-1, 3, 64, 64)}


def test_small_rounding_passes() -> None:
    def rounded(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        return {"image": person(tensors).astype(np.float16).reshape(-1, 3, 64, 64)}

    result = compare_sessions(
        generator_session(faithful), generator_session(rounded), LATENTS, "bf16"
    )
    assert result.is_passed
    assert "used" in result.told()


def test_precision_that_changes_the_person_is_refused_aloud() -> None:
    def stranger(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        mixed = person(tensors) * 0.7 + person(tensors)[::-1] * 0.3
        return {"image": mixed.reshape(-1, 3, 64, 64)}

    result = compare_sessions(
        generator_session(faithful), generator_session(stranger), LATENTS, "fp16"
    )
    assert not result.is_passed
    assert "refused" in result.told()
