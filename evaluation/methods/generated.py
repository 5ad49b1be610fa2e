"""kveil's surrogates as its generator renders them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend
from engines.face.attribute_bins import AttributeReader
from engines.face.embedder import FaceEmbedder, embedder_from_pack
from engines.face.embedding_attributes import attributes_from_pack
from engines.face.swapper import Control, Swapper
from engines.stylegan.attributes import AttributeModel, load_attributes
from engines.stylegan.encoder import LatentEncoder
from engines.stylegan.pack import (
    Pack,
    bundled_pack,
    donor_latents,
    load_role,
    read_pack,
    swapper_from_pack,
)
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import Pose, ShapeModel, load_shape_model, points_from_canonical
from engines.stylegan.sizes import LIGHT_SIZE
from engines.stylegan.topology import EYE_LEFT_SLICE, EYE_RIGHT_SLICE, POINTS
from engines.stylegan.warp import load_texture_frame
from evaluation.faces import Faces
from evaluation.methods.directions import LatentDirections, directions_from_latents, resized
from evaluation.methods.dressing import covered, dressed
from evaluation.methods.remembered import Remembered
from evaluation.methods.suiting import Suiting
from gallery.dealing import LookAlikes
from gallery.donors import DonorPopulation, read_donors

__all__ = ["GeneratedSurrogates", "pack_fingerprint", "points_at_rest", "surrogates_from_pack"]

_BATCH = 8
_EYES = (0.4, 0.5, 0.37)
"""Distance between the eyes and the point between them in the kveil crop, crop units."""
_LIGHT = (2, LIGHT_SIZE, LIGHT_SIZE, 3)
_SKIN_BGR = (0.0, 0.15, 0.45)
_WALL_BGR = (-0.3, -0.3, -0.3)


@dataclass(slots=True)
class GeneratedSurrogates:
    """Mixtures of synthetic donors, rendered under the pose and light of the person.

    A face that cannot be followed (`Rendered.is_usable`) is covered with one grey, as the
    pipeline covers it; the report counts it as not re-detected.

    Attributes:
        swapper: renders.
        encoder: latents of crops, for methods that mix people.
        population: donors' latents.
        shape: the swapper's.
        looks: reads attributes off latents.
        embedder: tells people apart where a method tunes itself; it judges nothing.
        match: cosine from which the embedder calls two faces one person.
        backend: loads the methods' own networks.
        fingerprint: of the pack; networks trained on its latents fit no other.
        suiting: chooses donors for people, and mixes them.
    """

    swapper: Swapper
    encoder: LatentEncoder
    population: DonorPopulation
    shape: ShapeModel
    looks: AttributeModel
    embedder: FaceEmbedder
    match: float
    backend: Backend
    fingerprint: str
    suiting: Suiting
    _encoded: Remembered = field(init=False)
    _read: Remembered = field(init=False)
    _told: Remembered = field(init=False)
    _directions: LatentDirections | None = None

    def __post_init__(self) -> None:
        self._encoded = Remembered(self._ask_encoder, _BATCH)
        self._read = Remembered(self._ask_landmarks, _BATCH)
        self._told = Remembered(self.embedder.embed, _BATCH)

    @property
    def donors(self) -> int:
        """Surrogates with a main donor of their own."""
        return len(self.population)

    @property
    def alike(self) -> LookAlikes:
        """Which donors look like which."""
        return self.population.look_alikes

    def fit(self, donors: Faces) -> None:
        """Takes nothing from real people: the donors are the pack's own."""

    def latents(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """(N, L, 512) float32 mixtures."""
        return np.stack([self.suiting.latent(max(int(index), 0)) for index in chosen])

    def suited(self, faces: Faces, chosen: NDArray[np.int64], secret: bytes) -> NDArray[np.int64]:
        """Donors of people's bins who do not resemble them; see `Suiting.choices`."""
        del chosen
        return self.suiting.choices(faces, secret)

    def wear(self, faces: Faces, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Renders mixtures over people; see `SurrogateRenderer.wear`."""
        made = dressed(self.swapper, faces, self.latents(np.maximum(chosen, 0)))
        hidden = np.flatnonzero(chosen < 0)
        if len(hidden):
            made[hidden] = covered(faces.take(hidden))
        return made

    @property
    def directions(self) -> LatentDirections:
        """Directions in which donors differ, found when first asked for."""
        if self._directions is None:
            self._directions = directions_from_latents(
                self.population.latents, lambda latents: self.neutral(latents)
            )
        return self._directions

    def encoded(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(N, L, 512) float32 latents of (N, S, S, 3) uint8 BGR crops."""
        rows = self._encoded(crops)
        return rows if rows.shape[1] > 1 else np.repeat(rows, self.swapper.layers, axis=1)

    def control(self, crops: NDArray[np.uint8]) -> Control:
        """What the crops say of pose, expression and light."""
        rows = self._read(crops)
        points, light = rows[:, : POINTS * 3], rows[:, POINTS * 3 : -2]
        return Control(
            points.reshape(-1, POINTS, 3),
            light.reshape(-1, *_LIGHT),
            rows[:, -2],
            contrast=rows[:, -1],
        )

    def told_apart(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(N, D) unit vectors of the embedder for (N, S, S, 3) uint8 BGR crops."""
        return self._told(crops)

    def painted(
        self, crops: NDArray[np.uint8], latents: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Patches and alphas of given latents under the control of the crops."""
        control = self.control(crops)
        patches, alphas = [], []
        for start in range(0, len(crops), _BATCH):
            part = slice(start, start + _BATCH)
            rendered = self.swapper.paint(_part(control, part), latents[part])
            usable = rendered.is_usable
            pixels, alpha = rendered.pixels.copy(), rendered.alpha.copy()
            pixels[~usable], alpha[~usable] = 128.0, 1.0
            patches.append(resized(pixels, crops.shape[1]))
            alphas.append(resized(alpha, crops.shape[1]))
        return np.concatenate(patches), np.concatenate(alphas)

    def neutral(
        self, latents: NDArray[np.float32], light: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """(N, S, S, 3) float32 BGR, 0…255: latents seen from the front, at rest.

        Args:
            latents: (N, L, 512) float32.
            light: (N, 2, 4, 4, 3) float32 BGR in [-1, 1]; skin before a wall when None.
        """
        count = len(latents)
        if light is None:
            light = np.array([_SKIN_BGR, _WALL_BGR], np.float32)[:, None, None]
        lights = np.broadcast_to(light, (count, *_LIGHT)).astype(np.float32)
        points = np.repeat(points_at_rest(self.shape), count, axis=0)
        whole = Control(points, lights, np.zeros(count, np.float32))
        parts = [slice(start, start + _BATCH) for start in range(0, count, _BATCH)]
        made = [self.swapper.paint(_part(whole, part), latents[part]).pixels for part in parts]
        return np.concatenate(made)

    def _ask_encoder(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        latents = self.encoder.encode(crops)
        is_flat = bool((latents == latents[:, :1]).all())
        return latents[:, :1] if is_flat else latents

    def _ask_landmarks(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        read = self.swapper.read(crops)
        count = len(crops)
        parts = [read.points, read.light, read.doubt, read.contrast]
        return np.concatenate(
            [part.reshape(count, -1) for part in parts if part is not None], axis=1
        )


def surrogates_from_pack(backend: Backend, folder: Path | None = None) -> GeneratedSurrogates:
    """The bundled pack's generator and donors.

    The generator computes in bf16 where that passes the gate.

    Raises:
        ModelMissing: the pack is absent or incomplete.
        ModelRejected: it is damaged.
    """
    pack = read_pack(folder or bundled_pack())
    swapper, _ = swapper_from_pack(backend, pack.folder, precision="bf16")
    geometry = pack.path("shape.npz")
    shape, frame = load_shape_model(geometry), load_texture_frame(geometry)
    embedder, thresholds = embedder_from_pack(backend)
    network, relief = load_role(backend, pack, "encoder"), load_relief(geometry)
    encoder = LatentEncoder(swapper, network, shape, frame, relief)
    donors = read_donors(pack.path("donors.npz"))
    suiting = Suiting(
        swapper, donors, embedder, AttributeReader(attributes_from_pack()), thresholds
    )
    return GeneratedSurrogates(
        swapper,
        encoder,
        donors,
        shape,
        load_attributes(pack.path("attributes.npz")),
        embedder,
        thresholds.match,
        backend,
        pack_fingerprint(pack),
        suiting,
    )


def pack_fingerprint(pack: Pack) -> str:
    """What a pack's latents depend on, 16 hexadecimal digits."""
    networks = " ".join(
        pack.sha256[name] for name in ("encoder.onnx", "generator.onnx", "shape.npz")
    )
    latents = donor_latents(pack).astype(np.float16).tobytes()
    return hashlib.sha256(networks.encode() + latents).hexdigest()[:16]


def _part(control: Control, rows: slice) -> Control:
    contrast = None if control.contrast is None else control.contrast[rows]
    return Control(
        control.points[rows], control.light[rows], control.doubt[rows], contrast=contrast
    )


def points_at_rest(shape: ShapeModel) -> NDArray[np.float32]:
    """(1, POINTS, 3) of the mean face looking at the camera, crop units."""
    distance, x, y = _EYES
    pose = Pose(
        np.eye(3, dtype=np.float32)[None],
        np.array([distance], np.float32),
        np.array([[x, y, 0.0]], np.float32),
    )
    mesh = points_from_canonical(shape.mean[None], pose)
    pupils = [mesh[:, eye].mean(axis=1) for eye in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    return np.concatenate([mesh, np.stack(pupils, axis=1)], axis=1)
