"""Turn the aligned face crops into arrays that training reads.

`python -m training.prepare --faces DIR --models DIR --out runs/data` writes, once:

- `faces256.npy` uint8[N, 256, 256, 3] RGB kveil crops, and `faces128.npy` half as large,
- `points.npy` float32[N, POINTS, 3] control points in crop units,
- `split.npy` bool[N], true for the held-out crops,
- `names.json` the crops' names and labels in the same order.

The mesh network that finds the points is a labelling aid: none of its weights is shipped.
"""

import argparse
import csv
import hashlib
import io
import json
import logging
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import openvino_runtime
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    MESH_INDEX,
    MESH_POINTS,
    POINTS,
)

HOLDOUT: Final = 2000
SIZE: Final = 128
WHOLE: Final = 256
"""Height and width of crops as they come, px."""
MESH_SIZE: Final = 192
MESH_PAD: Final = 0.25
MESH_FILE: Final = "mediapipe_face_landmark_468.tflite"

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


class MeshLabeller:
    """Finds control points on a crop with the face-mesh network, through OpenVINO."""

    def __init__(self, model: Path) -> None:
        """Compile `model` for the CPU in float32."""
        core = openvino_runtime().Core()
        self._net = core.compile_model(
            core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
        )

    def __call__(self, crop: UInt8) -> Float32:
        """Return float32[POINTS, 3] for one RGB crop uint8[S, S, 3]."""
        mesh = self.whole(crop)[MESH_INDEX]
        points = np.zeros((POINTS, 3), np.float32)
        points[:MESH_POINTS] = mesh
        points[MESH_POINTS] = pupil_from_eye(crop, mesh[EYE_LEFT_SLICE])
        points[MESH_POINTS + 1] = pupil_from_eye(crop, mesh[EYE_RIGHT_SLICE])
        return points

    def whole(self, crop: UInt8) -> Float32:
        """Return the whole mesh, float32[468, 3] crop units, of one RGB crop uint8[S, S, 3]."""
        size = crop.shape[0]
        pad = int(size * MESH_PAD)
        wide = cv2.copyMakeBorder(crop, pad, pad, pad, pad, cv2.BORDER_REPLICATE)
        fed = cv2.resize(wide, (MESH_SIZE, MESH_SIZE), interpolation=cv2.INTER_AREA)
        mesh = self.mesh(np.asarray(fed, np.uint8)) / MESH_SIZE * (wide.shape[0] / size)
        mesh[:, :2] -= pad / size
        return np.asarray(mesh, np.float32)

    def mesh(self, fed: UInt8) -> Float32:
        """Return the whole mesh, float32[468, 3] px, of uint8[MESH_SIZE, MESH_SIZE, 3] RGB."""
        out = self._net(fed[None].astype(np.float32) / 255.0)[0]
        return np.asarray(out, np.float32).reshape(-1, 3)


def pupil_from_eye(crop: UInt8, eye: Float32) -> Float32:
    """Return the centre of an eye's darkest third, float32[3], crop units.

    Args:
        crop: RGB uint8[S, S, 3].
        eye: float32[P, 3] outline of the eye.
    """
    size = crop.shape[0]
    centre = eye.mean(axis=0)
    mask = np.zeros((size, size), np.uint8)
    cv2.fillPoly(mask, [np.round(eye[:, :2] * size).astype(np.int32)], 1)
    rows, cols = np.nonzero(mask)
    if len(rows) < 8:
        return np.asarray(centre, np.float32)
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY)[rows, cols].astype(np.float32)
    weight = np.maximum(np.quantile(grey, 0.4) - grey, 0.0)
    if float(weight.sum()) < 1.0:
        return np.asarray(centre, np.float32)
    x = float((cols * weight).sum() / weight.sum() + 0.5) / size
    y = float((rows * weight).sum() / weight.sum() + 0.5) / size
    return np.array([x, y, float(centre[2])], np.float32)


def holdout_from_names(names: list[str], count: int = HOLDOUT) -> npt.NDArray[np.bool_]:
    """Choose `count` crops by the hash of their names, so that every machine agrees.

    >>> int(holdout_from_names(["a", "b", "c"], 1).sum())
    1
    """
    keys = [hashlib.sha256(f"holdout:{name}".encode()).hexdigest() for name in names]
    chosen = np.zeros(len(names), np.bool_)
    chosen[np.argsort(keys)[:count]] = True
    return chosen


def names_of(data: Path) -> list[str]:
    """The names of the prepared crops in their order."""
    return [str(row["name"]) for row in json.loads((data / "names.json").read_text())]


def prepare(faces: Path, models: Path, out: Path) -> int:
    """Write the arrays; return the number of crops."""
    out.mkdir(parents=True, exist_ok=True)
    with (faces / "faces256.csv").open(newline="") as handle:
        rows = {row["name"]: row for row in csv.DictReader(handle)}
    names = sorted(rows)
    order = {name: i for i, name in enumerate(names)}
    whole, images = (
        np.lib.format.open_memmap(
            out / f"faces{side}.npy", "w+", np.uint8, (len(names), side, side, 3)
        )
        for side in (WHOLE, SIZE)
    )
    points = np.zeros((len(names), POINTS, 3), np.float32)
    label, done = MeshLabeller(models / MESH_FILE), 0
    for i, crop in crops_in_shards(faces, order):
        whole[i] = crop
        images[i] = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
        points[i] = label(crop)
        done += 1
    whole.flush()
    images.flush()
    np.save(out / "points.npy", points)
    np.save(out / "split.npy", holdout_from_names(names))
    (out / "names.json").write_text(json.dumps([rows[name] for name in names]))
    return done


def crops_in_shards(faces: Path, order: dict[str, int]) -> Iterator[tuple[int, UInt8]]:
    """Read the crops of every shard.

    Args:
        faces: folder of `faces256-*.tar`.
        order: place of each crop by its name; others are passed over.

    Yields:
        The place, and the crop uint8[H, W, 3] RGB.
    """
    for shard in sorted(faces.glob("faces256-*.tar")):
        with tarfile.open(shard) as tar:
            for member in tar:
                stream = tar.extractfile(member)
                if stream is None or member.name not in order:
                    continue
                yield order[member.name], _decode(stream.read())
        log.info("%s is read", shard.name)


def _decode(data: bytes) -> UInt8:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.uint8)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faces", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/data"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    log.info("%d crops prepared", prepare(args.faces, args.models, args.out))


if __name__ == "__main__":
    main()
