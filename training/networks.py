"""The trained networks: StyleGAN2 synthesis of a person's texture, its discriminator.

A latent's texture lies on the canonical face: a linear model gives its coarse part, StyleGAN2
blocks (Karras et al. 2020: a learned constant, modulated convolutions with weight demodulation,
skip connections) what is finer than FINE_CELLS cells. It is painted once for a person; a frame
only warps it to the pose and lights it. So the convolutions see nothing of a subject, and what they
paint moves with the face.

Two things differ from the paper. Modulation scales activations around a constant kernel, so that
inference engines can fuse it. Each block takes a spatial scale and shift from the linear texture
(as GFP-GAN and FPSP section 3.2 do from a degraded picture).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.stylegan.axes import LATENT, axes
from engines.stylegan.sizes import (
    CHROMA_SIZE,
    CONTRAST_FLOOR,
    LIGHT_SIZE,
    LIGHT_SPREAD,
    SHAPE_CODES,
    TEXTURE_SIZE,
)
from training.textures import LENGTH, LUMA, RGB_FROM_YCC

TEXTURE_CODES: Final = 384
CODE: Final = TEXTURE_CODES + SHAPE_CODES
"""Size of a person's code: texture coefficients, then identity shape coefficients."""
PLANES: Final = 3
"""Of a texture: luma and two of chroma."""
FINE_CELLS: Final = 16
"""Blocks paint what a grid of so many cells across the face does not hold."""
MOST_DETAIL: Final = 0.055
"""Root mean square of what blocks may add; most crops painted again stay below it."""
FINE_GAIN: Final = 8.0
"""Brings the fine part of a texture to about unit deviation for the discriminator."""
GAIN: Final = math.sqrt(2.0)


@dataclass(frozen=True, slots=True)
class Widths:
    """Channels at each resolution."""

    g4: int = 64
    g8: int = 64
    g16: int = 64
    g32: int = 64
    g64: int = 48
    g128: int = 24
    g256: int = 16
    spade: int = 24

    def at(self, size: int) -> int:
        """Return the generator's channels at `size` px."""
        return int(getattr(self, f"g{size}"))


def layers_at(size: int) -> int:
    """Return the number of W+ layers of a generator of `size` px.

    >>> layers_at(128), layers_at(256)
    (10, 12)
    """
    return 2 * int(math.log2(size)) - 4


def image_from_crops(crops: npt.NDArray[np.uint8], device: torch.device | str = "cpu") -> Tensor:
    """uint8[N, S, S, 3] -> float[N, 3, S, S] in [-1, 1]."""
    return torch.from_numpy(crops).to(device).permute(0, 3, 1, 2).float() / 127.5 - 1


class EqualLinear(nn.Module):
    """Linear layer with an equalised learning rate."""

    def __init__(self, inputs: int, outputs: int, bias: float = 0.0, lr_mul: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / lr_mul)
        self.bias = nn.Parameter(torch.full((outputs,), bias / lr_mul))
        self.scale = lr_mul / math.sqrt(inputs)
        self.lr_mul = lr_mul

    def forward(self, x: Tensor) -> Tensor:
        """[N, inputs] -> [N, outputs]."""
        return functional.linear(x, self.weight * self.scale, self.bias * self.lr_mul)


class EqualConv(nn.Module):
    """Convolution with an equalised learning rate, bias and optional leaky ReLU."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, act: bool = True
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.scale = 1.0 / math.sqrt(inputs * kernel * kernel)
        self.stride = stride
        self.pad = kernel // 2
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        """[N, inputs, H, W] -> [N, outputs, H / stride, W / stride]."""
        gain = self.scale * (GAIN if self.act else 1.0)
        x = functional.conv2d(x, self.weight * gain, self.bias, self.stride, self.pad)
        return functional.leaky_relu(x, 0.2) if self.act else x


class ModulatedConv(nn.Module):
    """Modulated convolution with a static kernel.

    conv(x * s) * d equals convolving with the per-sample kernel s * W, demodulated by
    d = 1 / sqrt(sum (s W)^2): the kernel stays constant and fuses.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, demodulate: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.affine = EqualLinear(LATENT, inputs, bias=1.0)
        self.scale = 1.0 / math.sqrt(inputs * kernel * kernel)
        self.pad = kernel // 2
        self.demodulate = demodulate
        self.energy: Tensor | None = None

    def freeze(self) -> None:
        """Compute the kernel's energy once; the weights must not change any more."""
        self.energy = self._energy(self.weight * self.scale).detach()

    @staticmethod
    def _energy(kernel: Tensor) -> Tensor:
        return kernel.float().square().sum(dim=(2, 3))

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """([N, inputs, H, W], [N, LATENT]) -> [N, outputs, H, W].

        Demodulated layers end in a leaky ReLU whose gain is folded into the demodulation.
        """
        style = self.affine(w)
        kernel = self.weight * self.scale
        x = functional.conv2d(x * style[:, :, None, None].to(x.dtype), kernel, padding=self.pad)
        if self.demodulate:
            energy = self._energy(kernel) if self.energy is None else self.energy
            demod = torch.rsqrt(functional.linear(style.float().square(), energy) + 1e-6)
            x = x * (demod * GAIN)[:, :, None, None].to(x.dtype)
        x = x + self.bias[None, :, None, None].to(x.dtype)
        return functional.leaky_relu(x, 0.2) if self.demodulate else x


class Spade(nn.Module):
    """Spatial scale and shift predicted from the linear texture at one resolution."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.first = EqualConv(4 * PLANES, hidden)
        self.second = EqualConv(hidden, channels * 2, kernel=1, act=False)

    def forward(self, x: Tensor, planes: Tensor) -> Tensor:
        """([N, C, H, W], [N, 4 PLANES, H, W]) -> [N, C, H, W]."""
        gamma, beta = self.second(self.first(planes)).chunk(2, dim=1)
        return x * (1 + gamma) + beta


class Block(nn.Module):
    """One resolution: convolve and upsample, take the texture in, convolve, add to the skip.

    The last block unfolds four pixels of luma from each place (Shi et al. 2016): features at
    full size cost most and gain little.
    """

    def __init__(self, inputs: int, outputs: int, hidden: int, is_last: bool) -> None:
        super().__init__()
        self.is_last = is_last
        self.up = ModulatedConv(inputs, outputs)
        self.spade = Spade(outputs, hidden)
        self.conv = ModulatedConv(outputs, outputs)
        self.luma = ModulatedConv(outputs, 4 if is_last else 1, kernel=1, demodulate=False)
        nn.init.zeros_(self.luma.weight)

    def forward(
        self, x: Tensor, luma: Tensor, planes: Tensor, w: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        """Return features [N, outputs, 2 H, 2 W], luma of their size, the last of twice it."""
        x = self.spade(upsample(self.up(x, w[:, layer])), planes)
        x = self.conv(x, w[:, layer + 1])
        added = self.luma(x, w[:, layer + 2]).to(luma.dtype)
        luma = upsample(luma)
        if self.is_last:
            return x, upsample(luma) + functional.pixel_shuffle(added, 2)
        return x, luma + added


def planes_from_vector(vector: Tensor, size: int = TEXTURE_SIZE) -> Tensor:
    """float[N, LENGTH] of a texture -> YCbCr float[N, PLANES, size, size]."""
    luma = vector[:, :LUMA].reshape(-1, 1, TEXTURE_SIZE, TEXTURE_SIZE)
    chroma = vector[:, LUMA:].reshape(-1, 2, CHROMA_SIZE, CHROMA_SIZE)
    return torch.cat([resized(luma, size), resized(chroma, size)], dim=1)


class LinearTexture(nn.Module):
    """The texture that a person's code gives by the linear model.

    The latent space is a frame around the codes: w = axes @ code with orthonormal axes, so a
    mixture of latents is the same mixture of codes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("axes", latent_axes())
        self.register_buffer("mean", torch.zeros(LENGTH))
        self.register_buffer("basis", torch.zeros(TEXTURE_CODES, LENGTH))
        self.register_buffer("inside", torch.ones(1, 1, TEXTURE_SIZE, TEXTURE_SIZE))

    def set_texture(self, model: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take a texture model: arrays by name, of which three are read.

        Args:
            model: `mean` float[LENGTH], `basis` float[TEXTURE_CODES, LENGTH] and `inside`
                float[TEXTURE_SIZE, TEXTURE_SIZE] in [0, 1], 1 on the face.
        """
        self.mean.copy_(torch.from_numpy(model["mean"]))
        self.basis.copy_(torch.from_numpy(model["basis"]))
        self.inside.copy_(torch.from_numpy(model["inside"]))

    def forward(self, latents: Tensor, size: int = TEXTURE_SIZE) -> Tensor:
        """float[N, layers, LATENT] -> YCbCr float[N, PLANES, size, size]."""
        codes = latents.float().mean(dim=1) @ self.axes
        return planes_from_vector(self.mean + codes[:, :TEXTURE_CODES] @ self.basis, size)


class Detail(nn.Module):
    """W+ synthesis of the luma that a linear texture leaves out."""

    def __init__(self, size: int, widths: Widths) -> None:
        super().__init__()
        self.const = nn.Parameter(torch.randn(1, widths.g4, 4, 4))
        self.first = ModulatedConv(widths.g4, widths.g4)
        sizes = [2**k for k in range(3, int(math.log2(size)))]
        self.blocks = nn.ModuleList(
            [Block(widths.at(s // 2), widths.at(s), widths.spade, 2 * s == size) for s in sizes]
        )

    def forward(self, latents: Tensor, planes: Tensor) -> Tensor:
        """([N, layers, LATENT], [N, PLANES, size, size]) -> luma [N, 1, size, size]."""
        pyramid = [functional.pixel_unshuffle(planes, 2)]
        for _ in self.blocks[1:]:
            pyramid.append(functional.avg_pool2d(pyramid[-1], 2))
        x = self.const.expand(latents.shape[0], -1, -1, -1)
        x = self.first(x, latents[:, 0])
        luma = planes.new_zeros(planes.shape[0], 1, 4, 4)
        for i, block in enumerate(self.blocks):
            x, luma = block(x, luma, pyramid[-1 - i], latents, 1 + 2 * i)
        return luma


class Generator(nn.Module):
    """W+ synthesis of a person's texture at rest, without light.

    `forward(latents)` takes float[N, layers_at(size), LATENT] and returns
    float[N, 3, size, size] RGB, about [-1, 1].
    """

    def __init__(self, size: int = 256, widths: Widths | None = None) -> None:
        super().__init__()
        self.size = size
        self.layers = layers_at(size)
        self.linear = LinearTexture()
        self.detail = Detail(size, widths or Widths())
        self.register_buffer("rgb", torch.from_numpy(RGB_FROM_YCC)[:, :, None, None].clone())

    def forward(self, latents: Tensor) -> Tensor:
        """See the class."""
        return functional.conv2d(self.planes(latents), self.rgb)

    def planes(self, latents: Tensor) -> Tensor:
        """The whole texture, YCbCr float[N, PLANES, size, size].

        Styles have one length, as StyleGAN's: who is far from average gets no stronger detail.
        Relief and rest, which latents carry behind the code, reach the picture through light and
        place alone.
        """
        planes = self.linear(latents, self.size)
        codes = latents @ self.linear.axes
        styles = functional.normalize(codes, dim=-1) * math.sqrt(CODE) @ self.linear.axes.T
        detail = self.detail(styles, planes).float()
        fine = fine_part(detail) * self.shown()
        strength = fine.square().mean(dim=(1, 2, 3), keepdim=True).sqrt()
        fine = fine / (strength / MOST_DETAIL).clamp(min=1)
        return torch.cat([planes[:, :1] + fine, planes[:, 1:]], dim=1)

    def shown(self) -> Tensor:
        """Where on the texture detail is painted, float[1, 1, size, size] in [0, 1]."""
        return (2 * resized(self.linear.inside, self.size)).clamp(0, 1)


class Discriminator(nn.Module):
    """Judges the fine part of a texture's luma, as a whole and place by place."""

    def __init__(self, size: int = 256) -> None:
        super().__init__()
        factor = size // 64
        self.stem = nn.Sequential(nn.PixelUnshuffle(factor), EqualConv(factor * factor, 48))
        self.stages = nn.ModuleList(
            [
                nn.Sequential(EqualConv(48, 96, stride=2), EqualConv(96, 96)),
                nn.Sequential(EqualConv(96, 160, stride=2), EqualConv(160, 160)),
                nn.Sequential(EqualConv(160, 192, stride=2)),
            ]
        )
        self.place = EqualConv(160, 1, kernel=1, act=False)
        self.last = EqualConv(193, 128)
        self.dense = EqualLinear(128 * 64, 128)
        self.score = EqualLinear(128, 1)

    def forward(self, fine: Tensor) -> tuple[Tensor, list[Tensor]]:
        """float[N, 1, S, S] -> scores float[N, 1 + 256] and features at 64, 32 and 16 px.

        The first score is of the whole, the others of a 16 by 16 grid.
        """
        features = [self.stem(fine * FINE_GAIN)]
        for stage in self.stages:
            features.append(stage(features[-1]))
        places = self.place(features[2]).flatten(1)
        x = features[-1]
        spread = x.float().std(dim=0, unbiased=False).mean().to(x.dtype)
        x = torch.cat([x, spread.expand(x.shape[0], 1, *x.shape[2:])], dim=1)
        x = functional.leaky_relu(self.dense(self.last(x).flatten(1)), 0.2) * GAIN
        return torch.cat([self.score(x), places], dim=1).float(), features[:3]


def fine_part(luma: Tensor) -> Tensor:
    """What a grid of FINE_CELLS cells leaves of float[N, 1, S, S], the same shape.

    >>> float(fine_part(torch.ones(1, 1, 64, 64)).abs().max())
    0.0
    """
    size = luma.shape[-1]
    return luma - resized(functional.avg_pool2d(luma, size // FINE_CELLS), size)


def upsample(x: Tensor) -> Tensor:
    """Double height and width, bilinear."""
    return functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def resized(x: Tensor, size: int) -> Tensor:
    """Bring [N, C, H, H] to `size` px: means when it shrinks, bilinear when it grows."""
    if x.shape[-1] == size:
        return x
    if x.shape[-1] > size:
        return functional.avg_pool2d(x, x.shape[-1] // size)
    return functional.interpolate(x, size=(size, size), mode="bilinear", align_corners=False)


def light_from_images(image: Tensor, inside: Tensor) -> Tensor:
    """Torch form of `engines.stylegan.light.light_from_picture`.

    Args:
        image: float[N, 3, S, S].
        inside: float[N, 1, S, S].

    Returns:
        float[N, 6, 4, 4], face then surroundings.
    """
    return torch.cat([_cells(image, inside), _cells(image, 1 - inside)], dim=1)


def field_from_light(light: Tensor, inside: Tensor) -> Tensor:
    """Torch form of `engines.stylegan.light.field_from_light`, float[N, 3, S, S]."""
    field = functional.interpolate(
        light, size=inside.shape[2:], mode="bilinear", align_corners=False
    )
    return field[:, :3] * inside + field[:, 3:] * (1 - inside)


def contrast_from_field(field: Tensor) -> Tensor:
    """Torch form of `engines.stylegan.light.contrast_from_field`, float[N, 1, S, S]."""
    room = 1 - field.mean(dim=1, keepdim=True).square()
    return room.clamp(min=CONTRAST_FLOOR**2).sqrt()


def _cells(image: Tensor, weight: Tensor) -> Tensor:
    side = image.shape[-1] // LIGHT_SIZE
    image, weight = image.contiguous(), weight.contiguous()
    total = functional.avg_pool2d(image * weight, side)
    share = functional.avg_pool2d(weight, side)
    whole = total.sum(dim=(2, 3), keepdim=True) / (share.sum(dim=(2, 3), keepdim=True) + 1e-6)
    return (total + LIGHT_SPREAD * whole) / (share + LIGHT_SPREAD)


def latent_axes() -> Tensor:
    """Orthonormal columns that place codes in the latent space, float[LATENT, CODE]."""
    return torch.from_numpy(axes(CODE))


def latents_from_codes(codes: Tensor, layers: int) -> Tensor:
    """float[N, CODE] -> w+ latents float[N, layers, LATENT], every layer the same."""
    return (codes @ latent_axes().to(codes.device).T)[:, None].expand(-1, layers, -1)
