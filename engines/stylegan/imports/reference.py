"""The slow, plain forward pass of a generator: what its ONNX graph must equal.

Written from the papers: StyleGAN2 (Karras et al. 2020, section 2.2 and appendix B) with each
sample's own modulated and demodulated kernel, StyleGAN3 (Karras et al. 2021, section 3.2 and
appendices C and F) with zero insertion and explicit filters. No video passes through it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from engines.stylegan.imports.networks import (
    Dense,
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
from engines.stylegan.modulation import EPSILON, convolved, modulated_per_sample

__all__ = ["mapped", "painted"]

_SLOPE: Final = 0.2
_GAIN: Final = math.sqrt(2)


def mapped(mapping: Mapping, z: Float32, psi: float = 1.0) -> Float32:
    """Map z to w, truncated.

    Args:
        mapping: the network.
        z: float32[N, Z].
        psi: share of the distance from the mean that is kept.

    Returns:
        float32[N, W].
    """
    x = z / np.sqrt(np.square(z).mean(axis=1, keepdims=True) + EPSILON)
    for layer in mapping.layers:
        x = rectified(applied(layer, x))
    return np.asarray(mapping.mean + np.float32(psi) * (x - mapping.mean), np.float32)


def painted(network: Network, latents: Float32) -> Float32:
    """Paint pictures.

    Args:
        network: any imported generator.
        latents: float32[N, L, W].

    Returns:
        float32[N, 3, S, S] RGB about [-1, 1].
    """
    if isinstance(network, StyleGan2):
        return _painted2(network, latents)
    return _painted3(network, latents)


def applied(layer: Dense, x: Float32) -> Float32:
    """Apply a fully connected layer, float32[N, I] to float32[N, O]."""
    return np.asarray(x @ layer.weight.T + layer.bias, np.float32)


def rectified(x: Float32, clamp: float | None = None) -> Float32:
    """Leaky ReLU of slope 0.2 with gain sqrt(2), then the clamp.

    >>> rectified(np.array([-1.0, 0.0], np.float32), clamp=0.25).tolist()
    [-0.25, 0.0]
    """
    made = np.where(x < 0, x * np.float32(_SLOPE), x) * np.float32(_GAIN)
    return np.asarray(made if clamp is None else np.clip(made, -clamp, clamp), np.float32)


def resampled(
    x: Float32, taps: Float32 | None, up: int, down: int, padding: tuple[int, int], gain: float
) -> Float32:
    """Insert zeros, pad or cut, convolve with a filter, keep every `down`-th value.

    Args:
        x: float32[N, C, H, W].
        taps: float32[T] separable or float32[T, T]; None is the identity.
        up: one value becomes `up`, the others zero.
        down: of so many values one is kept.
        padding: zeros before and after, on both axes; negative cuts off.
        gain: factor on the filter, for both axes together.
    """
    count, channels, height, width = x.shape
    wide = np.zeros((count, channels, height * up, width * up), np.float32)
    wide[:, :, ::up, ::up] = x
    low, high = padding
    border = ((0, 0), (0, 0), (max(low, 0), max(high, 0)), (max(low, 0), max(high, 0)))
    wide = np.pad(wide, border)
    start, stop = max(-low, 0), max(-high, 0)
    wide = wide[:, :, start : wide.shape[2] - stop, start : wide.shape[3] - stop]
    if taps is not None:
        wide = _filtered(wide, taps) * np.float32(gain)
    return wide[:, :, ::down, ::down]


def _filtered(x: Float32, taps: Float32) -> Float32:
    """Convolve each channel with a filter where it lies wholly inside."""
    if taps.ndim == 2:
        windows = np.lib.stride_tricks.sliding_window_view(x, taps.shape, axis=(2, 3))
        return np.asarray(np.tensordot(windows, taps[::-1, ::-1], 2), np.float32)
    for axis in (2, 3):
        windows = np.lib.stride_tricks.sliding_window_view(x, len(taps), axis=axis)
        x = windows @ taps[::-1]
    return x


def _painted2(network: StyleGan2, latents: Float32) -> Float32:
    x = np.repeat(network.constant[None], len(latents), axis=0)
    x = _styled(network.first, x, latents[:, 0], network.blur)
    image = _coloured(network.first_rgb, x, latents[:, 1])
    for number, (upper, lower, rgb) in enumerate(network.blocks):
        place = 2 * number + 1
        x = _styled(upper, x, latents[:, place], network.blur)
        x = _styled(lower, x, latents[:, place + 1], network.blur)
        image = resampled(image, network.blur, 2, 1, (2, 1), 4.0)
        image = image + _coloured(rgb, x, latents[:, place + 2])
    return image


def _styled(layer: StyledLayer, x: Float32, w: Float32, blur: Float32) -> Float32:
    style = applied(layer.style, w)
    if not layer.is_upsampling:
        made = modulated_per_sample(x, layer.kernel, style)
    else:
        # Upsampling is linear and acts on each channel alone, so that it may come first; one
        # value more on each side is what the convolution sees beyond the border.
        wide = resampled(x, blur, 2, 1, (3, 2), 4.0)
        made = modulated_per_sample(wide, layer.kernel[:, :, ::-1, ::-1], style)[..., 1:-1, 1:-1]
    return rectified(made + layer.noise + layer.bias[:, None, None], layer.clamp)


def _coloured(layer: RgbLayer, x: Float32, w: Float32) -> Float32:
    style = applied(layer.style, w)
    made = [
        convolved(sample[None], layer.kernel * scale[None, :, None, None])[0]
        for sample, scale in zip(x, style, strict=True)
    ]
    image = np.stack(made) + layer.bias[:, None, None]
    return image if layer.clamp is None else np.clip(image, -layer.clamp, layer.clamp)


def _painted3(network: StyleGan3, latents: Float32) -> Float32:
    x = _waves(network.fourier, latents[:, 0])
    for number, layer in enumerate(network.layers_filtered):
        x = _filtered_layer(layer, x, latents[:, number + 1])
    return x * np.float32(network.scale)


def _waves(fourier: Fourier, w: Float32) -> Float32:
    pose = applied(fourier.pose, w)
    places = (np.arange(fourier.size) + 0.5 - fourier.size / 2) / fourier.rate
    made = []
    for values in pose:
        cosine, sine, x, y = values / math.hypot(values[0], values[1])
        turn = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
        move = np.array([[1, 0, -x], [0, 1, -y], [0, 0, 1]])
        whole = turn @ move @ fourier.transform
        phases = fourier.phases + fourier.frequencies @ whole[:2, 2]
        frequencies = fourier.frequencies @ whole[:2, :2]
        beyond = np.linalg.norm(frequencies, axis=1) - fourier.bandwidth
        strength = np.clip(1 - beyond / (fourier.rate / 2 - fourier.bandwidth), 0, 1)
        turns = (
            frequencies[:, 0, None, None] * places[None, None, :]
            + frequencies[:, 1, None, None] * places[None, :, None]
            + phases[:, None, None]
        )
        waves = np.sin(2 * np.pi * turns) * strength[:, None, None]
        made.append(np.tensordot(fourier.weight, waves, 1))
    return np.stack(made).astype(np.float32)


def _filtered_layer(layer: FilteredLayer, x: Float32, w: Float32) -> Float32:
    style = applied(layer.style, w)
    kernel = layer.kernel
    if not layer.is_rgb:
        kernel = kernel / np.sqrt(np.square(kernel).mean(axis=(1, 2, 3), keepdims=True))
        style = style / np.sqrt(np.square(style).mean())
    made = []
    for sample, scale in zip(x, style, strict=True):
        own = kernel * scale[None, :, None, None]
        if not layer.is_rgb:
            own = own / np.sqrt(np.square(own).sum(axis=(1, 2, 3), keepdims=True) + EPSILON)
        side = kernel.shape[2] // 2
        wide = np.pad(sample[None], ((0, 0), (0, 0), (side, side), (side, side)))
        made.append(convolved(wide, (own * layer.input_gain).astype(np.float32))[0])
    x = np.stack(made) + layer.bias[:, None, None]
    x = resampled(x, layer.up, layer.up_factor, 1, layer.padding, layer.up_factor**2)
    if not layer.is_rgb:
        x = rectified(x)
    if layer.clamp is not None:
        x = np.clip(x, -layer.clamp, layer.clamp)
    return resampled(x, layer.down, 1, layer.down_factor, (0, 0), 1.0)
