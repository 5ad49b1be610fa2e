"""Crops in a small folder, for training on another machine: `python -m training.carry`.

Pictures travel as WebP, points and codes as integers. The folder holds the sharpest crops of real
adults who face the camera, as many as fit the size.
"""

import argparse
import io
import logging
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from training.sources import sharpness_of

POINT_STEP: Final = 1.0 / 1024
CODE_STEP: Final = 1.0 / 31

log = logging.getLogger(__name__)


def carry(data: Path, texture: Path, out: Path, megabytes: float, quality: int) -> int:
    """Write `faces.bin`, `arrays.npz` and `texture.npz`; return the number of crops."""
    from PIL import Image

    out.mkdir(parents=True, exist_ok=True)
    images = np.load(data / "faces256.npy", mmap_mode="r")
    fits = np.load(data / "lends.npy")
    chosen: list[int] = []
    ends: list[int] = []
    total = 0
    with (out / "faces.bin").open("wb") as file:
        for index in np.argsort(-sharpness_of(data), kind="stable"):
            if not fits[index]:
                continue
            buffer = io.BytesIO()
            Image.fromarray(images[index]).save(buffer, "WEBP", quality=quality, method=4)
            total += buffer.tell()
            if total > megabytes * 1e6:
                break
            file.write(buffer.getvalue())
            chosen.append(int(index))
            ends.append(total)
    points = np.load(data / "points.npy")[chosen]
    codes = [np.load(data / name)[chosen] for name in ("codes.npy", "movement.npy")]
    np.savez_compressed(
        out / "arrays.npz",
        allow_pickle=False,
        ends=np.array(ends, np.int64),
        points=_steps(points.transpose(1, 2, 0), POINT_STEP, np.int16),
        codes=_steps(codes[0], CODE_STEP, np.int8),
        movement=_steps(codes[1], CODE_STEP, np.int8),
    )
    with np.load(texture) as model:
        halves = {
            name: model[name].astype(np.float16) if name == "basis" else model[name]
            for name in model.files
            if name != "encoding"
        }
    np.savez(out / "texture.npz", allow_pickle=False, **halves)
    return len(chosen)


def carried(folder: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Read back `images` uint8[N, 256, 256, 3] RGB, `points`, `codes` and `movement` float32."""
    from PIL import Image

    with np.load(folder / "arrays.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    content = (folder / "faces.bin").read_bytes()
    starts = np.concatenate([[0], arrays["ends"][:-1]])
    pictures = [
        np.asarray(Image.open(io.BytesIO(content[start:end])).convert("RGB"), np.uint8)
        for start, end in zip(starts, arrays["ends"], strict=True)
    ]
    return {
        "images": np.stack(pictures),
        "points": arrays["points"].transpose(2, 0, 1) * np.float32(POINT_STEP),
        "codes": arrays["codes"].astype(np.float32) * np.float32(CODE_STEP),
        "movement": arrays["movement"].astype(np.float32) * np.float32(CODE_STEP),
    }


def _steps(
    values: npt.NDArray[np.float32], step: float, kind: type[np.integer]
) -> npt.NDArray[np.integer]:
    limit = np.iinfo(kind)
    return np.clip(np.round(values / step), limit.min, limit.max).astype(kind)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/carry"))
    parser.add_argument("--megabytes", type=float, default=45.0)
    parser.add_argument("--quality", type=int, default=70)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    count = carry(args.data, args.texture, args.out, args.megabytes, args.quality)
    log.info("%d crops carried", count)


if __name__ == "__main__":
    main()
