#!/usr/bin/env python3
"""How well trying on small tells what is shown: `scripts/measure_fitting.py TAR`.

TAR holds portraits. Each is laid into a frame at a size of its own, and the draws that a gallery
could deal to its bin are measured twice: as `engines.face.trying_on` paints them, and as
`stream.swap.face_drawing` paints what is shown, in full. Told are how far the cosines differ, how
often both choose the same draw, how much the chosen ones resemble their people when painted in
full, and what a draw costs this thread, its texture being known.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes import coded_picture, largest_face
from config.settings import Settings
from engines.blending.compositor import compose
from engines.detectors.detector import Detector
from engines.errors import EngineFault
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.face.control_reading import ControlReader
from engines.face.embedder import PersonThresholds
from engines.face.trying_on import TRIED, TRIED_SIZE, subject_from_frame, tried_on
from engines.pictures import BgrImage
from engines.types import Frame, Track, TrackState
from stream.pipeline.engine_set import SwapEngines, open_engines
from stream.pipeline.methods import SWAP
from stream.swap.face_drawing import FaceDrawer, Wearing
from stream.swap.fitting import choice_of
from training.sources import every_picture

Float32 = NDArray[np.float32]
_FRAME: Final = (720, 1280)
_SIDES: Final = (140, 680)
"""Of the portraits in their frames, px."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One person's draws.

    Attributes:
        small: cosines as tried on, float32[TRIED].
        full: cosines as painted in full.
        misfits: how badly they go with the person's hair, float32[TRIED].
        small_s: thread's seconds for the former.
        full_s: for the latter.
    """

    small: Float32
    full: Float32
    misfits: Float32
    small_s: float
    full_s: float


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("portraits", type=Path, help="a tar of pictures")
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--every", type=int, default=1, help="take every so manieth picture")
    chosen = parser.parse_args()
    settings = Settings().model_copy(update={"method": SWAP})
    rng = np.random.default_rng(0)
    found: list[Measured] = []
    with open_engines(settings) as engines:
        assert engines.swap is not None
        for _, image in every_picture(chosen.portraits, chosen.every):
            side = int(rng.integers(*_SIDES))
            canvas = np.full((*_FRAME, 3), 110, np.uint8)
            canvas[20 : 20 + side, 300 : 300 + side] = cv2.resize(
                image, (side, side), interpolation=cv2.INTER_AREA
            )
            one = measured(engines.detector, engines.swap, canvas, rng)
            found += [] if one is None else [one]
            if len(found) == chosen.people:
                break
        print("\n".join(told(found, engines.swap.thresholds)))
    return 0


def measured(
    detector: Detector, swap: SwapEngines, canvas: BgrImage, rng: np.random.Generator
) -> Measured | None:
    """Both cosines of all draws; None where no face is found that can be followed."""
    picture = coded_picture(canvas)
    try:
        face = largest_face(detector, canvas)
    except EngineFault:
        return None
    frame = Frame(picture, 0, Fraction(1, 25), 0)
    (look,) = ControlReader(swap.painter).looks([(frame, face)])
    subject = subject_from_frame(picture, face, look)
    if subject is None:
        return None
    place = kveil_from_landmarks(face.landmarks_px, TRIED_SIZE)
    own = swap.embedder.embed(subject.crop()[None])[0]
    bin_values = swap.attributes.values_of(own) if swap.attributes else {}
    pool = swap.donors.matching(bin_values, TRIED)
    latents = swap.donors.latents[rng.choice(pool, TRIED, replace=False)]
    tried_on(swap.painter, [subject] * TRIED, latents)  # so that textures are known to both
    start_s = time.thread_time()
    crops, rows = tried_on(swap.painter, [subject] * TRIED, latents)
    middle_s = time.thread_time()
    drawer = FaceDrawer(swap.painter, draws_foreground=True)
    drawn = drawer.draw(frame, [Wearing(n, face, one) for n, one in enumerate(latents)])
    end_s = time.thread_time()
    if len(rows) < TRIED or len(drawn.patches) < TRIED:
        return None
    shown = []
    for number in range(TRIED):
        track = Track(number, face, TrackState.DETECTED, 5, True)
        fresh = Frame(picture.copy(), 0, Fraction(1, 25), 0)
        whole = compose(fresh, [track], {number: drawn.patches[number]})
        if whole.outcomes[0].result != "swapped":
            return None
        shown.append(crop_from_picture(whole.picture, place, TRIED_SIZE))
    small, full = (swap.embedder.embed(one) for one in (crops, np.stack(shown)))
    apart = None if swap.attributes is None else swap.attributes.apart(small, own)
    times = middle_s - start_s, end_s - middle_s
    return Measured(small @ own, full @ own, subject.misfits(crops, apart), *times)


def told(found: list[Measured], limits: PersonThresholds) -> list[str]:
    """The figures, a line each."""
    small, full = (np.stack([getattr(one, name) for one in found]) for name in ("small", "full"))
    away = small - full
    chosen = [
        (choice_of(one.small, one.misfits, limits), choice_of(one.full, one.misfits, limits))
        for one in found
    ]
    seen = [
        np.array(
            [
                one.full[pair[way]]
                for one, pair in zip(found, chosen, strict=True)
                if pair[way] is not None
            ]
        )
        for way in range(2)
    ]
    cost_ms = [
        1e3 * float(np.mean([getattr(one, name) for one in found])) / TRIED
        for name in ("small_s", "full_s")
    ]
    same = float(np.mean([first == other for first, other in chosen]))
    alike = float(np.mean((small < limits.alike) == (full < limits.alike)))
    return [
        f"people: {len(found)}, draws each: {TRIED}",
        f"cosine small - full: mean {away.mean():+.4f}, deviation {away.std():.4f}, "
        f"largest {np.abs(away).max():.3f}; "
        f"correlation {np.corrcoef(small.flat, full.flat)[0, 1]:.4f}",
        f"same side of `alike`: {alike:.1%} of the draws; same choice: {same:.1%} of the people",
        f"covered, small · full: {sum(one is None for one, _ in chosen)} · "
        f"{sum(one is None for _, one in chosen)}",
        "cosine in full of what was chosen, mean and largest, small · full: "
        + " · ".join(f"{one.mean():.3f}, {one.max():.3f}" for one in seen),
        f"thread's time of a draw, small · full: {cost_ms[0]:.1f} · {cost_ms[1]:.1f} ms",
    ]


if __name__ == "__main__":
    sys.exit(main())
