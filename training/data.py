"""Batches of prepared crops, on the CPU by memory map or wholly on the GPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.networks import light_from_images, softened


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch in the generator's frame.

    Attributes:
        image: float[N, 3, S, S] RGB in [-1, 1].
        maps: float[N, MAP_CHANNELS, 64, 64] in [0, 1].
        light: float[N, 6, 4, 4] RGB of face and surroundings in [-1, 1].
        uv: float[N, 2, 128, 128] place on the texture.
        codes: float[N, CODE] of the people shown, movement included.
        movement: float[N, CODE], the share of the codes that movement explains.
    """

    image: Tensor
    maps: Tensor
    light: Tensor
    uv: Tensor
    codes: Tensor
    movement: Tensor


class Crops:
    """The prepared crops of one split, drawn at random."""

    def __init__(self, folder: Path, device: torch.device, held_out: bool = False) -> None:
        """Open `folder` as `training.prepare` wrote it; a GPU holds all of it."""
        split = np.load(folder / "split.npy")
        self.rows = torch.from_numpy(np.flatnonzero(split == held_out))
        self.device = device
        self.on_gpu = device.type == "cuda"
        mode: Literal["r+"] | None = None if self.on_gpu else "r+"
        names = ("faces128.npy", "maps64.npy", "uv.npy", "codes.npy", "movement.npy")
        arrays = [torch.from_numpy(np.load(folder / name, mmap_mode=mode)) for name in names]
        if self.on_gpu:
            arrays = [array.to(device) for array in arrays]
            self.rows = self.rows.to(device)
        self._images, self._maps, self._uv, self._codes, self._movement = arrays

    def draw(self, count: int, size: int, generator: torch.Generator) -> Batch:
        """Draw `count` crops at `size` px."""
        where = self.rows.device
        pick = torch.randint(len(self.rows), (count,), generator=generator, device=where)
        return self.at(self.rows[pick], size)

    def at(self, rows: Tensor, size: int) -> Batch:
        """Return the crops `rows` (indices into the whole set) at `size` px."""
        image = self._images[rows].permute(0, 3, 1, 2).float() / 127.5 - 1.0
        maps = self._maps[rows].permute(0, 3, 1, 2).float() / 255.0
        uv = self._uv[rows].permute(0, 3, 1, 2).float()
        light = light_from_images(image, softened(maps[:, :1], image.shape[-1]))
        if image.shape[-1] != size:
            image = functional.interpolate(image, size=(size, size), mode="area")
        memory = torch.channels_last
        return Batch(
            image.contiguous(memory_format=memory),
            maps.contiguous(memory_format=memory),
            light,
            uv,
            self._codes[rows],
            self._movement[rows],
        )


def joined(first: Batch, second: Batch) -> Batch:
    """Return both batches as one; the image stays the first's alone."""
    return Batch(
        first.image,
        torch.cat([first.maps, second.maps]),
        torch.cat([first.light, second.light]),
        torch.cat([first.uv, second.uv]),
        torch.cat([first.codes, second.codes]),
        torch.cat([first.movement, second.movement]),
    )
