"""The 1€ filter (Casiez, Roussel and Vogel 2012) over arrays of any shape.

Slow signals are smoothed, fast ones followed: the cutoff grows with the speed, so a still
face does not jitter and a quick head is not trailed. Each row has a speed of its own: an
eyelid that closes on a still face is not held open by the points around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["OneEuro"]

Array = NDArray[np.float32]


@dataclass(slots=True)
class OneEuro:
    """Filters one array over time.

    Attributes:
        min_cutoff_hz: cutoff at rest; lower is calmer and lags more.
        beta: growth of the cutoff with speed, per unit a second; higher follows faster.
        speed_cutoff_hz: cutoff of the speed estimate.

    >>> smooth = OneEuro(min_cutoff_hz=1.0, beta=0.0)
    >>> float(smooth(np.zeros(1, np.float32), 0.0)[0])
    0.0
    >>> 0 < float(smooth(np.ones(1, np.float32), 0.04)[0]) < 0.3
    True
    """

    min_cutoff_hz: float = 1.5
    beta: float = 8.0
    speed_cutoff_hz: float = 1.0
    _value: Array | None = field(default=None, repr=False)
    _speed: Array | None = field(default=None, repr=False)
    _time_s: float = 0.0

    def __call__(self, value: Array, time_s: float) -> Array:
        """The filtered value; the first one, and any whose time did not rise, pass as they are.

        Args:
            value: float32 of any shape, the same in every call; the last axis is one
                row, whose numbers move together.
            time_s: when it was measured, seconds.
        """
        step_s = time_s - self._time_s
        self._time_s = time_s
        if self._value is None or self._speed is None or step_s <= 0:
            self._value, self._speed = value, np.zeros_like(value)
            return value
        speed = (value - self._value) / np.float32(step_s)
        self._speed = self._speed + _gain(self.speed_cutoff_hz, step_s) * (speed - self._speed)
        pace = np.abs(self._speed).mean(axis=-1, keepdims=True)
        gain = _gain(self.min_cutoff_hz + self.beta * pace, step_s)
        self._value = np.asarray(self._value + gain * (value - self._value), np.float32)
        return self._value

    def forget(self) -> None:
        """Begins anew: the next value passes as it is."""
        self._value = self._speed = None


def _gain(cutoff_hz: float | Array, step_s: float) -> Array:
    """Smoothing factor of a first-order low-pass, 0…1."""
    return np.asarray(1 / (1 + 1 / (math.tau * cutoff_hz * step_s)), np.float32)
