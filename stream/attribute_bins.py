"""Coarse attributes of a face, for the gallery to use where at least k people share them."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from engines.alignment import crop_from_picture, kveil_from_landmarks
from engines.backends.backend import Backend
from engines.errors import EngineFault
from engines.stylegan.attributes import AttributeModel, load_attributes
from engines.stylegan.encoder import LatentEncoder
from engines.stylegan.pack import Pack, load_role
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame
from engines.swapper import Swapper
from engines.types import Face, Frame

__all__ = ["AttributeReader", "Encoder", "attribute_reader_from_pack"]

_ORDER: Final = ("gender", "age")
"""Most important first: the last is given up where too few donors fit."""


class Encoder(Protocol):
    """Gives latents; `engines.stylegan.encoder.LatentEncoder` does."""

    def encode(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(N, L, 512) float32 of uint8 N×S×S×3 BGR kveil crops."""


class AttributeReader:
    """Reads the bin of a face: gender presentation and age band, as far as they are sure.

    Args:
        encoder: gives latents of crops.
        model: reads attributes off latents.
        size: side of the crops, px.
    """

    def __init__(self, encoder: Encoder, model: AttributeModel, size: int) -> None:
        self._encoder = encoder
        self._model = model
        self._size = size

    def bin_of(self, frame: Frame, face: Face) -> str | None:
        """Such as "gender=female|age=adult"; None where nothing is sure or a network failed."""
        try:
            crop_from_frame = kveil_from_landmarks(face.landmarks_px, self._size)
            crop = crop_from_picture(frame.picture, crop_from_frame, self._size)
            (found,) = self._model.bins(self._encoder.encode(crop[None]))
        except EngineFault:
            return None
        parts = [f"{name}={found[name]}" for name in _ORDER if name in found]
        return "|".join(parts) or None


def attribute_reader_from_pack(backend: Backend, pack: Pack, swapper: Swapper) -> AttributeReader:
    """The bundled encoder and attribute model.

    Raises:
        ModelMissing, ModelRejected: a file of the pack is absent or damaged.
    """
    geometry = pack.path("shape.npz")
    encoder = LatentEncoder(
        swapper,
        load_role(backend, pack, "encoder"),
        load_shape_model(geometry),
        load_texture_frame(geometry),
    )
    return AttributeReader(encoder, load_attributes(pack.path("attributes.npz")), swapper.size)
