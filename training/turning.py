"""Turns the heads of photographs in space, to learn from (face profiling, Zhu et al. 2016, 3DDFA).

Few photographed people look away from the camera, and on crops of those who do the mesh network
errs. So the mesh of a head that faces it is turned with the picture on it, and where its points
come to lie is known. A third of the heads open their mouths besides (`training.opening`). Beyond
the mesh, the head goes on as a ring that turns too; farther out the picture stays.
`python -m training.turning --models DIR` writes, beside what `training.prepare` wrote:

- `turned128.npy` uint8[N, 128, 128, 3] RGB crops as turned heads are read,
- `turned.npy` float32[N, POINTS, 3] where their points lie, crop units,
- `turned_rows.npy` int64[N], of which crops they are.
"""

import argparse
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
from scipy.spatial import Delaunay

from engines.face.alignment import similarity_from_points
from engines.face.control_reading import eyes_for_reading
from engines.face.face_look import eyes_of
from engines.stylegan.shape import mouth_gap
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    MESH_INDEX,
    MESH_POINTS,
    OVAL,
)
from training.opening import opened, with_mouth
from training.prepare import MESH_FILE, SIZE, MeshLabeller

_RINGS: Final = ((1.3, 0.12, 1.0), (1.8, 0.3, 0.6))
"""How far out the head goes on, in radii of the face; how far behind its rim, crop units; and how
much of the turn it takes."""
_STAYS: Final = 1.5
_BEHIND: Final = 0.6
_AROUND: Final = 24
"""How far from the middle of the face the picture stays, and how far behind its rim that lies, crop
units; and how many corners are there."""
_AXIS: Final = 0.25
"""How far behind the eyes a head turns, crop units."""
_FINER: Final = 2
"""How much larger a turned head is drawn than it is wanted."""
_FLAT: Final = 1e-9
"""Area of a triangle, crop units, up to which it is seen from the side."""
_MOST: Final = 0.95
_LEAST: Final = 0.15
_NODS: Final = 0.2
"""How far heads turn at most and at least, and the deviation of how far they nod, radians."""
_STRAIGHT: Final = 0.01
"""How far a nose points aside, crop units, up to which a head may turn to either side. Others turn
on to their side: of the other one too little is seen to turn it."""
_NOSE_TIP: Final = 1
_OPENED: Final = 0.35
_WIDER: Final = (0.05, 0.6)
_DRAWN: Final = 0.5
_SHUT: Final = 0.03
"""Share of the heads whose mouths are opened, and by how much, distances of the eyes; how often
what is between the lips is drawn then, and up to which gap, crop units, it always is. Such heads
turn less, down to not at all: in front views open mouths are as rare."""
_BITS: Final = 4
"""Of the fraction of a pixel in which corners of triangles are given to OpenCV."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """What becomes of a photographed head.

    Attributes:
        yaw: turn about the vertical, radians.
        pitch: turn about the line through the eyes, radians.
        opened: how much farther its lips part, distances of the eyes.
        is_drawn: whether what is between its lips is drawn.
    """

    yaw: float
    pitch: float
    opened: float = 0.0
    is_drawn: bool = False


def turned_head(
    crop: UInt8, mesh: Float32, pupils: Float32, turn: Turn, size: int
) -> tuple[UInt8, Float32]:
    """A photographed head as it would look turned, cut as it would be read.

    Args:
        crop: uint8[S, S, 3] RGB.
        mesh: float32[468, 3] of the face, crop units.
        pupils: float32[2, 3], in the same.
        turn: how it turns.
        size: side of the crop that is made, px.

    Returns:
        uint8[size, size, 3], and float32[POINTS, 3] in units of it.
    """
    corners, shares = _head(mesh)
    changed = _head(opened(mesh, turn.opened))[0] if turn.opened else corners
    turned = _turned(changed, shares, mesh, turn)
    shown = _turned(pupils, np.ones(len(pupils), np.float32), mesh, turn)
    points = np.concatenate([turned[MESH_INDEX], shown])
    place = _place_of(points)
    scale = float(np.sqrt(np.linalg.det(place[:, :2])))
    for one in (turned, points):
        one[:, :2] = one[:, :2] @ place[:, :2].T + place[:, 2]
        one[:, 2] *= scale
    triangles = Delaunay(corners[:, :2]).simplices
    large = _drawn(crop, corners[triangles], turned[triangles], size * _FINER)
    if turn.is_drawn:
        large = with_mouth(large, points.astype(np.float32))
    small = cv2.resize(large, (size, size), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8), points.astype(np.float32)


def _head(mesh: Float32) -> tuple[Float32, Float32]:
    """Corners float32[N, 3] of a head and of what is behind it, and how much each turns, [N]."""
    rim = mesh[np.asarray(OVAL)]
    middle = rim.mean(axis=0)
    corners, shares = [mesh], [np.ones(len(mesh))]
    for out, behind, share in _RINGS:
        ring = middle + out * (rim - middle)
        ring[:, 2] = rim[:, 2] + behind
        corners.append(ring)
        shares.append(np.full(len(ring), share))
    angles = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    around = middle + _STAYS * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    around[:, 2] = rim[:, 2].max() + _BEHIND
    corners.append(around.astype(np.float32))
    shares.append(np.zeros(_AROUND))
    return np.concatenate(corners), np.concatenate(shares).astype(np.float32)


def _turned(points: Float32, shares: Float32, mesh: Float32, turn: Turn) -> Float32:
    """Points float32[N, 3] turned about an axis in the head, each by its share."""
    axis = mesh.mean(axis=0)
    axis[2] += _AXIS
    rotation, _ = cv2.Rodrigues(np.array([turn.pitch, turn.yaw, 0.0]))
    away = points - axis
    full = away @ rotation.T.astype(np.float32)
    return np.asarray(axis + away + shares[:, None] * (full - away), np.float32)


def _place_of(points: Float32) -> Float32:
    """Map from the crop to that in which the turned head would be read, both in crop units."""
    eyes, lips = eyes_of(points), points[LIPS_OUTER_SLICE, :2]
    corners = np.stack([lips[lips[:, 0].argmin()], lips[lips[:, 0].argmax()]])
    return similarity_from_points(eyes, eyes_for_reading(eyes, corners)).astype(np.float32)


def _drawn(crop: UInt8, source: Float32, target: Float32, size: int) -> UInt8:
    """The picture on turned triangles, nearer ones over farther ones.

    Args:
        crop: uint8[S, S, 3].
        source: float32[T, 3, 3], where the triangles' corners are in it, crop units.
        target: float32[T, 3, 3], where they come to lie in what is drawn.
        size: side of what is drawn, px.
    """
    first, second = (target[:, corner, :2] - target[:, 0, :2] for corner in (1, 2))
    faces_us = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0] > _FLAT
    source, target = source[faces_us], target[faces_us]
    seen = np.zeros((size, size), np.int32)
    pixels = np.round((target[..., :2] * size - 0.5) * (1 << _BITS)).astype(np.int32)
    for row in np.argsort(-target[:, :, 2].mean(axis=1)):
        cv2.fillConvexPoly(seen, pixels[row], int(row), lineType=cv2.LINE_8, shift=_BITS)
    # Where in the crop a pixel comes from is affine in it, by the triangle that is seen there.
    ones = np.ones((*target.shape[:2], 1))
    corners = np.concatenate([target[..., :2], ones], axis=2)
    maps = np.linalg.solve(corners, source[..., :2].astype(np.float64))
    x, y = np.meshgrid(*[(np.arange(size) + 0.5) / size] * 2)
    here = np.stack([x, y, np.ones_like(x)], axis=2)
    place = np.einsum("hwk,hwkc->chw", here, maps[seen]) * crop.shape[0] - 0.5
    x, y = place.astype(np.float32)
    drawn = cv2.remap(crop, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(drawn, np.uint8)


def drawn_turn(random: np.random.Generator, mesh: Float32) -> Turn:
    """How far a head of mesh float32[468, 3] is turned, nods, and opens its mouth."""
    eyes = mesh[MESH_INDEX][[EYE_LEFT_SLICE.start, EYE_RIGHT_SLICE.start], 0].mean()
    aside = float(mesh[_NOSE_TIP, 0] - eyes)
    side = -np.sign(aside) if abs(aside) > _STRAIGHT else random.choice([-1.0, 1.0])
    yaw, pitch = float(side * random.uniform(_LEAST, _MOST)), float(random.normal(0, _NODS))
    if random.random() > _OPENED:
        return Turn(yaw, pitch)
    gap = float(mouth_gap(mesh[None, MESH_INDEX])[0])
    is_drawn = bool(random.random() < _DRAWN or gap < _SHUT)
    return Turn(yaw * random.random(), pitch, float(random.uniform(*_WIDER)), is_drawn)


def turn_all(data: Path, models: Path, count: int, threads: int) -> int:
    """Write the three arrays for `count` crops, drawn at random; return how many there are."""
    whole = np.load(data / "faces256.npy", mmap_mode="r")
    points = np.load(data / "points.npy")
    rows = np.sort(np.random.default_rng(0).permutation(len(whole))[:count])
    images = np.lib.format.open_memmap(
        data / "turned128.npy", "w+", np.uint8, (len(rows), SIZE, SIZE, 3)
    )
    shown = np.zeros((len(rows), *points.shape[1:]), np.float32)
    label = MeshLabeller(models / MESH_FILE)

    def turn(at: int, mesh: Float32) -> None:
        random, pupils = np.random.default_rng(at), points[rows[at], MESH_POINTS:]
        way = drawn_turn(random, mesh)
        images[at], shown[at] = turned_head(np.asarray(whole[rows[at]]), mesh, pupils, way, SIZE)

    with ThreadPoolExecutor(threads) as pool:
        turns = [
            pool.submit(turn, at, label.whole(np.asarray(whole[row])))
            for at, row in enumerate(rows)
        ]
        for one in turns:
            one.result()
    images.flush()
    np.save(data / "turned.npy", shown)
    np.save(data / "turned_rows.npy", rows)
    return len(rows)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--count", type=int, default=14_000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    cv2.setNumThreads(1)
    log.info("%d heads turned", turn_all(args.data, args.models, args.count, args.threads))


if __name__ == "__main__":
    main()
