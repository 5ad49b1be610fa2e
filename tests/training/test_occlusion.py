"""The network that tells what is in front leaves the landmark network as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from engines.backends.onnxruntime import OnnxRuntime  # noqa: E402
from engines.stylegan.pack import bundled_pack  # noqa: E402
from training.export import write_network  # noqa: E402
from training.landmarker import bundled_landmarker  # noqa: E402
from training.occlusion import (  # noqa: E402
    ControlNetwork,
    loss_of,
    occlusion_head,
)

pytestmark = [pytest.mark.unit, pytest.mark.torch]


def test_the_networks_are_read_back_out_of_their_file_and_written_as_they_were(
    tmp_path: Path,
) -> None:
    image = np.random.default_rng(0).uniform(-1, 1, (2, 3, 128, 128)).astype(np.float32)
    before = OnnxRuntime().load(bundled_pack() / "landmarker.onnx").run({"image": image})
    net = ControlNetwork(bundled_landmarker(), occlusion_head(tmp_path / "none"))
    outputs = ["points", "spread", "occlusion"]
    write_network("landmarker", net, {"image": torch.from_numpy(image)}, outputs, tmp_path)
    after = OnnxRuntime().load(tmp_path / "landmarker.onnx").run({"image": image})
    assert after["occlusion"].shape == (2, 1, 128, 128)
    for name in outputs:
        assert np.abs(after[name] - before[name]).max() < 1e-4


def test_marking_a_face_costs_more_than_missing_a_hand() -> None:
    oval = torch.ones(1, 1, 8, 8)
    front = torch.zeros(1, 1, 8, 8)
    front[..., :4, :] = 1
    sure = 4 * (2 * front - 1)
    marked, missed = sure.clone(), sure.clone()
    marked[..., 4:6, :] = 4
    missed[..., 2:4, :] = -4
    assert loss_of(sure, front, oval) < loss_of(missed, front, oval)
    assert loss_of(missed, front, oval) < loss_of(marked, front, oval)
