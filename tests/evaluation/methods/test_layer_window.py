from __future__ import annotations

import numpy as np
import pytest

from engines.errors import ModelRejected
from evaluation.methods.layer_window import LayerWindow, composed

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 2), (0, 9)])
def test_window_outside_the_layers_is_rejected(start: int, stop: int) -> None:
    with pytest.raises(ModelRejected):
        LayerWindow(start, stop).indices(8)


def test_full_window_takes_everything_from_the_identity() -> None:
    control, identity = np.zeros((2, 8, 512), np.float32), np.ones((2, 8, 512), np.float32)
    assert (composed(control, identity, LayerWindow(0, 8)) == 1).all()
