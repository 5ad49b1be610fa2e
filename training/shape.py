"""Fit the shape model: which shape changes are expression and which are identity.

Expression directions are principal components of how one person's shape changes between
pictures (a set with several pictures of each person, never the test sets); identity directions
those of the training crops once the expression directions are taken out.
"""

import argparse
import logging
from collections import defaultdict
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.shape import canonical_from_points, mouth_gap, pose_from_points
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    MESH_POINTS,
)
from training.prepare import MESH_FILE, MeshLabeller
from training.sources import portraits_of_people

EXPRESSIONS: Final = 12
IDENTITIES: Final = 24
LIMIT_SIGMA: Final = 2.5

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def canonical_faces(points: Float32, mean: Float32 | None = None) -> tuple[Float32, Float32]:
    """Bring points float32[N, POINTS, 3] into the canonical frame; return them and the mean."""
    start = points[:, :MESH_POINTS].mean(axis=0) if mean is None else mean
    for _ in range(4):
        shapes = canonical_from_points(points, pose_from_points(points, start))
        if mean is not None:
            break
        start = np.asarray(np.median(shapes, axis=0), np.float32)
    return shapes, start


def directions_from_shapes(shapes: Float32, count: int) -> tuple[Float32, Float32]:
    """Principal directions of centred flat shapes float32[N, D]: rows, and deviations."""
    _, spread, rows = np.linalg.svd(shapes, full_matrices=False)
    sigma = spread[:count] / np.sqrt(len(shapes))
    return np.asarray(rows[:count], np.float32), np.asarray(sigma, np.float32)


def without_directions(shapes: Float32, rows: Float32) -> Float32:
    """Project flat shapes float32[N, D] onto the complement of orthonormal `rows`."""
    return np.asarray(shapes - (shapes @ rows.T) @ rows, np.float32)


def people_from_tar(path: Path, label: MeshLabeller) -> list[Float32]:
    """Label every picture of a tar of `person/number.pgm`; one array per person."""
    people: dict[str, list[Float32]] = defaultdict(list)
    for person, grey in portraits_of_people(path):
        crop = _aligned(np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), np.uint8), label)
        people[person].append(label(crop))
    return [np.stack(faces) for faces in people.values()]


def _aligned(picture: UInt8, label: MeshLabeller) -> UInt8:
    side = picture.shape[1]
    top = (picture.shape[0] - side) // 2
    square = cv2.resize(picture[top : top + side], (256, 256), interpolation=cv2.INTER_CUBIC)
    points = label(np.asarray(square, np.uint8))
    eyes = np.stack([points[s].mean(axis=0)[:2] for s in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)])
    source = eyes * 256
    across = source[1] - source[0]
    source3 = np.vstack([source, source[0] + [-across[1], across[0]]]).astype(np.float32)
    target = np.array([[0.3, 0.37], [0.7, 0.37], [0.3, 0.77]], np.float32) * 256
    matrix = cv2.getAffineTransform(source3, target)
    made = cv2.warpAffine(square, matrix, (256, 256), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(made, np.uint8)


def expression_gain(total: Float32, people: list[Float32]) -> Float32:
    """Least-squares estimate of movement from the expression part of one picture.

    People at rest differ in the expression directions as well. With `between` their covariance
    and the rest of `total` that of movement, movement is best told by
    (total - between) total^-1 (Wiener).

    Args:
        total: float32[K, K], covariance over pictures of many people.
        people: per person float32[M, K], several pictures each.

    Returns:
        float32[K, K].

    >>> still = [np.full((3, 1), value, np.float32) for value in (-1.0, 0.0, 1.0)]
    >>> expression_gain(np.array([[2.0]], np.float32), still).tolist()
    [[0.5]]
    """
    within = np.mean([np.cov(faces.T).reshape(total.shape) for faces in people], axis=0)
    means = np.stack([faces.mean(axis=0) for faces in people])
    pictures = np.mean([len(faces) for faces in people])
    between = np.cov(means.T).reshape(total.shape) - within / pictures
    sizes, axes = np.linalg.eigh(total - between)
    movement = (axes * np.maximum(sizes, 0.0)) @ axes.T
    return np.asarray(movement @ np.linalg.inv(total), np.float32)


def opening_direction(shapes: Float32, mean: Float32) -> Float32:
    """How lips part, per inter-ocular distance between them, flat float32[MESH_POINTS * 3].

    Regression on the gap between the lips beside the mouth's width and height, so that a smile
    is none; what is not a lip stays.

    Args:
        shapes: float32[N, MESH_POINTS, 3], canonical.
        mean: float32[MESH_POINTS, 3], canonical.
    """
    corners = shapes[:, LIPS_INNER_SLICE][:, [0, 10]]
    width = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    known = np.stack([mouth_gap(shapes), width, corners[:, :, 1].mean(axis=1)], axis=1)
    known = np.concatenate([known, np.ones((len(shapes), 1))], axis=1)
    moved = np.linalg.lstsq(known, (shapes - mean).reshape(len(shapes), -1), rcond=None)[0][0]
    lips = np.zeros((1, MESH_POINTS, 3), np.float32)
    for part in (LIPS_OUTER_SLICE, LIPS_INNER_SLICE):
        lips[0, part] = moved.reshape(MESH_POINTS, 3)[part]
    return np.asarray(lips / mouth_gap(lips), np.float32).reshape(-1)


def fit(points: Float32, people: list[Float32]) -> dict[str, Float32]:
    """Fit the model's arrays; the latent's share starts at zero."""
    shapes, mean = canonical_faces(points)
    flat = (shapes - mean).reshape(len(shapes), -1)
    own = [(canonical_faces(faces, mean)[0] - mean).reshape(len(faces), -1) for faces in people]
    changes = np.concatenate([part - part.mean(axis=0) for part in own])
    expression, sigma = directions_from_shapes(changes, EXPRESSIONS)
    total = np.asarray(np.cov((flat @ expression.T).T), np.float32)
    gain = expression_gain(total, [np.asarray(part @ expression.T, np.float32) for part in own])
    log.info("kept of the expression directions: %s", np.round(np.diag(gain), 2))
    rest = without_directions(flat, expression)
    identity, spread = directions_from_shapes(rest - rest.mean(axis=0), IDENTITIES)
    explained = 1 - without_directions(rest, identity).var() / flat.var()
    log.info("expression sigma %s", np.round(sigma, 3))
    log.info(
        "identity sigma %s; %.1f %% of the variance held", np.round(spread, 3), explained * 100
    )
    return {
        "mean": mean,
        "expression": expression,
        "expression_gain": gain,
        "identity": identity,
        "from_latent": np.zeros((513, IDENTITIES), np.float32),
        "identity_limit": spread * LIMIT_SIGMA,
        "opening": opening_direction(shapes, mean),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--people", type=Path, required=True, help="tar of person/number.pgm")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/shape.npz"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    held = np.load(args.data / "split.npy")
    points = np.load(args.data / "points.npy")[~held]
    people = people_from_tar(args.people, MeshLabeller(args.models / MESH_FILE))
    np.savez(args.out, allow_pickle=False, **fit(points, people))


if __name__ == "__main__":
    main()
