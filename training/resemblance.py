"""Find donors who look alike: `python -m training.resemblance --models DIR`.

They are not dealt together, see `gallery.dealing`. Every donor is painted under the control of
other people. Two are as alike as they are to the recogniser to which they are more so, on the mean
over these people, measured by the cosine at which it takes them for one; the most alike pairs are
written into the pack's `donors.npz`. What that is worth `scripts/measure_resemblance.py` tells.
"""

import argparse
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.pack import read_pack
from training.choosing import shown
from training.measure import RECOGNISERS
from training.portraits import donors_of_pack

CONTROLS: Final = 8
"""People under whose control every donor is painted; more average their own looks out."""
SHARE: Final = 0.05
"""Of all pairs that count as look-alikes. More make the first hundred that are dealt resemble each
other less; beyond, hardly any more, and more is known of who comes early."""

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]

log = logging.getLogger(__name__)


def alike_pairs(seen: Mapping[str, Float32], share: float) -> Int32:
    """The most alike of all pairs, int32[M, 2], each once and the lesser row first.

    Args:
        seen: of each recogniser float32[N, D], unit vectors.
        share: of all pairs that is wanted.

    >>> seen = np.array([[1, 0], [0, 1], [0.9, 0.4359]], np.float32)
    >>> alike_pairs({"edgeface": seen}, 0.34).tolist()
    [[0, 2]]
    """
    likeness = np.max(
        [each @ each.T / np.float32(RECOGNISERS[name].threshold) for name, each in seen.items()],
        axis=0,
    )
    rows, columns = np.triu_indices(len(likeness), 1)
    wanted = round(share * len(rows))
    most = np.argsort(-likeness[rows, columns], kind="stable")[:wanted]
    return np.stack([rows[most], columns[most]], axis=1).astype(np.int32)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    parser.add_argument("--seed", type=int, default=20261123)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    swapper, shape, latents = donors_of_pack(args.pack)
    with np.load(read_pack(args.pack).path("donors.npz"), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    painted = shown(swapper, shape, latents, args.data, args.models, args.seed, CONTROLS)
    arrays["alike"] = alike_pairs(painted.mean(), SHARE)
    np.savez_compressed(args.out / "donors.npz", allow_pickle=False, **arrays)
    log.info("%d pairs of look-alikes", len(arrays["alike"]))


if __name__ == "__main__":
    main()
