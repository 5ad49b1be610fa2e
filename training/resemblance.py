"""Find donors who look alike: `python -m training.resemblance --models DIR`.

Every donor is painted under the control of other people. Two are as alike as they are to the
recogniser to which they are more so, on the mean over these people, measured by the cosine at which
it takes them for one. Donors who resemble most others are left out of the pack's `donors.npz`; the
most alike pairs that are left are written into it, and are not dealt together, see
`gallery.dealing`. What that is worth is told of other people's control: how many pairs pass for one
person, of all donors and of those that are dealt first.
"""

import argparse
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.stylegan.pack import donor_latents, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from training.choosing import shown
from training.measure import RECOGNISERS, same_pairs

CONTROLS: Final = 8
"""People under whose control every donor is painted; more average their own looks out."""
SHARE: Final = 0.015
"""Of all pairs that count as look-alikes. More part likelier ones; beyond a fiftieth of all pairs
so few donors resemble nobody among each other that later ones meet again."""
KEPT: Final = 588
"""Donors left. Fewer are more unlike each other; more serve more people before one comes again."""
FIRST: Final = 200
"""Dealt donors of whom the figures are told."""
_DEALS: Final = 10

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
Arrays = dict[str, npt.NDArray[Any]]

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


def least_resembling(
    alike: Int32, bins: npt.NDArray[np.integer], count: int
) -> npt.NDArray[np.int64]:
    """Leave out, one by one, who resembles most of those left, always from the largest bin.

    Args:
        alike: int32[M, 2].
        bins: of the N donors, one number for every combination of attributes.
        count: donors to leave.

    Returns:
        Rows of the donors left, ascending.

    >>> pairs = np.array([[0, 1], [0, 2], [0, 3]], np.int32)
    >>> least_resembling(pairs, np.array([0, 0, 0, 1]), 3).tolist()
    [1, 2, 3]
    """
    meets = _met(alike, len(bins))
    is_left = np.ones(len(bins), np.bool_)
    while is_left.sum() > count:
        largest = np.bincount(bins[is_left]).argmax()
        resembled = np.where(is_left & (bins == largest), meets @ is_left, -1)
        is_left[resembled.argmax()] = False
    return np.flatnonzero(is_left)


def among(alike: Int32, rows: npt.NDArray[np.int64]) -> Int32:
    """The pairs of which both are left, by their places among those, int32[M, 2]."""
    places = np.full(max(int(alike.max()), int(rows.max())) + 1, -1, np.int32)
    places[rows] = np.arange(len(rows))
    moved = places[alike]
    return np.asarray(moved[(moved >= 0).all(axis=1)], np.int32)


def _met(alike: Int32, count: int) -> npt.NDArray[np.int64]:
    """1 where two look alike, int64[N, N]."""
    meets = np.zeros((count, count), np.int64)
    meets[alike[:, 0], alike[:, 1]] = meets[alike[:, 1], alike[:, 0]] = 1
    return meets


def first_dealt(count: int, alike: Int32, drawn: np.random.Generator) -> npt.NDArray[np.int64]:
    """Of so many donors the FIRST that are dealt, as `gallery.dealing` does; by plain chance.

    Args:
        count: donors.
        alike: int32[M, 2].
        drawn: decides among equals.
    """
    meets = _met(alike, count)
    chance = drawn.random(count)
    resembled = np.zeros(count)
    order: list[int] = []
    while len(order) < min(FIRST, count):
        best = int(np.argmin(resembled + chance))
        order.append(best)
        resembled += meets[best]
        resembled[best] = np.inf
    return np.array(order)


def worth(seen: Mapping[str, Float32], alike: Int32, seed: int) -> dict[str, float]:
    """Shares of pairs that pass for one person: of all donors, and of the first dealt.

    Args:
        seen: of each recogniser float32[N, D], unit vectors, under control not used before.
        alike: int32[M, 2].
        seed: decides who is dealt.
    """
    drawn, facts = np.random.default_rng(seed), {}
    for name, each in seen.items():
        limit = RECOGNISERS[name].threshold
        deals = [first_dealt(len(each), alike, drawn) for _ in range(_DEALS)]
        facts[f"pairs_under_control_{name}"] = same_pairs(each, limit)
        facts[f"pairs_dealt_first_{name}"] = float(
            np.mean([same_pairs(each[deal], limit) for deal in deals])
        )
    return facts


def reduced(arrays: Arrays, alike: Int32) -> tuple[Arrays, npt.NDArray[np.int64]]:
    """A donor pack's arrays with KEPT donors and their look-alikes; and the rows that were kept."""
    columns = {name for name in arrays if name.startswith("attribute.")}
    codes = np.stack([arrays[name] for name in sorted(columns)], axis=1)
    bins = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    rows = least_resembling(alike, bins, KEPT)
    kept = {
        name: each[rows] if name in columns | {"latents"} else each for name, each in arrays.items()
    }
    return kept | {"alike": among(alike, rows)}, rows


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
    swapper, _ = swapper_from_pack(OpenVino(), args.pack)
    pack = read_pack(args.pack)
    with np.load(pack.path("donors.npz"), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    latents = donor_latents(pack, len(arrays["latents"]))
    shape = load_shape_model(pack.path("shape.npz"))
    own, other = (
        shown(swapper, shape, latents, args.data, args.models, args.seed + turn, controls)
        for turn, controls in enumerate((CONTROLS, 1))
    )
    arrays, rows = reduced(arrays, alike_pairs(own.seen, SHARE))
    seen = {name: each[rows] for name, each in other.seen.items()}
    facts = worth(seen, arrays["alike"], args.seed) | {"donors": float(len(rows))}
    np.savez_compressed(args.out / "donors.npz", allow_pickle=False, **arrays)
    (args.out / "resemblance.json").write_text(json.dumps(facts))
    log.info("%d look-alikes; %s", len(arrays["alike"]), json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
