"""The network that tells what is in front leaves the landmark network as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from engines.backends.onnxruntime import OnnxRuntime  # noqa: E402
from engines.stylegan.pack import bundled_pack  # noqa: E402
from training.export import write_network  # noqa: E402
from training.occlusion import (  # noqa: E402
    ControlNetwork,
    OcclusionHead,
    bundled_landmarker,
    loss_of,
)

pytestmark = [pytest.mark.unit, pytest.mark.torch]


def test_the_landmark_network_is_read_back_out_of_its_file_and_written_as_it_was(
    tmp_path: Path,
) -> None:
    image = np.random.default_rng(0).uniform(-1, 1, (2, 3, 128, 128)).astype(np.float32)
    before = OnnxRuntime().load(bundled_pack() / "landmarker.onnx").run({"image": image})
    net = ControlNetwork(bundled_landmarker(), OcclusionHead())
    outputs = ["points", "spread", "occlusion"]
    write_network("landmarker", net, {"image": torch.from_numpy(image)}, outputs, tmp_path)
    after = OnnxRuntime().load(tmp_path / "landmarker.onnx").run({"image": image})
    for name in ("points", "spread"):
        assert np.abs(after[name] - before[name]).max() < 1e-4
    assert after["occlusion"].shape == (2, 1, 128, 128)
    assert 0 <= after["occlusion"].min() <= after["occlusion"].max() <= 1


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
