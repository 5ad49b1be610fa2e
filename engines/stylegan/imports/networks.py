"""What a StyleGAN2 or StyleGAN3 generator is made of, whichever file it came from.

All gains of equalised learning rates are multiplied into the weights, so that a layer here is
exactly what it computes. Shapes: O output and I input channels, W the width of a latent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = [
    "Dense",
    "FilteredLayer",
    "Fourier",
    "Mapping",
    "Network",
    "RgbLayer",
    "SourceFormat",
    "StyleGan2",
    "StyleGan3",
    "StyledLayer",
]

Float32 = npt.NDArray[np.float32]
SourceFormat = Literal["stylegan2-ada", "stylegan3-t", "stylegan3-r", "rosinality"]


@dataclass(frozen=True, slots=True)
class Dense:
    """y = weight x + bias.

    Attributes:
        weight: float32[O, I].
        bias: float32[O].
    """

    weight: Float32
    bias: Float32


@dataclass(frozen=True, slots=True)
class Mapping:
    """z to w: normalised to unit mean square, then layers, each with a leaky ReLU.

    Attributes:
        layers: in order; slope 0.2 below zero and gain sqrt(2) follow each.
        mean: float32[W] average w, to which truncation pulls.
    """

    layers: tuple[Dense, ...]
    mean: Float32


@dataclass(frozen=True, slots=True)
class StyledLayer:
    """A modulated, demodulated 3x3 convolution with noise, bias and leaky ReLU.

    Attributes:
        kernel: float32[O, I, 3, 3].
        style: from w to the scales of the I channels.
        bias: float32[O].
        noise: float32[R, R], the stored noise times its strength.
        is_upsampling: whether it doubles the size; the kernel then convolves, mirrored, where
            it otherwise correlates.
        clamp: largest magnitude of the result, or None.
    """

    kernel: Float32
    style: Dense
    bias: Float32
    noise: Float32
    is_upsampling: bool
    clamp: float | None


@dataclass(frozen=True, slots=True)
class RgbLayer:
    """A modulated 1x1 convolution to colours, not demodulated.

    Attributes:
        kernel: float32[3, I, 1, 1].
        style: from w to the scales of the I channels.
        bias: float32[3].
        clamp: largest magnitude of the result, or None.
    """

    kernel: Float32
    style: Dense
    bias: Float32
    clamp: float | None


@dataclass(frozen=True, slots=True)
class StyleGan2:
    """A generator with skip connections (Karras et al. 2020), which ADA shares.

    Attributes:
        mapping: z to w.
        constant: float32[C, 4, 4].
        first: layer at 4 px.
        first_rgb: its colours.
        blocks: for 8 px and up, each twice the last: the upsampling layer, the next, colours.
        blur: float32[K, K], sum 1: the filter of upsampling.
    """

    mapping: Mapping
    constant: Float32
    first: StyledLayer
    first_rgb: RgbLayer
    blocks: tuple[tuple[StyledLayer, StyledLayer, RgbLayer], ...]
    blur: Float32

    @property
    def size(self) -> int:
        """Height and width of the picture, px."""
        return 4 << len(self.blocks)

    @property
    def layers(self) -> int:
        """Latents of a picture."""
        return 2 + 2 * len(self.blocks)


@dataclass(frozen=True, slots=True)
class Fourier:
    """The input of StyleGAN3: waves, moved and turned by w (Karras et al. 2021, appendix F).

    Attributes:
        frequencies: float32[C, 2], waves per unit along x and y.
        phases: float32[C], in turns.
        transform: float32[3, 3] set by the user.
        pose: from w to (cos, sin, x, y), normalised by the first two.
        weight: float32[C, C] mixing the waves.
        size: height and width, px.
        rate: px per unit.
        bandwidth: waves above it fade out.
    """

    frequencies: Float32
    phases: Float32
    transform: Float32
    pose: Dense
    weight: Float32
    size: int
    rate: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class FilteredLayer:
    """A modulated convolution and a leaky ReLU at a higher sampling rate.

    Attributes:
        kernel: float32[O, I, K, K], K 1 or 3; the convolution grows the picture by K - 1.
        style: from w to the scales of the I channels.
        bias: float32[O].
        input_gain: factor on the input.
        up: float32[T] separable or float32[T, T] upsampling filter, None for none.
        down: the same for downsampling.
        up_factor: of sampling before the ReLU.
        down_factor: after it.
        padding: zeros before and after at the high rate; negative cuts off.
        clamp: largest magnitude after the ReLU, or None.
        is_rgb: neither demodulated nor rectified.
    """

    kernel: Float32
    style: Dense
    bias: Float32
    input_gain: float
    up: Float32 | None
    down: Float32 | None
    up_factor: int
    down_factor: int
    padding: tuple[int, int]
    clamp: float | None
    is_rgb: bool

    def size_after(self, size: int) -> int:
        """Height and width of the result for an input of `size`, px."""
        side = len(self.kernel[0, 0])
        grown = (size + side - 1) * self.up_factor + sum(self.padding)
        taps = sum(len(f) - 1 for f in (self.up, self.down) if f is not None)
        return (grown - taps - 1) // self.down_factor + 1


@dataclass(frozen=True, slots=True)
class StyleGan3:
    """An alias-free generator (Karras et al. 2021), configuration T or R.

    Attributes:
        mapping: z to w.
        fourier: input.
        layers_filtered: the last gives colours.
        scale: factor on the picture.
        size: height and width of the picture, px.
    """

    mapping: Mapping
    fourier: Fourier
    layers_filtered: tuple[FilteredLayer, ...]
    scale: float
    size: int

    @property
    def layers(self) -> int:
        """Latents of a picture."""
        return 1 + len(self.layers_filtered)


Network = StyleGan2 | StyleGan3
