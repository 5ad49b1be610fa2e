"""Bring prepared crops to the place at which the swap paints: `python -m training.painted`.

The swap reads a face in the kveil crop and paints it in a wider one (`engines.face_look`). The
generator learns on both. Pixels beyond the kveil crop are unknown; `shown.npy` says where.
"""

import argparse
import logging
import shutil
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.alignment import EYES
from engines.face_look import PAINTED_EYES
from engines.stylegan.control import control_map_from_points
from engines.stylegan.sizes import MAP_CHANNELS, MAP_SIZE, UV_SIZE
from engines.stylegan.warp import TextureFrame, uv_from_points
from training.prepare import SIZE, crops_in_shards, names_of

SCALE: Final = float((PAINTED_EYES[1, 0] - PAINTED_EYES[0, 0]) / (EYES[1, 0] - EYES[0, 0]))
SHIFT: Final = PAINTED_EYES[0].astype(np.float64) - EYES[0] * SCALE
"""A place p of the kveil crop lies at p * SCALE + SHIFT of the painted one, in crop units."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def painted_place(points: Float32) -> Float32:
    """Move points float32[..., 3] from the kveil crop to the painted one.

    >>> painted_place(np.array([0.3, 0.37, 0.0], np.float32)).round(3).tolist()
    [0.335, 0.4, 0.0]
    """
    placed = points * np.float32(SCALE)
    placed[..., :2] += SHIFT.astype(np.float32)
    return np.asarray(placed, np.float32)


def painted_crop(crop: UInt8, border: int = cv2.BORDER_REPLICATE) -> UInt8:
    """Move a kveil crop uint8[S, S, ...] to the painted place, uint8[SIZE, SIZE, ...]."""
    inner = round(SIZE * SCALE)
    small = cv2.resize(crop, (inner, inner), interpolation=cv2.INTER_AREA)
    scale = SIZE * SCALE / inner
    x, y = SHIFT * SIZE + 0.5 * scale - 0.5
    move = np.array([[scale, 0.0, x], [0.0, scale, y]], np.float32)
    placed = cv2.warpAffine(small, move, (SIZE, SIZE), flags=cv2.INTER_LINEAR, borderMode=border)
    return np.asarray(placed, np.uint8)


def write(faces: Path, data: Path, texture: Path, out: Path) -> int:
    """Write the arrays of `training.prepare` and `training.texture` anew; return their number."""
    out.mkdir(parents=True, exist_ok=True)
    with np.load(texture) as file:
        frame = TextureFrame(file["frame_points"], file["triangles"])
    points = painted_place(np.load(data / "points.npy"))
    count = len(points)
    order = {name: i for i, name in enumerate(names_of(data))}
    opened = np.lib.format.open_memmap
    images = opened(out / "faces128.npy", "w+", np.uint8, (count, SIZE, SIZE, 3))
    maps = opened(out / "maps64.npy", "w+", np.uint8, (count, MAP_SIZE, MAP_SIZE, MAP_CHANNELS))
    uv = opened(out / "uv.npy", "w+", np.float16, (count, UV_SIZE, UV_SIZE, 2))
    for i, crop in crops_in_shards(faces, order):
        images[i] = painted_crop(crop)
        maps[i] = control_map_from_points(points[i])
        uv[i] = uv_from_points(points[i], frame)
    np.save(out / "points.npy", points)
    np.save(
        out / "shown.npy", painted_crop(np.full((SIZE, SIZE), 255, np.uint8), cv2.BORDER_CONSTANT)
    )
    for name in ("codes.npy", "movement.npy", "split.npy", "names.json"):
        shutil.copyfile(data / name, out / name)
    return count


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faces", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/painted"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    log.info("%d crops placed", write(args.faces, args.data, args.texture, args.out))


if __name__ == "__main__":
    main()
