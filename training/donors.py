"""Make the synthetic donors of a pack, and fit the attribute model that bins them.

Of the people that `training.people` mixes, those are kept whose landmarks are easily found and to
whom no training face is as near as real strangers' faces are to each other. Among these, people
who rarely pass for each other to the same two recognisers are chosen, in equal numbers over age
band and gender presentation: first at rest, then under other people's control, where they must also
move truly.
"""

import argparse
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend
from engines.backends.openvino import OpenVino
from engines.stylegan.attributes import AttributeModel
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import load_shape_model
from engines.stylegan.usual import load_usual
from engines.stylegan.warp import load_texture_frame
from engines.swapper import Swapper
from training.attributes import fit_attributes
from training.axes import LATENT
from training.choosing import (
    chosen_under_control,
    fewest_pairs,
    passing_pairs,
    thresholds_at,
)
from training.glasses import read_labels
from training.nearest import Nearness, nearness
from training.people import LAYERS, is_source, layered, least, load_people, people_drawn
from training.portraits import BATCH, portraits, sheet
from training.sources import is_real_adult

CANDIDATES: Final = 6144
"""Chosen at rest, to choose donors from under control."""
RESTING_PAIRS: Final = 0.01
"""Of the pairs painted at rest in one light, which are more alike than pictures of people are, the
share that counts as passing for one person."""
EASY_SHARE: Final = 0.85
"""Share of the pool kept for the surest landmarks; a smaller one makes people alike, a larger one
lets faces through that are odd to look at."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


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
    held = np.load(data / "split.npy")
    people = load_people(data, texture, relief)
    swapper = unlisted_swapper(OpenVino(), out)
    shape = load_shape_model(out / "shape.npz")
    model, facts = fit_attributes(people.codes, rows, held)
    sources = np.flatnonzero(is_source(data, shape))
    drawn, told = people_drawn(people, shape, sources, read_labels(data), seed)
    latents = layered(drawn)
    pictures, points = portraits(swapper, shape, latents)
    near = nearness(pictures, points, data, models, is_real_adult(data) & ~held)
    bins = model.bins(latents)
    usable = np.flatnonzero(_are_usable(swapper, pictures, near, bins))
    seen = {name: each.seen[usable][None] for name, each in near.items()}
    passing = passing_pairs(seen, thresholds_at(seen, RESTING_PAIRS))
    chosen = usable[fewest_pairs(passing, [bins[i] for i in usable], CANDIDATES)]
    del passing
    log.info("%d usable, %d at rest", len(usable), len(chosen))
    own_bins = [bins[i] for i in chosen]
    chosen = chosen[
        chosen_under_control(swapper, shape, latents[chosen], own_bins, data, models, seed)
    ]
    _save(out, drawn[chosen], [bins[i] for i in chosen], model)
    facts |= told
    for name, each in near.items():
        facts |= each.facts(name, chosen)
    shown = pictures[chosen[:: max(1, len(chosen) // 96)]]
    cv2.imwrite(str(data / "donors.png"), sheet(shown, 16))
    return facts | {"donors": float(len(chosen))}


def _are_usable(
    swapper: Swapper,
    pictures: UInt8,
    near: Mapping[str, Nearness],
    bins: list[dict[str, str]],
) -> npt.NDArray[np.bool_]:
    """Which people have sure landmarks, are near to nobody real, and are known to be adults."""
    starts = range(0, len(pictures), BATCH)
    doubt = np.concatenate([swapper.read(pictures[i : i + BATCH]).doubt for i in starts])
    fits = least(doubt, EASY_SHARE)
    for each in near.values():
        fits &= each.is_nobody()
    known = [{"age", "gender"} <= set(one) and one["age"] != "child" for one in bins]
    return fits & np.array(known, np.bool_)


def donor_arrays(
    latents: Float32, bins: list[dict[str, str]], model: AttributeModel
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


def _save(out: Path, latents: Float32, bins: list[dict[str, str]], model: AttributeModel) -> None:
    arrays = donor_arrays(latents, bins, model)
    np.savez_compressed(out / "donors.npz", allow_pickle=False, **arrays)
    parts = {f"weights.{k}": v for k, v in model.weights.items()}
    parts |= {f"values.{k}": np.array(v) for k, v in model.values.items()}
    np.savez_compressed(out / "attributes.npz", allow_pickle=False, **parts)


def unlisted_swapper(backend: Backend, folder: Path) -> Swapper:
    """Open the networks of a pack that has no manifest yet."""
    geometry = folder / "shape.npz"
    return Swapper(
        backend.load(folder / "landmarker.onnx"),
        backend.load(folder / "generator.onnx"),
        backend.load(folder / "renderer.onnx"),
        load_shape_model(geometry),
        load_texture_frame(geometry),
        load_relief(geometry),
        usual=load_usual(geometry),
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--relief", type=Path, default=Path("runs/relief.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261121)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    facts = write(args.data, args.texture, args.relief, args.out, args.models, args.seed)
    (args.out / "donors.json").write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
