"""Batches of prepared crops, on the CPU by memory map or wholly on the GPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engines.stylegan.control import LIGHT_SIZE


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch in the generator's frame.

    Attributes:
        image: float[N, 3, S, S] RGB in [-1, 1].
        maps: float[N, MAP_CHANNELS, 64, 64] in [0, 1].
        light: float[N, 3, 4, 4] RGB in [-1, 1].
    """

    image: Tensor
    maps: Tensor
    light: Tensor

    def half(self, start: int, stop: int) -> "Batch":
        """Return the rows [start, stop)."""
        return Batch(self.image[start:stop], self.maps[start:stop], self.light[start:stop])


class Crops:
    """The prepared crops of one split, drawn at random with mirror images."""

    def __init__(self, folder: Path, device: torch.device, held_out: bool = False) -> None:
        """Open `folder` as `training.prepare` wrote it; a GPU holds all of it."""
        split = np.load(folder / "split.npy")
        self.rows = torch.from_numpy(np.flatnonzero(split == held_out))
        self.device = device
        self.on_gpu = device.type == "cuda"
        mode: Literal["r+"] | None = None if self.on_gpu else "r+"
        self._images = torch.from_numpy(np.load(folder / "faces128.npy", mmap_mode=mode))
        self._maps = torch.from_numpy(np.load(folder / "maps64.npy", mmap_mode=mode))
        if self.on_gpu:
            self._images = self._images.to(device)
            self._maps = self._maps.to(device)
            self.rows = self.rows.to(device)

    def draw(self, count: int, size: int, generator: torch.Generator) -> Batch:
        """Draw `count` crops at `size` px; half of them mirrored."""
        where = self.rows.device
        pick = torch.randint(len(self.rows), (count,), generator=generator, device=where)
        mirrored = torch.rand(count, generator=generator, device=where) < 0.5
        return self.at(self.rows[pick], size, mirrored)

    def at(self, rows: Tensor, size: int, mirrored: Tensor | None = None) -> Batch:
        """Return the crops `rows` (indices into the whole set) at `size` px."""
        image = self._images[rows].permute(0, 3, 1, 2).float() / 127.5 - 1.0
        maps = self._maps[rows].permute(0, 3, 1, 2).float() / 255.0
        if mirrored is not None:
            choose = mirrored[:, None, None, None]
            image = torch.where(choose, image.flip(3), image)
            maps = torch.where(choose, maps.flip(3), maps)
        light = light_from_images(image)
        if image.shape[-1] != size:
            image = functional.interpolate(image, size=(size, size), mode="area")
        memory = torch.channels_last
        return Batch(
            image.contiguous(memory_format=memory), maps.contiguous(memory_format=memory), light
        )


def light_from_images(image: Tensor) -> Tensor:
    """float[N, 3, S, S] -> the mean colours of a 4x4 grid, float[N, 3, 4, 4]."""
    return functional.adaptive_avg_pool2d(image.float(), LIGHT_SIZE)
