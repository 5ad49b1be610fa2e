"""Losses of the joint autoencoder and adversarial training."""

import torch
from torch import Tensor
from torch.nn import functional


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
