"""How near drawn people come to the people of the training crops, by two recognisers.

A donor must be nobody's portrait: its nearest training face must not be nearer than strangers'
are. Recognisers are third-party files outside the repository; they judge here and train
nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from training.measure import RECOGNISERS, embeddings

COMPARED: Final = 600
"""Held-out crops whose nearest training faces say what is usual."""
USUAL: Final = 0.9
"""Quantile of theirs that a donor may reach; larger lets likelier portraits pass."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


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

    def facts(self, name: str, chosen: npt.NDArray[np.int64]) -> dict[str, float]:
        """Median and largest cosines of some drawn people under names that end in `name`."""
        return {
            f"nearest_donors_median_{name}": float(np.median(self.drawn[chosen])),
            f"nearest_donors_most_{name}": float(self.drawn[chosen].max()),
            f"nearest_real_median_{name}": float(np.median(self.real)),
            f"nearest_real_limit_{name}": float(np.quantile(self.real, USUAL)),
        }


def nearness(
    pictures: UInt8, points: Float32, data: Path, models: Path, trained: npt.NDArray[np.bool_]
) -> dict[str, Nearness]:
    """Compare painted people with every training crop; one answer per recogniser.

    Args:
        pictures: uint8[N, S, S, 3] BGR crops of painted people.
        points: float32[N, POINTS, 3] that they were painted under, crop units.
        data: folder of prepared crops; embeddings of the crops are kept there.
        models: folder of the recognisers.
        trained: bool[M], crops that people were made from.
    """
    backend = OpenVino()
    held = np.flatnonzero(np.load(data / "split.npy"))[:COMPARED]
    found: dict[str, Nearness] = {}
    for name, which in RECOGNISERS.items():
        kept = data / f"nearest_{name}.npy"
        rows = np.concatenate([held, np.flatnonzero(trained)])
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
