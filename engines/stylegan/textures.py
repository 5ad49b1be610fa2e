"""Textures of surrogates: painted once for a person, remembered from frame to frame."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.backend import Session

_KEPT: Final = 64
"""Textures remembered; one of 256 px takes 786 kB."""

Float32 = npt.NDArray[np.float32]


class Textures:
    """Paints textures with a generator; safe to use from several threads.

    Args:
        generator: `latents` float32[N, L, 512] -> `texture` float32[N, 3, S, S].
        retouch: what to do to a new texture float32[3, S, S]; nothing by default.
        kept: people whose texture is remembered; one forgotten is painted again, the same.
    """

    def __init__(
        self,
        generator: Session,
        retouch: Callable[[Float32], Float32] = np.copy,
        *,
        kept: int = _KEPT,
    ) -> None:
        self._generator = generator
        self._retouch = retouch
        self._limit = kept
        self._kept: OrderedDict[bytes, Float32] = OrderedDict()
        self._lock = threading.Lock()

    def of_latents(self, latents: Float32) -> Float32:
        """Textures float32[N, 3, S, S] RGB of latents float32[N, L, 512].

        Raises:
            EngineFault: the generator failed, or painted what is no number; nothing of it is kept.
        """
        keys = [hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in latents]
        known = self._known(keys)
        new = [row for row, key in enumerate(keys) if key not in known]
        if new:
            fed = np.ascontiguousarray(latents[new], np.float32)
            painted = np.asarray(self._generator.run({"latents": fed})["texture"], np.float32)
            found = {keys[row]: self._retouch(one) for row, one in zip(new, painted, strict=True)}
            self._remember(found)
            known |= found
        return np.stack([known[key] for key in keys])

    def _known(self, keys: list[bytes]) -> dict[bytes, Float32]:
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def _remember(self, found: dict[bytes, Float32]) -> None:
        with self._lock:
            self._kept.update(found)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
