"""Tell movement from rest in what expressions show: `python -m training.movement`.

Faces at rest differ in the directions of expression too. People who were asked to look neutral say
how much, people on photographs how much everything together: what is left is movement, and the
least-squares estimate of it from one picture follows (Wiener). Both are read as the product reads
them. The arrays go into a pack's `shape.npz`.
"""

import argparse
import csv
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.face.swapper import LANDMARK_SIZE, Swapper
from engines.stylegan.movement import movement_beyond_rest
from engines.stylegan.pack import file_entry, read_pack, swapper_from_pack
from engines.stylegan.shape import ShapeModel, load_shape_model
from training.attributes import chosen_rows, crops_of
from training.bundle import FILES, enter
from training.portrait_donors import portraits

SHAPE: Final = "shape.npz"
_NEUTRAL: Final = "neutral"
_SMILING: Final = "smil"
"""What the origins of portraits contain that were asked for at rest, and with a smile."""
_SOURCE: Final = "london"
_CROPS: Final = 1500
_GROWN: Final = 14.0
_SUREST: Final = 0.024
"""Expected error of landmarks, crop units, above which a crop tells nothing."""
STILLNESS: Final = 0.7
"""What counts as no movement, in deviations of what is left of people at rest."""
_BATCH: Final = 50

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def movement_arrays(resting: Float32, seen: Float32) -> dict[str, Float32]:
    """`neutral`, `movement_gain` and `stillness` of a shape model.

    Args:
        resting: float32[M, K] expression parts of people at rest.
        seen: float32[N, K] of people on photographs, moving or not.

    >>> random = np.random.default_rng(0).standard_normal((2000, 1)).astype(np.float32)
    >>> found = movement_arrays(random, 2 * random)
    >>> found["movement_gain"].round(2).tolist()
    [[0.75]]
    """
    neutral = resting.mean(axis=0)
    away = seen - neutral
    total = (away.T @ away / len(away)).astype(np.float64)
    between = np.cov(resting.T).reshape(total.shape)
    sizes, axes = np.linalg.eigh(total - between)
    movement = (axes * np.maximum(sizes, 0.0)) @ axes.T
    gain = movement @ np.linalg.inv(movement + between)
    left = np.sqrt(np.diag(gain @ between @ gain.T))
    found = {"neutral": neutral, "movement_gain": gain, "stillness": STILLNESS * left}
    return {name: np.asarray(value, np.float32) for name, value in found.items()}


def expressions(crops: Iterable[UInt8], swapper: Swapper, shape: ShapeModel) -> Float32:
    """Expression parts float32[N, K] of kveil crops uint8[S, S, 3] BGR that are read surely."""
    side = (LANDMARK_SIZE, LANDMARK_SIZE)
    small = [cv2.resize(crop, side, interpolation=cv2.INTER_AREA) for crop in crops]
    found = []
    for start in range(0, len(small), _BATCH):
        fed = np.asarray(np.stack(small[start : start + _BATCH]), np.uint8)
        read = swapper.read(fed, is_lit=False)
        points = read.points[read.doubt < _SUREST]
        found.append(shape.expression_of(points, shape.pose_of(points)))
    return np.concatenate(found)


def share_followed(resting: Float32, smiling: Float32, arrays: dict[str, Float32]) -> float:
    """How much of the mean change from rest to a smile counts as movement.

    Args:
        resting: float32[M, K] expression parts of people at rest.
        smiling: float32[L, K] of smiling people.
        arrays: as of `movement_arrays`.

    >>> arrays = {"neutral": np.zeros(1), "movement_gain": np.eye(1), "stillness": np.zeros(1)}
    >>> share_followed(np.zeros((2, 1)), np.ones((2, 1)), arrays)
    1.0
    """
    seen = smiling.mean(axis=0) - resting.mean(axis=0)
    moved = [movement_beyond_rest(part, **arrays).mean(axis=0) for part in (resting, smiling)]
    return float((moved[1] - moved[0]) @ seen / (seen @ seen))


def write(folder: Path, faces: Path, weights: Path) -> None:
    """Fit the arrays and write them into a pack's `shape.npz` and its manifest."""
    pack = read_pack(weights)
    swapper, _ = swapper_from_pack(OpenVino(), weights)
    shape = load_shape_model(pack.path(SHAPE))
    with (folder / "portraits.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source"] == _SOURCE]
    names = [
        [row["name"] for row in rows if kind in row["origin"]] for kind in (_NEUTRAL, _SMILING)
    ]
    chosen = chosen_rows(faces, 2 * _CROPS, seed=0)
    grown = {name for name, row in chosen.items() if float(row["age"] or 0) >= _GROWN}
    resting, smiling = (expressions(portraits(folder, part), swapper, shape) for part in names)
    seen = expressions((crop for _, crop in crops_of(faces, grown)), swapper, shape)
    log.info("%d people at rest, %d photographs", len(resting), len(seen))
    held = movement_arrays(resting[::2], seen)
    followed = share_followed(resting[1::2], smiling, held)
    log.info("of smiles %.0f %% are followed, by the rest of other people", 100 * followed)
    with np.load(weights / SHAPE, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    arrays |= movement_arrays(resting, seen)
    np.savez_compressed(weights / SHAPE, allow_pickle=False, **arrays)
    enter(weights, {SHAPE: file_entry(weights / SHAPE, FILES[SHAPE])})


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--portraits", type=Path, required=True, help="folder of the tars")
    parser.add_argument("--faces", type=Path, required=True, help="folder of faces256.csv")
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    write(args.portraits, args.faces, args.pack)


if __name__ == "__main__":
    main()
