"""Prints the detector's recall by face size and its time, for choosing scales.

The reference is another detector, SCRFD, at 640 and 1280 px; what it calls a face with a
score of 0.5 or more counts as one. Small faces are those of the clips, shrunken and tiled
into pictures of 1280×720; frame-filling ones are close-ups. Run from the repository:

    python scripts/measure_detection.py ../shared/data [frames per clip]
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
from engines.catalogue import centerface_path
from engines.detectors.detector import Detector, areas_of, overlaps_of
from engines.detectors.loading import detector_from_model
from engines.detectors.multiscale import DetectionPlan, detect_picture
from engines.pictures import Picture, picture_from_bgr
from engines.types import Face

LEAST_SCORE = 0.2
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
    """Measures every plan in fp32, and the single scales in bf16 too."""
    data = Path(sys.argv[1])
    frames = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    backend = OpenVino(threads=2)
    reference = detector_from_model(backend, data / "models" / "scrfd_500m_bnkps.onnx")
    samples = [*ordinary(data / "video", reference, frames)]
    small = [made for low, high in ((12, 16), (16, 24)) for made in shrunken(samples, low, high)]
    samples += [*filling(samples), *small]
    names = ["12-16 px", "16-24 px", ">= 24 px", "> 50 % of frame"]
    counts = [sum(int(chosen(sample, name).sum()) for sample in samples) for name in names]
    print("reference faces: " + ", ".join(f"{n}: {c}" for n, c in zip(names, counts, strict=True)))
    print(
        f"{'plan':24} {'':5}" + "".join(f"{name:>16}" for name in names) + "   extra/frame     ms"
    )
    for precision in ("fp32", "bf16"):
        detector = detector_from_model(backend, centerface_path(), precision)
        for label, plan in PLANS.items():
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
    low, high = {"12-16 px": (12, 16), "16-24 px": (16, 24), ">= 24 px": (24, 1e9)}.get(
        name, (1e9, 1e9)
    )
    return np.asarray((size >= low) & (size < high), np.bool_)


def measured(
    detector: Detector, samples: list[Sample], plan: DetectionPlan, names: list[str]
) -> str:
    """Recall by size class, finds beyond the reference per frame, and median time."""
    found = dict.fromkeys(names, 0)
    total = dict.fromkeys(names, 0)
    extra, times = 0, []
    for sample in samples:
        detect_picture(detector, sample.picture, plan, LEAST_SCORE)
        start = time.perf_counter()
        faces = detect_picture(detector, sample.picture, plan, LEAST_SCORE)
        times.append(time.perf_counter() - start)
        hits = matches(sample.boxes, faces)
        for name in names:
            mask = chosen(sample, name)
            total[name] += int(mask.sum())
            found[name] += int(hits[mask].sum())
        extra += max(0, len(faces) - int(hits.sum())) if sample.clip == "frame" else 0
    shares = "".join(
        f"{100 * found[name] / total[name]:14.1f} %" if total[name] else f"{'-':>16}"
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
