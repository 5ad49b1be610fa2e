"""The trained networks: W+ synthesis over a textured base with spatial control, discriminator.

The generator follows StyleGAN2 (Karras et al. 2020): a learned constant, modulated
convolutions with weight demodulation, skip connections to RGB. Three things differ. Modulation
scales activations around a constant kernel, so that inference engines can fuse it. Each block
up to 64 px takes a spatial scale and shift from the control (as GFP-GAN and FPSP section 3.2
do), through which pose, expression, gaze and light enter. And the RGB skip ends in a base
picture: the latent's texture, warped to the pose and lit as the subject; the convolutions paint
what a linear texture cannot.
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.stylegan.sizes import (
    CHROMA_SIZE,
    CONTRAST_CEILING,
    CONTRAST_FLOOR,
    LIGHT_SIZE,
    LIGHT_SPREAD,
    MAP_CHANNELS,
    MAP_SIZE,
    SHAPE_CODES,
    SOFT_KERNEL,
    TEXTURE_SIZE,
)
from training.axes import LATENT, axes
from training.textures import LENGTH, LUMA, RGB_FROM_YCC

TEXTURE_CODES: Final = 384
CODE: Final = TEXTURE_CODES + SHAPE_CODES
"""Size of a person's code: texture coefficients, then identity shape coefficients."""
CONTROL_CHANNELS: Final = MAP_CHANNELS + 2 + 3
"""Maps, place on the texture, base picture."""
GAIN: Final = math.sqrt(2.0)


@dataclass(frozen=True, slots=True)
class Widths:
    """Channels at each resolution."""

    g4: int = 128
    g8: int = 128
    g16: int = 128
    g32: int = 96
    g64: int = 48
    g128: int = 32
    g256: int = 16
    spade: int = 24

    def at(self, size: int) -> int:
        """Return the generator's channels at `size` px."""
        return int(getattr(self, f"g{size}"))


def layers_at(size: int) -> int:
    """Return the number of W+ layers of a generator of `size` px.

    >>> layers_at(64), layers_at(128), layers_at(256)
    (10, 12, 14)
    """
    return 2 * int(math.log2(size)) - 2


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
    """Spatial scale and shift predicted from the control at one resolution."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.first = EqualConv(CONTROL_CHANNELS, hidden)
        self.second = EqualConv(hidden, channels * 2, kernel=1, act=False)

    def forward(self, x: Tensor, control: Tensor) -> Tensor:
        """([N, C, H, W], [N, 12, H, W]) -> [N, C, H, W]."""
        gamma, beta = self.second(self.first(control)).chunk(2, dim=1)
        return x * (1 + gamma) + beta


class Block(nn.Module):
    """One resolution: convolve and upsample, control, convolve, add to the RGB skip.

    Sizes beyond the textures' chroma add the same to all three colours: fine colour is noise in
    photographs, and young convolutions draw fringes with it.
    """

    def __init__(self, inputs: int, outputs: int, size: int, hidden: int) -> None:
        super().__init__()
        self.size = size
        self.up = ModulatedConv(inputs, outputs)
        self.spade = Spade(outputs, hidden) if size <= MAP_SIZE else None
        self.conv = ModulatedConv(outputs, outputs)
        self.rgb = ModulatedConv(outputs, 3, kernel=1, demodulate=False)
        nn.init.zeros_(self.rgb.weight)

    def forward(
        self, x: Tensor, rgb: Tensor, control: Tensor | None, w: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        """Return features [N, outputs, size, size] and RGB [N, 3, size, size]."""
        x = upsample(self.up(x, w[:, layer]))
        if self.spade is not None and control is not None:
            x = self.spade(x, control)
        x = self.conv(x, w[:, layer + 1])
        added = self.rgb(x, w[:, layer + 2]).to(rgb.dtype)
        if self.size > CHROMA_SIZE:
            added = added.mean(dim=1, keepdim=True)
        return x, upsample(rgb) + added


class TexturedBase(nn.Module):
    """The picture that a latent's texture gives under a pose and a light.

    The latent space is a frame around the codes: w = axes @ code with orthonormal axes, so a
    mixture of latents is the same mixture of codes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("axes", latent_axes())
        self.register_buffer("mean", torch.zeros(LENGTH))
        self.register_buffer("basis", torch.zeros(TEXTURE_CODES, LENGTH))
        self.register_buffer("rgb", torch.from_numpy(RGB_FROM_YCC)[:, :, None, None].clone())

    def set_texture(self, mean: Tensor, basis: Tensor) -> None:
        """Take a texture model: float[LENGTH] and float[TEXTURE_CODES, LENGTH]."""
        self.mean.copy_(mean)
        self.basis.copy_(basis)

    def texture(self, codes: Tensor) -> Tensor:
        """float[N, >= TEXTURE_CODES] -> float[N, 3, TEXTURE_SIZE, TEXTURE_SIZE] RGB."""
        vector = self.mean + codes[:, :TEXTURE_CODES] @ self.basis
        luma = vector[:, :LUMA].reshape(-1, 1, TEXTURE_SIZE, TEXTURE_SIZE)
        chroma = vector[:, LUMA:].reshape(-1, 2, CHROMA_SIZE, CHROMA_SIZE)
        planes = torch.cat([luma, resized(chroma, TEXTURE_SIZE)], dim=1)
        return functional.conv2d(planes, self.rgb)

    def forward(
        self, latents: Tensor, maps: Tensor, light: Tensor, uv: Tensor, size: int
    ) -> Tensor:
        """Return float[N, 3, size, size] RGB; arguments as the generator's."""
        codes = latents.float().mean(dim=1) @ self.axes
        texture = self.texture(codes)
        grid = resized(uv.float(), size).permute(0, 2, 3, 1) * 2 - 1
        base = functional.grid_sample(
            texture, grid, mode="bilinear", padding_mode="border", align_corners=False
        )
        inside = softened(maps[:, :1].float(), size)
        base = base * contrast_from_field(field_from_light(light.float(), inside))
        return base + field_from_light(light.float() - light_from_images(base, inside), inside)


class Generator(nn.Module):
    """W+ synthesis over a textured base, with spatial control.

    `forward(latents, maps, light, uv)`:
        latents: float[N, layers_at(size), LATENT].
        maps: float[N, MAP_CHANNELS, MAP_SIZE, MAP_SIZE] in [0, 1].
        light: float[N, 6, 4, 4] RGB of face and surroundings in [-1, 1].
        uv: float[N, 2, 128, 128], place on the texture, 0 to 1 inside it.
    Returns float[N, 3, size, size] RGB, about [-1, 1].
    """

    def __init__(self, size: int = 128, widths: Widths | None = None) -> None:
        super().__init__()
        widths = widths or Widths()
        self.size = size
        self.layers = layers_at(size)
        self.base = TexturedBase()
        self.const = nn.Parameter(torch.randn(1, widths.g4, 4, 4))
        self.first = ModulatedConv(widths.g4, widths.g4)
        self.rgb = ModulatedConv(widths.g4, 3, kernel=1, demodulate=False)
        nn.init.zeros_(self.rgb.weight)
        sizes = [2**k for k in range(3, int(math.log2(size)) + 1)]
        self.blocks = nn.ModuleList(
            [Block(widths.at(s // 2), widths.at(s), s, widths.spade) for s in sizes]
        )

    def forward(self, latents: Tensor, maps: Tensor, light: Tensor, uv: Tensor) -> Tensor:
        """See the class."""
        made, _ = self.painted(latents, maps, light, uv)
        return made

    def painted(
        self, latents: Tensor, maps: Tensor, light: Tensor, uv: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the picture and the base it was painted over, both [N, 3, size, size].

        Relief and rest, which latents carry behind the code, reach the layers through light and
        maps alone.
        """
        base = self.base(latents, maps, light, uv, self.size)
        latents = latents @ self.base.axes @ self.base.axes.T
        controls = control_pyramid(maps, uv, base)
        x = self.const.expand(latents.shape[0], -1, -1, -1)
        x = self.first(x, latents[:, 0])
        rgb = self.rgb(x, latents[:, 1]).float()
        for i, block in enumerate(self.blocks):
            x, rgb = block(x, rgb, controls.get(8 << i), latents, 1 + 2 * i)
        return base + rgb, base


class Discriminator(nn.Module):
    """Judges a crop together with its control map.

    The 64 px stem sees the halved image and the map; the 128 px stem joins in at 32 px and
    starts at zero, so that a 64 px discriminator grows without forgetting.
    """

    def __init__(self, size: int = 64) -> None:
        super().__init__()
        self.size = size
        self.unshuffle = nn.PixelUnshuffle(2)
        self.stem = EqualConv((3 + MAP_CHANNELS) * 4, 96)
        self.fine: nn.Sequential | None = None
        if size >= 128:
            self.fine = nn.Sequential(
                nn.PixelUnshuffle(2),
                EqualConv(12, 48),
                EqualConv(48, 96, stride=2),
                EqualConv(96, 96, kernel=1, act=False),
            )
            nn.init.zeros_(self.fine[3].weight)
        self.stages = nn.ModuleList(
            [
                nn.Sequential(EqualConv(96, 128, stride=2), EqualConv(128, 128)),
                nn.Sequential(EqualConv(128, 192, stride=2), EqualConv(192, 192)),
                nn.Sequential(EqualConv(192, 256, stride=2)),
            ]
        )
        self.last = EqualConv(257, 256)
        self.dense = EqualLinear(256 * 16, 256)
        self.score = EqualLinear(256, 1)

    def forward(self, image: Tensor, maps: Tensor) -> tuple[Tensor, list[Tensor]]:
        """([N, 3, S, S], [N, 7, 64, 64]) -> scores float[N] and features at 32, 16, 8 px."""
        half = (
            functional.avg_pool2d(image, image.shape[-1] // 64) if image.shape[-1] > 64 else image
        )
        x = self.stem(self.unshuffle(torch.cat([half, maps.to(half.dtype)], dim=1)))
        if self.fine is not None:
            x = x + self.fine(image)
        features = [x]
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        spread = x.float().std(dim=0, unbiased=False).mean().to(x.dtype)
        x = torch.cat([x, spread.expand(x.shape[0], 1, *x.shape[2:])], dim=1)
        x = functional.leaky_relu(self.dense(self.last(x).flatten(1)), 0.2) * GAIN
        return self.score(x).float().squeeze(1), features[:3]


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


def softened(oval: Tensor, size: int) -> Tensor:
    """Torch form of `engines.stylegan.light.softened`: [N, 1, 64, 64] -> [N, 1, size, size]."""
    pad = SOFT_KERNEL // 2
    oval = oval.contiguous()
    for _ in range(2):
        oval = functional.pad(oval, (pad, pad, pad, pad), mode="replicate")
        oval = functional.avg_pool2d(oval, SOFT_KERNEL, stride=1)
    return resized(oval, size)


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
    strength = field.mean(dim=1, keepdim=True) + 1
    return strength.clamp(CONTRAST_FLOOR, CONTRAST_CEILING)


def _cells(image: Tensor, weight: Tensor) -> Tensor:
    side = image.shape[-1] // LIGHT_SIZE
    image, weight = image.contiguous(), weight.contiguous()
    total = functional.avg_pool2d(image * weight, side)
    share = functional.avg_pool2d(weight, side)
    whole = total.sum(dim=(2, 3), keepdim=True) / (share.sum(dim=(2, 3), keepdim=True) + 1e-6)
    return (total + LIGHT_SPREAD * whole) / (share + LIGHT_SPREAD)


def control_pyramid(maps: Tensor, uv: Tensor, base: Tensor) -> dict[int, Tensor]:
    """Maps, texture places and base at 64, 32, 16 and 8 px, each [N, 12, size, size]."""
    place = resized(uv.float(), MAP_SIZE) * 2 - 1
    current = torch.cat([maps.float(), place, resized(base, MAP_SIZE)], dim=1)
    pyramid = {64: current}
    for size in (32, 16, 8):
        current = functional.avg_pool2d(current, 2)
        pyramid[size] = current
    return pyramid


def latent_axes() -> Tensor:
    """Orthonormal columns that place codes in the latent space, float[LATENT, CODE]."""
    return torch.from_numpy(axes(CODE))


def latents_from_codes(codes: Tensor, layers: int) -> Tensor:
    """float[N, CODE] -> w+ latents float[N, layers, LATENT], every layer the same."""
    return (codes @ latent_axes().to(codes.device).T)[:, None].expand(-1, layers, -1)
