"""Makes the donors of a pack of whole synthetic portraits: `python -m training.portrait_donors`.

Every portrait of `training/donor_portraits.csv` was looked at: no children, glasses, hats, hair
over the brows, hard shadows or open mouths. A donor is one portrait: its shape and its coarse looks
are the latent that the pack's encoder gives, its texture is what the portrait shows. What the
generator leaves out of it goes into the bank of details, so that donors are painted as they are.
"""

import argparse
import csv
import hashlib
import json
import logging
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.embedder import FaceEmbedder, embedder_from_pack
from engines.stylegan.details import write_details
from engines.stylegan.drawing import LUMA, rise
from engines.stylegan.encoder import LatentEncoder
from engines.stylegan.light import (
    contrast_from_field,
    field_from_light,
    light_from_picture,
    softened,
)
from engines.stylegan.masks import oval_from_points
from engines.stylegan.pack import MANIFEST, Pack, load_role, read_pack, swapper_from_pack
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.sizes import SOFT_SIZE
from engines.stylegan.topology import MESH_POINTS, POINTS
from engines.stylegan.warp import TextureFrame, image_place_of_texture, load_texture_frame, owners
from engines.swapper import Control, Swapper
from training.axes import LATENT, axes
from training.donor_skin import away_from_features, bare_skin, within_outline

LIST: Final = Path(__file__).with_name("donor_portraits.csv")
_CROP: Final = 384
"""Side of the crops that textures are taken from, px."""
_READ: Final = 256
"""Side of the crops that landmarks and latents are read from, px."""
_WIDE_EYES: Final = ((0.36, 0.42), (0.64, 0.42))
_EYES: Final = ((0.30, 0.37), (0.70, 0.37))
"""Where the eyes lie in the portraits, and in the kveil crop, shares of the side."""
_SIGNATURE: Final = 10.0
"""Length of what tells donors' latents apart in directions that no network looks at."""
_BROAD: Final = 0.03
"""Deviation of the blur beyond which brightness is gloss or shade and no feature, a share."""
_FINE: Final = 0.01
"""Deviation of the blur within which it is a pore or a hair."""
_GREYED: Final = 0.6
"""Share of the colour of such patches that is taken away far from the features."""
_MOST_GLOSS: Final = 0.22
_MOST_SHADE: Final = 0.5
"""How much brighter and darker than even skin such patches may be, texture units."""
_FAR: Final = (0.03, 0.14)
"""Distances from the features between which skin becomes calm, shares of the side."""
_RIM: Final = (0.0, 0.07)
"""Distances within the outline between which skin becomes plain: ears and hair begin there."""
_CALMED: Final = 0.2
"""Share of gloss and shade that is taken away there. More would shave the sides of beards."""
_BATCH: Final = 16

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def portraits(folder: Path, names: list[str]) -> Iterator[UInt8]:
    """Kveil crops uint8[384, 384, 3] BGR of portraits, in the order of their names.

    Args:
        folder: holds one tar for each source; a name begins with its source.
        names: such as `omi-0001.webp`.
    """
    archives: dict[str, tuple[tarfile.TarFile, dict[str, tarfile.TarInfo]]] = {}
    for name in names:
        source = name.rsplit("-", 1)[0]
        if source not in archives:
            tar = tarfile.open(folder / f"{source}.tar")  # noqa: SIM115
            members = {Path(one.name).name: one for one in tar.getmembers() if one.isfile()}
            archives[source] = tar, members
        tar, members = archives[source]
        file = tar.extractfile(members[name])
        assert file is not None, f"{name} is no file"
        picture = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_COLOR)
        assert picture is not None, f"{name} is no picture"
        yield _kveil_crop(np.asarray(picture, np.uint8))
    for tar, _ in archives.values():
        tar.close()


def _kveil_crop(picture: UInt8) -> UInt8:
    (x, y), (right, _) = _WIDE_EYES
    (to_x, to_y), (to_right, _) = _EYES
    side = picture.shape[0]
    scale = (to_right - to_x) * _CROP / ((right - x) * side)
    place = np.array(
        [
            [scale, 0, to_x * _CROP - scale * x * side],
            [0, scale, to_y * _CROP - scale * y * side],
        ]
    )
    way = cv2.INTER_CUBIC
    crop = cv2.warpAffine(
        picture, place, (_CROP, _CROP), flags=way, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(crop, np.uint8)


def texture_of(crop: UInt8, points: Float32, frame: TextureFrame, size: int) -> Float32:
    """A portrait's texture without hair, background and light, float32[3, size, size] RGB.

    Args:
        crop: uint8[S, S, 3] BGR kveil crop.
        points: float32[POINTS, 3] of its face.
        frame: the canonical face.
        size: of the texture, px.
    """
    owner = owners(frame.points, frame.triangles, size)
    x, y = cv2.split(image_place_of_texture(points, frame, owner) * crop.shape[0] - 0.5)
    border = cv2.BORDER_REPLICATE
    seen = np.asarray(cv2.remap(crop, x, y, cv2.INTER_LINEAR, borderMode=border), np.uint8)
    skin = bare_skin(seen, frame.points)[:, :, ::-1].astype(np.float32) / np.float32(127.5) - 1
    mean = np.zeros((POINTS, 3), np.float32)
    mean[:MESH_POINTS, :2] = frame.points[:MESH_POINTS]
    inside = softened(oval_from_points(mean, SOFT_SIZE), size)
    field = field_from_light(light_from_picture(skin, inside), inside)
    bare = evened((skin - field) / contrast_from_field(field), frame.points)
    return np.ascontiguousarray(bare.transpose(2, 0, 1))


def evened(texture: Float32, points: Float32) -> Float32:
    """A texture float32[S, S, 3] in even light, around 0, with its features and its beard.

    A lamp's gloss on dark skin is far brighter than the skin, and would glow in another light. What
    is brighter or darker on one side of a face alone is light or shade of the portrait, and so is
    what lies far from the features: it would be a blotch on another head.

    Args:
        texture: RGB, of a face that is the same on both sides of its middle.
        points: float32[>= MESH_POINTS, 2] of the texture frame, texture units.
    """
    size = len(texture)
    broad = cv2.GaussianBlur(texture, (0, 0), _BROAD * size)
    middling = np.asarray(cv2.GaussianBlur(texture, (0, 0), _FINE * size) - broad, np.float32)
    most = np.where(broad > 0, _MOST_GLOSS, _MOST_SHADE).astype(np.float32)
    shared = _on_both_sides(most * np.tanh(broad / most))
    shared = np.asarray(cv2.GaussianBlur(shared, (0, 0), _BROAD * size / 2), np.float32)
    away = rise(away_from_features(points, size), *_FAR)[..., None]
    grey = (shared @ LUMA[::-1])[..., None]
    shared += _GREYED * away * (grey - shared)
    blotches = away * (middling - _on_both_sides(middling))
    even = texture + shared * (1 - _CALMED * away) - broad - blotches
    inside = rise(within_outline(points, size), *_RIM)[..., None]
    return np.asarray(even * inside, np.float32)


def _on_both_sides(texture: Float32) -> Float32:
    """What both sides of a texture float32[S, S, 3] have of it, the lesser of the two."""
    mirrored = texture[:, ::-1]
    shared = np.sign(texture) * np.minimum(np.abs(texture), np.abs(mirrored))
    shared[texture * mirrored < 0] = 0
    return np.asarray(shared, np.float32)


def told_apart(latents: Float32) -> Float32:
    """Latents float32[N, C] of linearly independent people, in float16's precision.

    The encoder's codes fill some of the latent's directions; in the others, which no network looks
    at, everybody gets a signature, so that a mixture's weights can be recovered.
    """
    used = int(np.linalg.matrix_rank(latents, tol=1e-3))
    free = axes(LATENT - 1)[:, used:]
    drawn = np.random.default_rng(1).standard_normal((len(latents), free.shape[1]))
    signed = _SIGNATURE * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    told = (latents + signed @ free.T).astype(np.float16)
    return np.asarray(told, np.float32)


def donor_arrays(
    latents: Float32, bins: dict[str, npt.NDArray[np.str_]], layers: int
) -> dict[str, npt.NDArray[np.generic]]:
    """What `donors.npz` holds of donors; a latent is the same in every layer and kept once.

    Args:
        latents: float32[N, C].
        bins: by attribute, the N donors' values.
        layers: of the generator.
    """
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": latents[:, None].astype(np.float16),
        "mean": np.zeros((layers, latents.shape[1]), np.float32),
    }
    for name, values in bins.items():
        names, codes = np.unique(values, return_inverse=True)
        arrays[f"attribute.{name}"] = codes.astype(np.int16)
        arrays[f"values.{name}"] = names
    return arrays


def look_alikes(
    swapper: Swapper, embedder: FaceEmbedder, rest: Float32, latents: Float32, threshold: float
) -> npt.NDArray[np.intp]:
    """Pairs of donors whom the embedder takes for one person, painted at rest in even light."""
    seen = []
    for start in range(0, len(latents), _BATCH):
        part = latents[start : start + _BATCH]
        points = np.repeat(rest, len(part), axis=0)
        control = Control(
            points, np.zeros((len(part), 2, 4, 4, 3), np.float32), np.zeros(len(part), np.float32)
        )
        painted = swapper.paint(control, np.repeat(part[:, None], swapper.layers, axis=1)).pixels
        seen.append(embedder.embed(np.clip(np.rint(painted), 0, 255).astype(np.uint8)))
    found = np.concatenate(seen)
    alike = np.argwhere(np.triu(found @ found.T >= threshold, 1))
    log.info("%d pairs of %d donors look alike", len(alike), len(found))
    return np.asarray(alike, np.intp)


def write(folder: Path, weights: Path) -> None:
    """Write `donors.npz` and `details.npz` into a pack, and both into its manifest.

    Args:
        folder: of the portraits.
        weights: of the pack, whose networks are used.
    """
    with LIST.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pack, backend = read_pack(weights), OpenVino()
    swapper, _ = swapper_from_pack(backend, weights)
    geometry = pack.path("shape.npz")
    shape, frame = load_shape_model(geometry), load_texture_frame(geometry)
    encoder = LatentEncoder(
        swapper, load_role(backend, pack, "encoder"), shape, frame, load_relief(geometry)
    )
    latents, textures = [], []
    for crop in portraits(folder, [row["name"] for row in rows]):
        small = cv2.resize(crop, (_READ, _READ), interpolation=cv2.INTER_AREA)
        fed = np.asarray(small, np.uint8)[None]
        latents.append(encoder.encode(fed)[0, 0])
        textures.append(texture_of(crop, swapper.read(fed).points[0], frame, swapper.size))
    told = told_apart(np.stack(latents))
    _write_bank(weights / "details.npz", backend, pack, told, np.stack(textures))
    names = ("gender", "tone", "age")
    bins = {name: np.array([row[name] for row in rows]).astype(np.str_) for name in names}
    arrays = donor_arrays(told, bins, swapper.layers)
    np.savez_compressed(weights / "donors.npz", allow_pickle=False, **arrays)
    _enter(weights)
    swapper, _ = swapper_from_pack(backend, weights)
    embedder, thresholds = embedder_from_pack(backend, 60.0, weights / "embedder")
    pairs = look_alikes(swapper, embedder, points_at_rest(shape), told, thresholds.match)
    arrays["alike"] = pairs.astype(np.int32)
    np.savez_compressed(weights / "donors.npz", allow_pickle=False, **arrays)
    _enter(weights)


def _write_bank(
    path: Path, backend: OpenVino, pack: Pack, latents: Float32, textures: Float32
) -> None:
    generator = load_role(backend, pack, "generator")
    layers = generator.inputs[0].shape[1]
    for start in range(0, len(latents), _BATCH):
        part = slice(start, start + _BATCH)
        fed = np.repeat(latents[part, None], layers or 1, axis=1)
        textures[part] -= generator.run({"latents": fed})["texture"]
    write_details(path, textures)


def _enter(weights: Path) -> None:
    """Brings the manifest's entries of both files up to date."""
    path = weights / MANIFEST
    content = json.loads(path.read_text(encoding="utf-8"))
    for name, purpose in (
        ("donors.npz", "synthetic people to mix surrogates from"),
        ("details.npz", "what the generator leaves out of donors' textures"),
    ):
        held = (weights / name).read_bytes()
        digest = hashlib.sha256(held).hexdigest()
        content["files"][name] = {"sha256": digest, "bytes": len(held), "purpose": purpose}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--portraits", type=Path, required=True, help="folder of the tars")
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    write(args.portraits, args.pack)


if __name__ == "__main__":
    main()
