#!/usr/bin/env python3
"""How far mouths are read open: `scripts/measure_opening.py DATA`.

DATA holds what `training.prepare` and `training.turning` wrote: heads that were turned in space,
many of whose mouths were opened, so that it is known how far. Those of held-out crops are read as
the product reads them. For each band of yaw the table tells how the gap of the lips follows the
true one, as landmarks have it and as `engines.stylegan.shape.true_gap` makes of it.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.face.swapper import Swapper
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import (
    ShapeModel,
    canonical_from_points,
    load_shape_model,
    mouth_gap,
    true_gap,
)

Float32 = NDArray[np.float32]
_BANDS_DEG = (0.0, 15.0, 30.0, 45.0, 90.0)
_BATCH = 50
_OPEN = 0.2
"""Gap, distances of the eyes, from which a mouth is wide open."""


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    chosen = parser.parse_args()
    held = np.load(chosen.data / "split.npy")[np.load(chosen.data / "turned_rows.npy")]
    images = np.load(chosen.data / "turned128.npy", mmap_mode="r")[held]
    swapper, _ = swapper_from_pack(OpenVino())
    shape = load_shape_model(read_pack(bundled_pack()).path("shape.npz"))
    wanted, yaw, _ = gaps(np.load(chosen.data / "turned.npy")[held], shape)
    _, _, seen = gaps(points_of(images, swapper), shape)
    print("| yaw | heads | | correlation | slope | wide open: too little by |")
    print("|---|---|---|---|---|---|")
    for low, high in pairwise(_BANDS_DEG):
        band = (yaw >= low) & (yaw < high)
        for name, read in seen.items():
            print(f"| {low:g} to {high:g}° | {band.sum()} | {name} {row(wanted[band], read[band])}")
    return 0


def points_of(images: NDArray[np.uint8], swapper: Swapper) -> Float32:
    """Landmarks float32[N, POINTS, 3] that are read off RGB crops uint8[N, S, S, 3]."""
    bgr = np.ascontiguousarray(images[..., ::-1])
    parts = (bgr[start : start + _BATCH] for start in range(0, len(bgr), _BATCH))
    return np.concatenate([swapper.read(part, is_lit=False).points for part in parts])


def gaps(points: Float32, shape: ShapeModel) -> tuple[Float32, Float32, dict[str, Float32]]:
    """Gaps float32[N], yaw without its sign, degrees, and gaps as read and corrected."""
    pose = shape.pose_of(points)
    found = mouth_gap(canonical_from_points(points, pose))
    both = {"as read": found, "corrected": true_gap(found, pose)}
    return found, np.abs(pose.angles_deg()[:, 0]), both


def row(wanted: Float32, read: Float32) -> str:
    """Cells of the table on how gaps float32[N] follow the true ones."""
    slope, _ = np.polyfit(wanted, read, 1)
    missing = float((wanted - read)[wanted > _OPEN].mean())
    return f"| {np.corrcoef(wanted, read)[0, 1]:.2f} | {slope:.2f} | {missing:.3f} |"


if __name__ == "__main__":
    raise SystemExit(main())
