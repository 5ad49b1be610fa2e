"""A generator whose faces are sums of patterns, so that every truth about it is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.onnxruntime import OnnxRuntime
from engines.face.swapper import Control
from engines.stylegan.attributes import AttributeModel
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import ShapeModel, load_shape_model
from evaluation.methods.directions import LatentDirections, directions_from_latents
from evaluation.methods.generated import points_at_rest
from evaluation.methods.surrogate import oval_alpha

LAYERS = 6
CODES = 12
Float32 = NDArray[np.float32]


def _patterns() -> Float32:
    """(CODES, 32, 32, 3), coarse and strong ones first."""
    random = np.random.default_rng(5)
    made = []
    for number in range(CODES):
        cells = random.normal(size=(3 + number, 3 + number, 3)).astype(np.float32)
        made.append(cv2.resize(cells, (32, 32)) * (30 - 2 * number))
    return np.stack(made).astype(np.float32)


def _looks() -> AttributeModel:
    """Gender is the first code, age the second one's third."""
    gender, age = np.zeros((513, 2), np.float32), np.zeros((513, 3), np.float32)
    gender[0, 1] = 4
    age[1] = (-3, 0, 3)
    weights = {"gender": gender, "age": age}
    return AttributeModel(weights, {"gender": ("f", "m"), "age": ("young", "adult", "old")})


@dataclass(slots=True)
class LinearGenerator:
    """Encodes crops by least squares and paints them again; latents have 6 equal layers.

    `embedder` compares the pictures that it is shown but for the first two patterns, which
    are looks.
    """

    donors: int = 200
    match: float = 0.8
    patterns: Float32 = field(default_factory=_patterns)
    looks: AttributeModel = field(default_factory=_looks)
    shape: ShapeModel = field(
        default_factory=lambda: load_shape_model(bundled_pack() / "shape.npz")
    )
    backend: OnnxRuntime = field(default_factory=OnnxRuntime)
    fingerprint: str = "linear"
    _directions: LatentDirections | None = None

    @property
    def directions(self) -> LatentDirections:
        if self._directions is None:
            chosen = np.arange(120)
            self._directions = directions_from_latents(self.latents(chosen), self.neutral, side=32)
        return self._directions

    def latents(self, chosen: NDArray[np.int64]) -> Float32:
        codes = np.stack([np.random.default_rng(int(n)).normal(size=CODES) for n in chosen])
        return self._latents(codes.astype(np.float32))

    def encoded(self, crops: NDArray[np.uint8]) -> Float32:
        small = np.stack(
            [cv2.resize(crop, (32, 32), interpolation=cv2.INTER_AREA) for crop in crops]
        )
        flat = self.patterns.reshape(CODES, -1)
        rows = small.reshape(len(crops), -1).astype(np.float32) - 128
        return self._latents(rows @ np.linalg.pinv(flat))

    def control(self, crops: NDArray[np.uint8]) -> Control:
        count = len(crops)
        light = crops.reshape(count, -1).mean(axis=1)[:, None, None, None, None] / 127.5 - 1
        lights = np.broadcast_to(light, (count, 2, 4, 4, 3)).astype(np.float32)
        points = np.repeat(points_at_rest(self.shape), count, axis=0)
        return Control(points, lights, np.zeros(count, np.float32))

    def told_apart(self, crops: NDArray[np.uint8]) -> Float32:
        codes = self.encoded(crops).mean(axis=1)[:, 2:CODES]
        lengths = np.linalg.norm(codes, axis=1, keepdims=True)
        return np.asarray(codes / np.maximum(lengths, 1e-6), np.float32)

    def neutral(self, latents: Float32, light: Float32 | None = None) -> Float32:
        codes = latents.mean(axis=1)[:, :CODES]
        return np.asarray(128 + np.tensordot(codes, self.patterns, axes=1), np.float32)

    def painted(self, crops: NDArray[np.uint8], latents: Float32) -> tuple[Float32, Float32]:
        size = crops.shape[1]
        small = np.clip(self.neutral(latents), 0, 255)
        patches = np.stack([cv2.resize(picture, (size, size)) for picture in small])
        return patches.astype(np.float32), np.repeat(oval_alpha(size)[None], len(crops), axis=0)

    def _latents(self, codes: Float32) -> Float32:
        w = np.zeros((len(codes), 512), np.float32)
        w[:, :CODES] = codes
        return np.repeat(w[:, None], LAYERS, axis=1)
