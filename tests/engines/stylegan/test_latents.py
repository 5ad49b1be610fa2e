from __future__ import annotations

import numpy as np
import pytest

from engines.errors import ModelRejected
from engines.stylegan.latents import LayerWindow, composed, truncated
from engines.stylegan.modulation import modulated_per_sample, modulated_static

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 2), (0, 9)])
def test_window_outside_the_layers_is_rejected(start: int, stop: int) -> None:
    with pytest.raises(ModelRejected):
        LayerWindow(start, stop).indices(8)


def test_full_window_takes_everything_from_the_identity() -> None:
    control, identity = np.zeros((2, 8, 512), np.float32), np.ones((2, 8, 512), np.float32)
    assert (composed(control, identity, LayerWindow(0, 8)) == 1).all()


def test_no_truncation_changes_nothing() -> None:
    latents = np.random.default_rng(0).standard_normal((2, 3, 512)).astype(np.float32)
    assert np.allclose(truncated(latents, np.zeros((3, 512), np.float32), 1.0), latents)


@pytest.mark.parametrize("kernel", [1, 3])
def test_static_kernel_equals_one_per_sample(kernel: int) -> None:
    random = np.random.default_rng(kernel)
    x = random.standard_normal((3, 5, 8, 8)).astype(np.float32)
    weight = random.standard_normal((7, 5, kernel, kernel)).astype(np.float32)
    style = random.standard_normal((3, 5)).astype(np.float32)
    static = modulated_static(x, weight, style)
    assert np.allclose(static, modulated_per_sample(x, weight, style), atol=1e-4)
