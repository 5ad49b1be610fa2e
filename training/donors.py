"""Make the synthetic donors of a pack, and fit the attribute model that bins them.

A donor mixes the codes of three photographed adults whose textures are clean (even forehead,
no frames of glasses, even sides), is made more symmetric, and is kept if its landmarks are
easily found on it and no training face is as near to it as real strangers' faces are to each
other. Among those, people who look unlike each other to the same two recognisers are chosen, in
equal numbers over age band and gender presentation: first at rest, then under other people's
control, where they must also move truly.
"""

import argparse
import json
import logging
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
from training.mixtures import mixtures
from training.nearest import nearness
from training.portraits import BATCH, portraits, sheet
from training.relief import mirrored_codes
from training.sources import is_real_adult, lends
from training.textures import luma_of, mirrored

CANDIDATES: Final = 6144
"""Chosen at rest, to choose donors from under control. Fewer donors are more unlike each other;
more serve more people before a surrogate comes again."""
POOL: Final = 28000
SYMMETRY: Final = 0.15
"""Share of the mirrored face in a donor: 0 keeps shadows and partings, 0.5 leaves none."""
CLEAN_SHARES: Final = (0.95, 0.80, 0.95)
"""Shares of crops that pass as bare foreheads, as eyes without frames of glasses, and as evenly
lit; smaller ones make people alike, larger ones let half-vanished frames through."""
DRAWN_SHARES: Final = (0.98, 0.90, 0.98)
"""The same of the people drawn: what is left of frames adds up in some of them, and the choice
of people unlike each other would take these first."""
EASY_SHARE: Final = 0.85
"""Share of the pool kept for the surest landmarks; a smaller one makes people alike."""
YAW_LIMIT_DEG: Final = 15.0
LAYERS: Final = 12
RIDGE: Final = 3.0
FOREHEAD: Final = (slice(8, 32), slice(37, 91))
UNDER_EYES: Final = (slice(54, 72), slice(20, 108))
"""Rows and columns of the texture: where hair and hats, and where frames of glasses show."""

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


def is_clean(
    luma: Float32, shares: tuple[float, float, float] = CLEAN_SHARES
) -> npt.NDArray[np.bool_]:
    """Whether a texture shows a bare, evenly lit face.

    Args:
        luma: float[N, S, S] planes of textures.
        shares: of them that each of the three tests lets pass, 0 to 1.

    Returns:
        bool[N].
    """
    forehead = np.abs(luma[:, *FOREHEAD]).reshape(len(luma), -1).max(axis=1)
    edges = np.abs(np.diff(luma[:, *UNDER_EYES], axis=1)).reshape(len(luma), -1)
    frames = np.quantile(edges, 0.98, axis=1)
    soft = luma.reshape(len(luma), 8, luma.shape[1] // 8, 8, -1).mean(axis=(2, 4))
    sides = np.abs(soft - soft[:, :, ::-1])[:, 1:7, 2:6].mean(axis=(1, 2))
    found = zip((forehead, frames, sides), shares, strict=True)
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


def write(
    data: Path, texture: Path, relief: Path, out: Path, models: Path, seed: int
) -> dict[str, float]:
    """Write `donors.npz` and `attributes.npz` into a pack; return what was measured of them."""
    rows: list[dict[str, str]] = json.loads((data / "names.json").read_text())
    held = np.load(data / "split.npy")
    codes = np.load(data / "codes.npy") - np.load(data / "movement.npy")
    backend = OpenVino()
    swapper = unlisted_swapper(backend, out)
    shape = load_shape_model(out / "shape.npz")
    model, facts = fit_attributes(codes, rows, held)
    with np.load(texture) as file:
        mean, basis, encoding = file["mean"], file["basis"], file["encoding"]
    sources = np.flatnonzero(is_source(data, shape))
    clean = sources[is_clean(luma_of(mean + codes[sources, : len(basis)] @ basis))]
    behind = [np.load(data / name) for name in ("relief.npy", "rest.npy")]
    whole = np.concatenate([codes, *behind], axis=1)
    drawn = mixtures(whole[clean], POOL, seed)
    drawn[:, : len(basis)] = evened(drawn[:, : len(basis)], basis, encoding, mean)
    shade = slice(codes.shape[1], codes.shape[1] + behind[0].shape[1])
    drawn[:, shade] = evened_relief(drawn[:, shade], relief)
    halves = (drawn @ axes(drawn.shape[1]).T)[:, None].astype(np.float16)
    latents = np.broadcast_to(halves.astype(np.float32), (len(halves), LAYERS, halves.shape[2]))
    pictures, points = portraits(swapper, shape, latents)
    doubt = np.concatenate(
        [swapper.read(pictures[i : i + BATCH]).doubt for i in range(0, len(pictures), BATCH)]
    )
    near = nearness(pictures, points, data, models, is_real_adult(data) & ~held)
    bins = model.bins(latents)
    fits = doubt <= np.quantile(doubt, EASY_SHARE)
    fits &= is_clean(luma_of(mean + drawn[:, : len(basis)] @ basis), DRAWN_SHARES)
    fits &= np.logical_and.reduce([each.is_nobody() for each in near.values()])
    fits &= [{"age", "gender"} <= set(person) and person["age"] != "child" for person in bins]
    usable = np.flatnonzero(fits)
    seen = {name: each.seen[usable] for name, each in near.items()}
    chosen = usable[unlike(seen, [bins[i] for i in usable], CANDIDATES)]
    log.info("%d clean people, %d usable, %d at rest", len(clean), len(usable), len(chosen))
    own_bins = [bins[i] for i in chosen]
    chosen = chosen[
        chosen_under_control(swapper, shape, latents[chosen], own_bins, data, models, seed)
    ]
    _save(out, latents[chosen], [bins[i] for i in chosen], model)
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
