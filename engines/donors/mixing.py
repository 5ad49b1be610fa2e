"""Paints portraits of people whom an imported generator mixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend
from engines.errors import EngineFault, ModelRejected
from engines.stylegan.pack import Pack

__all__ = ["MOST_MIXED", "PortraitMixer"]

MOST_MIXED: Final = 8
"""People in a mixture at most: means of many all look alike."""

UInt8 = npt.NDArray[np.uint8]


class PortraitMixer:
    """Paints convex mixtures of random people; the same seed paints the same ones.

    Args:
        backend: the runtime.
        network: an imported generator, with `mapping.onnx` and `synthesis.onnx`.
        mix: people in a mixture, 1 to `MOST_MIXED`. When it grows, portraits are more typical.
        psi: truncation in [0, 1]; smaller gives more typical people, and cleaner pictures.
        seed: of the draws.

    Raises:
        ModelMissing, ModelRejected: a file is absent or damaged, or the pack is no generator.
    """

    def __init__(self, backend: Backend, network: Pack, mix: int, psi: float, seed: int) -> None:
        self._mapping = backend.load(network.path("mapping.onnx"))
        self._synthesis = backend.load(network.path("synthesis.onnx"))
        inputs = {spec.name: spec.shape for spec in self._mapping.inputs}
        width = inputs["z"][1] if set(inputs) == {"z", "psi"} else None
        if width is None:
            raise ModelRejected(f"{network.name} is no generator of this version; import it again")
        self._width = width
        self._mix = mix
        self._psi = np.array([psi], np.float32)
        self._random = np.random.default_rng(seed)

    def portraits(self) -> Iterator[UInt8]:
        """Portraits uint8[S, S, 3] BGR without end.

        Raises:
            EngineFault: the network failed, or painted what is no number.
        """
        while True:
            yield self._painted()

    def close(self) -> None:
        """Gives back what the runtime holds."""
        self._mapping.close()
        self._synthesis.close()

    def _painted(self) -> UInt8:
        draws = self._random.standard_normal((self._mix, self._width)).astype(np.float32)
        people = self._mapping.run({"z": draws, "psi": self._psi})["latents"]
        shares = self._random.dirichlet(np.ones(self._mix)).astype(np.float32)
        latents = np.tensordot(shares, people, axes=1)[None].astype(np.float32)
        (image,) = self._synthesis.run({"latents": latents})["image"]
        if not np.isfinite(image).all():
            raise EngineFault("the generator painted values that are no numbers; import it again")
        levels = np.clip(np.rint((image + 1) * np.float32(127.5)), 0, 255).astype(np.uint8)
        return np.asarray(cv2.merge(levels[::-1]), np.uint8)
