"""A logistic regression on standardised features, which two learnt filters of people share."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

__all__ = ["LogisticModel", "fitted"]

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """Log odds of what it was fitted to.

    Attributes:
        weights: float32[E].
        bias: added to the weighted sum.
        mean: of features, float32[E].
        spread: what features are divided by, float32[E].
    """

    weights: Float32
    bias: float
    mean: Float32
    spread: Float32

    def scores(self, found: Float32) -> Float32:
        """Log odds of features float32[N, E]: float32[N]."""
        standard = (found - self.mean) / self.spread
        return np.asarray(standard @ self.weights + self.bias, np.float32)


def fitted(
    found: Float32, wanted: Float64, counts: Float64, scale: tuple[Float32, Float32], ridge: float
) -> LogisticModel:
    """The regression of least weighted log loss and squared weights.

    Args:
        found: features float32[M, E].
        wanted: float64[M], 0 to 1; between these where one is as likely as the other.
        counts: float64[M], how much each counts.
        scale: mean and spread of features, float32[E] each.
        ridge: how much squared weights count; larger tells less of who was seen.

    >>> found, wanted = np.float32([[0], [1], [2], [3]]), np.array([0, 0, 1, 1.0])
    >>> scale = np.zeros(1, np.float32), np.ones(1, np.float32)
    >>> (fitted(found, wanted, np.ones(4), scale, 0.1).scores(found) > 0).tolist()
    [False, False, True, True]
    """
    mean, spread = scale
    standard = ((found - mean) / spread).astype(np.float64)

    def loss(weights: Float64) -> tuple[float, Float64]:
        odds = standard @ weights[:-1] + weights[-1]
        off = counts * (1 / (1 + np.exp(-np.clip(odds, -500, 500))) - wanted)
        slope = np.append(standard.T @ off + 2 * ridge * weights[:-1], off.sum())
        value = counts @ (np.logaddexp(0.0, odds) - wanted * odds)
        return float(value + ridge * np.square(weights[:-1]).sum()), slope

    start = np.zeros(standard.shape[1] + 1)
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return LogisticModel(best[:-1].astype(np.float32), float(best[-1]), mean, spread)
