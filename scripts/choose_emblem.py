#!/usr/bin/env python3
"""Chooses nobody's face for the solid cover, and writes its relief.

    scripts/choose_emblem.py CLIP… [--candidates 120] [--write engines/weights/nobody.png]

Candidates are mixtures of the bundled donors, seen from the front. Each is laid over the faces
that a detector finds in the clips, in place and misplaced in thirteen ways, and judged by how
many of those original faces a recogniser takes for it. The clips are used for choosing: report
what the cover reaches on others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import ARCFACE_SIZE
from engines.backends.openvino import OpenVino
from evaluation.clips import decoded
from evaluation.exposure import face_size_px
from evaluation.finders import finder_from_models
from evaluation.methods.generated import surrogates_from_pack
from evaluation.recognisers import OnnxRecogniser, models_folder, recognisers_from_names

EVERY = 18
EYES_APART = 35.24 / ARCFACE_SIZE
MIDDLE = (56 / ARCFACE_SIZE, 70 / ARCFACE_SIZE)
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
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--candidates", type=int, default=120)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    backend, models = OpenVino(), models_folder()
    judges = recognisers_from_names([], backend, models)
    originals = [embedded(clip, judges, models) for clip in chosen.clips]
    painter = surrogates_from_pack(backend)
    numbers = np.arange(0, 2 * chosen.candidates, 2)
    reliefs = [relief_of(image) for image in painter.neutral(painter.latents(numbers))]
    matched = [matched_share(relief, originals, judges) for relief in reliefs]
    order = np.argsort(matched)
    print("mixture · share of original faces taken for it, over all places")
    for place in order[:10]:
        print(f"{numbers[place]} · {matched[place]:.4f}")
    print(f"median of {len(numbers)} · {np.median(matched):.4f}")
    if chosen.write:
        cv2.imwrite(str(chosen.write), reliefs[order[0]], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    return 0


def embedded(
    clip: Path, judges: Sequence[OnnxRecogniser], models: Path
) -> list[NDArray[np.float32]]:
    """Original faces of every 18th frame, (N, D) for each recogniser."""
    finder = finder_from_models(OpenVino(), models)[0]
    rows: list[list[NDArray[np.float32]]] = [[] for _ in judges]
    for index, still in enumerate(decoded(clip)):
        if index % EVERY:
            continue
        points = [
            face.landmarks_px for face in finder.find(still.image) if face_size_px(face) >= 16
        ]
        for judge, row in zip(judges, rows, strict=True):
            if points:
                row.append(judge.embed([still.image] * len(points), points))
    return [np.concatenate(row) for row in rows]


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


def matched_share(
    relief: NDArray[np.uint8],
    originals: Sequence[Sequence[NDArray[np.float32]]],
    judges: Sequence[OnnxRecogniser],
) -> float:
    """Share of originals that match the relief; the mean over places, judges and clips."""
    crops = np.stack([laid(relief, **place) for place in MISPLACED])
    shares = []
    for number, judge in enumerate(judges):
        vectors = judge.embed_crops(crops)
        shares += [float((rows[number] @ vectors.T > judge.threshold).mean()) for rows in originals]
    return float(np.mean(shares))


def laid(
    relief: NDArray[np.uint8],
    scale: float = 1.0,
    right: float = 0.0,
    down: float = 0.0,
    turn_deg: float = 0.0,
    narrow: float = 1.0,
) -> NDArray[np.uint8]:
    """The relief in a recogniser's crop, 112×112×3, in place or off by fractions of the crop."""
    size = ARCFACE_SIZE
    factor = EYES_APART * size / (0.4 * len(relief)) * scale
    angle = np.deg2rad(turn_deg)
    linear = factor * np.array(
        [[np.cos(angle) * narrow, -np.sin(angle)], [np.sin(angle) * narrow, np.cos(angle)]]
    )
    middle = np.array([0.5, 0.55]) * len(relief)
    shift = (np.array(MIDDLE) + np.array([right, down])) * size - linear @ middle
    crop = cv2.warpAffine(relief, np.hstack([linear, shift[:, None]]), (size, size))
    return np.repeat(np.asarray(crop, np.uint8)[..., None], 3, axis=2)


if __name__ == "__main__":
    sys.exit(main())
