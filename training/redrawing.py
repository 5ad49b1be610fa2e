"""Draw the donors of a pack anew, out of all who could be its donors.

`python -m training.redrawing --models DIR --out PACK`. Mixtures of photographed people are spread
about the average face much like a normal distribution. People drawn from that are nobody's mixture,
and there is no end to them, so that the best can be chosen: those whose textures look like
photographs' (`training.looks`), who are near to nobody real (`training.nearest`), who move truly
and who rarely pass for each other. Most are excluded by what is to be expected of their latents
(`training.likeness`), before anybody is painted. They are drawn towards the average face, where
mixtures were stretched away from it: by as much as recognisers hardly see, and by little where
they tell people apart.
"""

import argparse
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.stylegan.attributes import load_attributes
from engines.stylegan.pack import donor_latents, load_role, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.usual import load_usual
from engines.stylegan.warp import load_texture_frame
from training.choosing import fewest_pairs, passing_pairs, shown
from training.donors import donor_arrays
from training.likeness import Likeness, likeness_from
from training.looks import Critic, best
from training.nearest import nearness
from training.people import layered
from training.portraits import BATCH, portraits
from training.sources import is_real_adult

TAUGHT: Final = 3000
"""People painted, each under one control, to learn how likeness follows from latents."""
DRAWN: Final = 90_000
COMPARED: Final = 2500
"""People whom everybody drawn is compared with."""
EACH: Final = 900
"""People of every combination of bins, who are expected to pass most rarely, that are looked at."""
COMELY: Final = 3400
"""Of these, by their textures."""
CONTROLS: Final = 3
TRUE_SHARE: Final = 0.85
"""Share of them that moves most truly."""
LEFT: Final = 960
SPARE: Final = 0.15
"""Share more that is compared with real people: whoever is near to one goes."""
PULLED: Final = (0.65, 1.2)
"""Share of their distance to the average face that people keep, where recognisers tell them apart
least, and most."""
BEND: Final = 0.3
ODD: Final = 0.05
"""Share of the people drawn, the farthest from the average face, that is not looked at."""

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Spread:
    """How people are spread about the average one.

    Attributes:
        mean: float32[512].
        columns: float32[512, K], orthonormal directions in which they are spread at all.
        root: float32[K, K], that times a normal vector is a person's code along these.
    """

    mean: Float32
    columns: Float32
    root: Float32

    def drawn(self, count: int, seed: int) -> Float32:
        """Codes of people, float32[count, K]."""
        normal = np.random.default_rng(seed).standard_normal((count, len(self.root)))
        return np.asarray(normal @ self.root.T, np.float32)

    def latents(self, codes: Float32) -> Float32:
        """Latents float32[N, 512] of codes float32[N, K], as precise as a pack keeps them."""
        halves = (self.mean + codes @ self.columns.T).astype(np.float16)
        return np.asarray(halves, np.float32)


def spread_of(latents: Float32) -> Spread:
    """Mean and covariance of people float32[N, 512]."""
    mean = latents.mean(axis=0)
    _, values, rows = np.linalg.svd(latents - mean, full_matrices=False)
    shown_at_all = values > 1e-3 * values[0]
    root = np.diag(values[shown_at_all] / np.sqrt(max(len(latents) - 1, 1)))
    return Spread(mean, np.ascontiguousarray(rows[shown_at_all].T), root.astype(np.float32))


def pulled(codes: Float32, likeness: Likeness) -> Float32:
    """Draw codes float32[N, K] towards the average face, see PULLED."""
    columns, strength = likeness.directions()
    grown = strength**BEND
    share = (grown - grown[-1]) / (grown[0] - grown[-1])
    kept = np.float32(PULLED[0]) + np.float32(PULLED[1] - PULLED[0]) * share
    return np.asarray((codes @ columns * kept) @ columns.T, np.float32)


def expected_rarest(codes: Float32, bins: list[dict[str, str]], likeness: Likeness) -> Int64:
    """At most EACH adults of every combination of bins who will pass most rarely, indices.

    Args:
        codes: float32[N, K].
        bins: of the N people.
        likeness: of codes.
    """
    passing = likeness.passing(codes, codes[:COMPARED])
    length = np.linalg.norm(codes, axis=1)
    fits = length <= np.quantile(length, 1 - ODD)
    groups: dict[tuple[str, str], list[int]] = {}
    for row in np.argsort(passing, kind="stable"):
        person = bins[row]
        if fits[row] and {"age", "gender"} <= set(person) and person["age"] != "child":
            groups.setdefault((person["age"], person["gender"]), []).append(int(row))
    return np.sort(np.array([row for rows in groups.values() for row in rows[:EACH]], np.int64))


def write(pack_folder: Path, data: Path, models: Path, out: Path, seed: int) -> dict[str, float]:
    """Write `donors.npz`; return what was measured of them.

    Args:
        pack_folder: of the pack whose donors are known.
        data: folder of prepared crops.
        models: folder of the recognisers.
        out: folder to write into.
        seed: decides who is drawn, and under whose control people are chosen.
    """
    backend, pack = OpenVino(), read_pack(pack_folder)
    swapper, _ = swapper_from_pack(backend, pack_folder)
    geometry = pack.path("shape.npz")
    shape, usual = load_shape_model(geometry), load_usual(geometry)
    if usual is None:
        raise ValueError("the pack does not say what textures usually look like")
    model = load_attributes(pack.path("attributes.npz"))
    spread = spread_of(donor_latents(pack)[:, 0])

    codes = spread.drawn(TAUGHT, seed)
    taught = layered(spread.latents(codes))
    seen = shown(swapper, shape, taught, data, models, seed, 1).mean()
    likeness = likeness_from(codes, seen)
    log.info("%d people taught", TAUGHT)

    codes = pulled(spread.drawn(DRAWN, seed + 1), likeness)
    bins = model.bins(spread.latents(codes)[:, None])
    rare = expected_rarest(codes, bins, likeness)
    generator = load_role(backend, pack, "generator")
    critic = Critic(load_texture_frame(geometry), usual, swapper.size)
    flaws = [
        critic.flaws(texture)
        for at in np.array_split(rare, -(-len(rare) // BATCH))
        for texture in generator.run({"latents": layered(spread.latents(codes[at]))})["texture"]
    ]
    comely = rare[best(np.stack(flaws), COMELY)]
    log.info("%d are expected to pass rarely, %d look well", len(rare), len(comely))

    latents = spread.latents(codes[comely])
    own_bins = [bins[row] for row in comely]
    found = shown(swapper, shape, layered(latents), data, models, seed + 2, CONTROLS)
    passing = passing_pairs(found.seen)

    def fewest(among: Int64, count: int) -> Int64:
        part = passing[np.ix_(among, among)]
        return among[fewest_pairs(part, [own_bins[row] for row in among], count)]

    left = fewest(np.flatnonzero(found.follows(TRUE_SHARE)), round(LEFT * (1 + SPARE)))
    pictures, points = portraits(swapper, shape, layered(latents[left]))
    trained = is_real_adult(data) & ~np.load(data / "split.npy")
    near = nearness(pictures, points, data, models, trained)
    nobody = np.flatnonzero(np.all([each.is_nobody() for each in near.values()], axis=0))
    kept = fewest(left[nobody], LEFT)
    log.info("%d rarely pass, %d of them are nobody, %d left", len(left), len(nobody), len(kept))

    arrays = donor_arrays(latents[kept], [own_bins[row] for row in kept], model)
    np.savez_compressed(out / "donors.npz", allow_pickle=False, **arrays)
    facts = {"donors": float(len(kept))}
    for name, each in near.items():
        facts |= each.facts(name, np.flatnonzero(np.isin(left, kept)))
    return facts


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    parser.add_argument("--seed", type=int, default=20261124)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    args.out.mkdir(parents=True, exist_ok=True)
    facts = write(args.pack, args.data, args.models, args.out, args.seed)
    (args.out / "donors.json").write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
