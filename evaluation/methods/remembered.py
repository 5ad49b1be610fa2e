"""Answers of a network about pictures that were asked about before."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Remembered"]

Crops = NDArray[np.uint8]
Rows = NDArray[np.float32]


@dataclass(slots=True)
class Remembered:
    """Asks a network about each picture once: attacks release the same faces many times.

    Safe to call from several threads.

    Attributes:
        ask: (N, S, S, 3) uint8 pictures to N rows of float32.
        batch: pictures per question.
        capacity: rows kept; the oldest goes when a new one comes.
    """

    ask: Callable[[Crops], Rows]
    batch: int = 8
    capacity: int = 4096
    _rows: dict[bytes, Rows] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, crops: Crops) -> Rows:
        """Rows of all pictures, (N, …) float32, N ≥ 1.

        >>> mean = Remembered(lambda crops: crops.mean((1, 2, 3), dtype=np.float32))
        >>> mean(np.full((2, 4, 4, 3), 7, np.uint8)).tolist()
        [7.0, 7.0]
        """
        keys = [hashlib.blake2b(crop.tobytes(), digest_size=16).digest() for crop in crops]
        with self._lock:
            found = {key: self._rows[key] for key in keys if key in self._rows}
        new = list({key: place for place, key in enumerate(keys) if key not in found}.values())
        for start in range(0, len(new), self.batch):
            places = new[start : start + self.batch]
            for place, row in zip(places, self.ask(crops[places]), strict=True):
                found[keys[place]] = np.array(row, np.float32)
        with self._lock:
            self._rows.update((keys[place], found[keys[place]]) for place in new)
            while len(self._rows) > self.capacity:
                self._rows.pop(next(iter(self._rows)))
        return np.stack([found[key] for key in keys])
