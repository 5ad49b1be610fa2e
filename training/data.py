"""Batches of prepared crops brought to the canonical face, from a memory map or wholly on a GPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.carry import carried
from training.networks import (
    contrast_from_field,
    field_from_light,
    light_from_images,
    resized,
)
from training.places import CanonicalPlaces
from training.sources import is_sharp_adult
from training.textures import YCC_FROM_RGB

CARRIED_HELD: Final = 64
"""Of a carried folder, which has no held-out crops, so many stand in."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch on the canonical face.

    Attributes:
        planes: YCbCr float[N, 3, size, size] without light.
        codes: float[N, CODE] of the people shown, movement included.
        movement: float[N, CODE], the share of the codes that movement explains.
    """

    planes: Tensor
    codes: Tensor
    movement: Tensor


class Crops:
    """The prepared crops: `rows` to train on, `held` to look at, `people` to mix.

    `people` is float32[N, CODE], the codes of `rows` without movement; `parts` float32[P, CODE,
    CODE], what each part of somebody brings, see `training.parts`.
    """

    def __init__(self, folder: Path, texture: Path, size: int, device: torch.device) -> None:
        """Open `folder` as `training.texture` or `training.carry` left it.

        A GPU holds all of it.

        Args:
            folder: of crops.
            texture: path of the texture model.
            size: of the batches' planes, px.
            device: where batches are made.
        """
        if (folder / "faces.bin").exists():
            arrays = {name: torch.from_numpy(value) for name, value in carried(folder).items()}
            count = len(arrays["images"])
            used = np.arange(count) < count - CARRIED_HELD
            held = ~used
        else:
            arrays = _prepared(folder, into_memory=device.type == "cuda")
            held = np.load(folder / "split.npy") & np.load(folder / "frontal.npy")
            used = is_sharp_adult(folder) & np.load(folder / "lends.npy")
        self.people = (arrays["codes"] - arrays["movement"])[used].numpy()
        where = device if device.type == "cuda" else torch.device("cpu")
        self._arrays = {name: value.to(where) for name, value in arrays.items()}
        self.rows = torch.from_numpy(np.flatnonzero(used)).to(where)
        self.held = torch.from_numpy(np.flatnonzero(held)).to(where)
        with np.load(texture) as file:
            inside = torch.from_numpy(file["inside"]).float()[None, None]
            frame, triangles = file["frame_points"], file["triangles"]
            self.parts = np.asarray(file["parts"], np.float32)
        self._places = CanonicalPlaces(frame, triangles, size, device)
        self._inside = resized(inside, size).to(device)
        self._ycc = torch.from_numpy(YCC_FROM_RGB)[:, :, None, None].clone().to(device)

    def draw(self, count: int, generator: torch.Generator) -> Batch:
        """Draw `count` crops."""
        return self.at(self._drawn(count, generator))

    def movements(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw how `count` people move, float[count, CODE]."""
        return self._arrays["movement"][self._drawn(count, generator)]

    def _drawn(self, count: int, generator: torch.Generator) -> Tensor:
        where = self.rows.device
        pick = torch.randint(len(self.rows), (count,), generator=generator, device=where)
        return self.rows[pick]

    def at(self, rows: Tensor) -> Batch:
        """Return the crops `rows`, indices into the whole set."""
        images = self._arrays["images"][rows].permute(0, 3, 1, 2).float() / 127.5 - 1.0
        place = self._places(self._arrays["points"][rows])
        warped = functional.grid_sample(
            images, place * 2 - 1, mode="bilinear", padding_mode="border", align_corners=False
        )
        inside = self._inside.expand(len(rows), -1, -1, -1)
        field = field_from_light(light_from_images(warped, inside), inside)
        planes = functional.conv2d((warped - field) / contrast_from_field(field), self._ycc)
        return Batch(planes, self._arrays["codes"][rows], self._arrays["movement"][rows])


def _prepared(folder: Path, into_memory: bool) -> dict[str, Tensor]:
    mode: Literal["r+"] | None = None if into_memory else "r+"
    files = {
        "images": "faces256.npy",
        "points": "points.npy",
        "codes": "codes.npy",
        "movement": "movement.npy",
    }
    return {
        name: torch.from_numpy(np.load(folder / file, mmap_mode=mode))
        for name, file in files.items()
    }
