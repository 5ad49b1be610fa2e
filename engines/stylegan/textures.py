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
from engines.errors import EngineFault
from engines.face.iris_reading import gaze_of_crop
from engines.stylegan.details import DonorDetails

_KEPT: Final = 64
"""Textures remembered; one of 256 px takes a megabyte."""
_LEAST_VARIATION: Final = 1 / 127.5
"""Deviation of what is painted below which it is a blank: a grey level."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Texture:
    """What a surrogate looks like; not to be changed.

    Attributes:
        whole: float32[S, S, 3] BGR in about [-1, 1].
        half: the same, reduced to half of its side.
        gaze: float32[2] where its eyes look, see `engines.stylegan.gaze`.
    """

    whole: Float32
    half: Float32
    gaze: Float32

    def of_size(self, size: int) -> Float32:
        """The texture of the side that is painted, or half of it, px."""
        return self.whole if len(self.whole) == size else self.half


class Textures:
    """Paints textures with a generator; safe to use from several threads.

    Args:
        generator: `latents` float32[N, L, 512] -> `texture` float32[N, 3, S, S] RGB.
        face: float32[>= MESH_POINTS, 2] of the canonical face on a texture, crop units.
        details: what to add to donors' textures; nothing by default.
        kept: people whose texture is remembered; one forgotten is painted again, the same.
    """

    def __init__(
        self,
        generator: Session,
        face: Float32,
        details: DonorDetails | None = None,
        *,
        kept: int = _KEPT,
    ) -> None:
        self._generator = generator
        self._face = face
        self._details = details
        self._limit = kept
        self._kept: OrderedDict[bytes, Texture] = OrderedDict()
        self._lock = threading.Lock()

    def of_latents(self, latents: Float32) -> list[Texture]:
        """Textures of latents float32[N, L, 512].

        Raises:
            EngineFault: the generator failed, or painted a blank or what is no number; nothing of
                it is kept.
        """
        keys = [hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in latents]
        known = self._known(keys)
        new = [row for row, key in enumerate(keys) if key not in known]
        if new:
            painted = self._painted(latents[new])
            found = {keys[row]: self._seen(one) for row, one in zip(new, painted, strict=True)}
            self._remember(found)
            known |= found
        return [known[key] for key in keys]

    def _painted(self, latents: Float32) -> Float32:
        """Textures float32[N, 3, S, S] of people, with the details that their donors have."""
        fed = np.ascontiguousarray(latents, np.float32)
        painted = np.asarray(self._generator.run({"latents": fed})["texture"], np.float32)
        _refuse_blank(painted)
        if self._details is None:
            return painted
        return painted + np.stack([self._details.of_latent(one[0]) for one in latents])

    def _seen(self, painted: Float32) -> Texture:
        """A texture float32[3, S, S] RGB in its sizes, and where its eyes look."""
        whole = np.asarray(cv2.merge(list(painted[::-1])), np.float32)
        side = (len(whole) // 2, len(whole) // 2)
        half = np.asarray(cv2.resize(whole, side, interpolation=cv2.INTER_AREA), np.float32)
        levels = np.clip(np.rint((whole + 1) * 127.5), 0, 255).astype(np.uint8)
        return Texture(whole, half, gaze_of_crop(levels, self._face))

    def _known(self, keys: list[bytes]) -> dict[bytes, Texture]:
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def _remember(self, found: dict[bytes, Texture]) -> None:
        with self._lock:
            self._kept.update(found)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)


def _refuse_blank(painted: Float32) -> None:
    if not np.isfinite(painted).all():
        raise EngineFault("the generator painted values that are not numbers; the face is covered")
    if any(cv2.meanStdDev(cv2.merge(list(one)))[1].max() < _LEAST_VARIATION for one in painted):
        raise EngineFault("the generator painted a blank; the face is covered")
