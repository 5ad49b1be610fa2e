"""Confidence intervals of proportions, with probes clustered by person or by track."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Z95", "Z999", "Proportion", "clustered", "wilson"]

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""
Z999 = 3.290526731491894
"""Two-sided 99.9 % quantile: for controls, of which a report has many."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """A rate with its 95 % Wilson interval.

    Attributes:
        hits: probes for which the event happened.
        probes: all probes; undetected outputs count too.
        lower: lower end of the interval, 0…1.
        upper: upper end of the interval, 0…1; gates use this one.
        groups: people or tracks that the probes belong to.
    """

    hits: int
    probes: int
    lower: float
    upper: float
    groups: int

    @property
    def rate(self) -> float:
        """Hits ÷ probes, 0…1; 0 without probes."""
        return self.hits / self.probes if self.probes else 0.0

    def as_dict(self) -> dict[str, float | int]:
        """The record for a JSON report."""
        return {"rate": self.rate, **asdict(self)}


def wilson(hits: float, probes: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (1927, Eq. 3).

    Args:
        hits: successes, 0…probes; may be fractional (effective sizes).
        probes: trials; without any the interval is everything.
        z: quantile of the normal distribution; larger is wider.

    Returns:
        Lower and upper end, 0…1.

    >>> [round(end, 3) for end in wilson(0, 150)]
    [0.0, 0.025]
    """
    if probes <= 0:
        return 0.0, 1.0
    rate = hits / probes
    scale = 1 + z * z / probes
    centre = (rate + z * z / (2 * probes)) / scale
    half = z * math.sqrt(rate * (1 - rate) / probes + z * z / (4 * probes * probes)) / scale
    # At the ends the bound is exact; rounding would leave 1e-18 there.
    lower = 0.0 if hits <= 0 else max(0.0, centre - half)
    upper = 1.0 if hits >= probes else min(1.0, centre + half)
    return lower, upper


def clustered(events: Iterable[bool] | NDArray[np.bool_], groups: Iterable[object]) -> Proportion:
    """A proportion whose probes come in groups that fail or hold together.

    The sample is shrunk by the design effect, the ratio of the clustered variance of the
    rate to the binomial one (Kish, Survey Sampling, 1965, ratio estimator), never below 1.
    Few hits lie in few groups and say little about that effect, so no bound is closer than
    the one that no hit at all, or nothing but hits, would have under the largest effect:
    groups of one mind, of which each counts once. Where every probe agrees that is all
    that is known. Of unequal groups (Σm)² ÷ Σm² count, so that one long track among short
    ones is little more than one.

    Args:
        events: (N,) whether the event happened for a probe.
        groups: (N,) person or track of the probe.

    Raises:
        ValueError: the two differ in length.

    >>> clustered([True, True, False, False], ["a", "a", "b", "b"]).rate
    0.5
    """
    flags = np.asarray(list(events), bool)
    labels = [str(group) for group in groups]
    if len(flags) != len(labels):
        message = f"{len(flags)} events but {len(labels)} group labels: give one label each"
        raise ValueError(message)
    probes, hits = len(flags), int(flags.sum())
    if not probes:
        return Proportion(0, 0, 0.0, 1.0, 0)
    _, index = np.unique(labels, return_inverse=True)
    sizes = np.bincount(index).astype(float)
    lower, upper = _interval(np.bincount(index, weights=flags).astype(float), sizes)
    return Proportion(hits, probes, lower, upper, len(sizes))


def _interval(hits: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float]:
    """Wilson's interval at the effective size, never closer than that of unanimous groups."""
    probes = float(sizes.sum())
    rate, alike = float(hits.sum()) / probes, probes**2 / float((sizes**2).sum())
    effective = _effective_size(hits, sizes) if 0 < rate < 1 and len(sizes) > 1 else alike
    lower, upper = wilson(rate * effective, effective)
    return min(lower, wilson(alike, alike)[0]), max(upper, wilson(0, alike)[1])


def _effective_size(hits: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """Probes ÷ design effect, of two groups or more that do not all agree."""
    probes, groups = float(sizes.sum()), len(sizes)
    rate = float(hits.sum()) / probes
    residual = hits - rate * sizes
    variance = groups / (groups - 1) * float((residual**2).sum()) / probes**2
    effect = max(1.0, variance / (rate * (1 - rate) / probes))
    return probes / effect
