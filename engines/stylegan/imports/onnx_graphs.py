"""An imported generator as ONNX: mapping and synthesis, with static kernels throughout.

Activations are scaled by the style, convolved with a constant kernel and rescaled by the
demodulation (see `engines.stylegan.modulation`), which every runtime fuses.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from engines.stylegan.imports.graphs import BATCH, GraphWriter
from engines.stylegan.imports.networks import (
    FilteredLayer,
    Float32,
    Fourier,
    Mapping,
    Network,
    RgbLayer,
    StyledLayer,
    StyleGan2,
    StyleGan3,
)

__all__ = ["mapping_onnx", "synthesis_onnx"]

_GAIN: Final = math.sqrt(2)


def mapping_onnx(mapping: Mapping, layers: int) -> bytes:
    """Write the mapping network: `z` [N, Z] and `psi` [1] to `latents` [N, L, W].

    `psi` is the share of the distance from the average that is kept: 1 gives varied faces,
    less gives typical ones.
    """
    graph = GraphWriter()
    width = len(mapping.mean)
    squares = graph.node("Mul", "z", "z")
    axis = graph.constant([1], np.int64)
    x = graph.node("Mul", "z", graph.root_inverse(graph.node("ReduceMean", squares, axis)))
    for layer in mapping.layers:
        x = graph.scaled(graph.rectified(graph.dense(layer, x)), _GAIN)
    mean = graph.constant(mapping.mean)
    x = graph.node("Add", graph.node("Mul", graph.node("Sub", x, mean), "psi"), mean)
    x = graph.node("Unsqueeze", x, axis)
    x = graph.node("Tile", x, graph.constant([1, layers, 1], np.int64))
    inputs = len(mapping.layers[0].weight[0])
    return graph.written(
        "mapping", {"z": [BATCH, inputs], "psi": [1]}, {"latents": (x, [BATCH, layers, width])}
    )


def synthesis_onnx(network: Network) -> bytes:
    """Write the synthesis network: `latents` [N, L, W] to `image` [N, 3, S, S].

    The image is RGB about [-1, 1]; noise is the stored one, so that equal latents give equal
    pictures.
    """
    graph = GraphWriter()
    image = _image2(graph, network) if isinstance(network, StyleGan2) else _image3(graph, network)
    size, width = network.size, len(network.mapping.mean)
    return graph.written(
        "synthesis",
        {"latents": [BATCH, network.layers, width]},
        {"image": (image, [BATCH, 3, size, size])},
    )


def _image2(graph: GraphWriter, network: StyleGan2) -> str:
    w = [graph.latent("latents", number) for number in range(network.layers)]
    blur = network.blur
    x = _styled(graph, network.first, graph.constant(network.constant[None]), w[0], blur)
    image = _coloured(graph, network.first_rgb, x, w[1])
    for number, (upper, lower, rgb) in enumerate(network.blocks):
        x = _styled(graph, upper, x, w[2 * number + 1], blur)
        x = _styled(graph, lower, x, w[2 * number + 2], blur)
        image = graph.upsampled(image, blur * np.float32(4), 3, 2, (2, 1))
        image = graph.node("Add", image, _coloured(graph, rgb, x, w[2 * number + 3]))
    return image


def _styled(graph: GraphWriter, layer: StyledLayer, x: str, w: str, blur: Float32) -> str:
    style = graph.dense(layer.style, w)
    x = graph.node("Mul", x, graph.planes(style))
    if layer.is_upsampling:
        kernel = graph.constant(layer.kernel.transpose(1, 0, 2, 3))
        x = graph.node("ConvTranspose", x, kernel, strides=[2, 2])
        x = graph.filtered(x, blur * np.float32(4), len(layer.kernel), 1, (1, 1))
    else:
        x = graph.node("Conv", x, graph.constant(layer.kernel), pads=[1, 1, 1, 1])
    # The gain of the ReLU is taken in advance: it commutes with it.
    x = graph.node("Mul", x, graph.demodulation(style, layer.kernel, _GAIN))
    added = layer.bias[None, :, None, None] * np.float32(_GAIN)
    x = graph.node("Add", x, graph.constant(added))
    if layer.noise.any():
        x = graph.node("Add", x, graph.constant(layer.noise[None, None] * np.float32(_GAIN)))
    return graph.clamped(graph.rectified(x), layer.clamp)


def _coloured(graph: GraphWriter, layer: RgbLayer, x: str, w: str) -> str:
    x = graph.node("Mul", x, graph.planes(graph.dense(layer.style, w)))
    x = graph.node("Conv", x, graph.constant(layer.kernel), graph.constant(layer.bias))
    return graph.clamped(x, layer.clamp)


def _image3(graph: GraphWriter, network: StyleGan3) -> str:
    x = _waves(graph, network.fourier, graph.latent("latents", 0))
    for number, layer in enumerate(network.layers_filtered):
        x = _filtered_layer(graph, layer, x, graph.latent("latents", number + 1))
    return graph.scaled(x, network.scale)


def _waves(graph: GraphWriter, fourier: Fourier, w: str) -> str:
    """sin(2 pi (frequency' place + phase')), faded beyond the band, mixed.

    With the pose (c, s, x, y) the waves' own transform is [[c, -s, sy - cx], [s, c, -sx - cy]]
    times the user's; both act on the frequencies, which are constants.
    """
    pose = graph.dense(fourier.pose, w)
    ends = (graph.constant([n], np.int64) for n in (0, 2, 1))
    zero, two, axis = ends
    turn = graph.node("Slice", pose, zero, two, axis)
    norm = graph.node("ReduceSum", graph.node("Mul", turn, turn), axis)
    pose = graph.node("Div", pose, graph.node("Sqrt", norm))
    cosine, sine, x, y = (
        graph.node("Gather", pose, graph.constant([n], np.int64), axis=1) for n in range(4)
    )
    one_x = graph.node("Sub", graph.node("Mul", sine, y), graph.node("Mul", cosine, x))
    one_y = graph.node(
        "Neg", graph.node("Add", graph.node("Mul", sine, x), graph.node("Mul", cosine, y))
    )
    rows = ((cosine, graph.node("Neg", sine), one_x), (sine, cosine, one_y))
    user = fourier.transform
    along = []
    for column in range(3):
        parts = [
            _combined(graph, rows[row], user[:, column], fourier.frequencies[:, row])
            for row in range(2)
        ]
        along.append(graph.node("Add", *parts))
    return _mixed(graph, fourier, along)


def _combined(
    graph: GraphWriter, row: tuple[str, str, str], column: Float32, frequencies: Float32
) -> str:
    """One row of the pose times a column of the user's transform, for each frequency: [N, C].

    The third row of the pose is (0, 0, 1), so that the row's third entry meets the column's.
    """
    parts = [
        graph.node("Mul", entry, graph.constant((value * frequencies)[None]))
        for entry, value in zip(row, column, strict=True)
    ]
    return graph.node("Add", graph.node("Add", parts[0], parts[1]), parts[2])


def _mixed(graph: GraphWriter, fourier: Fourier, along: list[str]) -> str:
    squares = [graph.node("Mul", one, one) for one in along[:2]]
    length = graph.node("Sqrt", graph.node("Add", *squares))
    room = fourier.rate / 2 - fourier.bandwidth
    beyond = graph.node("Sub", length, graph.constant(fourier.bandwidth))
    faded = graph.node("Sub", graph.constant(1.0), graph.scaled(beyond, 1 / room))
    strength = graph.planes(graph.node("Clip", faded, graph.constant(0.0), graph.constant(1.0)))
    phases = graph.node("Add", along[2], graph.constant(fourier.phases[None]))
    places = (np.arange(fourier.size) + 0.5 - fourier.size / 2) / fourier.rate
    across = graph.node("Mul", graph.planes(along[0]), graph.constant(places[None, None, None]))
    down = graph.node("Mul", graph.planes(along[1]), graph.constant(places[None, None, :, None]))
    turns = graph.node("Add", graph.node("Add", across, down), graph.planes(phases))
    waves = graph.node("Mul", graph.node("Sin", graph.scaled(turns, 2 * math.pi)), strength)
    return graph.node("Conv", waves, graph.constant(fourier.weight[:, :, None, None]))


def _filtered_layer(graph: GraphWriter, layer: FilteredLayer, x: str, w: str) -> str:
    style = graph.dense(layer.style, w)
    kernel, gain = layer.kernel, np.float32(layer.input_gain)
    channels, side = len(kernel), len(kernel[0, 0]) - 1
    pads = [side] * 4
    if layer.is_rgb:
        x = graph.node("Mul", x, graph.planes(style))
        x = graph.node(
            "Conv", x, graph.constant(kernel * gain), graph.constant(layer.bias), pads=pads
        )
    else:
        kernel = kernel / np.sqrt(np.square(kernel).mean(axis=(1, 2, 3), keepdims=True))
        style = _unit(graph, style)
        x = graph.node("Mul", x, graph.planes(style))
        x = graph.node("Conv", x, graph.constant(kernel * gain), pads=pads)
        x = graph.node("Mul", x, graph.demodulation(style, kernel, _GAIN))
        bias = layer.bias[None, :, None, None] * np.float32(_GAIN)
        x = graph.node("Add", x, graph.constant(bias))
    x = _raised(graph, layer, x, channels)
    if not layer.is_rgb:
        x = graph.rectified(x)
    x = graph.clamped(x, layer.clamp)
    if layer.down is None:
        return x
    return graph.filtered(x, layer.down, channels, layer.down_factor, (0, 0))


def _raised(graph: GraphWriter, layer: FilteredLayer, x: str, channels: int) -> str:
    if layer.up is not None:
        gain = layer.up_factor**layer.up.ndim
        return graph.upsampled(
            x, layer.up * np.float32(gain), channels, layer.up_factor, layer.padding
        )
    if layer.padding == (0, 0):
        return x
    low, high = layer.padding
    pads = graph.constant([0, 0, low, low, 0, 0, high, high], np.int64)
    return graph.node("Pad", x, pads)


def _unit(graph: GraphWriter, style: str) -> str:
    """The style with unit mean square; demodulation undoes it, small numbers gain by it."""
    squares = graph.node("Mul", style, style)
    mean = graph.node("ReduceMean", squares, graph.constant([1], np.int64))
    return graph.node("Mul", style, graph.root_inverse(mean))
