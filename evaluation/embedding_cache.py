"""A recogniser that embeds each picture once, however often the attacks ask for it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.types import Landmarks
from evaluation.recognisers import Embeddings, Recogniser

__all__ = ["CachedRecogniser"]

_MOST_KEPT: Final = 20_000
"""Vectors of a recogniser that are kept, some 2 KB each; the least recently asked go first."""


class CachedRecogniser:
    """Answers from memory for pictures and landmarks that it has seen before.

    The originals come back in every method's attacks, and a cover paints a photograph the
    same under every secret. Nothing is written anywhere.

    Args:
        inner: does the work.
        most_kept: vectors kept; more cost memory, fewer are computed again.
    """

    def __init__(self, inner: Recogniser, most_kept: int = _MOST_KEPT) -> None:
        self.inner = inner
        self._most = most_kept
        self._kept: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Shown in reports."""
        return self.inner.name

    @property
    def threshold(self) -> float:
        """Cosine above which two faces match, −1…1."""
        return self.inner.threshold

    @property
    def seen_by_kveil(self) -> bool:
        """Whether it took part in making what it judges."""
        return self.inner.seen_by_kveil

    def embed(
        self, images: Sequence[NDArray[np.uint8]], landmarks_px: Sequence[Landmarks]
    ) -> Embeddings:
        """Unit vectors as `Recogniser.embed` gives them; safe to call from several threads."""
        if not len(images):
            return np.zeros((0, 0), np.float32)
        keys = [_key(image, points) for image, points in zip(images, landmarks_px, strict=True)]
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
        absent = {key: place for place, key in enumerate(keys) if key not in found}
        if absent:
            places = list(absent.values())
            rows = self.inner.embed([images[p] for p in places], [landmarks_px[p] for p in places])
            found.update(zip(absent, rows, strict=True))
        with self._lock:
            for key in dict.fromkeys(keys):
                self._kept[key] = found[key]
                self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return np.stack([found[key] for key in keys])


def _key(image: NDArray[np.uint8], points: Landmarks) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(image.shape).encode())
    digest.update(np.ascontiguousarray(image).data)
    digest.update(np.ascontiguousarray(points, np.float32).data)
    return digest.digest()
