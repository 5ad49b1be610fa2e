"""Makes donors of portraits: their latents, and what the generator leaves out of their textures.

A donor is one portrait: its shape and its coarse looks are the latent that the bundled encoder
gives, its texture is what the portrait shows. What the generator leaves out of it goes into the
bank of details, so that donors are painted as they are.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend
from engines.donors.textures import texture_of
from engines.face.embedder import FaceEmbedder
from engines.face.swapper import Control, Swapper
from engines.stylegan.axes import LATENT, axes
from engines.stylegan.details import load_details, write_details
from engines.stylegan.encoder import LatentEncoder
from engines.stylegan.pack import (
    DETAILS,
    DONORS,
    Pack,
    file_entry,
    load_role,
    swapper_from_pack,
)
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.warp import load_texture_frame

__all__ = [
    "CROP_SIZE",
    "PURPOSES",
    "READ_SIZE",
    "DonorPeople",
    "DonorReader",
    "donor_entries",
    "told_apart",
    "write_donor_files",
    "write_donors",
]

CROP_SIZE: Final = 384
"""Side of the kveil crops that textures are taken from, px."""
READ_SIZE: Final = 256
"""Side of the crops that landmarks and latents are read from, px."""
_SIGNATURE: Final = 10.0
"""Length of what tells donors' latents apart in directions that no network looks at."""
_LEAST_CODE: Final = 0.01
"""Size of the largest code in a direction below which no network looks at it."""
_ALIKE: Final = 0.15
"""Share of all pairs of donors that look alike. Smaller deals more who pass for one person, larger
does not tell among them."""
_BATCH: Final = 16
PURPOSES: Final = {
    DONORS: "synthetic people to mix surrogates from",
    DETAILS: "what the generator leaves out of donors' textures",
}

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class DonorPeople:
    """People who shall become donors.

    Attributes:
        latents: float32[N, 512], as `DonorReader` read them.
        textures: float32[N, 3, S, S] RGB, in the texture's units.
        bins: by attribute, str[N]: the people's values.
    """

    latents: Float32
    textures: Float32
    bins: Mapping[str, npt.NDArray[np.str_]]


class DonorReader:
    """Reads latents and textures off portraits.

    Args:
        backend: the runtime.
        pack: of the networks.
        swapper: of the same pack; reads landmarks.

    Raises:
        ModelMissing, ModelRejected: a file of the pack is absent or damaged.
    """

    def __init__(self, backend: Backend, pack: Pack, swapper: Swapper) -> None:
        geometry = pack.path("shape.npz")
        self._swapper = swapper
        self._frame = load_texture_frame(geometry)
        self._usual = _painted(backend, pack, np.zeros((1, LATENT), np.float32))[0]
        self._encoder = LatentEncoder(
            swapper,
            load_role(backend, pack, "encoder"),
            load_shape_model(geometry),
            self._frame,
            load_relief(geometry),
        )

    def read(self, crop: UInt8) -> tuple[Float32, Float32]:
        """Latent float32[512] and texture float32[3, S, S] RGB of a portrait.

        The latent is the mean of the portrait's and its mirror image's: one side of a shape that
        differs from the other is mostly the lamp's, or of a head that is turned a little.

        Args:
            crop: uint8[C, C, 3] BGR kveil crop, C of `CROP_SIZE`.

        Raises:
            EngineFault: a network failed.
        """
        side = (READ_SIZE, READ_SIZE)
        fed = np.asarray(cv2.resize(crop, side, interpolation=cv2.INTER_AREA), np.uint8)
        latent = self._encoder.encode(np.stack([fed, fed[:, ::-1]]))[:, 0].mean(axis=0)
        points = self._swapper.read(fed[None], is_lit=False).points[0]
        return latent, texture_of(crop, points, self._frame, self._usual)


def write_donor_files(
    folder: Path,
    backend: Backend,
    pack: Pack,
    people: DonorPeople,
    embedder: FaceEmbedder,
) -> None:
    """Write `donors.npz` and `details.npz` into a folder.

    Args:
        folder: of the donors; may be the pack's own.
        backend: the runtime.
        pack: of the networks that read the people.
        people: who become donors.
        embedder: tells which of them look most alike, so that they are not dealt together.

    Raises:
        EngineFault: a network failed.
        ModelMissing, ModelRejected: a file of the pack is absent or damaged.
        OSError: the files cannot be written.
    """
    told = told_apart(people.latents)
    _write_bank(folder / DETAILS, backend, pack, told, people.textures)
    details = load_details(folder / DETAILS, told)
    swapper, _ = swapper_from_pack(backend, pack.folder, details=details)
    rest = points_at_rest(load_shape_model(pack.path("shape.npz")))
    faces = _painted_faces(swapper, embedder, rest, told)
    write_donors(folder / DONORS, told, swapper.layers, people.bins, faces)


def told_apart(latents: Float32) -> Float32:
    """Latents float32[N, 512] of linearly independent people, in float16's precision.

    The encoder's codes fill the first of the latent's directions; in the others, which no network
    looks at, everybody gets a signature, so that a mixture's weights can be recovered.
    """
    codes = np.abs(latents @ axes(LATENT - 1)).max(axis=0)
    used = int(np.flatnonzero(codes > _LEAST_CODE).max(initial=-1)) + 1
    free = axes(LATENT - 1)[:, used:]
    drawn = np.random.default_rng(1).standard_normal((len(latents), free.shape[1]))
    signed = _SIGNATURE * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    told = (latents + signed @ free.T).astype(np.float16)
    return np.asarray(told, np.float32)


def write_donors(
    path: Path,
    latents: Float32,
    layers: int,
    bins: Mapping[str, npt.NDArray[np.str_]],
    faces: Float32,
) -> None:
    """Write `donors.npz` without pickles; a latent is the same in every layer and kept once.

    Args:
        path: of the file.
        latents: float32[N, C], kept as float16.
        layers: of the generator.
        bins: by attribute, str[N]: the donors' values.
        faces: float32[N, D] what they look like to the embedder, kept as float16.

    Raises:
        OSError: the file cannot be written.
    """
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": latents[:, None].astype(np.float16),
        "mean": np.zeros((layers, latents.shape[1]), np.float32),
        "alike": _look_alikes(faces).astype(np.int32),
        "faces": faces.astype(np.float16),
    }
    for name, values in bins.items():
        names, codes = np.unique(values, return_inverse=True)
        arrays[f"attribute.{name}"] = codes.astype(np.int16)
        arrays[f"values.{name}"] = names.astype(np.str_)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def donor_entries(folder: Path) -> dict[str, dict[str, object]]:
    """What a manifest says of the two files in a folder.

    Raises:
        OSError: a file is absent.
    """
    return {name: file_entry(folder / name, purpose) for name, purpose in PURPOSES.items()}


def _write_bank(
    path: Path, backend: Backend, pack: Pack, latents: Float32, textures: Float32
) -> None:
    write_details(path, textures - _painted(backend, pack, latents))


def _painted(backend: Backend, pack: Pack, latents: Float32) -> Float32:
    """What the generator alone paints of latents float32[N, C]: float32[N, 3, S, S] RGB."""
    generator = load_role(backend, pack, "generator")
    layers = generator.inputs[0].shape[1] or 1
    parts = (latents[start : start + _BATCH] for start in range(0, len(latents), _BATCH))
    made = [
        generator.run({"latents": np.repeat(part[:, None], layers, axis=1)})["texture"]
        for part in parts
    ]
    generator.close()
    return np.concatenate(made)


def _painted_faces(
    swapper: Swapper, embedder: FaceEmbedder, rest: Float32, latents: Float32
) -> Float32:
    """What donors look like to an embedder, float32[N, D], painted at rest in even light."""
    seen = []
    for start in range(0, len(latents), _BATCH):
        part = latents[start : start + _BATCH]
        points = np.repeat(rest, len(part), axis=0)
        control = Control(
            points, np.zeros((len(part), 2, 4, 4, 3), np.float32), np.zeros(len(part), np.float32)
        )
        painted = swapper.paint(control, np.repeat(part[:, None], swapper.layers, axis=1)).pixels
        seen.append(embedder.embed(np.clip(np.rint(painted), 0, 255).astype(np.uint8)))
    return np.concatenate(seen)


def _look_alikes(faces: Float32) -> npt.NDArray[np.intp]:
    """Pairs intp[M, 2] of faces float32[N, D] that are most alike."""
    pairs = np.stack(np.triu_indices(len(faces), 1), axis=1)
    likeness = (faces[pairs[:, 0]] * faces[pairs[:, 1]]).sum(axis=1)
    kept = np.sort(np.argsort(-likeness, kind="stable")[: math.ceil(_ALIKE * len(pairs))])
    return np.asarray(pairs[kept], np.intp)
