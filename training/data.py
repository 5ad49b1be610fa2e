"""Batches of prepared crops, on the CPU by memory map or wholly on the GPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.carry import carried
from training.networks import light_from_images, resized, softened
from training.render import maps_from_points, uv_from_points
from training.sources import is_sharp_adult

GROWTH: Final = 6
"""How far beyond the face's outline a swap shows what is painted, px of 64."""
SOFT: Final = 2
"""Half the width of that region's rim, px of 64."""


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
        region: float[N, 1, S, S] in [0, 1], where a swap may show what is painted: 1 on the face
            and a little beyond, 0 further out and where the crop's pixels are unknown.
    """

    image: Tensor
    maps: Tensor
    light: Tensor
    uv: Tensor
    codes: Tensor
    movement: Tensor
    region: Tensor


class Crops:
    """The prepared crops: `rows` to train on, `held` to look at."""

    def __init__(self, folder: Path, device: torch.device) -> None:
        """Open `folder` as `training.prepare` or `training.carry` wrote it.

        A GPU holds all of it; a carried folder has no held-out crops, its last 64 stand in.
        """
        self.device = device
        self.on_gpu = device.type == "cuda"
        if (folder / "faces.bin").exists():
            arrays, count = _carried(folder, device)
            split = np.arange(count) >= count - 64
        else:
            arrays = _prepared(folder, self.on_gpu)
            split = np.load(folder / "split.npy")
        used = is_sharp_adult(folder) & ~split if (folder / "names.json").exists() else ~split
        self.rows = torch.from_numpy(np.flatnonzero(used))
        self.held = torch.from_numpy(np.flatnonzero(split))
        if self.on_gpu:
            arrays = [array.to(device) for array in arrays]
            self.rows, self.held = self.rows.to(device), self.held.to(device)
        self._images, self._maps, self._uv, self._codes, self._movement = arrays
        shown = folder / "shown.npy"
        known = np.load(shown) if shown.exists() else np.full((1, 1), 255, np.uint8)
        self._shown = torch.from_numpy(known / np.float32(255))[None, None].to(device)

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
            region_from_maps(maps, size) * resized(self._shown, size),
        )


def region_from_maps(maps: Tensor, size: int) -> Tensor:
    """Where a swap may show the painted face: float[N, C, 64, 64] -> float[N, 1, size, size]."""
    side = 2 * GROWTH + 1
    grown = functional.max_pool2d(maps[:, :1], (side, 1), stride=1, padding=(GROWTH, 0))
    grown = functional.max_pool2d(grown, (1, side), stride=1, padding=(0, GROWTH))
    pad = functional.pad(grown, (SOFT, SOFT, SOFT, SOFT), mode="replicate")
    return resized(functional.avg_pool2d(pad, 2 * SOFT + 1, stride=1), size)


def _prepared(folder: Path, into_memory: bool) -> list[Tensor]:
    names = ("faces128.npy", "maps64.npy", "uv.npy", "codes.npy", "movement.npy")
    mode: Literal["r+"] | None = None if into_memory else "r+"
    return [torch.from_numpy(np.load(folder / name, mmap_mode=mode)) for name in names]


def _carried(folder: Path, device: torch.device) -> tuple[list[Tensor], int]:
    arrays = {name: torch.from_numpy(value) for name, value in carried(folder).items()}
    with np.load(folder / "texture.npz") as file:
        frame = torch.from_numpy(file["frame_points"]).to(device)
        triangles = torch.from_numpy(file["triangles"]).long().to(device)
    maps, uv = [], []
    for points in arrays["points"].split(128):
        points = points.to(device)
        drawn = maps_from_points(points).permute(0, 2, 3, 1)
        maps.append((drawn * 255).round().to(torch.uint8))
        uv.append(uv_from_points(points, frame, triangles).permute(0, 2, 3, 1).half())
    made = [arrays["images"], torch.cat(maps), torch.cat(uv), arrays["codes"], arrays["movement"]]
    return made, len(arrays["images"])


def joined(first: Batch, second: Batch) -> Batch:
    """Return both batches as one; the image stays the first's alone."""
    return Batch(
        first.image,
        torch.cat([first.maps, second.maps]),
        torch.cat([first.light, second.light]),
        torch.cat([first.uv, second.uv]),
        torch.cat([first.codes, second.codes]),
        torch.cat([first.movement, second.movement]),
        torch.cat([first.region, second.region]),
    )
