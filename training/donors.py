"""Make the synthetic donors of a pack, and fit the attribute model that bins them.

A donor mixes the codes of three photographed adults whose textures are clean (even forehead,
no glasses, even sides), is made more symmetric, and is kept if it is clean itself and no odder in
shape than most, its landmarks are easily found on it and no training face is as near to it as real
strangers' faces are to each other. Among those, people who look unlike each other to the same
two recognisers are chosen, in equal numbers over age band and gender presentation: first at
rest, then under other people's control, where they must also move truly.
"""

import argparse
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend
from engines.backends.openvino import OpenVino
from engines.stylegan.attributes import AttributeModel, shares_from_scores
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import ShapeModel, load_shape_model
from engines.stylegan.warp import load_texture_frame
from engines.swapper import Swapper
from training.axes import LATENT, axes
from training.choosing import chosen_under_control, unlike
from training.glasses import (
    GlassesModel,
    Labels,
    edges,
    fit_glasses,
    found_and_mistaken,
    read_labels,
)
from training.mixtures import mixtures
from training.nearest import nearness
from training.portraits import BATCH, portraits, sheet
from training.relief import mirrored_codes
from training.sources import is_real_adult, lends
from training.textures import luma_of, mirrored

CANDIDATES: Final = 6144
"""Chosen at rest, to choose donors from under control. Fewer donors are more unlike each other;
more serve more people before a surrogate comes again."""
DRAWN: Final = 42000
"""People mixed; what is cheap to see excludes many before the POOL left is painted."""
POOL: Final = 28000
SYMMETRY: Final = 0.15
"""Share of the mirrored face in a donor: 0 keeps shadows and partings, 0.5 leaves none."""
CLEAN_SHARES: Final = (0.95, 0.95)
"""Shares of crops that pass as bare foreheads, and as evenly lit; less makes people alike."""
DRAWN_SHARES: Final = (0.98, 0.98)
"""The same of the people drawn."""
GLASSES_SHARE: Final = 0.75
"""Share of crops that pass as without glasses; seven in eight of those with them do not. People
drawn must be as free of them: what is left of frames adds up in some, and the choice of people
unlike each other would take these first."""
SHAPE_SHARE: Final = 0.9
"""Of the people drawn, those whose shape at rest is nearest to the mean: where features are
unusually placed, they fit nobody's head."""
EASY_SHARE: Final = 0.85
"""Share of the pool kept for the surest landmarks; a smaller one makes people alike, a larger one
lets faces through that are odd to look at."""
YAW_LIMIT_DEG: Final = 15.0
LAYERS: Final = 12
RIDGE: Final = 3.0
FOREHEAD: Final = (slice(8, 32), slice(37, 91))
"""Rows and columns of the texture where hair and hats show."""
_AT_ONCE: Final = 4000
"""Textures."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def fit_classifier(
    codes: Float32, labels: npt.NDArray[np.str_], values: tuple[str, ...]
) -> Float32:
    """Softmax regression with balanced classes, float32[C + 1, B]; bias last."""
    design = np.concatenate([codes, np.ones((len(codes), 1), np.float32)], axis=1)
    target = np.stack([labels == value for value in values], axis=1).astype(np.float32)
    balance = (1.0 / np.maximum(target.sum(axis=0), 1.0))[target.argmax(axis=1)]
    balance = (balance / balance.mean())[:, None]
    weights = np.zeros((design.shape[1], len(values)), np.float32)
    for _ in range(300):
        error = (shares_from_scores(design @ weights) - target) * balance
        weights -= 0.5 * (design.T @ error / len(design) + RIDGE / len(design) * weights)
    return weights


def fit_attributes(
    codes: Float32, rows: list[dict[str, str]], held: npt.NDArray[np.bool_]
) -> tuple[AttributeModel, dict[str, float]]:
    """Fit age band and gender on latents; return the model and its balanced held-out accuracy."""
    basis = axes(codes.shape[1])
    columns = {
        "gender": np.array([row["gender"] for row in rows]),
        "age": np.array([age_band(row["age"]) for row in rows]),
    }
    weights: dict[str, Float32] = {}
    values: dict[str, tuple[str, ...]] = {}
    facts: dict[str, float] = {}
    for name, labels in columns.items():
        known = labels != ""
        values[name] = tuple(str(v) for v in np.unique(labels[known]))
        found = fit_classifier(codes[known & ~held], labels[known & ~held], values[name])
        weights[name] = np.concatenate([basis @ found[:-1], found[-1:]]).astype(np.float32)
        test = known & held
        guess = np.array(values[name])[(codes[test] @ found[:-1] + found[-1]).argmax(axis=1)]
        facts[f"{name}_accuracy"] = float(
            np.mean([(guess == v)[labels[test] == v].mean() for v in values[name]])
        )
    return AttributeModel(weights, values), facts


def is_clean(luma: Float32, shares: tuple[float, float]) -> npt.NDArray[np.bool_]:
    """Whether a texture shows a bare, evenly lit face.

    Args:
        luma: float[N, S, S] planes of textures.
        shares: of them that each of the two tests lets pass, 0 to 1.

    Returns:
        bool[N].
    """
    forehead = np.abs(luma[:, *FOREHEAD]).reshape(len(luma), -1).max(axis=1)
    soft = luma.reshape(len(luma), 8, luma.shape[1] // 8, 8, -1).mean(axis=(2, 4))
    sides = np.abs(soft - soft[:, :, ::-1])[:, 1:7, 2:6].mean(axis=(1, 2))
    found = zip((forehead, sides), shares, strict=True)
    tests = [values <= np.quantile(values, share) for values, share in found]
    return np.asarray(np.logical_and.reduce(tests), np.bool_)


def evened(codes: Float32, basis: Float32, encoding: Float32, mean: Float32) -> Float32:
    """Move texture codes float32[N, T] by SYMMETRY towards their mirrored faces."""
    mirror = mirrored(basis) @ encoding.T
    offset = (mirrored(mean) - mean) @ encoding.T
    return np.asarray(codes + SYMMETRY * (codes @ mirror + offset - codes), np.float32)


def evened_relief(codes: Float32, model: Path) -> Float32:
    """Move relief codes float32[N, K] by SYMMETRY towards their mirrored faces."""
    with np.load(model) as file:
        mirror = mirrored_codes(codes, file["mean"], file["basis"])
    return np.asarray(codes + SYMMETRY * (mirror - codes), np.float32)


def age_band(age: str) -> str:
    """Name the band of an age in years; empty where unknown.

    >>> age_band("34"), age_band("")
    ('adult', '')
    """
    if not age:
        return ""
    years = float(age)
    bands = ((13, "child"), (30, "young"), (55, "adult"))
    return next((name for limit, name in bands if years < limit), "old")


def is_source(data: Path, shape: ShapeModel) -> npt.NDArray[np.bool_]:
    """Which crops may lend to a donor: photographed adults who face the camera, bool[N]."""
    yaw = shape.pose_of(np.load(data / "points.npy")).angles_deg()[:, 0]
    return lends(data, yaw, YAW_LIMIT_DEG)


@dataclass(frozen=True, slots=True)
class People:
    """Everybody in the prepared data, and the model that paints them.

    Attributes:
        codes: of texture and shape without movement, float32[N, CODE].
        behind: of relief, and of faces at rest, float32[N, K] each.
        mean: of textures' vectors, float32[LENGTH].
        basis: float32[T, LENGTH]; the first T codes count along it.
        encoding: float32[T, LENGTH], its inverse.
        relief: file of the relief model.
    """

    codes: Float32
    behind: list[Float32]
    mean: Float32
    basis: Float32
    encoding: Float32
    relief: Path

    def luma(self, codes: Float32) -> Float32:
        """Of textures, without what the generator adds, float32[N, S, S]."""
        return luma_of(self.mean + codes[:, : len(self.basis)] @ self.basis)

    def edges(self, codes: Float32) -> Float32:
        """Around the eyes, float32[N, E]; see `training.glasses`."""
        starts = range(0, len(codes), _AT_ONCE)
        return np.concatenate([edges(self.luma(codes[i : i + _AT_ONCE])) for i in starts])

    def is_clean(
        self, codes: Float32, shares: tuple[float, float], glasses: GlassesModel, limit: float
    ) -> npt.NDArray[np.bool_]:
        """Which people show a bare, evenly lit face without glasses, bool[N]."""
        is_free = glasses.scores_of_edges(self.edges(codes)) <= limit
        return np.asarray(is_clean(self.luma(codes), shares) & is_free, np.bool_)

    def evened(self, drawn: Float32) -> Float32:
        """Make people, with what is behind their codes, more symmetric: float32[N, C]."""
        count, shade = len(self.basis), self.codes.shape[1]
        end = shade + self.behind[0].shape[1]
        made = drawn.copy()
        made[:, :count] = evened(drawn[:, :count], self.basis, self.encoding, self.mean)
        made[:, shade:end] = evened_relief(drawn[:, shade:end], self.relief)
        return made


def load_people(data: Path, texture: Path, relief: Path) -> People:
    """Read everybody; the arguments are as of `write`."""
    codes = np.load(data / "codes.npy") - np.load(data / "movement.npy")
    behind = [np.load(data / name) for name in ("relief.npy", "rest.npy")]
    with np.load(texture) as file:
        mean, basis, encoding = file["mean"], file["basis"], file["encoding"]
    return People(codes, behind, mean, basis, encoding, relief)


def drawn_people(
    people: People, shape: ShapeModel, sources: npt.NDArray[np.int64], labels: Labels, seed: int
) -> tuple[Float32, dict[str, float]]:
    """Mix clean sources; return at most POOL clean, usual people, and how glasses are told.

    Args:
        people: everybody.
        shape: of the pack.
        sources: int64[S], who may lend.
        labels: of crops with and without glasses.
        seed: decides the mixtures.
    """
    seen, everybody = people.edges(people.codes[labels.crops]), people.edges(people.codes[sources])
    told = found_and_mistaken(seen, labels, everybody, GLASSES_SHARE)
    glasses = fit_glasses(seen, labels.has_glasses, everybody)
    limit = float(np.quantile(glasses.scores_of_edges(everybody), GLASSES_SHARE))
    clean = sources[people.is_clean(people.codes[sources], CLEAN_SHARES, glasses, limit)]
    whole = np.concatenate([people.codes, *people.behind], axis=1)
    drawn = people.evened(mixtures(whole[clean], DRAWN, seed))
    fits = people.is_clean(drawn, DRAWN_SHARES, glasses, limit)
    away = (shape.at_rest(latents_of(drawn)) - shape.mean)[..., :2]
    fits &= _least(np.linalg.norm(away, axis=2).mean(axis=1), SHAPE_SHARE)
    log.info("%d clean people; of %d drawn %d", len(clean), len(drawn), fits.sum())
    return drawn[fits][:POOL], dict(zip(("glasses_found", "glasses_mistaken"), told, strict=True))


def _least(values: Float32, share: float) -> npt.NDArray[np.bool_]:
    return np.asarray(values <= np.quantile(values, share), np.bool_)


def latents_of(drawn: Float32) -> Float32:
    """Latents of people, as precise as a pack keeps them: float32[N, LAYERS, LATENT]."""
    halves = (drawn @ axes(drawn.shape[1]).T)[:, None].astype(np.float16)
    return np.broadcast_to(halves.astype(np.float32), (len(halves), LAYERS, halves.shape[2]))


def write(
    data: Path, texture: Path, relief: Path, out: Path, models: Path, seed: int
) -> dict[str, float]:
    """Write `donors.npz` and `attributes.npz` into a pack; return what was measured of them."""
    rows: list[dict[str, str]] = json.loads((data / "names.json").read_text())
    held = np.load(data / "split.npy")
    people = load_people(data, texture, relief)
    swapper = unlisted_swapper(OpenVino(), out)
    shape = load_shape_model(out / "shape.npz")
    model, facts = fit_attributes(people.codes, rows, held)
    sources = np.flatnonzero(is_source(data, shape))
    drawn, told = drawn_people(people, shape, sources, read_labels(data), seed)
    latents = latents_of(drawn)
    pictures, points = portraits(swapper, shape, latents)
    doubt = np.concatenate(
        [swapper.read(pictures[i : i + BATCH]).doubt for i in range(0, len(pictures), BATCH)]
    )
    near = nearness(pictures, points, data, models, is_real_adult(data) & ~held)
    bins = model.bins(latents)
    fits = _least(doubt, EASY_SHARE)
    fits &= np.logical_and.reduce([each.is_nobody() for each in near.values()])
    fits &= [{"age", "gender"} <= set(person) and person["age"] != "child" for person in bins]
    usable = np.flatnonzero(fits)
    seen = {name: each.seen[usable] for name, each in near.items()}
    chosen = usable[unlike(seen, [bins[i] for i in usable], CANDIDATES)]
    log.info("%d usable, %d at rest", len(usable), len(chosen))
    own_bins = [bins[i] for i in chosen]
    chosen = chosen[
        chosen_under_control(swapper, shape, latents[chosen], own_bins, data, models, seed)
    ]
    _save(out, latents[chosen], [bins[i] for i in chosen], model)
    facts |= told
    for name, each in near.items():
        facts |= each.facts(name, chosen)
    shown = pictures[chosen[:: max(1, len(chosen) // 96)]]
    cv2.imwrite(str(data / "donors.png"), sheet(shown, 16))
    return facts | {"donors": float(len(chosen))}


def _save(out: Path, latents: Float32, bins: list[dict[str, str]], model: AttributeModel) -> None:
    """Write the packs; every layer of a latent is the same and kept once."""
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": latents[:, :1].astype(np.float16),
        "mean": np.zeros((LAYERS, LATENT), np.float32),
    }
    for name, values in model.values.items():
        found = [person.get(name, "") for person in bins]
        arrays[f"attribute.{name}"] = np.array(
            [values.index(value) if value else -1 for value in found], np.int16
        )
        arrays[f"values.{name}"] = np.array(values)
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
