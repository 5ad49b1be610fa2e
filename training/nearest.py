"""How near drawn people come to the people of the training crops, by two recognisers.

A donor must be nobody's portrait: its nearest training face must not be nearer than strangers'
are. Recognisers are third-party files outside the repository; they judge here and train
nothing. `python -m training.nearest --models DIR --out runs/pack/nearest.json` says how near a
pack's donors are, and fails where one is too near.
"""

import argparse
import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.stylegan.pack import bundled_pack
from training.measure import RECOGNISERS, embeddings
from training.portraits import donors_of_pack, portraits
from training.sources import is_known_adult

COMPARED: Final = 600
"""Held-out crops whose nearest training faces say what is usual."""
USUAL: Final = 0.9
"""Quantile of theirs that a donor may reach; larger lets likelier portraits pass."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines to the nearest training face, by one recogniser.

    Attributes:
        drawn: float32[N] of drawn people.
        real: float32[COMPARED] of held-out crops.
        seen: float32[N, D], unit vectors of the drawn people.
    """

    drawn: Float32
    real: Float32
    seen: Float32

    def is_nobody(self) -> npt.NDArray[np.bool_]:
        """Which drawn people are no nearer to a training face than USUAL of held-out crops.

        >>> cosines = np.linspace(0, 1, 11, dtype=np.float32)
        >>> int(Nearness(cosines, cosines, np.eye(11, dtype=np.float32)).is_nobody().sum())
        10
        """
        return np.asarray(self.drawn <= np.quantile(self.real, USUAL), np.bool_)

    def facts(self, name: str) -> dict[str, float]:
        """Median and largest cosines under names that end in `name`."""
        return {
            f"nearest_donors_median_{name}": float(np.median(self.drawn)),
            f"nearest_donors_most_{name}": float(self.drawn.max()),
            f"nearest_real_median_{name}": float(np.median(self.real)),
            f"nearest_real_limit_{name}": float(np.quantile(self.real, USUAL)),
        }


def nearness(pictures: UInt8, points: Float32, data: Path, models: Path) -> dict[str, Nearness]:
    """Compare painted people with every adult of the training crops; one answer per recogniser.

    Args:
        pictures: uint8[N, S, S, 3] BGR crops of painted people.
        points: float32[N, POINTS, 3] that they were painted under, crop units.
        data: folder of prepared crops; embeddings of the crops are kept there.
        models: folder of the recognisers.
    """
    backend = OpenVino()
    held = np.flatnonzero(np.load(data / "split.npy"))[:COMPARED]
    found: dict[str, Nearness] = {}
    for name, which in RECOGNISERS.items():
        kept = data / f"nearest_{name}.npy"
        rows = np.concatenate([held, np.flatnonzero(is_known_adult(data))])
        if not kept.exists() or len(np.load(kept, mmap_mode="r")) != len(rows):
            crops = np.load(data / "faces128.npy", mmap_mode="r")
            labels = np.load(data / "points.npy")
            parts = [
                embeddings(backend, models, which, crops[part][..., ::-1], labels[part])
                for part in np.array_split(rows, max(1, len(rows) // 500))
            ]
            np.save(kept, np.concatenate(parts).astype(np.float16))
        seen = np.load(kept).astype(np.float32)
        real, known = seen[: len(held)], seen[len(held) :]
        drawn = embeddings(backend, models, which, pictures, points)
        nearest = (drawn @ known.T).max(axis=1)
        found[name] = Nearness(nearest, (real @ known.T).max(axis=1), drawn)
    return found


def nearness_of_pack(pack_folder: Path, data: Path, models: Path) -> dict[str, Nearness]:
    """How near a pack's donors are, as it paints them at rest; one answer per recogniser."""
    pictures, points = portraits(*donors_of_pack(pack_folder))
    return nearness(pictures, points, data, models)


def main() -> int:
    """Run from the command line; 1 where a donor is too near to somebody."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=bundled_pack())
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, help="facts of donors, which are brought up to date")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    near = nearness_of_pack(args.pack, args.data, args.models)
    facts: dict[str, float] = {}
    for name, each in near.items():
        facts |= each.facts(name)
    log.info("%s", facts)
    if args.out is not None:
        known = json.loads(args.out.read_text()) if args.out.exists() else {}
        args.out.write_text(json.dumps(known | facts))
    too_near = ~np.all([each.is_nobody() for each in near.values()], axis=0)
    if too_near.any():
        log.error("%d donors are too near to somebody; choose donors again", too_near.sum())
    return int(too_near.any())


if __name__ == "__main__":
    sys.exit(main())
