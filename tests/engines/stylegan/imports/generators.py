"""Small generators with random weights, in the files' own formats and layouts."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.signal
import scipy.special

from tests.engines.stylegan.pickle_writing import Float32, Named, module

WIDTH = 32
BLUR: Float32 = np.asarray(np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64, np.float32)


class Draws:
    """Random weights, the same for one seed."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Float32:
        return self._rng.standard_normal(shape).astype(np.float32)


def dense(draw: Draws, inputs: int, outputs: int, rate: float = 1.0, bias: float = 0.0) -> Named:
    return module(
        "FullyConnectedLayer",
        {"weight": draw(outputs, inputs) / rate, "bias": (bias + 0.1 * draw(outputs)) / rate},
        in_features=inputs,
        out_features=outputs,
        activation="lrelu" if rate != 1 else "linear",
        weight_gain=np.float64(rate / math.sqrt(inputs)),
        bias_gain=rate,
    )


def mapping(draw: Draws, layers: int, latents: int) -> Named:
    named = {f"fc{n}": dense(draw, WIDTH, WIDTH, 0.01) for n in range(layers)}
    return module(
        "MappingNetwork", {}, {"w_avg": 0.1 * draw(WIDTH)}, named, z_dim=WIDTH, c_dim=0,
        w_dim=WIDTH, num_ws=latents, num_layers=layers, w_avg_beta=0.998,
    )  # fmt: skip


def generator(synthesis: Named, mapped: Named, size: int, latents: int, **changed: object) -> Named:
    said: dict[str, object] = {"z_dim": WIDTH, "c_dim": 0, "w_dim": WIDTH, "img_channels": 3}
    said |= {"img_resolution": size, "num_ws": latents} | changed
    parts = {"synthesis": synthesis, "mapping": mapped}
    return module("Generator", None, None, parts, **said)


def stylegan2(
    size: int = 64,
    channels: int = 12,
    base: int = 512,
    clamp: float | None = 256,
    **changed: object,
) -> Named:
    """An official StyleGAN2 generator; the channels halve where `base` / size falls below."""
    draw = Draws()
    blocks: dict[str, Named] = {}
    before = 0
    for step in range(int(math.log2(size)) - 1):
        side = 4 << step
        after = min(channels, max(4, base // side))
        blocks[f"b{side}"] = _block(draw, before, after, side, clamp)
        before = after
    latents = 2 * len(blocks)
    synthesis = module(
        "SynthesisNetwork", None, None, blocks, w_dim=WIDTH, img_resolution=size, img_channels=3,
        num_ws=latents, block_resolutions=[4 << n for n in range(len(blocks))],
    )  # fmt: skip
    return generator(synthesis, mapping(draw, 8, latents), size, latents, **changed)


def _block(draw: Draws, before: int, after: int, side: int, clamp: float | None) -> Named:
    layers = {"conv1": _styled(draw, after, after, side, 1, clamp)}
    if before:
        layers["conv0"] = _styled(draw, before, after, side, 2, clamp)
    colours = {"weight": draw(3, after, 1, 1), "bias": 0.1 * draw(3)}
    layers["torgb"] = module(
        "ToRGBLayer", colours, None, {"affine": dense(draw, WIDTH, after, bias=1)},
        conv_clamp=clamp, weight_gain=np.float64(1 / math.sqrt(after)),
    )  # fmt: skip
    constant = {} if before else {"const": draw(after, 4, 4)}
    return module(
        "SynthesisBlock", constant, {"resample_filter": BLUR}, layers, in_channels=before,
        resolution=side, architecture="skip", use_fp16=side > 16,
    )  # fmt: skip


def _styled(draw: Draws, before: int, after: int, side: int, up: int, clamp: float | None) -> Named:
    return module(
        "SynthesisLayer",
        {"weight": draw(after, before, 3, 3), "bias": 0.1 * draw(after), "noise_strength": 0.3},
        {"resample_filter": BLUR, "noise_const": draw(side, side)},
        {"affine": dense(draw, WIDTH, before, bias=1)},
        up=up, use_noise=True, activation="lrelu", conv_clamp=clamp, padding=1,
        act_gain=np.float64(math.sqrt(2)),
    )  # fmt: skip


def rosinality(size: int = 64, channels: int = 12) -> dict[str, npt.NDArray[np.generic]]:
    """The state dictionary of a StyleGAN2 generator in rosinality's layout."""
    draw = Draws(1)
    state: dict[str, npt.NDArray[np.generic]] = {"input.input": draw(1, channels, 4, 4)}
    for number in range(1, 9):
        state[f"style.{number}.weight"] = 100 * draw(WIDTH, WIDTH)
        state[f"style.{number}.bias"] = 10 * draw(WIDTH)

    def convolution(name: str, before: int, after: int, side: int) -> None:
        state[f"{name}.conv.weight"] = draw(1, after, before, side, side)
        state[f"{name}.conv.modulation.weight"] = draw(before, WIDTH)
        state[f"{name}.conv.modulation.bias"] = 1 + 0.1 * draw(before)

    def styled(name: str, before: int, after: int) -> None:
        convolution(name, before, after, 3)
        state[f"{name}.noise.weight"] = 0.3 * draw(1)
        state[f"{name}.activate.bias"] = 0.1 * draw(after)

    def coloured(name: str, before: int) -> None:
        convolution(name, before, 3, 1)
        state[f"{name}.bias"] = 0.1 * draw(1, 3, 1, 1)

    styled("conv1", channels, channels)
    coloured("to_rgb1", channels)
    state["noises.noise_0"] = draw(1, 1, 4, 4)
    for step in range(int(math.log2(size)) - 2):
        styled(f"convs.{2 * step}", channels, channels)
        state[f"convs.{2 * step}.conv.blur.kernel"] = BLUR * 4
        styled(f"convs.{2 * step + 1}", channels, channels)
        coloured(f"to_rgbs.{step}", channels)
        state[f"to_rgbs.{step}.upsample.kernel"] = BLUR * 4
        for number in (2 * step + 1, 2 * step + 2):
            state[f"noises.noise_{number}"] = draw(1, 1, 8 << step, 8 << step)
    return state


def stylegan3(
    size: int = 64, kind: Literal["t", "r"] = "t", layers: int = 6, base: int = 256,
    **changed: object,
) -> Named:  # fmt: skip
    """An official StyleGAN3 generator after appendix B: bands grow in a geometric series."""
    draw = Draws(2)
    critical, margin, most = 2, 10, 12
    steps = np.minimum(np.arange(layers + 1) / (layers - critical), 1)
    cutoffs = 2 * (size / 2 / 2) ** steps
    first, last = 2**2.1, size / 2 * 2**0.3
    stops = first * (last / first) ** steps
    rates = np.exp2(np.ceil(np.log2(np.minimum(stops * 2, size))))
    widths = np.maximum(stops, rates / 2) - cutoffs
    sides = rates + 2 * margin
    sides[-2:] = size
    channels = np.rint(np.minimum(base / 2 / cutoffs, most)).astype(int)
    channels[-1] = 3
    parts = {"input": _input(draw, int(channels[0]), int(sides[0]), rates[0], cutoffs[0])}
    names = []
    for number in range(layers + 1):
        before = max(number - 1, 0)
        names.append(f"L{number}_{int(sides[number])}_{channels[number]}")
        parts[names[-1]] = _filtered(
            draw, kind, number == layers, number >= layers - critical,
            (int(channels[before]), int(channels[number])),
            (int(sides[before]), int(sides[number])),
            (rates[before], rates[number]), (cutoffs[before], cutoffs[number]),
            (widths[before], widths[number]),
        )  # fmt: skip
    synthesis = module(
        "SynthesisNetwork", None, None, parts, w_dim=WIDTH, num_ws=layers + 2, img_resolution=size,
        img_channels=3, num_layers=layers, output_scale=0.25, layer_names=names,
    )  # fmt: skip
    return generator(synthesis, mapping(draw, 2, layers + 2), size, layers + 2, **changed)


def _input(draw: Draws, channels: int, side: int, rate: float, bandwidth: float) -> Named:
    frequencies = draw(channels, 2) * bandwidth / 2
    transform = np.array([[0.9, 0.1, 0.2], [-0.1, 1.1, -0.3], [0, 0, 1]])
    pose = module(
        "FullyConnectedLayer",
        {"weight": 0.3 * draw(4, WIDTH), "bias": np.array([1, 0.2, 0.1, -0.1])},
        weight_gain=np.float64(1 / math.sqrt(WIDTH)), bias_gain=1, activation="linear",
    )  # fmt: skip
    return module(
        "SynthesisInput", {"weight": draw(channels, channels)},
        {"transform": transform, "freqs": frequencies, "phases": draw(channels) / 4},
        {"affine": pose}, w_dim=WIDTH, channels=channels, size=np.array([side, side]),
        sampling_rate=np.float64(rate), bandwidth=np.float64(bandwidth),
    )  # fmt: skip


def _filtered(
    draw: Draws, kind: str, is_rgb: bool, is_critical: bool, channels: tuple[int, int],
    sides: tuple[int, int], rates: tuple[float, float], cutoffs: tuple[float, float],
    widths: tuple[float, float],
) -> Named:  # fmt: skip
    kernel = 1 if is_rgb or kind == "r" else 3
    high = max(rates) * (1 if is_rgb else 2)
    up, down = round(high / rates[0]), round(high / rates[1])
    taps = [1 if is_rgb or factor == 1 else 6 * factor for factor in (up, down)]
    is_radial = kind == "r" and not is_critical
    total = (sides[1] - 1) * down + 1 - (sides[0] + kernel - 1) * up + sum(taps) - 2
    low = (total + up) // 2
    return module(
        "SynthesisLayer",
        {"weight": draw(channels[1], channels[0], kernel, kernel), "bias": 0.1 * draw(channels[1])},
        {
            "magnitude_ema": 1.7,
            "up_filter": lowpass(taps[0], cutoffs[0], 2 * widths[0], high, is_radial=False),
            "down_filter": lowpass(taps[1], cutoffs[1], 2 * widths[1], high, is_radial=is_radial),
        },
        {"affine": dense(draw, WIDTH, channels[0], bias=1)},
        is_torgb=is_rgb, conv_kernel=kernel, conv_clamp=256, up_factor=up, down_factor=down,
        padding=[low, total - low] * 2, in_size=np.array([sides[0]] * 2), in_cutoff=cutoffs[0],
    )  # fmt: skip


def lowpass(
    taps: int, cutoff: float, width: float, rate: float, *, is_radial: bool
) -> Float32 | None:
    """Kaiser-windowed sinc, or jinc where radial (appendix C)."""
    if taps == 1:
        return None
    if not is_radial:
        made = scipy.signal.firwin(taps, cutoff, width=width, fs=rate)
        return np.asarray(made, np.float32)
    places = (np.arange(taps) - (taps - 1) / 2) / rate
    radius = np.hypot(places[:, None], places[None])
    jinc = scipy.special.j1(2 * np.pi * cutoff * radius) / (np.pi * radius)
    beta = scipy.signal.kaiser_beta(scipy.signal.kaiser_atten(taps, width / (rate / 2)))
    window = np.kaiser(taps, beta)
    made = jinc * np.outer(window, window)
    return np.asarray(made / made.sum(), np.float32)
