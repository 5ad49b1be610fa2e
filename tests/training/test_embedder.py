"""Training of the embedder goes on from the exported network with the answers that it gave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")
import onnx  # noqa: E402

from training.embedder import Embedder, restore  # noqa: E402
from training.export import onnx_from_module  # noqa: E402
from training.networks import image_from_crops  # noqa: E402

pytestmark = [pytest.mark.unit, pytest.mark.torch]


def trained() -> Embedder:
    """An embedder whose normalisation is far from where it begins."""
    torch.manual_seed(3)
    net = Embedder()
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
            torch.nn.init.normal_(layer.bias, 0, 0.3)
            torch.nn.init.uniform_(layer.running_var, 0.5, 2)
        if isinstance(layer, torch.nn.PReLU):
            torch.nn.init.uniform_(layer.weight, 0, 0.5)
    net.eval()
    return net


def test_a_network_is_put_back_out_of_its_file(tmp_path: Path) -> None:
    """The planted fault: normalisation that begins anew gives other answers."""
    random = np.random.default_rng(0)
    coarse = random.integers(0, 255, (24, 8, 8, 3), np.uint8)
    pictures = coarse.repeat(16, axis=1).repeat(16, axis=2)
    net, image = trained(), image_from_crops(pictures)
    onnx.save(onnx_from_module(net, {"image": image[:2]}, ["embedding"]), tmp_path / "net.onnx")
    again = Embedder()
    restore(again, tmp_path / "net.onnx", pictures)
    assert again.training
    with torch.no_grad():
        wanted, learning = net(image), again(image)
        resting = again.eval()(image)
        anew = Embedder().eval()(image)
    assert (wanted * resting).sum(1).min() > 0.999
    assert (wanted * learning).sum(1).min() > 0.99
    assert (wanted * anew).sum(1).max() < 0.9
