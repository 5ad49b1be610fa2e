"""Prints the detector's recall by face size and its time, for choosing scales.

Faces of clips are those that another detector, SCRFD, at 640 and 1280 px finds with a score of
0.5 or more. Small ones are those of the clips, shrunken and tiled into pictures of 1280×720;
frame-filling ones are close-ups. Labelled faces are aligned photographs, laid at known places and
sizes. Recall is told from the score at which a face is covered, and from that at which it is
swapped; int8 is what `kveil` takes of fp32, bf16 and int8. Run from the repository:

    python scripts/measure_detection.py ../shared/data [frames per clip [PLAN …]]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.detectors.detector import Detector, areas_of, overlaps_of
from engines.detectors.loading import detector_from_model
from engines.detectors.multiscale import DetectionPlan, detect_picture
from engines.models.catalogue import centerface_path, quantised_path
from engines.pictures import Picture, picture_from_bgr
from engines.types import Face
from training.sources import pictures_of_archive

LEAST_SCORE = 0.2
SWAP_SCORE = 0.5
PHOTOGRAPHS = "faces/faces256-03.tar"
FACE_IN_CROP = (0.12, 0.10, 0.88, 0.98)
"""Box of the face in an aligned crop, shares of its side."""
REFERENCE_SCORE = 0.5
SAME_FACE = 0.3
PLANS = {
    "320": DetectionPlan(320),
    "512": DetectionPlan(512),
    "640": DetectionPlan(640),
    "768": DetectionPlan(768),
    "960": DetectionPlan(960),
    "1280": DetectionPlan(1280),
    "1920": DetectionPlan(1920),
    "native": DetectionPlan(8192, max_upscale=1.0),
    "1920 in tiles of 640": DetectionPlan(1920, tile_px=640),
    "1280 + 320": DetectionPlan(1280, also_px=(320,)),
    "1920 + 640 + 256": DetectionPlan(1920, also_px=(640, 256)),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture and the boxes that the reference found, (N, 4) px."""

    clip: str
    picture: Picture
    boxes: NDArray[np.float32]


def main() -> None:
    """Measures the plans in every arithmetic."""
    data = Path(sys.argv[1])
    frames = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    plans = {label: PLANS[label] for label in sys.argv[3:] or PLANS}
    backend = OpenVino(threads=2)
    reference = detector_from_model(backend, data / "models" / "scrfd_500m_bnkps.onnx")
    samples = [*ordinary(data / "video", reference, frames)]
    small = [made for low, high in ((12, 16), (16, 24)) for made in shrunken(samples, low, high)]
    samples += [*filling(samples), *small, *labelled(data / PHOTOGRAPHS, frames)]
    names = ["12-16 px", "16-24 px", ">= 24 px", "> 50 % of frame"]
    names += ["labelled 12-16 px", "labelled 16-24 px", "labelled >= 24 px"]
    counts = [sum(int(chosen(sample, name).sum()) for sample in samples) for name in names]
    print("reference faces: " + ", ".join(f"{n}: {c}" for n, c in zip(names, counts, strict=True)))
    print(
        f"{'plan':24} {'':5}" + "".join(f"{name:>18}" for name in names) + "   extra/frame  CPU ms"
    )
    detectors: dict[str, Detector] = {
        "fp32": detector_from_model(backend, centerface_path(), "fp32"),
        "bf16": detector_from_model(backend, centerface_path(), "bf16"),
        "int8": detector_from_model(backend, quantised_path(), "bf16"),
    }
    for label, plan in plans.items():
        for precision, detector in detectors.items():
            line = measured(detector, samples, plan, names)
            print(f"{label:24} {precision:5}{line}", flush=True)


def ordinary(folder: Path, reference: Detector, frames: int) -> Iterator[Sample]:
    """Frames spread over the clips, as they are."""
    for path in sorted(folder.iterdir()):
        for image in spread(path, frames):
            picture = picture_from_bgr(image)
            yield Sample("frame", picture, reference_boxes(reference, picture))


def shrunken(samples: list[Sample], low: int, high: int) -> Iterator[Sample]:
    """Pictures of 1280×720 filled with frames in which the largest face is so small."""
    rng = np.random.default_rng(low)
    canvas = np.zeros((720, 1280, 3), np.uint8)
    boxes: list[NDArray[np.float32]] = []
    left = top = row = 0
    for sample in samples:
        if sample.clip != "frame" or not len(sample.boxes):
            continue
        scale = float(rng.uniform(low, high)) / sizes(sample.boxes).max()
        height, width = round(sample.picture.height * scale), round(sample.picture.width * scale)
        if scale > 0.9 or height > 720 or width > 1280:
            continue
        if left + width > 1280:
            left, top, row = 0, top + row, 0
        if top + height > 720:
            yield Sample("shrunken", picture_from_bgr(canvas), np.concatenate(boxes))
            canvas, boxes = np.zeros((720, 1280, 3), np.uint8), []
            left = top = row = 0
        image = cv2.resize(sample.picture.bgr(), (width, height), interpolation=cv2.INTER_AREA)
        canvas[top : top + height, left : left + width] = image
        boxes.append((sample.boxes * scale + [left, top, left, top]).astype(np.float32))
        left, row = left + width, max(row, height)
    if boxes:
        yield Sample("shrunken", picture_from_bgr(canvas), np.concatenate(boxes))


def filling(samples: list[Sample]) -> Iterator[Sample]:
    """Close-ups of the largest faces, so that one face fills 60 to 130 % of the frame."""
    for number, sample in enumerate(samples):
        if not len(sample.boxes):
            continue
        heights = sample.boxes[:, 3] - sample.boxes[:, 1]
        box = sample.boxes[int(heights.argmax())]
        if heights.max() < 90:
            continue
        share = (0.6, 0.8, 1.0, 1.3)[number % 4]
        image = sample.picture.planes[0]
        size = float(box[3] - box[1]) / share
        x, y = (float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2)
        moved = np.array(
            [[720 / size, 0, 640 - x * 720 / size], [0, 720 / size, 360 - y * 720 / size]]
        )
        close = cv2.warpAffine(image, moved, (1280, 720), flags=cv2.INTER_LINEAR)
        corners = box.reshape(2, 2) @ moved[:, :2].T + moved[:, 2]
        picture = picture_from_bgr(close.astype(np.uint8))
        yield Sample("close-up", picture, corners.reshape(1, 4).astype(np.float32))


def labelled(archive: Path, scenes: int) -> Iterator[Sample]:
    """So many pictures of 1280×720 with aligned photographs of faces in rows, dimmed at random."""
    rng = np.random.default_rng(11)
    photographs = pictures_of_archive(archive, 40 * scenes)
    for number in range(scenes):
        coarse = rng.integers(40, 200, (5, 9, 3), np.uint8)
        canvas = cv2.resize(coarse, (1280, 720), interpolation=cv2.INTER_CUBIC)
        boxes = []
        for place in range(40):
            side = round(float(rng.uniform(*((15, 20), (20, 30), (30, 90))[number % 3])))
            top, left = 20 + place // 8 * 140, 20 + place % 8 * 155
            small = cv2.resize(next(photographs), (side, side), interpolation=cv2.INTER_AREA)
            dim = np.clip(small * rng.uniform(0.4, 1.1), 0, 255)
            canvas[top : top + side, left : left + side] = dim.astype(np.uint8)
            box = np.array(FACE_IN_CROP) * side + [left, top, left, top]
            boxes.append(box.astype(np.float32))
        yield Sample("labelled", picture_from_bgr(np.asarray(canvas, np.uint8)), np.stack(boxes))


def spread(path: Path, frames: int) -> Iterator[NDArray[np.uint8]]:
    """So many frames, evenly over the clip."""
    with av.open(str(path)) as container:
        total = sum(1 for _ in container.decode(video=0))
    wanted = set(np.linspace(0, total - 1, frames).astype(int).tolist())
    with av.open(str(path)) as container:
        for index, frame in enumerate(container.decode(video=0)):
            if index in wanted:
                yield np.ascontiguousarray(frame.to_ndarray(format="bgr24"))


def reference_boxes(reference: Detector, picture: Picture) -> NDArray[np.float32]:
    """Boxes that the reference finds at any of its scales."""
    plan = DetectionPlan(1280, also_px=(640,))
    faces = detect_picture(reference, picture, plan, REFERENCE_SCORE)
    return np.array([face.box_px for face in faces], np.float32).reshape(-1, 4)


def chosen(sample: Sample, name: str) -> NDArray[np.bool_]:
    """Which reference faces belong to a size class; close-ups make a class of their own."""
    size = sizes(sample.boxes)
    if sample.clip == "close-up":
        return np.full(len(size), name == "> 50 % of frame")
    if (sample.clip == "labelled") != name.startswith("labelled"):
        return np.zeros(len(size), np.bool_)
    low, high = {"12-16 px": (12, 16), "16-24 px": (16, 24), ">= 24 px": (24, 1e9)}.get(
        name.removeprefix("labelled "), (1e9, 1e9)
    )
    return np.asarray((size >= low) & (size < high), np.bool_)


def measured(
    detector: Detector, samples: list[Sample], plan: DetectionPlan, names: list[str]
) -> str:
    """Recall by size class from two scores, finds beyond the reference per frame, and time."""
    found = {name: [0, 0] for name in names}
    total = dict.fromkeys(names, 0)
    extra, times = 0, []
    for sample in samples:
        start = time.process_time()
        faces = detect_picture(detector, sample.picture, plan, LEAST_SCORE)
        times.append(time.process_time() - start)
        clear = tuple(face for face in faces if face.score >= SWAP_SCORE)
        hits = [matches(sample.boxes, some) for some in (faces, clear)]
        for name in names:
            mask = chosen(sample, name)
            total[name] += int(mask.sum())
            for place, hit in enumerate(hits):
                found[name][place] += int(hit[mask].sum())
        extra += max(0, len(faces) - int(hits[0].sum())) if sample.clip == "frame" else 0
    shares = "".join(
        f"{' · '.join(f'{100 * one / total[name]:.1f}' for one in found[name]):>18}"
        if total[name]
        else f"{'-':>18}"
        for name in names
    )
    ordinary_frames = max(1, sum(sample.clip == "frame" for sample in samples))
    quickest = 1000 * float(np.quantile(times, 0.1))
    median = 1000 * statistics.median(times)
    return f"{shares}{extra / ordinary_frames:14.1f}{median:8.0f} ({quickest:.0f} at best)"


def sizes(boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Square roots of the areas, px."""
    return np.sqrt(areas_of(boxes))


def matches(boxes: NDArray[np.float32], faces: tuple[Face, ...]) -> NDArray[np.bool_]:
    """Which reference boxes overlap a find."""
    if not faces or not len(boxes):
        return np.zeros(len(boxes), np.bool_)
    others = np.stack([face.box_px for face in faces])
    return np.asarray((overlaps_of(boxes, others) >= SAME_FACE).any(axis=1), np.bool_)


if __name__ == "__main__":
    main()
