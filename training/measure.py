"""Measure a model pack: `python -m training.measure --models DIR`.

Paints donors under the control of held-out crops and prints one JSON object: how many are
found again, how many pairs pass for one person, how many pass for their subject, how closely
landmarks follow, and the Frechet distance to the held-out crops beside that of two halves of
them. Recognisers and detector are third-party files outside the repository.
"""

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
from scipy.linalg import sqrtm

from engines.backends.openvino import OpenVino
from engines.detectors.loading import detector_from_model
from engines.face.alignment import EYES, arcface_from_landmarks, to_integer_centres
from engines.face.swapper import Swapper
from engines.stylegan.shape import ShapeModel
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BRIDGE_SLICE,
)
from training.portraits import donors_of_pack, portraits

MIN_SCORE: Final = 0.6
BATCH: Final = 20
PORTRAITS: Final = 1000
"""Donors painted at rest in even light, to be found again."""
CANVAS: Final = 512

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A recogniser's file, input scaling and threshold at FMR 1e-3."""

    file: str
    shift: float
    scale: float
    threshold: float


RECOGNISERS: Final = {
    "mobilefacenet": Recogniser("mobilefacenet_w128.onnx", 127.5, 128.0, 0.35),
    "edgeface": Recogniser("edgeface_xxs.onnx", 127.5, 127.5, 0.28),
}


def five_points(points: Float32) -> Float32:
    """Eyes, nose tip and mouth corners of control points, float32[5, 2]."""
    lips = points[LIPS_OUTER_SLICE]
    return np.stack(
        [
            points[EYE_LEFT_SLICE].mean(axis=0),
            points[EYE_RIGHT_SLICE].mean(axis=0),
            points[NOSE_BRIDGE_SLICE][-1],
            lips[0],
            lips[10],
        ]
    )[:, :2]


def embeddings(
    backend: OpenVino, models: Path, which: Recogniser, crops: UInt8, points: Float32
) -> Float32:
    """Unit embeddings of BGR crops uint8[N, S, S, 3] with control points float32[N, P, 3]."""
    session = backend.load(models / which.file)
    name, answer = session.inputs[0].name, session.outputs[0].name
    found = []
    for crop, face in zip(crops, points, strict=True):
        matrix = arcface_from_landmarks(np.asarray(five_points(face) * crop.shape[0], np.float32))
        # Black beyond the crop: its rim drawn out would make everybody alike.
        aligned = cv2.warpAffine(crop, to_integer_centres(matrix), (112, 112))
        fed = (aligned[:, :, ::-1].astype(np.float32) - which.shift) / which.scale
        found.append(session.run({name: fed.transpose(2, 0, 1)[None]})[answer][0])
    session.close()
    stacked = np.stack(found)
    return np.asarray(stacked / np.linalg.norm(stacked, axis=1, keepdims=True), np.float32)


def frechet(a: Float32, b: Float32) -> float:
    """Distance of two Gaussians fitted to features float32[N, D] (Heusel et al. 2017, Eq. 6).

    >>> frechet(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)) < 1e-5
    True
    """
    first, second = np.cov(a.T.astype(np.float64)), np.cov(b.T.astype(np.float64))
    ridge = 1e-9 * np.eye(len(first))
    root = np.real(sqrtm((first + ridge) @ (second + ridge)))
    gap = np.square(a.mean(axis=0) - b.mean(axis=0)).sum()
    return float(gap + np.trace(first + second - 2 * root))


def redetected(backend: OpenVino, models: Path, crops: Sequence[UInt8] | UInt8) -> float:
    """Share of crops in which the detector finds a face, shown within a wider picture."""
    detector = detector_from_model(backend, models / "scrfd_500m_bnkps.onnx")
    hits = 0
    for crop in crops:
        inner = cv2.resize(crop, (CANVAS // 2, CANVAS // 2), interpolation=cv2.INTER_CUBIC)
        pad = CANVAS // 4
        wide = cv2.copyMakeBorder(inner, pad, pad, pad, pad, cv2.BORDER_REPLICATE)
        hits += bool(detector.detect(np.asarray(wide, np.uint8), min_score=MIN_SCORE))
    return hits / len(crops)


def same_pairs(found: Float32, threshold: float) -> float:
    """Share of different pairs of unit embeddings above the threshold.

    >>> same_pairs(np.eye(3, dtype=np.float32), 0.5)
    0.0
    """
    upper = np.triu_indices(len(found), 1)
    return float(((found @ found.T)[upper] > threshold).mean())


def painted(swapper: Swapper, crops: UInt8, latents: Float32) -> tuple[UInt8, UInt8]:
    """Paint one donor per crop; return the pictures, and them blended over the crops."""
    pictures, blends = [], []
    for start in range(0, len(crops), BATCH):
        part = slice(start, start + BATCH)
        made = swapper.render(crops[part], latents[part])
        pictures.append(made.pixels)
        alpha = made.alpha[..., None]
        blends.append(made.pixels * alpha + crops[part] * (1 - alpha))
    return (
        np.clip(np.concatenate(pictures).round(), 0, 255).astype(np.uint8),
        np.clip(np.concatenate(blends).round(), 0, 255).astype(np.uint8),
    )


def measure(pack_folder: Path, data: Path, models: Path, count: int) -> dict[str, float]:
    """Measure a pack on at most as many samples as it has donors; see the module."""
    backend = OpenVino()
    swapper, shape, latents = donors_of_pack(pack_folder)
    count = min(count, len(latents))
    held = np.flatnonzero(np.load(data / "split.npy"))
    crops = np.load(data / "faces256.npy", mmap_mode="r")[held][..., ::-1]
    crops = np.ascontiguousarray(crops[: 2 * count])
    labels = np.load(data / "points.npy")[held][: 2 * count]
    chosen = latents[:count]
    wanted = shape.swapped(labels[:count], chosen)
    pictures, blends = painted(swapper, crops[:count], chosen)
    facts: dict[str, float] = {"samples": count}
    everybody, _ = portraits(swapper, shape, latents[:PORTRAITS])
    facts["redetected_portraits"] = redetected(backend, models, everybody)
    facts["redetected"] = redetected(backend, models, pictures)
    facts["redetected_blended"] = redetected(backend, models, blends)
    facts["redetected_real"] = redetected(backend, models, crops[:count])
    again = np.concatenate(
        [swapper.read(pictures[i : i + BATCH]).points for i in range(0, count, BATCH)]
    )
    facts |= _following(again, wanted, swapper, crops[:count], labels[:count], shape)
    for name, which in RECOGNISERS.items():
        made = embeddings(backend, models, which, pictures, wanted)
        mixed = embeddings(backend, models, which, blends, wanted)
        real = embeddings(backend, models, which, crops, labels)
        own = real[:count]
        facts[f"same_pairs_{name}"] = same_pairs(made, which.threshold)
        facts[f"same_pairs_real_{name}"] = same_pairs(own, which.threshold)
        facts[f"subject_{name}"] = float(((mixed * own).sum(axis=1) > which.threshold).mean())
        facts[f"subject_cosine_{name}"] = float((mixed * own).sum(axis=1).mean())
        if name == "edgeface":
            facts["frechet"] = frechet(made, real)
            facts["frechet_halves"] = frechet(own, real[count:])
    return facts


def landmark_gaps(a: Float32, b: Float32) -> Float32:
    """Mean distance between the landmarks of faces, as a share of that between the eyes.

    Args:
        a: float32[N, POINTS, 3], units of the kveil crop.
        b: the same of other faces.

    Returns:
        float32[N].
    """
    away = np.linalg.norm((a - b)[:, :, :2], axis=2).mean(axis=1)
    return np.asarray(away / (EYES[1, 0] - EYES[0, 0]), np.float32)


def _following(
    again: Float32,
    wanted: Float32,
    swapper: Swapper,
    crops: UInt8,
    labels: Float32,
    shape: ShapeModel,
) -> dict[str, float]:
    """Landmark error (share of the inter-ocular distance) and pose error, beside their floor."""
    own = np.concatenate(
        [swapper.read(crops[i : i + BATCH]).points for i in range(0, len(crops), BATCH)]
    )

    def turn(a: Float32, b: Float32) -> float:
        angles = shape.pose_of(a).angles_deg() - shape.pose_of(b).angles_deg()
        return float(np.abs(angles).mean())

    return {
        "landmark_error": float(landmark_gaps(again, wanted).mean()),
        "landmark_floor": float(landmark_gaps(own, labels).mean()),
        "pose_error_deg": turn(again, labels),
        "pose_floor_deg": turn(own, labels),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    facts = measure(args.pack, args.data, args.models, args.count)
    text = json.dumps({k: round(v, 5) for k, v in facts.items()}, indent=1)
    if args.out:
        args.out.write_text(text + "\n")
    log.info("%s", text)


if __name__ == "__main__":
    main()
