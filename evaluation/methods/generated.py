"""kveil's surrogates as its generator renders them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend
from engines.stylegan.encoder import LatentEncoder
from engines.stylegan.pack import bundled_pack, load_role, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame
from engines.swapper import Swapper
from evaluation.faces import Faces
from gallery.donors import DonorPopulation, DonorRecipe, read_donors, surrogate_latent
from gallery.secrets import KeyedRandom

__all__ = ["GeneratedSurrogates", "surrogates_from_pack"]

_BATCH = 8
_POOL = 1 << 20
# Which mixtures exist is public, as the weights are; which one a person gets is not.
_PUBLIC_KEY = b"the mixtures of donors are public"


@dataclass(slots=True)
class GeneratedSurrogates:
    """Mixtures of synthetic donors, rendered under the pose and light of the person.

    A face that cannot be followed (`Rendered.is_usable`) is covered with one grey, as the
    pipeline covers it; the report counts it as not re-detected.

    Attributes:
        swapper: renders.
        encoder: latents of crops, for methods that mix people.
        population: donors' latents.
        recipe: how they are mixed.
    """

    swapper: Swapper
    encoder: LatentEncoder
    population: DonorPopulation
    recipe: DonorRecipe = field(default_factory=DonorRecipe)

    @property
    def donors(self) -> int:
        """Different mixtures to draw from."""
        return _POOL

    def fit(self, donors: Faces) -> None:
        """Takes nothing from real people: the donors are the pack's own."""

    def latents(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """(N, L, 512) float32 mixtures."""
        return np.stack([self._latent(int(index)) for index in chosen])

    def wear(
        self, crops: NDArray[np.uint8], chosen: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Renders mixtures over people, `_BATCH` at a time; see `SurrogateRenderer.wear`."""
        return self.painted(crops, self.latents(chosen))

    def encoded(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(N, L, 512) float32 latents of (N, S, S, 3) uint8 BGR crops."""
        parts = [
            self.encoder.encode(crops[start : start + _BATCH])
            for start in range(0, len(crops), _BATCH)
        ]
        return np.concatenate(parts)

    def painted(
        self, crops: NDArray[np.uint8], latents: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Patches and alphas of given latents under the control of the crops."""
        patches, alphas = [], []
        for start in range(0, len(crops), _BATCH):
            part = slice(start, start + _BATCH)
            rendered = self.swapper.render(crops[part], latents[part])
            usable = rendered.is_usable
            pixels, alpha = rendered.pixels.copy(), rendered.alpha.copy()
            pixels[~usable], alpha[~usable] = 128.0, 1.0
            patches.append(_sized(pixels, crops.shape[1]))
            alphas.append(_sized(alpha, crops.shape[1]))
        return np.concatenate(patches), np.concatenate(alphas)

    def _latent(self, index: int) -> NDArray[np.float32]:
        keyed = KeyedRandom(_PUBLIC_KEY, "mixture", index)
        return surrogate_latent(self.population, keyed, 0, 1, recipe=self.recipe)


def surrogates_from_pack(backend: Backend, folder: Path | None = None) -> GeneratedSurrogates:
    """The bundled pack's generator and donors.

    Raises:
        ModelMissing: the pack is absent or incomplete.
        ModelRejected: it is damaged.
    """
    pack = read_pack(folder or bundled_pack())
    swapper, _ = swapper_from_pack(backend, pack.folder)
    geometry = pack.path("shape.npz")
    shape, frame = load_shape_model(geometry), load_texture_frame(geometry)
    encoder = LatentEncoder(swapper, load_role(backend, pack, "encoder"), shape, frame)
    return GeneratedSurrogates(swapper, encoder, read_donors(pack.path("donors.npz")))


def _sized(images: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """(N, S, S[, 3]) float32 scaled to another side."""
    if images.shape[1] == size:
        return images
    how = cv2.INTER_AREA if images.shape[1] > size else cv2.INTER_LINEAR
    return np.stack(
        [np.asarray(cv2.resize(image, (size, size), interpolation=how)) for image in images]
    ).astype(np.float32)
