"""Fit the model that tells age band and gender presentation: `python -m training.attributes`."""

import argparse
import json
import logging
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.attributes import AttributeModel, shares_from_scores
from training.axes import axes

__all__ = ["age_band", "fit_attributes", "fit_classifier", "write"]

RIDGE: Final = 3.0

Float32 = npt.NDArray[np.float32]

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


def write(data: Path, out: Path) -> dict[str, float]:
    """Write `attributes.npz` into a pack; return its balanced held-out accuracy.

    Args:
        data: folder of prepared crops, with the texture model's codes.
        out: folder of the pack.
    """
    rows: list[dict[str, str]] = json.loads((data / "names.json").read_text())
    codes = np.load(data / "codes.npy") - np.load(data / "movement.npy")
    model, facts = fit_attributes(codes, rows, np.load(data / "split.npy"))
    parts = {f"weights.{name}": weights for name, weights in model.weights.items()}
    values = {f"values.{name}": np.array(names) for name, names in model.values.items()}
    np.savez_compressed(out / "attributes.npz", allow_pickle=False, **parts, **values)
    return facts


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    facts = write(args.data, args.out)
    (args.out / "attributes.json").write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
