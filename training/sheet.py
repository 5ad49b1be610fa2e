"""Contact sheets: what the networks paint, as one picture."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.data import Batch
from training.networks import latents_from_codes


@torch.no_grad()
def save_sheet(path: Path, nets: nn.ModuleDict, codes: Tensor, fixed: Batch) -> None:
    """Write rows of crops, reconstructions, and six drawn people under the same control.

    Args:
        path: of the picture.
        nets: holds the averaged generator `g_ema`.
        codes: float[>= 6, CODE] of the drawn people.
        fixed: crops that every sheet shows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    generator = nets["g_ema"]

    def paint(codes: Tensor) -> Tensor:
        latents = latents_from_codes(codes, generator.layers)
        made: Tensor = generator(latents, fixed.maps, fixed.light, fixed.uv)
        return made

    rows = [fixed.image, paint(fixed.codes)]
    rows += [paint(code + fixed.movement) for code in codes[:6]]
    save_grid(path, torch.stack(rows))


def save_grid(path: Path, rows: Tensor) -> None:
    """Write float[R, N, 3, S, S] RGB in [-1, 1] as a picture of R rows."""
    from PIL import Image

    grid = ((rows.clamp(-1, 1).float() + 1) * 127.5).round().to(torch.uint8).cpu().numpy()
    high, wide = grid.shape[0] * grid.shape[3], grid.shape[1] * grid.shape[4]
    Image.fromarray(
        np.ascontiguousarray(grid.transpose(0, 3, 1, 4, 2)).reshape(high, wide, 3)
    ).save(path)
