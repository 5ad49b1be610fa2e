"""Draw the synthetic donors of a pack, and fit the attribute model that bins them.

Codes are drawn from the Gaussian fitted to all training codes and pulled in to a typical
norm; donors are balanced over age band and gender presentation.
"""

import argparse
import json
import logging
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.attributes import AttributeModel, shares_from_scores

DONORS: Final = 1024
POOL: Final = 24_000
PSI: Final = 1.2
"""Spread of donors' codes, 1 being that of the training crops; smaller gives regular faces that
resemble each other, larger ones more people and harder features."""
LAYERS: Final = 12
RIDGE: Final = 3.0
CLEAR_SHARE: Final = 0.4
"""Share of the drawn people kept for the clearest foreheads: hair and hats painted there would
end at the crop's edge."""
FOREHEAD: Final = (slice(6, 24), slice(28, 68))
"""Rows and columns of the texture."""

Float32 = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


def axes(latent: int, code: int) -> Float32:
    """The code's axes in the latent space, as `training.networks.latent_axes`, in numpy."""
    row = np.arange(latent)[:, None] + 0.5
    column = np.arange(1, code + 1)[None]
    return np.asarray(np.cos(row * column * np.pi / latent) * np.sqrt(2.0 / latent), np.float32)


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
    basis = axes(512, codes.shape[1])
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


def draw_codes(covariance: Float32, count: int, seed: int) -> Float32:
    """Draw codes float32[count, CODE], scaled by PSI and without far outliers."""
    random = np.random.default_rng(seed)
    root = np.linalg.cholesky(covariance.astype(np.float64) + 1e-4 * np.eye(len(covariance)))
    plain = random.standard_normal((count, len(covariance)))
    norm = np.linalg.norm(plain, axis=1, keepdims=True)
    typical = np.sqrt(len(covariance))
    plain *= np.clip(norm, 0.9 * typical, 1.05 * typical) / norm
    return np.asarray(plain @ root.T * PSI, np.float32)


def has_clear_forehead(
    codes: Float32, mean: Float32, basis: Float32, share: float = CLEAR_SHARE
) -> npt.NDArray[np.bool_]:
    """Whether each code is among the `share` with the most even forehead.

    Args:
        codes: float32[N, C], texture codes first.
        mean: float32[S, S, 3] of the texture.
        basis: float32[T, S, S, 3].
        share: kept, 0 to 1.
    """
    directions = basis[:, *FOREHEAD].mean(axis=-1).reshape(len(basis), -1)
    shown = mean[FOREHEAD].mean(axis=-1).ravel() + codes[:, : len(basis)] @ directions
    unevenness = np.abs(shown).max(axis=1)
    return np.asarray(unevenness <= np.quantile(unevenness, share), np.bool_)


def balanced(bins: list[dict[str, str]], count: int) -> npt.NDArray[np.int64]:
    """Choose `count` people so that every combination of bins comes as often as it can.

    >>> balanced([{"a": "x"}] * 3 + [{"a": "y"}], 2).tolist()
    [0, 3]
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, person in enumerate(bins):
        groups.setdefault(tuple(sorted(person.items())), []).append(index)
    chosen: list[int] = []
    turn = 0
    while len(chosen) < min(count, len(bins)):
        for members in groups.values():
            if turn < len(members) and len(chosen) < count:
                chosen.append(members[turn])
        turn += 1
    return np.sort(np.array(chosen, np.int64))


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


def write(data: Path, texture: Path, out: Path, seed: int) -> dict[str, float]:
    """Write `donors.npz` and `attributes.npz`; return accuracies and the number of donors."""
    rows: list[dict[str, str]] = json.loads((data / "names.json").read_text())
    held = np.load(data / "split.npy")
    codes = np.load(data / "codes.npy") - np.load(data / "movement.npy")
    with np.load(texture) as file:
        covariance, mean, directions = file["covariance"], file["mean"], file["basis"]
    model, facts = fit_attributes(codes, rows, held)
    basis = axes(512, codes.shape[1])
    drawn = draw_codes(covariance, POOL, seed)
    drawn = drawn[has_clear_forehead(drawn, mean, directions)]
    latents = (drawn @ basis.T)[:, None]
    bins = [
        person if {"age", "gender"} <= set(person) and person["age"] != "child" else None
        for person in model.bins(latents)
    ]
    usable = [i for i, person in enumerate(bins) if person is not None]
    chosen = [usable[i] for i in balanced([b for b in bins if b is not None], DONORS)]
    kept = latents[chosen].astype(np.float16).astype(np.float32).repeat(LAYERS, axis=1)
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": kept,
        "mean": np.zeros((LAYERS, 512), np.float32),
    }
    for name, values in model.values.items():
        found = [(bins[i] or {}).get(name, "") for i in chosen]
        arrays[f"attribute.{name}"] = np.array(
            [values.index(value) if value else -1 for value in found], np.int16
        )
        arrays[f"values.{name}"] = np.array(values)
    np.savez_compressed(out / "donors.npz", allow_pickle=False, **arrays)
    parts = {f"weights.{k}": v for k, v in model.weights.items()}
    parts |= {f"values.{k}": np.array(v) for k, v in model.values.items()}
    np.savez_compressed(out / "attributes.npz", allow_pickle=False, **parts)
    return facts | {"donors": float(len(chosen))}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    parser.add_argument("--seed", type=int, default=20261121)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    facts = write(args.data, args.texture, args.out, args.seed)
    (args.out / "donors.json").write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
