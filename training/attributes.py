"""Fit the attribute model that bins a pack's donors by age band and gender presentation."""

from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.attributes import AttributeModel, shares_from_scores
from training.axes import axes

__all__ = ["age_band", "fit_attributes", "fit_classifier"]

RIDGE: Final = 3.0

Float32 = npt.NDArray[np.float32]


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
