"""Fit the relief model: `python -m training.relief`, after `training.shape`.

Reads the light of every prepared crop, keeps what its face's cells show beyond mean and slope
(`engines.stylegan.relief`), and finds the principal directions over photographed adults who
face the camera. Writes `relief.npz` and, beside the crops, everybody's codes `relief.npy`.
"""

import argparse
import logging
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.face.swapper import full_light_from_crop
from engines.stylegan.relief import relief_from_light
from engines.stylegan.shape import pose_from_points
from engines.stylegan.sizes import LIGHT_SIZE
from training.sources import FRONTAL_YAW_DEG, lends

RELIEF_CODES: Final = 12
"""Directions kept of sixteen cells: three are the lamp's."""
CODE_LIMIT: Final = 3.0

Float32 = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


def reliefs_of(data: Path) -> Float32:
    """Relief of every prepared crop, float32[N, 16]."""
    crops = np.load(data / "faces128.npy", mmap_mode="r")
    points = np.load(data / "points.npy")
    found = np.empty((len(crops), LIGHT_SIZE * LIGHT_SIZE), np.float32)
    for row, (crop, face) in enumerate(zip(crops, points, strict=True)):
        light = full_light_from_crop(np.ascontiguousarray(crop[..., ::-1]), face)
        found[row] = relief_from_light(light).ravel()
    return found


def fit(data: Path, shape: Path, out: Path) -> None:
    """Write `relief.npz`, and `relief.npy` beside the prepared crops."""
    relief = reliefs_of(data)
    with np.load(shape) as file:
        pose = pose_from_points(np.load(data / "points.npy"), file["mean"])
    good = lends(data, pose.angles_deg()[:, 0], FRONTAL_YAW_DEG)
    mean = relief[good].mean(axis=0)
    _, spread, rows = np.linalg.svd(relief[good] - mean, full_matrices=False)
    sigma = spread[:RELIEF_CODES] / np.sqrt(good.sum())
    rows = rows[:RELIEF_CODES]
    codes = np.clip((relief - mean) @ rows.T / sigma, -CODE_LIMIT, CODE_LIMIT)
    np.save(data / "relief.npy", codes.astype(np.float32))
    np.savez(out, allow_pickle=False, mean=mean, basis=rows * sigma[:, None])
    log.info("relief: deviations %s of the lamp's light", np.round(sigma, 3).tolist())


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--shape", type=Path, default=Path("runs/shape.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/relief.npz"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    fit(args.data, args.shape, args.out)


if __name__ == "__main__":
    main()
