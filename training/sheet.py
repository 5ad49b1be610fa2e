"""Contact sheets: what the networks paint, as one picture."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.data import Batch
from training.networks import latents_from_codes


@torch.no_grad()
def save_sheet(path: Path, nets: nn.ModuleDict, codes: Tensor, fixed: Batch) -> None:
    """Write rows of canonical faces: crops, the same painted again, drawn people.

    Every person stands twice, by the linear texture alone and with its detail.

    Args:
        path: of the picture.
        nets: holds the averaged generator `g_ema`.
        codes: float[>= 2 N, CODE] of the drawn people.
        fixed: N crops that every sheet shows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    generator = nets["g_ema"]
    count = len(fixed.codes)
    rows = [fixed.planes]
    for some in (fixed.codes, codes[:count], codes[count : 2 * count]):
        latents = latents_from_codes(some, generator.layers)
        rows += [generator.linear(latents, generator.size), generator.planes(latents)]
    save_grid(path, torch.stack([functional.conv2d(row, generator.rgb) for row in rows]))


def save_grid(path: Path, rows: Tensor) -> None:
    """Write float[R, N, 3, S, S] RGB in [-1, 1] as a picture of R rows."""
    from PIL import Image

    grid = ((rows.clamp(-1, 1).float() + 1) * 127.5).round().to(torch.uint8).cpu().numpy()
    high, wide = grid.shape[0] * grid.shape[3], grid.shape[1] * grid.shape[4]
    Image.fromarray(
        np.ascontiguousarray(grid.transpose(0, 3, 1, 4, 2)).reshape(high, wide, 3)
    ).save(path)
