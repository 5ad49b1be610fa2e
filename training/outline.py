"""Learn how far read outlines are off.

    python -m training.outline --people TAR --portraits DIR --models DIR

The crops that the landmark network learns from end a little below the chin, so it draws chins too
high, and so does its teacher on these crops (`engines.stylegan.outline`). On whole heads the
teacher sees where they end: it looks at a square half as large again as the mesh that it found, as
it was trained to. The landmark network reads the same heads as it does in the product; what is
between both outlines is fitted by ridge regression on the principal components of what was read,
on photographs of turned heads and on portraits of many people.

Cheeks, beyond which turned heads are not seen, are told from landmarks by weights that are fitted
on whole meshes of training crops.
"""

import argparse
import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.face.alignment import (
    Similarity,
    crop_from_picture,
    inverse_of,
    moved,
    similarity_from_points,
)
from engines.face.face_look import Look, points_in_frame
from engines.pictures import Picture, picture_from_bgr
from engines.stylegan.outline import OutlineModel, levelled_points
from engines.stylegan.pack import swapper_from_pack
from engines.stylegan.topology import (
    CHEEKS,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    MESH_INDEX,
    MESH_POINTS,
    OVAL_SLICE,
)
from engines.types import Face
from training.face_reading import FaceReader
from training.prepare import MESH_FILE, MESH_SIZE, MeshLabeller
from training.sources import every_picture, framed_portrait, portraits_of_people

COMPONENTS: Final = 40
RIDGE: Final = 0.5
"""Added to the squares of components of deviation 1."""
HELD_OUT: Final = 0.2
"""Share of the people whose pictures only test the map."""
_EVERY: Final = 2
"""One portrait of so many is read."""
_ROUNDS: Final = 3
_WIDER: Final = 1.5
"""How often the teacher looks, and how much larger its square is than the mesh."""
_FIRST: Final = 4.2
"""Its first side, distances of the eyes."""

_MESHES: Final = 1800
_TESTED: Final = 300
_STIFF: Final = 1.0
"""Crops whose meshes tell of cheeks, how many of them are held out, and the ridge."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


class HeadReader:
    """Finds the faces of heads, and outlines by the product and by the teacher.

    Args:
        pack: folder of the pack whose landmark network reads.
        models: folder of the teacher.
    """

    def __init__(self, pack: Path, models: Path) -> None:
        self._reader = FaceReader(swapper_from_pack(OpenVino(), pack)[0])
        self._teacher = MeshLabeller(models / MESH_FILE)

    def read(self, image: UInt8) -> tuple[Float32, Float32] | None:
        """Landmarks float32[POINTS, 3] as read, and the teacher's outline float32[M, 2], px.

        None where no face is found or followed in uint8[H, W, 3] BGR.
        """
        picture = picture_from_bgr(image)
        faces = self._reader.faces(picture)
        if not faces:
            return None
        face = max(faces, key=lambda one: one.box_px[2] - one.box_px[0])
        look = self._reader.look(picture, face)
        if not np.isfinite(look.doubt):
            return None
        return points_in_frame(look), self._outline(picture, face, look)

    def _outline(self, picture: Picture, face: Face, look: Look) -> Float32:
        eyes = np.asarray(face.landmarks_px[:2], np.float32)
        middle, across = eyes.mean(axis=0), eyes[1] - eyes[0]
        side = _FIRST * float(np.hypot(*across))
        back, mesh = self._mesh(picture, _square(middle, look.motion[2:], side))
        for _ in range(_ROUNDS - 1):
            low, high = mesh.min(axis=0), mesh.max(axis=0)
            middle = moved(back, ((low + high) / 2)[None])[0]
            side *= _WIDER * float((high - low).max()) / MESH_SIZE
            back, mesh = self._mesh(picture, _square(middle, look.motion[2:], side))
        return np.asarray(moved(back, mesh[MESH_INDEX][OVAL_SLICE]), np.float32)

    def _mesh(self, picture: Picture, place: Similarity) -> tuple[Similarity, Float32]:
        """The way back from the square that is looked at, and the mesh in it, float32[468, 2]."""
        fed = crop_from_picture(picture, place, MESH_SIZE)[..., ::-1]
        return inverse_of(place), self._teacher.mesh(np.ascontiguousarray(fed))[:, :2]


def _square(middle: Float32, across: Float32, side: float) -> Similarity:
    """Map to the square that the teacher looks at, upright by the eyes."""
    half = across / max(float(np.hypot(*across)), 1e-6) * np.float32(side / 2)
    target = np.array([[0.0, 0.5], [1.0, 0.5]]) * MESH_SIZE
    return similarity_from_points(np.stack([middle - half, middle + half]), target)


def fitted(points: Float32, outlines: Float32, cheeks: Float32) -> OutlineModel:
    """Fit the map.

    Args:
        points: float32[N, POINTS, 3] as read, px.
        outlines: float32[N, M, 2] by the teacher, px.
        cheeks: as from `fitted_cheeks`.
    """
    level, turn = levelled_points(points)
    off = (outlines - points[:, OVAL_SLICE, :2]) @ np.linalg.inv(turn)
    rows, wanted = level.reshape(len(level), -1), off.reshape(len(off), -1)
    mean, offset = rows.mean(axis=0), wanted.mean(axis=0)
    _, spread, axes = np.linalg.svd(rows - mean, full_matrices=False)
    deviation = spread[:COMPONENTS] / np.sqrt(len(rows))
    components = axes[:COMPONENTS] * deviation[:, None]
    told = (rows - mean) @ axes[:COMPONENTS].T / deviation
    square = told.T @ told + RIDGE * np.eye(COMPONENTS)
    slope = np.linalg.solve(square, told.T @ (wanted - offset))
    parts = (mean, components, offset, slope, cheeks)
    return OutlineModel(*(one.astype(np.float32) for one in parts))


def fitted_cheeks(meshes: Float32) -> Float32:
    """Weights float32[C, MESH_POINTS], sum 1, of control points that make points of cheeks.

    Such a mean of points turns, moves and grows with them.

    Args:
        meshes: float32[N, 468, 3], distances of the eyes.
    """
    points = meshes[:, MESH_INDEX].astype(np.float64)
    middle = points.mean(axis=1, keepdims=True)
    told, wanted = (
        (one - middle).transpose(0, 2, 1).reshape(-1, one.shape[1])
        for one in (points, meshes[:, CHEEKS])
    )
    square = told.T @ told + _STIFF * np.eye(MESH_POINTS)
    weights = np.linalg.solve(square, told.T @ wanted).T
    rest = (1 - weights.sum(axis=1, keepdims=True)) / MESH_POINTS
    return np.asarray(weights + rest, np.float32)


def meshes_of(data: Path, models: Path) -> Float32:
    """Whole meshes float32[N, 468, 3] of training crops, distances of the eyes."""
    crops = np.load(data / "faces256.npy", mmap_mode="r")
    rows = np.flatnonzero(~np.load(data / "split.npy"))
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:_MESHES])
    label = MeshLabeller(models / MESH_FILE)
    meshes = np.stack([label.whole(np.asarray(crops[row])) for row in rows])
    points = meshes[:, MESH_INDEX]
    eyes = [points[:, part].mean(axis=1) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    return np.asarray(meshes / np.linalg.norm(eyes[1] - eyes[0], axis=1)[:, None, None], np.float32)


def error_of(outlines: Float32, wanted: Float32, points: Float32) -> tuple[float, float]:
    """Mean error of outlines, and of the chin's height (less than 0 too high), eyes' distances.

    Args:
        outlines: float32[N, M, 2] px.
        wanted: the same by the teacher.
        points: float32[N, POINTS, 3] as read, px.
    """
    _, turn = levelled_points(points)
    away = (outlines - wanted) @ np.linalg.inv(turn)
    chin = (wanted @ np.linalg.inv(turn))[..., 1].argmax(axis=1)
    low = away[np.arange(len(away)), chin, 1]
    return float(np.linalg.norm(away, axis=2).mean()), float(low.mean())


def heads(people: Path, portraits: Path) -> Iterator[tuple[str, UInt8]]:
    """Names and pictures uint8[H, W, 3] BGR of whole heads."""
    for name, grey in portraits_of_people(people):
        yield name, np.asarray(framed_portrait(grey)[0], np.uint8)
    for archive in sorted(portraits.glob("*.tar")):
        yield from every_picture(archive, _EVERY)


def read_heads(
    reader: HeadReader, pictures: Iterable[tuple[str, UInt8]]
) -> Iterator[tuple[str, Float32, Float32]]:
    """Everybody's name, landmarks and outline, of both mirror images of every picture."""
    for name, whole in pictures:
        for image in (whole, np.ascontiguousarray(whole[:, ::-1])):
            found = reader.read(image)
            if found is not None:
                yield name, *found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=Path, required=True, help="tar of person/number.pgm")
    parser.add_argument("--portraits", type=Path, required=True, help="folder of tars of pictures")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--pack", type=Path, help="the bundled one by default")
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    reader = HeadReader(args.pack, args.models)
    pictures = heads(args.people, args.portraits)
    names, points, outlines = zip(*read_heads(reader, pictures), strict=True)
    read, wanted = np.stack(points), np.stack(outlines)
    others = np.random.default_rng(0).permutation(sorted(set(names)))
    held = np.isin(names, others[: round(HELD_OUT * len(others))])
    meshes = meshes_of(args.data, args.models)
    cheeks = fitted_cheeks(meshes[_TESTED:])
    off = cheeks @ meshes[:_TESTED, MESH_INDEX] - meshes[:_TESTED, CHEEKS]
    facts = {"outline_cheeks": round(float(np.linalg.norm(off, axis=2).mean()), 4)}
    trial = fitted(read[~held], wanted[~held], cheeks)
    for title, shown in (
        ("as_read", read[held][:, OVAL_SLICE, :2]),
        ("corrected", trial.corrected(read[held])),
    ):
        error, chin = error_of(shown, wanted[held], read[held])
        facts |= {f"outline_{title}": round(error, 4), f"outline_{title}_chin": round(chin, 4)}
    log.info("%d pictures, %d of them held out: %s", len(read), held.sum(), facts)
    model = fitted(read, wanted, cheeks)
    arrays = {name: getattr(model, name) for name in OutlineModel.__slots__}
    np.savez_compressed(args.out / "outline.npz", allow_pickle=False, **arrays)
    (args.out / "outline.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
