"""Fit the attribute model of a pack's latents: `python -m training.latent_attributes`."""

import argparse
import json
import logging
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engines.stylegan.attributes import AttributeModel
from engines.stylegan.axes import axes
from training.attributes import age_band, balanced_accuracy, fit_classifier

__all__ = ["fit_attributes", "write_attributes"]

Float32 = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


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
        facts[f"{name}_accuracy"] = balanced_accuracy(
            codes[test], labels[test], values[name], found
        )
    return AttributeModel(weights, values), facts


def write_attributes(data: Path, out: Path) -> dict[str, float]:
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
    facts = write_attributes(args.data, args.out)
    (args.out / "attributes.json").write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
