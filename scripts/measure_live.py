#!/usr/bin/env python3
"""Runs clips through the live path, frame by frame, and counts faces that stay bare.

    scripts/measure_live.py CLIP… [--frames 240] [--every 1] [--small 0] [--lookahead 5]
        [--effort 0] [--models FOLDER]

The live path is the anonymizer of `kveil stream`, without sockets and without dropped frames.
Where the faces are is said by a thorough search of every single frame, which shows what the
live path's rarer ones miss; with the evaluator's networks (`--models`), by a detector that
kveil does not use. `--small 6` shows the clip 36 times over, a sixth as large, in pictures of
1280×720 into which one copy after the other comes. A face is bare when hardly a pixel of its
middle changed. `--effort 1` and `2` measure what an overload would do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from config.settings import Settings, Tracking
from engines.backends.choice import choose_backend
from engines.blending.compositor import Composite
from engines.detectors.multiscale import detect_picture
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face, Frame
from evaluation.clips import FramePair
from evaluation.exposure import FaceFinder, Sighting, measure_exposure, size_label
from evaluation.finders import finder_from_models
from stream.live.counters import Counters
from stream.live.live_anonymizer import LiveAnonymizers
from stream.live.overload import Effort
from stream.media.planes import picture_format, picture_from_frame
from stream.pipeline.engine_set import EngineSet, open_engines
from stream.pipeline.replacement import CoverEveryFace


def main() -> int:
    """Prints a row per clip; 1 if a face stays bare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--frames", type=int, default=240)
    parser.add_argument("--every", type=int, default=1, help="keep every n-th frame of the clip")
    parser.add_argument("--small", type=int, default=0, help="copies side by side")
    parser.add_argument("--lookahead", type=int, default=5)
    parser.add_argument("--effort", type=int, default=0)
    parser.add_argument("--models", type=Path, help="folder of the evaluator's networks")
    chosen = parser.parse_args()
    with open_engines(Settings(method="solid")) as engines:
        return measured(chosen, judge_of(chosen, engines))


def measured(chosen: argparse.Namespace, judge: FaceFinder) -> int:
    """Prints the table; 1 if a face stays bare."""
    print(f"faces as found by {judge.name}")
    print("| clip | frames | face-frames | bare | by size | before their face was first covered |")
    print("|---|---|---|---|---|---|")
    bare_in_all = 0
    for clip in chosen.clips:
        seen = measure_exposure(pairs(clip, chosen), judge, (), least_px=8)
        bare = [one for one in seen.sightings if one.is_bare]
        covered = first_covered(seen.sightings)
        early = sum(one.frame < covered.get(one.chain, -1) for one in bare)
        counted = Counter(size_label(one.size_px) for one in bare)
        sizes = ", ".join(f"{size}: {count}" for size, count in sorted(counted.items()))
        print(
            f"| {clip.name} | {seen.frames} | {len(seen.sightings)} | {len(bare)} "
            f"| {sizes or '–'} | {early} |",
            flush=True,
        )
        bare_in_all += len(bare)
    return int(bare_in_all > 0)


def judge_of(chosen: argparse.Namespace, engines: EngineSet) -> FaceFinder:
    """Who says where the faces are."""
    if chosen.models:
        backend = choose_backend("auto", "cpu", threads=2).backend
        return finder_from_models(backend, chosen.models)[0]
    return ThoroughFinder(engines)


class ThoroughFinder:
    """The product's own thorough search."""

    name = "a thorough search of every frame"

    def __init__(self, engines: EngineSet) -> None:
        self._engines = engines

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """Faces of one frame."""
        plan = self._engines.plans(*image.shape[:2])["full"]
        return detect_picture(self._engines.detector, picture_from_bgr(image), plan, 0.5)


def first_covered(sightings: Sequence[Sighting]) -> dict[int, int]:
    """By chain, the first frame in which its face was covered."""
    found: dict[int, int] = {}
    for one in sightings:
        if not one.is_bare:
            found.setdefault(one.chain, one.frame)
    return found


def pairs(clip: Path, chosen: argparse.Namespace) -> Iterator[FramePair]:
    """Each frame before and after the live path."""
    settings = Settings(method="solid", tracking=Tracking(lookahead_live_frames=chosen.lookahead))
    waiting = []
    with open_engines(settings) as engines, av.open(str(clip)) as container:
        rate = Fraction(container.streams.video[0].guessed_rate or 25) / chosen.every
        made = LiveAnonymizers(
            settings,
            engines,
            CoverEveryFace,
            Counters(),
            None,
            sheds_load=False,
            now=time.monotonic,
        )
        made.overload.effort = Effort(chosen.effort)
        anonymizer = made.make()
        for index, decoded in enumerate(container.decode(video=0)):
            if index % chosen.every or index >= chosen.frames * chosen.every:
                continue
            number = index // chosen.every
            if chosen.small:
                decoded = shrunken(decoded, chosen.small, number)
            picture = picture_from_frame(decoded, *picture_format(decoded.format.name))
            frame = Frame(picture, round(number / rate * 90_000), Fraction(1, 90_000), number)
            waiting.append(picture.bgr().copy())
            yield from paired(waiting, anonymizer.push(frame))
        yield from paired(waiting, anonymizer.flush())
        anonymizer.close()


def shrunken(decoded: av.VideoFrame, side: int, number: int) -> av.VideoFrame:
    """The frame, small and many times over; every seventh frame one more of them."""
    small = decoded.reformat(1280 // side, 720 // side, "bgr24").to_ndarray()
    canvas = np.full((720, 1280, 3), 90, np.uint8)
    for place in range(min(side * side, 1 + number // 7)):
        top, left = place // side * small.shape[0], place % side * small.shape[1]
        canvas[top : top + small.shape[0], left : left + small.shape[1]] = small
    return av.VideoFrame.from_ndarray(canvas, "bgr24").reformat(format="yuv420p")


def paired(waiting: list[BgrImage], finished: Sequence[Composite]) -> Iterator[FramePair]:
    """The finished frames beside their originals."""
    for composite in finished:
        yield FramePair(composite.index, waiting.pop(0), composite.picture.bgr(), None)


if __name__ == "__main__":
    sys.exit(main())
