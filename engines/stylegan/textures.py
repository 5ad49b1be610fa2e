"""Textures of surrogates: painted once for a person, remembered from frame to frame."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Session
from engines.stylegan.details import DonorDetails

_KEPT: Final = 64
"""Textures remembered; one of 256 px takes 786 kB."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """A texture as it was painted, float32[3, S, S], and reduced, float32[3, s, s]."""

    whole: Float32
    small: Float32 | None

    def of(self, size: int | None) -> Float32:
        if self.small is not None and size == self.small.shape[-1]:
            return self.small
        return self.whole


class Textures:
    """Paints textures with a generator; safe to use from several threads.

    Args:
        generator: `latents` float32[N, L, 512] -> `texture` float32[N, 3, S, S].
        details: what to add to donors' textures; nothing by default.
        kept: people whose texture is remembered; one forgotten is painted again, the same.
        small: side of the reduced texture that is remembered besides, px; none by default.
    """

    def __init__(
        self,
        generator: Session,
        details: DonorDetails | None = None,
        *,
        kept: int = _KEPT,
        small: int | None = None,
    ) -> None:
        self._generator = generator
        self._details = details
        self._limit = kept
        self._small = small
        self._kept: OrderedDict[bytes, _Sizes] = OrderedDict()
        self._lock = threading.Lock()

    def of_latents(self, latents: Float32, size: int | None = None) -> Float32:
        """Textures float32[N, 3, size, size] RGB of latents float32[N, L, 512].

        Args:
            latents: of N people.
            size: as the generator paints by default, or the reduced one.

        Raises:
            EngineFault: the generator failed, or painted what is no number; nothing of it is kept.
        """
        keys = [hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in latents]
        known = self._known(keys)
        new = [row for row, key in enumerate(keys) if key not in known]
        if new:
            painted = self._painted(latents[new])
            found = {keys[row]: self._sizes(one) for row, one in zip(new, painted, strict=True)}
            self._remember(found)
            known |= found
        return np.stack([known[key].of(size) for key in keys])

    def _painted(self, latents: Float32) -> Float32:
        """Textures float32[N, 3, S, S] of people, with the details that their donors have."""
        fed = np.ascontiguousarray(latents, np.float32)
        painted = np.asarray(self._generator.run({"latents": fed})["texture"], np.float32)
        if self._details is None:
            return painted
        return painted + np.stack([self._details.of_latent(one[0]) for one in latents])

    def _sizes(self, texture: Float32) -> _Sizes:
        if self._small is None:
            return _Sizes(texture, None)
        side = (self._small, self._small)
        planes = [cv2.resize(plane, side, interpolation=cv2.INTER_AREA) for plane in texture]
        return _Sizes(texture, np.asarray(np.stack(planes), np.float32))

    def _known(self, keys: list[bytes]) -> dict[bytes, _Sizes]:
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def _remember(self, found: dict[bytes, _Sizes]) -> None:
        with self._lock:
            self._kept.update(found)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
