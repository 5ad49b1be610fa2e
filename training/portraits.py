"""People painted at rest, in even light to compare them by their looks alone.

`python -m training.portraits --out docs/donors.jpg` writes a contact sheet of a pack's donors, each
under a lamp and before a wall of its own, as in photographs.
"""

import argparse
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.face.swapper import Control, Swapper
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from engines.stylegan.shape import ShapeModel, load_shape_model, points_at_rest
from engines.stylegan.sizes import LIGHT_SIZE

BATCH: Final = 20
EVEN_LIGHT: Final = (-0.1, 0.0, 0.15)
"""Colour of the light, BGR in [-1, 1]."""
SIDE: Final = 128
"""Of a portrait, px: recognisers look no closer."""
SHEET: Final = (5, 12)
"""Rows and columns of a contact sheet."""

_LAMP_SEED: Final = 3
_LEVELS: Final = (-0.25, 0.25)
_WARMTHS: Final = (0.2, 0.28)
_SLOPE: Final = 0.14
_WALLS: Final = (-0.5, 0.4)
_DULL: Final = 0.02
"""Of lamps: brightness of faces, how much more red and less blue they are, how much one side is
brighter; brightness of walls and how colourful they are."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def portraits(
    swapper: Swapper, shape: ShapeModel, latents: Float32, light: Float32 | None = None
) -> tuple[UInt8, Float32]:
    """Paint people at rest.

    Args:
        swapper: of the pack.
        shape: of the pack.
        latents: float32[N, L, 512].
        light: float32[N, 2, 4, 4, 3] BGR in [-1, 1], of face and surroundings; even if left out.

    Returns:
        uint8[N, SIDE, SIDE, 3] BGR, and the points they were painted under, float32[N, POINTS, 3].
    """
    rest = points_at_rest(shape)
    if light is None:
        light = np.full((len(latents), 2, LIGHT_SIZE, LIGHT_SIZE, 3), EVEN_LIGHT, np.float32)
    pictures, places = [], []
    for start in range(0, len(latents), BATCH):
        part = latents[start : start + BATCH]
        points = np.repeat(rest, len(part), axis=0)
        lamps = light[start : start + BATCH]
        made = swapper.paint(Control(points, lamps, np.zeros(len(part), np.float32)), part)
        pictures.append(np.stack([_reduced(one) for one in made.pixels]))
        places.append(shape.swapped(points, part))
    return np.concatenate(pictures), np.concatenate(places)


def lamps_and_walls(count: int) -> Float32:
    """Light of everyday photographs, the same at every call: float32[count, 2, 4, 4, 3] BGR.

    Faces from dark to bright, warmer than the wall and lit from one side; walls of dull colours.
    """
    random = np.random.default_rng(_LAMP_SEED)
    level = random.uniform(*_LEVELS, (count, 1, 1, 1))
    warmth = random.uniform(*_WARMTHS, (count, 1, 1, 1)) * np.array([-1, 0, 1])
    place = np.linspace(-1, 1, LIGHT_SIZE)
    across, down = np.meshgrid(place, place)
    slopes = random.uniform(-_SLOPE, _SLOPE, (2, count, 1, 1))
    slope = (slopes[0] * across + slopes[1] * down)[..., None]
    wall = random.uniform(*_WALLS, (count, 1, 1, 1)) + random.normal(0, _DULL, (count, 1, 1, 3))
    light = np.stack([level + warmth + slope, wall + 0.5 * slope], axis=1)
    return np.asarray(np.clip(light, -0.95, 0.95), np.float32)


def _reduced(picture: Float32) -> UInt8:
    small = cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(np.rint(small), np.uint8)


def sheet(pictures: UInt8, columns: int) -> UInt8:
    """A contact sheet of uint8[N, S, S, 3], whole rows only: uint8[N // columns * S, ..., 3]."""
    rows = pictures[: len(pictures) // columns * columns].reshape(-1, columns, *pictures.shape[1:])
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows])


def donors_of_pack(pack_folder: Path) -> tuple[Swapper, ShapeModel, Float32]:
    """What paints a pack's donors, its shape model, and their latents float32[N, L, 512]."""
    pack = read_pack(pack_folder)
    swapper, _ = swapper_from_pack(OpenVino(), pack_folder)
    return swapper, load_shape_model(pack.path("shape.npz")), donor_latents(pack)


def sheet_of_pack(pack_folder: Path) -> UInt8:
    """A contact sheet of donors, evenly chosen from all of a pack, uint8[H, W, 3] BGR."""
    swapper, shape, latents = donors_of_pack(pack_folder)
    rows, columns = SHEET
    chosen = np.linspace(0, len(latents) - 1, rows * columns).astype(int)
    pictures, _ = portraits(swapper, shape, latents[chosen], lamps_and_walls(len(chosen)))
    return sheet(pictures, columns)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=bundled_pack())
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    cv2.imwrite(str(args.out), sheet_of_pack(args.pack))


if __name__ == "__main__":
    main()
