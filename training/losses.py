"""Losses of the joint autoencoder and adversarial training."""

import torch
from torch import Tensor
from torch.nn import functional


def face_weight(maps: Tensor, size: int) -> Tensor:
    """Weight of each pixel: features of the face most, its outside least.

    Args:
        maps: float[N, 7, 64, 64] control maps.
        size: height and width of the result, px.

    Returns:
        float[N, 1, size, size] between 0.3 and 2.3.
    """
    parts = maps[:, 1:6].amax(dim=1, keepdim=True)
    weight = 0.3 + 0.7 * maps[:, :1] + 1.3 * parts
    if size != weight.shape[-1]:
        weight = functional.interpolate(
            weight, size=(size, size), mode="bilinear", align_corners=False
        )
    return weight


def pyramid_loss(made: Tensor, real: Tensor, weight: Tensor) -> Tensor:
    """Weighted L1 summed over image sizes down to 8 px; scalar.

    Sizes above 32 px count less: codes do not say where single hairs lie, and the adversary
    judges what is painted there.

    Args:
        made: float[N, 3, S, S].
        real: the same.
        weight: float[N, 1, S, S] of each pixel.
    """
    total = torch.zeros((), device=made.device)
    made, real, weight = made.contiguous(), real.contiguous(), weight.contiguous()
    while True:
        share = min(1.0, (32 / made.shape[-1]) ** 2)
        total = total + share * (weight * (made - real).abs()).mean()
        if made.shape[-1] <= 8:
            return total
        made, real, weight = (functional.avg_pool2d(x, 2) for x in (made, real, weight))


def feature_loss(made: list[Tensor], real: list[Tensor]) -> Tensor:
    """Mean over discriminator stages of the relative L1 distance; scalar."""
    total = torch.zeros((), device=made[0].device)
    for a, b in zip(made, real, strict=True):
        b = b.detach().float()
        total = total + (a.float() - b).abs().mean() / (b.abs().mean() + 1e-4)
    return total / len(made)


def generator_loss(fake: Tensor) -> Tensor:
    """Non-saturating loss from scores float[N]."""
    return functional.softplus(-fake).mean()


def discriminator_loss(real: Tensor, fake: Tensor) -> Tensor:
    """Logistic loss from scores on real and made crops."""
    return functional.softplus(-real).mean() + functional.softplus(fake).mean()


def r1_penalty(scores: Tensor, image: Tensor) -> Tensor:
    """Squared gradient norm of the scores at real crops, averaged (Mescheder et al. 2018)."""
    (gradient,) = torch.autograd.grad(scores.sum(), image, create_graph=True)
    return gradient.square().sum(dim=(1, 2, 3)).mean()


def identity_loss(made: Tensor, base: Tensor) -> Tensor:
    """L1 between a painted picture and its base at 16 px: texture decides who is seen."""
    factor = made.shape[-1] // 16
    return functional.avg_pool2d((made - base).contiguous(), factor).abs().mean()
