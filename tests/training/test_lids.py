"""A network learns from eyes that were shut how far eyes are open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from engines.backends.onnxruntime import OnnxRuntime  # noqa: E402
from engines.face.lid_reading import HEIGHT, WIDTH, LidReader  # noqa: E402
from engines.stylegan.pack import bundled_pack  # noqa: E402
from engines.stylegan.shape import load_shape_model, points_at_rest  # noqa: E402
from training.export import write_network  # noqa: E402
from training.lids import LidNet, batches, evaluate  # noqa: E402

pytestmark = [pytest.mark.unit, pytest.mark.torch]


def test_batches_have_open_and_shut_eyes_and_a_seed_repeats_them() -> None:
    images = np.random.default_rng(0).integers(0, 255, (3, 128, 128, 3)).astype(np.uint8)
    points = np.repeat(points_at_rest(load_shape_model(bundled_pack() / "shape.npz")), 3, axis=0)
    eyes, openness = batches(images, points, np.arange(3), 64, 1)
    assert eyes.shape[1:] == (1, HEIGHT, WIDTH)
    assert len(openness) == len(eyes) >= 64
    assert (openness == 1).mean() > 0.2
    assert (openness < 0.1).mean() > 0.1
    assert np.array_equal(eyes, batches(images, points, np.arange(3), 64, 1)[0])


def test_figures_tell_open_eyes_taken_for_shut_and_the_reverse() -> None:
    net = LidNet()
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias.fill_(-50.0)
    eyes = np.zeros((4, 1, HEIGHT, WIDTH), np.float32)
    facts = evaluate(net, eyes, np.array([[1], [1], [0], [0]], np.float32))
    assert facts == {
        "lids_error": 0.5,
        "lids_open_taken_for_shut": 1.0,
        "lids_shut_taken_for_open": 0.0,
    }


def test_written_network_is_read_by_the_product(tmp_path: Path) -> None:
    eyes = {"eyes": torch.rand(2, 1, HEIGHT, WIDTH)}
    write_network("lids", LidNet().eval(), eyes, ["openness"], tmp_path)
    LidReader(OnnxRuntime().load(tmp_path / "lids.onnx"))
