"""Fit the shape-free texture model that the generator starts from.

`python -m training.texture` warps training crops onto the canonical face, takes out their
light, and finds principal directions (an active appearance model, Cootes et al. 2001). A
person's code is then the whitened texture coefficients followed by the whitened identity
shape coefficients. What movement (expression, yaw, pitch) does to any texture is found by
regression; new people are mixed from the codes without it.
"""

import argparse
import logging
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
from scipy.spatial import Delaunay

from engines.stylegan.light import (
    contrast_from_field,
    field_from_light,
    light_from_picture,
    softened,
)
from engines.stylegan.masks import oval_from_points
from engines.stylegan.shape import (
    Pose,
    canonical_from_points,
    pose_from_points,
)
from engines.stylegan.sizes import BORDER, SOFT_SIZE, TEXTURE_SIZE
from engines.stylegan.topology import MESH_POINTS
from engines.stylegan.warp import (
    TextureFrame,
    image_place_of_texture,
    owners,
)
from training.networks import CODE, TEXTURE_CODES
from training.parts import part_masks, shape_parts, side_by_side, texture_parts
from training.sources import FRONTAL_YAW_DEG, lends, sharpness_of
from training.textures import LENGTH, LUMA, mirrored, vector_from_texture, weights_from_inside

FIT_CROPS: Final = 7000
CHROMA_SHARE: Final = 0.4
"""Of the colour in directions, which is the same on both sides: most of it is the colour of a lamp
or of what is behind, not of a person, and in mixtures makes blue cheeks and green foreheads."""
RESTING: Final = 0.5
"""Deviations of the expression parts that count as the person; larger leaves more to a face at
rest, and less to movement."""
REST_LIMIT: Final = 3.0
FEATURE_LIMIT: Final = 3.0

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def frame_from_points(points: Float32) -> TextureFrame:
    """Triangulate the mean face, float32[N, POINTS, 3] -> its texture frame."""
    mean = points[:, :MESH_POINTS, :2].mean(axis=0)
    corners = np.concatenate([mean, np.array(BORDER)]).astype(np.float32)
    return TextureFrame(corners, Delaunay(corners).simplices.astype(np.int32))


def texture_from_crop(
    crop: UInt8,
    points: Float32,
    frame: TextureFrame,
    owner: npt.NDArray[np.int32],
    inside: Float32,
) -> Float32:
    """Warp one crop onto the canonical face without its light, float32[S, S, 3]."""
    place = image_place_of_texture(points, frame, owner) * crop.shape[0] - 0.5
    warped = cv2.remap(
        crop, place[..., 0], place[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    texture = np.asarray(warped, np.float32) / 127.5 - 1.0
    field = field_from_light(light_from_picture(texture, inside), inside)
    return (texture - field) / contrast_from_field(field)


def warped(
    images: UInt8, points: Float32, frame: TextureFrame, inside: Float32
) -> npt.NDArray[np.float16]:
    """Warp every crop onto the canonical face, float16[N, LENGTH]."""
    owner = owners(frame.points, frame.triangles, TEXTURE_SIZE)
    textures = np.empty((len(images), LENGTH), np.float16)
    for i in range(len(images)):
        texture = texture_from_crop(images[i], points[i], frame, owner, inside)
        textures[i] = vector_from_texture(texture)
    log.info("%d textures", len(images))
    return textures


def principal_directions(data: Float32, count: int) -> tuple[Float32, Float32]:
    """Randomised range finder (Halko et al. 2011): rows and deviations of centred data."""
    random = np.random.default_rng(0)
    probe = data @ random.standard_normal((data.shape[1], count + 24), np.float32)
    for _ in range(2):
        basis, _ = np.linalg.qr(probe)
        probe = data @ (data.T @ basis)
    basis, _ = np.linalg.qr(probe)
    _, spread, rows = np.linalg.svd(basis.T @ data, full_matrices=False)
    return rows[:count].copy(), (spread[:count] / np.sqrt(len(data))).astype(np.float32)


def regression(features: Float32, codes: Float32, untouched: int) -> Float32:
    """Ridge regression from features to codes, float32[F, C]; the last codes stay zero."""
    penalty = 0.01 * len(features) * np.eye(features.shape[1], dtype=np.float32)
    centred = codes - codes.mean(axis=0)
    found = np.linalg.solve(features.T @ features + penalty, features.T @ centred)
    found[:, codes.shape[1] - untouched :] = 0.0
    return np.asarray(found, np.float32)


def movement_from_expression(expression: Float32, gain: Float32, resting: Float32) -> Float32:
    """What of expression parts is movement, as the fit of textures tells it, float32[N, K].

    Args:
        expression: float32[N, K].
        gain: float32[K, K], as of `training.shape.expression_gain`.
        resting: float32[K], what is no movement.

    >>> one = np.ones((1, 1), np.float32)
    >>> movement_from_expression(3 * one, one, one[0]).tolist()
    [[2.0]]
    """
    found = expression @ gain.T
    return np.asarray(np.sign(found) * np.maximum(np.abs(found) - resting, 0.0), np.float32)


def movement_features(expression: Float32, pose: Pose) -> Float32:
    """Describe how a face moves: expression, yaw and pitch, and their squares.

    Args:
        expression: float32[N, K].
        pose: of N faces.

    Returns:
        float32[N, 2 * (K + 2)].
    """
    plain = np.concatenate([expression, pose.angles_deg()[:, :2] / 30.0], axis=1)
    return np.asarray(np.concatenate([plain, np.square(plain)], axis=1), np.float32)


def fit_movement(
    data: Path,
    expression: Float32,
    gain: Float32,
    pose: Pose,
    codes: Float32,
    good: npt.NDArray[np.bool_],
) -> dict[str, Float32]:
    """Tell movement from person; write `movement.npy` and `rest.npy` beside the crops.

    What the least-squares estimate of movement (`expression_gain`) explains of the codes goes;
    what people at rest differ in stays theirs, in texture and in shape.

    Args:
        data: folder of the prepared crops.
        expression: float32[N, K] expression parts.
        gain: float32[K, K].
        pose: of the N faces.
        codes: float32[N, CODE].
        good: bool[N], which faces to fit on.

    Returns:
        Where people at rest differ, for `texture.npz`: centre and deviations, float32[K] each.
    """
    resting = RESTING * expression[good].std(axis=0)
    moved = movement_from_expression(expression, gain, resting)
    features = movement_features(moved, pose)
    mean, spread = features[good].mean(axis=0), features[good].std(axis=0)
    standard = np.clip((features - mean) / spread, -FEATURE_LIMIT, FEATURE_LIMIT)
    movement = regression(standard[good], codes[good], CODE - TEXTURE_CODES)
    shift = np.asarray(standard @ movement, np.float32)
    log.info("movement explains %.1f %% of the codes", 100 * shift[good].var() / codes[good].var())
    np.save(data / "movement.npy", shift)
    rest = expression - moved
    rest_centre, rest_spread = rest[good].mean(axis=0), rest[good].std(axis=0)
    own = np.clip((rest - rest_centre) / rest_spread, -REST_LIMIT, REST_LIMIT)
    np.save(data / "rest.npy", own.astype(np.float32))
    found = {"rest_centre": rest_centre, "rest_spread": rest_spread}
    return {name: np.asarray(value, np.float32) for name, value in found.items()}


def codes_of(
    textures: npt.NDArray[np.float16], mean: Float32, weight: Float32, rows: Float32, sigma: Float32
) -> Float32:
    """Whitened coefficients of textures float16[N, LENGTH] along `rows`, float32[N, T]."""
    parts = [
        ((textures[start : start + 512].astype(np.float32) - mean) * weight) @ rows.T / sigma
        for start in range(0, len(textures), 512)
    ]
    return np.concatenate(parts)


def _even(vectors: Float32) -> Float32:
    """Half of it and half of its mirrored self, float32[..., LENGTH]."""
    return np.asarray((vectors + mirrored(vectors)) / 2, np.float32)


def fit(data: Path, shape: Path, out: Path) -> None:
    """Write `texture.npz`, and by the crops what they are in it.

    `codes.npy`, `movement.npy`, `rest.npy`; `frontal.npy` and `lends.npy` bool[N] say who faces
    the camera, and of whom people are made.
    """
    images = np.load(data / "faces128.npy", mmap_mode="r")
    points = np.load(data / "points.npy")
    with np.load(shape) as file:
        arrays = {name: np.asarray(file[name], np.float32) for name in file.files}
    pose = pose_from_points(points, arrays["mean"])
    flat = (canonical_from_points(points, pose) - arrays["mean"]).reshape(len(points), -1)
    yaw_deg = pose.angles_deg()[:, 0]
    good = lends(data, yaw_deg, FRONTAL_YAW_DEG)
    np.save(data / "lends.npy", good)
    np.save(data / "frontal.npy", np.abs(yaw_deg) < FRONTAL_YAW_DEG)
    frame = frame_from_points(points[~np.load(data / "split.npy")])
    inside = softened(oval_from_points(frame.points, SOFT_SIZE), TEXTURE_SIZE)
    weight = weights_from_inside(inside)
    textures = warped(images, points, frame, inside)
    sharpest = np.argsort(-sharpness_of(data)[good], kind="stable")[:FIT_CROPS]
    sample = textures[np.sort(np.flatnonzero(good)[sharpest])].astype(np.float32)
    mean = sample.mean(axis=0)
    sample = (sample - mean) * weight
    rows, sigma = principal_directions(sample, TEXTURE_CODES)
    held_part = 1 - np.square(sigma).sum() / (np.square(sample).sum() / len(sample))
    log.info("texture: %.1f %% of the variance left out", held_part * 100)
    del sample
    identity = arrays["identity"][: CODE - TEXTURE_CODES]
    own = flat @ identity.T
    centre, spread = own[good].mean(axis=0), own[good].std(axis=0)
    seen = codes_of(textures, mean, weight, rows, sigma)
    codes = np.clip(np.concatenate([seen, (own - centre) / spread], axis=1), -4.0, 4.0)
    np.save(data / "codes.npy", codes)
    expression = np.asarray(flat @ arrays["expression"].T, np.float32)
    gain = arrays["expression_gain"]
    basis, encoding = rows * sigma[:, None] / weight, rows * weight / sigma[:, None]
    places = frame.points[:MESH_POINTS]
    masks = part_masks(places)
    parts = side_by_side(
        texture_parts(masks, basis, encoding), shape_parts(masks, places, identity, spread)
    )
    basis[:, LUMA:] = CHROMA_SHARE * _even(basis)[:, LUMA:]
    even_mean = np.concatenate([mean[:LUMA], _even(mean)[LUMA:]])
    np.savez(
        out,
        allow_pickle=False,
        mean=even_mean,
        basis=basis,
        encoding=encoding,
        parts=parts,
        inside=inside,
        frame_points=frame.points,
        triangles=frame.triangles,
        shape_centre=centre,
        shape_spread=spread,
        **fit_movement(data, expression, gain, pose, codes, good),
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--shape", type=Path, default=Path("runs/shape.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/texture.npz"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    fit(args.data, args.shape, args.out)


if __name__ == "__main__":
    main()
