"""What attackers train with: ridge regression, kernel ridge regression, a small network.

An attacker does not know beforehand which of them breaks a method. He holds some of his own
people back, takes the learner that finds them best, and trains it on all of his people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Learnt", "Map", "best_learner", "kernel_ridge", "network", "ridge", "ridge_map", "unit"]

Rows = NDArray[np.float32]
Map = Callable[[Rows], Rows]
"""Takes (N, D) inputs to (N, E) guesses."""
Fit = Callable[[Rows, Rows], Map]

_RIDGE: Final = 0.3
_HELD_BACK: Final = 4
_EPOCHS: Final = 40
_PATIENCE: Final = 5
_HIDDEN: Final = 256


def ridge_map(inputs: Rows, targets: Rows, penalty: float = _RIDGE) -> NDArray[np.float64]:
    """The affine map from inputs to targets with least squared error and a penalty.

    Args:
        inputs: (N, D).
        targets: (N, E).
        penalty: relative to the mean variance of the inputs; larger forgets more.

    Returns:
        (D + 1, E): weights, then the offset.

    >>> x = np.array([[0.0], [1.0], [2.0]], np.float32)
    >>> ridge_map(x, 2 * x + 1, 0).round(3).tolist()
    [[2.0], [1.0]]
    """
    means = inputs.mean(axis=0, dtype=np.float64), targets.mean(axis=0, dtype=np.float64)
    x, y = inputs - means[0], targets - means[1]
    added = penalty * float(np.square(x).sum()) / x.shape[1] + 1e-9
    if len(x) < x.shape[1]:  # of two ways to the same weights the one of the smaller matrix
        weights = x.T @ np.linalg.solve(x @ x.T + added * np.eye(len(x)), y)
    else:
        weights = np.linalg.solve(x.T @ x + added * np.eye(x.shape[1]), x.T @ y)
    return np.concatenate([weights, (means[1] - means[0] @ weights)[None]])


def ridge(inputs: Rows, targets: Rows, penalty: float = _RIDGE) -> Map:
    """`ridge_map`, ready to be applied."""
    mapping = ridge_map(inputs, targets, penalty)
    return lambda rows: np.asarray(rows @ mapping[:-1] + mapping[-1], np.float32)


def kernel_ridge(inputs: Rows, targets: Rows, width: float = 1.0, penalty: float = 0.1) -> Map:
    """Ridge regression on Gaussian similarities: bends where a plane cannot follow.

    Args:
        inputs: (N, D).
        targets: (N, E).
        width: of the bell, in median distances between inputs; larger is nearer to a plane.
        penalty: added to each input's similarity with itself; larger forgets more.
    """
    scaled, scale = _standardised(inputs)
    squared = _squared_distances(scaled, scaled)
    median = float(np.median(squared[squared > 0])) if (squared > 0).any() else 1.0
    steepness = 1 / (width**2 * median)
    mean = targets.mean(axis=0)
    similar = np.exp(-squared * steepness)
    weights = np.linalg.solve(similar + penalty * np.eye(len(similar)), targets - mean)

    def guess(rows: Rows) -> Rows:
        near = np.exp(-_squared_distances(scale(rows), scaled) * steepness)
        return np.asarray(near @ weights + mean, np.float32)

    return guess


def network(inputs: Rows, targets: Rows) -> Map:
    """One hidden layer, trained until a tenth of the rows held back stops improving."""
    from sklearn.neural_network import MLPRegressor

    scaled, scale = _standardised(inputs)
    spread = np.maximum(targets.std(axis=0), 1e-6)
    mean = targets.mean(axis=0)
    wanted = (targets - mean) / spread
    held = np.arange(len(scaled)) % 10 == 0
    model = MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,),
        alpha=1e-2,
        batch_size=min(64, int((~held).sum())),
        random_state=0,
    )
    best, kept, waited = np.inf, None, 0
    for _ in range(_EPOCHS):
        model.partial_fit(scaled[~held], wanted[~held])
        error = float(((model.predict(scaled[held]) - wanted[held]) ** 2).mean())
        if error < best:
            best, waited = error, 0
            kept = [np.copy(part) for part in (*model.coefs_, *model.intercepts_)]
        else:
            waited += 1
            if waited >= _PATIENCE:
                break
    assert kept is not None, "one epoch at least was trained"
    first, second, bias, offset = kept

    def guess(rows: Rows) -> Rows:
        hidden = np.maximum(scale(rows) @ first + bias, 0)
        return np.asarray((hidden @ second + offset) * spread + mean, np.float32)

    return guess


@dataclass(frozen=True, slots=True)
class Learnt:
    """The learner that an attacker chose.

    Attributes:
        name: of it.
        guess: trained on all of his people.
        found: mean share of held back people behind the right one, 0…1; 0.5 is a guess.
    """

    name: str
    guess: Map
    found: float


def best_learner(inputs: Rows, targets: Rows, own: slice | None = None) -> Learnt:
    """Tries all learners on a quarter of the people held back; trains the best on everybody.

    Args:
        inputs: (N, D) what the attacker sees of his people's anonymized faces.
        targets: (N, E) unit vectors of their originals.
        own: columns of the inputs that are of the targets' kind, so that leaving them as
            they are, or a plane on them alone, may be best. The simplest wins a tie.
    """
    learners: dict[str, Fit] = {}
    if own is not None:
        learners["as seen"] = lambda _x, _y: lambda rows: np.asarray(rows[:, own])
        learners["plane on own"] = lambda x, y: _on_columns(ridge(x[:, own], y), own)
    learners |= _learners()
    held = np.arange(len(inputs)) % _HELD_BACK == 0
    scores = {
        name: _found(unit(fit(inputs[~held], targets[~held])(inputs[held])) @ targets[held].T)
        for name, fit in learners.items()
    }
    name = max(scores, key=lambda key: scores[key])
    return Learnt(name, learners[name](inputs, targets), scores[name])


def _on_columns(guess: Map, columns: slice) -> Map:
    return lambda rows: guess(np.asarray(rows[:, columns]))


def unit(rows: Rows) -> Rows:
    """Rows scaled to length 1."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, 1e-12), np.float32)


def _learners() -> dict[str, Fit]:
    learners: dict[str, Fit] = {
        "ridge 0.1": lambda x, y: ridge(x, y, 0.1),
        "ridge 1": lambda x, y: ridge(x, y, 1.0),
        "kernel ridge, narrow": lambda x, y: kernel_ridge(x, y, 0.7),
        "kernel ridge, wide": lambda x, y: kernel_ridge(x, y, 2.0),
    }
    if find_spec("sklearn") is not None:
        learners["network"] = network
    return learners


def _found(scores: Rows) -> float:
    """Mean share of wrong people who score below the right one, who stands on the diagonal."""
    own = np.diag(scores)[:, None]
    others = max(1, scores.shape[1] - 1)
    return float((scores < own).sum() / others / len(scores))


def _standardised(inputs: Rows) -> tuple[Rows, Map]:
    mean = inputs.mean(axis=0)
    spread = np.maximum(inputs.std(axis=0), 1e-6)

    def scale(rows: Rows) -> Rows:
        return np.asarray((rows - mean) / spread, np.float32)

    return scale(inputs), scale


def _squared_distances(first: Rows, second: Rows) -> NDArray[np.float64]:
    a, b = first.astype(np.float64), second.astype(np.float64)
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T
    return np.asarray(np.maximum(squared, 0), np.float64)
