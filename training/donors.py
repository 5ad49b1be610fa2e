"""Make the synthetic donors of a pack, and fit the attribute model that bins them.

`python -m training.donors --models DIR`. People are made of parts of photographed adults
(`training.people`), drawn a little away from the average face where recognisers tell people apart,
and their parts exchanged until they are unlike each other, as far as that can be expected before
anybody is painted (`training.likeness`, `training.spreading`). Those are kept who look like
photographed people, by what was seen of them or is learnt from that (`training.flaws`), who are
near to nobody real (`training.nearest`), who move truly and who rarely pass for each other. A
crowd is drawn anew only where too few of those who were looked at look well.
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
from engines.stylegan.attributes import AttributeModel
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame
from engines.swapper import Swapper
from training.attributes import age_band, fit_attributes
from training.axes import LATENT
from training.choosing import Shown, fewest_pairs, passing_pairs, shown
from training.flaws import FLAWED, Seen, features, fit_flaws, held_out, read_seen
from training.likeness import Likeness, likeness_from
from training.mixtures import mixtures
from training.nearest import nearness
from training.people import (
    LAYERS,
    People,
    latents_of,
    layered,
    load_people,
    sources_and_filter,
)
from training.portraits import portraits
from training.spreading import spread_out

TAUGHT: Final = 3000
"""People painted, each under one control, to learn how likeness follows from codes."""
FIRST: Final = 2400
"""People spread out by what was learnt from these. They are painted too, and learnt from: a crowd
that is spread by a map gathers where the map is wrong."""
SPREAD: Final = 8400
"""People spread out by what was learnt from both."""
COMELY: Final = 3200
"""Of those looked at and those spread out and clean, who look most like photographed people."""
CONTROLS: Final = 4
TRUE_SHARE: Final = 0.95
"""Share of them that moves most truly."""
LEFT: Final = 800
SPARE: Final = 0.15
"""Share more that is compared with real people: whoever is near to one goes."""
PULLED: Final = (1.2, 1.56)
"""Share of their distance to the average face that people get where recognisers tell them apart
least, and most. A linear texture paints people weaker than they are, and retouching does so too."""
BEND: Final = 0.3
REFUSED: Final = 0.5
"""Share of those looked at at whose refusal it is told how well flaws are found."""
_AT_ONCE: Final = 60
"""People painted; a swapper remembers the textures of so many."""

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]
Bins = list[dict[str, str]]

log = logging.getLogger(__name__)


def pulled(codes: Float32, likeness: Likeness) -> Float32:
    """Draw codes float32[N, C] away from the average face, see PULLED."""
    columns, strength = likeness.directions()
    grown = strength**BEND
    share = (grown - grown[-1]) / (grown[0] - grown[-1])
    kept = np.float32(PULLED[0]) + np.float32(PULLED[1] - PULLED[0]) * share
    away = codes - likeness.centre
    return np.asarray(likeness.centre + (away @ columns * kept) @ columns.T, np.float32)


def are_adults(bins: Bins) -> npt.NDArray[np.bool_]:
    """Who is known to be no child, bool[N].

    >>> are_adults([{"age": "old", "gender": "male"}, {"age": "child", "gender": "male"}, {}])
    array([ True, False, False])
    """
    known = [{"age", "gender"} <= set(one) and one["age"] != "child" for one in bins]
    return np.array(known, np.bool_)


def groups_of(rows: list[dict[str, str]], chosen: Int64) -> Int64:
    """Age band and gender presentation of some crops by their labels, as numbers int64[N]."""
    names = [f"{age_band(rows[row]['age'])} {rows[row]['gender']}" for row in chosen]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


class Maker:
    """Makes and judges people with the networks of one pack.

    Args:
        folder: of the pack, which has no donors yet.
        data: folder of prepared crops.
        models: folder of the recognisers.
        seed: decides under whose control people are looked at.
    """

    def __init__(self, folder: Path, data: Path, models: Path, seed: int) -> None:
        backend, geometry = OpenVino(), folder / "shape.npz"
        self.shape = load_shape_model(geometry)
        self._swapper = Swapper(
            backend.load(folder / "landmarker.onnx"),
            backend.load(folder / "generator.onnx"),
            backend.load(folder / "renderer.onnx"),
            self.shape,
            load_texture_frame(geometry),
            load_relief(geometry),
        )
        self._data, self._models, self._seed = data, models, seed

    def seen(self, codes: Float32) -> dict[str, Float32]:
        """What recognisers see of people float32[N, C], each under one control: float32[N, D]."""
        return self._shown(layered(latents_of(codes)), self._seed, 1).mean()

    def features(self, latents: Float32) -> Float32:
        """What tells of flaws of people float32[N, 512]: float32[N, E], see `training.flaws`."""
        found = []
        for start in range(0, len(latents), _AT_ONCE):
            part = layered(latents[start : start + _AT_ONCE])
            pictures, _ = portraits(self._swapper, self.shape, part)
            found.append(features(pictures, self._swapper.read(pictures).doubt))
        return np.concatenate(found)

    def fewest(self, alone: Float32, bins: Bins) -> tuple[Int64, dict[str, float]]:
        """LEFT people who move truly, rarely pass for others and are nobody: indices, facts.

        Args:
            alone: latents float32[N, 512].
            bins: of the N people.
        """
        latents = layered(alone)
        found = self._shown(latents, self._seed + 1, CONTROLS)
        passing = passing_pairs(found.seen)

        def fewest(among: Int64, count: int) -> Int64:
            part = passing[np.ix_(among, among)]
            return among[fewest_pairs(part, [bins[row] for row in among], count)]

        left = fewest(np.flatnonzero(found.follows(TRUE_SHARE)), round(LEFT * (1 + SPARE)))
        pictures, points = portraits(self._swapper, self.shape, latents[left])
        near = nearness(pictures, points, self._data, self._models)
        nobody = np.flatnonzero(np.all([each.is_nobody() for each in near.values()], axis=0))
        kept = fewest(left[nobody], LEFT)
        log.info("%d rarely pass, %d are nobody, %d left", len(left), len(nobody), len(kept))
        facts: dict[str, float] = {"donors": float(len(kept))}
        for name, each in near.items():
            facts |= each.facts(name, np.flatnonzero(np.isin(left, kept)))
        return kept, facts

    def _shown(self, latents: Float32, seed: int, controls: int) -> Shown:
        return shown(self._swapper, self.shape, latents, self._data, self._models, seed, controls)


def comely(seen: Seen, crowd: Float32, scores: tuple[Float32, Float32], count: int) -> Float32:
    """Who looks most like a photographed person: at most `count` latents, float32[M, 512].

    Whoever was seen to be flawed is left out. Those who pass for photographed come first, then
    those who may, then those of the crowd who were not looked at; among these by their scores.

    Args:
        seen: people who were looked at.
        crowd: latents float32[N, 512].
        scores: of those seen and of the crowd, float32[S] and float32[N]; more is more flawed.
        count: wanted.
    """
    fine, strange = seen.verdict != FLAWED, seen.row_of(crowd) < 0
    people = np.concatenate([seen.latents[fine], crowd[strange]])
    turn = np.concatenate([seen.verdict[fine], np.full(strange.sum(), FLAWED)])
    order = np.lexsort([np.concatenate([scores[0][fine], scores[1][strange]]), turn])
    return people[np.sort(order[:count])]


def write(
    data: Path, texture: Path, relief: Path, out: Path, models: Path, seed: int
) -> dict[str, float]:
    """Write `donors.npz` and `attributes.npz` into a pack; return what was measured of them.

    Args:
        data: folder of prepared crops.
        texture: file of the texture model.
        relief: file of the relief model.
        out: folder of the pack.
        models: folder of the recognisers.
        seed: decides who is mixed, and under whose control people are chosen.
    """
    rows: list[dict[str, str]] = json.loads((data / "names.json").read_text())
    maker = Maker(out, data, models, seed)
    people = load_people(data, texture, relief, maker.shape)
    model, facts = fit_attributes(people.codes, rows, np.load(data / "split.npy"))
    sources, clean, told = sources_and_filter(people, maker.shape, data)
    seen = read_seen()
    crowd = np.zeros((0, LATENT), np.float32)
    if (seen.verdict != FLAWED).sum() < COMELY:
        lenders = Lenders(people.whole[sources], groups_of(rows, sources))
        codes = drawn_crowd(maker, people, lenders, seed)
        crowd = latents_of(codes[clean.fits(codes)])
        crowd = crowd[are_adults(model.bins(layered(crowd)))]
    latents, judged = _comely(maker, seen, crowd)
    bins = model.bins(layered(latents))
    adults = np.flatnonzero(are_adults(bins))
    log.info("%d people lend, %d look well", len(sources), len(adults))
    chosen, found = maker.fewest(latents[adults], [bins[row] for row in adults])
    kept = adults[chosen]
    _save(out, latents[kept], [bins[row] for row in kept], model)
    return facts | told | judged | found


@dataclass(frozen=True, slots=True)
class Lenders:
    """People whose parts are mixed.

    Attributes:
        whole: their codes, float32[N, C].
        groups: age band and gender presentation, int64[N].
    """

    whole: Float32
    groups: Int64


def drawn_crowd(maker: Maker, people: People, lenders: Lenders, seed: int) -> Float32:
    """SPREAD people made of parts and spread out, to be looked at: codes float32[SPREAD, C].

    Args:
        maker: paints them, to learn how likeness follows from codes.
        people: of the training crops.
        lenders: whose parts are mixed.
        seed: decides who is mixed.
    """
    whole, groups = lenders.whole, lenders.groups
    taught = people.evened(mixtures(whole, people.parts, TAUGHT, seed, groups))
    seen = maker.seen(taught)
    likeness = likeness_from(taught, seen)

    def finish(sums: Float32) -> Float32:
        return pulled(people.evened(sums), likeness)

    def spread(by: Likeness, count: int, turn: int) -> Float32:
        return spread_out(whole, people.parts, groups, finish, by, count, seed + turn)

    first = spread(likeness, FIRST, 1)
    also = maker.seen(first)
    both = {name: np.concatenate([each, also[name]]) for name, each in seen.items()}
    return spread(likeness_from(np.concatenate([taught, first]), both), SPREAD, 2)


def _comely(maker: Maker, seen: Seen, crowd: Float32) -> tuple[Float32, dict[str, float]]:
    """COMELY people, of those looked at and of a crowd: latents float32[M, 512]; facts."""
    known = maker.features(seen.latents)
    model = fit_flaws(known, seen.verdict)
    scores = model.scores(maker.features(crowd)) if len(crowd) else np.zeros(0, np.float32)
    latents = comely(seen, crowd, (model.scores(known), scores), COMELY)
    flawed = float((seen.verdict == FLAWED).mean())
    facts = {"looked_at": float(len(known)), "flaws_seen": flawed}
    return latents, facts | held_out(known, seen.verdict, REFUSED)


def donor_arrays(
    latents: Float32, bins: Bins, model: AttributeModel
) -> dict[str, npt.NDArray[np.generic]]:
    """What `donors.npz` holds of people; a latent is the same in every layer and kept once.

    Args:
        latents: float32[N, 512].
        bins: of the N people.
        model: names the bins.
    """
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": latents[:, None].astype(np.float16),
        "mean": np.zeros((LAYERS, LATENT), np.float32),
    }
    for name, values in model.values.items():
        found = [person.get(name, "") for person in bins]
        arrays[f"attribute.{name}"] = np.array(
            [values.index(value) if value else -1 for value in found], np.int16
        )
        arrays[f"values.{name}"] = np.array(values)
    return arrays


def _save(out: Path, latents: Float32, bins: Bins, model: AttributeModel) -> None:
    arrays = donor_arrays(latents, bins, model)
    np.savez_compressed(out / "donors.npz", allow_pickle=False, **arrays)
    parts = {f"weights.{k}": v for k, v in model.weights.items()}
    parts |= {f"values.{k}": np.array(v) for k, v in model.values.items()}
    np.savez_compressed(out / "attributes.npz", allow_pickle=False, **parts)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--relief", type=Path, default=Path("runs/relief.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261125)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    facts = write(args.data, args.texture, args.relief, args.out, args.models, args.seed)
    (args.out / "donors.json").write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
