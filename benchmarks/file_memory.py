#!/usr/bin/env python3
"""Measures whether memory grows with the length of a file.

    python -m benchmarks.file_memory [--method solid] [--minutes 1 10] [--rate 10] [--work FOLDER]

Makes 1080p clips with the astronaut photograph of scikit-image moving through them, runs
`kveil anonymize` on each in a process of its own, and prints the largest resident size of that
process and the median over the last quarter of its run. Ends with 1 where the longest clip's
largest is more than a tenth above the shortest's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

import av
import cv2
import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH = 1080, 1920
PERIOD = 100
MOST_GROWTH = 0.10
EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Resident:
    """Resident size of one run.

    Attributes:
        minutes: length of the clip.
        frames: its frames.
        largest_mb: the kernel's own high-water mark, MB.
        late_mb: median over the last quarter of the run, MB.
        seconds: how long the run took.
    """

    minutes: float
    frames: int
    largest_mb: float
    late_mb: float
    seconds: float


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", default="solid")
    parser.add_argument("--minutes", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--rate", type=int, default=10, help="frames a second")
    parser.add_argument("--work", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kveil-memory-") as folder:
        work = chosen.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        runs = [
            measured(work, minutes, chosen.rate, chosen.method)
            for minutes in sorted(chosen.minutes)
        ]
    print("| clip | frames | seconds | largest resident | late in the run |")
    print("|---|---|---|---|---|")
    for run in runs:
        print(
            f"| {run.minutes:g} min at 1080p | {run.frames} | {run.seconds:.0f} "
            f"| {run.largest_mb:.0f} MB | {run.late_mb:.0f} MB |"
        )
    growth = runs[-1].largest_mb / runs[0].largest_mb - 1
    print(f"\nGrowth of the largest: {growth:+.1%} (at most {MOST_GROWTH:.0%})")
    return 0 if growth <= MOST_GROWTH else 1


def measured(work: Path, minutes: float, rate: int, method: str) -> Resident:
    """Makes a clip where it is not there, and runs kveil on it."""
    frames = round(minutes * 60 * rate)
    name = f"{minutes:g}min.{rate}fps"
    clip, target = work / f"{name}.mp4", work / f"{name}.out.mp4"
    if not clip.exists():
        partial = work / f"{name}.partial.mp4"
        write_clip(partial, frames, rate)
        partial.replace(clip)
    command = ["kveil", "anonymize", str(clip), "-o", str(target), "--overwrite"]
    started = time.monotonic()
    process = subprocess.Popen([*command, "--method", method], stdout=sys.stderr)
    sizes, largest = [], 0.0
    while process.poll() is None:
        now, largest = resident_mb(process.pid, largest)
        if now:
            sizes.append(now)
        time.sleep(EVERY_S)
    if process.returncode:
        raise SystemExit(f"kveil ended with {process.returncode}")
    late = median(sizes[-max(1, len(sizes) // 4) :])
    return Resident(minutes, frames, largest, late, time.monotonic() - started)


def resident_mb(process: int, largest: float) -> tuple[float, float]:
    """Resident size now, and its high-water mark so far; MB, from Linux' process table."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0, largest
    rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    now, peak = (float(rows.get(key, "0 kB").split()[0]) / 1024 for key in ("VmRSS", "VmHWM"))
    return now, max(peak, largest)


def write_clip(path: Path, frames: int, rate: int) -> None:
    """A face that wanders over a coarse background; one period encoded once, then repeated."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=rate)
        assert isinstance(video, av.VideoStream)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        # No B-frames and one key frame a period: its packets follow one another as they are.
        video.options = {"preset": "ultrafast", "crf": "30", "g": str(PERIOD), "bf": "0"}
        video.time_base = Fraction(1, rate)
        packets = [bytes(packet) for image in scenes() for packet in encoded(video, image)]
        packets += [bytes(packet) for packet in video.encode(None)]
        for index in range(frames):
            packet = av.Packet(packets[index % PERIOD])
            packet.pts = packet.dts = index
            packet.time_base, packet.stream = Fraction(1, rate), video
            packet.is_keyframe = index % PERIOD == 0
            container.mux(packet)


def encoded(video: av.VideoStream, image: NDArray[np.uint8]) -> Sequence[av.Packet[av.VideoStream]]:
    """What the encoder gives for one more picture."""
    return video.encode(av.VideoFrame.from_ndarray(image, format="bgr24"))


def scenes() -> Iterator[NDArray[np.uint8]]:
    """One period of H×W×3 uint8 BGR pictures."""
    photograph = astronaut()
    background = np.random.default_rng(7).integers(60, 200, (9, 16, 3)).astype(np.uint8)
    scene = np.asarray(
        cv2.resize(background, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8
    )
    for index in range(PERIOD):
        turn = 2 * np.pi * index / PERIOD
        left = round((WIDTH - 512) * (0.5 + 0.5 * np.sin(turn)))
        top = round((HEIGHT - 512) * (0.5 + 0.5 * np.sin(2 * turn)))
        image = scene.copy()
        image[top : top + 512, left : left + 512] = photograph
        yield image


def astronaut() -> NDArray[np.uint8]:
    """512×512×3 uint8 BGR: Eileen Collins, NASA, public domain."""
    from skimage.data import astronaut as photograph

    rgb = np.asarray(photograph(), np.uint8)  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(rgb[..., ::-1])


if __name__ == "__main__":
    sys.exit(main())
