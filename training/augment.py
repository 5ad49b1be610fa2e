"""Adaptive discriminator augmentation (Karras et al. 2020, ADA), small and differentiable.

Moves and contrast; pictures of one channel have no colour to change.
"""

import torch
from torch import Tensor
from torch.nn import functional


class AdaptiveAugment:
    """Holds the probability p and steers it by the sign of the scores on real crops."""

    def __init__(self, target: float = 0.6, kimg_to_full: float = 100.0, p: float = 0.0) -> None:
        """Rise towards 1 over `kimg_to_full` thousand crops while overfitting shows."""
        self.target = target
        self.rate = 1.0 / (kimg_to_full * 1000.0)
        self.p = p
        self.sign = 0.0

    def update(self, real_scores: Tensor) -> None:
        """Move p by one batch of real scores, float[N]."""
        self.sign = 0.95 * self.sign + 0.05 * float(real_scores.sign().mean())
        step = self.rate * len(real_scores) * (1.0 if self.sign > self.target else -1.0)
        self.p = min(max(self.p + step, 0.0), 0.8)

    def __call__(self, image: Tensor) -> Tensor:
        """Augment a batch float[N, C, S, S], the same shape returned."""
        if self.p <= 0.0:
            return image
        return _contrasted(_moved(image, self.p), self.p)


def _moved(image: Tensor, p: float) -> Tensor:
    count = image.shape[0]
    device = image.device

    def maybe(spread: float) -> Tensor:
        gate = (torch.rand(count, device=device) < p).float()
        return torch.randn(count, device=device) * spread * gate

    scale = torch.exp2(maybe(0.15))
    angle = maybe(0.12)
    theta = torch.zeros(count, 2, 3, device=device)
    theta[:, 0, 0] = theta[:, 1, 1] = torch.cos(angle) * scale
    theta[:, 0, 1] = -torch.sin(angle) * scale
    theta[:, 1, 0] = torch.sin(angle) * scale
    theta[:, 0, 2] = maybe(0.12)
    theta[:, 1, 2] = maybe(0.12)
    grid = functional.affine_grid(theta, list(image.shape), align_corners=False)
    return functional.grid_sample(
        image.float(), grid, padding_mode="reflection", align_corners=False
    )


def _contrasted(image: Tensor, p: float) -> Tensor:
    count, device = image.shape[0], image.device
    gate = (torch.rand(count, 1, 1, 1, device=device) < p).float()
    gain = torch.exp2(torch.randn(count, 1, 1, 1, device=device) * gate * 0.3)
    mean = image.mean(dim=(1, 2, 3), keepdim=True)
    return (image - mean) * gain + mean
