#!/usr/bin/env python3
"""Chooses nobody's face for the solid cover, and writes its relief.

    scripts/choose_emblem.py FACES.tar… [--candidates 120] [--write engines/weights/nobody.png]

Candidates are mixtures of the bundled donors, seen from the front. Each is laid over a crop in
place and misplaced in thirteen ways, and judged by how like it the *product's own* embedder finds
faces that were shrunk and blurred until they can hardly be told apart. FACES.tar holds kveil
crops, 256 px, of the faces that the product's networks were trained on: no recogniser and no
picture that judges a cover takes part.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import similarity_from_points, to_integer_centres
from engines.backends.openvino import OpenVino
from engines.embedder import FaceEmbedder, embedder_from_pack
from engines.emblem import EMBLEM_POINTS
from evaluation.methods.generated import surrogates_from_pack

SIZE = 128
KVEIL_POINTS = np.array([[0.30, 0.37], [0.70, 0.37], [0.5, 0.6], [0.36, 0.8], [0.64, 0.8]])
SMALL_PX = (16, 48)
"""Least and largest width of a shrunk face."""
FACE_SHARE = 0.65
"""Width of a face's box over that of its kveil crop."""
MOST_BLUR_PX = 1.2
"""Largest standard deviation of the blur of a shrunk face."""
DEADLINE_S = 60.0
MISPLACED: tuple[dict[str, float], ...] = (
    {},
    {"scale": 0.75},
    {"scale": 0.85},
    {"scale": 1.3},
    {"right": 0.08},
    {"right": -0.08},
    {"down": 0.06},
    {"down": -0.06},
    {"turn_deg": 12.0},
    {"narrow": 0.75},
    {"right": 0.12, "scale": 1.1},
    {"down": 0.1},
    {"turn_deg": -18.0},
    {"narrow": 0.6},
)


def main() -> int:
    """Prints the best candidates and writes the first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faces", type=Path, nargs="+", help="tar files of kveil crops")
    parser.add_argument("--candidates", type=int, default=120)
    parser.add_argument("--crops", type=int, default=600, help="faces of each file")
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    backend = OpenVino()
    embedder, _ = embedder_from_pack(backend, DEADLINE_S)
    small = np.concatenate([list(shrunk_faces(file, chosen.crops)) for file in chosen.faces])
    faces = embedded(embedder, small)
    painter = surrogates_from_pack(backend)
    numbers = np.arange(0, 2 * chosen.candidates, 2)
    reliefs = [relief_of(image) for image in painter.neutral(painter.latents(numbers))]
    alike = np.array([likeness(embedder, one, faces) for one in reliefs])
    order = np.argsort(alike, kind="stable")
    print(f"mixture · its mean cosine to {len(faces)} faces, over all places")
    for place in order[:10]:
        print(f"{numbers[place]} · {alike[place]:.3f}")
    print(f"median of {len(numbers)} · {np.median(alike):.3f} · most {alike.max():.3f}")
    if chosen.write:
        cv2.imwrite(str(chosen.write), reliefs[order[0]], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    return 0


def shrunk_faces(file: Path, most: int) -> Iterator[NDArray[np.uint8]]:
    """Crops of a tar file, 128×128×3 uint8 BGR, each as if its face had been 16 to 48 px wide."""
    chance = np.random.default_rng(0)
    with tarfile.open(file) as shard:
        members = (member for member in shard if member.isfile())
        for member in islice(members, most):
            content = shard.extractfile(member)
            assert content is not None
            crop = cv2.imdecode(np.frombuffer(content.read(), np.uint8), cv2.IMREAD_COLOR)
            assert crop is not None, member.name
            width = round(float(chance.uniform(*SMALL_PX)) / FACE_SHARE)
            little = cv2.resize(crop, (width, width), interpolation=cv2.INTER_AREA)
            blur = float(chance.uniform(0.1, MOST_BLUR_PX))
            little = cv2.GaussianBlur(little, (0, 0), blur)
            large = cv2.resize(little, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
            yield np.asarray(large, np.uint8)


def embedded(embedder: FaceEmbedder, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Unit vectors of (N, 128, 128, 3) crops, (N, D), made a few at a time."""
    parts = [crops[start : start + 16] for start in range(0, len(crops), 16)]
    return np.concatenate([embedder.embed(part) for part in parts])


def relief_of(image: NDArray[np.float32], size: int = 128) -> NDArray[np.uint8]:
    """A rendered face as a relief: grey, its detail raised, dark beyond an oval."""
    small = cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(np.clip(small, 0, 255).astype(np.uint8), cv2.COLOR_BGR2GRAY)
    depth = grey.astype(np.float32)
    depth = np.clip(3 * depth - 2 * cv2.GaussianBlur(depth, (0, 0), size * 0.0234), 0, 255)
    inner = depth[round(0.16 * size) : round(0.9 * size), round(0.2 * size) : round(0.8 * size)]
    low, high = np.quantile(inner, (0.02, 0.98))
    depth = np.clip(0.5 + 1.1 * ((depth - low) / (high - low) - 0.5), 0, 1)
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size
    away = np.hypot((x - 0.5) / 0.47, (y - 0.52) / 0.55)
    fade = np.clip((away - 0.85) / 0.15, 0, 1)
    return np.asarray(np.rint(255 * depth * (1 - fade**2 * (3 - 2 * fade))), np.uint8)


def likeness(
    embedder: FaceEmbedder, relief: NDArray[np.uint8], faces: NDArray[np.float32]
) -> float:
    """Mean cosine of the relief to faces, (N, D), over all places."""
    vectors = embedded(embedder, np.stack([laid(relief, **place) for place in MISPLACED]))
    return float((faces @ vectors.T).mean())


def laid(
    relief: NDArray[np.uint8],
    scale: float = 1.0,
    right: float = 0.0,
    down: float = 0.0,
    turn_deg: float = 0.0,
    narrow: float = 1.0,
) -> NDArray[np.uint8]:
    """The relief in a kveil crop, 128×128×3, in place or off by fractions of the crop."""
    there = similarity_from_points(EMBLEM_POINTS * len(relief), KVEIL_POINTS * SIZE)
    angle = np.deg2rad(turn_deg)
    change = scale * np.array(
        [[np.cos(angle) * narrow, -np.sin(angle)], [np.sin(angle) * narrow, np.cos(angle)]]
    )
    middle = KVEIL_POINTS.mean(0) * SIZE
    moved = np.array([right, down]) * SIZE
    linear = change @ there[:, :2]
    shift = change @ (there[:, 2] - middle) + middle + moved
    placed = to_integer_centres(np.hstack([linear, shift[:, None]]).astype(np.float32))
    crop = cv2.warpAffine(relief, placed, (SIZE, SIZE))
    return np.repeat(np.asarray(crop, np.uint8)[..., None], 3, axis=2)


if __name__ == "__main__":
    sys.exit(main())
