"""How many calls of kveil's own code a face takes in a frame, and what trying a surrogate on costs.

Calls are counted and not timed, so that other load on the machine does not change them.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.scenes import coded_picture, largest_face
from config.settings import Settings
from engines.blending.compositor import compose
from engines.face.control_reading import ControlReader
from engines.face.trying_on import subject_from_frame, tried_on
from engines.types import Face, Frame, Track, TrackState
from stream.files.demo_clip import demo_frames
from stream.pipeline.engine_set import SwapEngines, open_engines
from stream.pipeline.methods import SWAP
from stream.swap.face_drawing import FaceDrawer, Wearing

__all__ = ["FaceCalls", "measure_face_calls", "own_calls"]

_FRAMES: Final = 16
_COUNTED: Final = 4
_AHEAD: Final = 4
_DRAWS: Final = 8
_ROOT: Final = Path(__file__).parents[1]
_ROOMS: Final = tuple(str(_ROOT / room) for room in ("engines", "gallery", "stream", "tracker"))


@dataclass(frozen=True, slots=True)
class FaceCalls:
    """What one swapped face takes.

    Attributes:
        calls: of functions of kveil in a frame in which a known face is drawn and laid.
        tried_ms: median time of trying on one surrogate that was not painted before.
    """

    calls: float
    tried_ms: float

    def told(self) -> str:
        """One line for people.

        >>> FaceCalls(1012.5, 40.0).told()
        'one face in a frame: 1012 calls of kveil; one surrogate tried on: 40.0 ms'
        """
        return (
            f"one face in a frame: {self.calls:.0f} calls of kveil; "
            f"one surrogate tried on: {self.tried_ms:.1f} ms"
        )


def own_calls(step: Callable[[], object]) -> int:
    """Calls of functions of kveil while a step runs, on this thread.

    >>> own_calls(lambda: Fraction(1, 3)) <= 1
    True
    """
    profile = cProfile.Profile()
    profile.runcall(step)
    found = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(one[0] for place, one in found.items() if str(place[0]).startswith(_ROOMS))


def measure_face_calls(settings: Settings) -> FaceCalls:
    """Counts calls on the demo clip's face, and times trials on it.

    Args:
        settings: which detector, runtime and arithmetic.

    Raises:
        ModelMissing, ModelRejected, BackendMissing: a network or runtime is not there.
        EngineFault: one failed, or the detector finds no face in the demo clip.
    """
    with open_engines(settings.model_copy(update={"method": SWAP})) as engines:
        assert engines.swap is not None
        images = list(islice(demo_frames(2.0), _FRAMES + _AHEAD))
        faces = [largest_face(engines.detector, image) for image in images]
        frames = [
            Frame(coded_picture(image), index, Fraction(1, 25), index)
            for index, image in enumerate(images)
        ]
        at = (engines.swap, frames, faces)
        return FaceCalls(_calls(*at), _tried_ms(*at))


def _calls(swap: SwapEngines, frames: Sequence[Frame], faces: Sequence[Face]) -> float:
    """Calls in a frame, after the first ones."""
    drawer = FaceDrawer(swap.painter, draws_foreground=True)
    latent = swap.donors.latents[0]

    def draw(index: int) -> None:
        seen = list(zip(frames, faces, strict=True))
        ahead = seen[index + 1 : index + 1 + _AHEAD]
        drawn = drawer.draw(frames[index], [Wearing(0, faces[index], latent, ahead)])
        fresh = Frame(frames[index].picture.copy(), index, Fraction(1, 25), index)
        track = Track(0, faces[index], TrackState.DETECTED, 9, True)
        compose(fresh, [track], drawn.patches, causes=drawn.causes)

    counts = [own_calls(partial(draw, index)) for index in range(_FRAMES)]
    return float(np.mean(counts[-_COUNTED:]))


def _tried_ms(swap: SwapEngines, frames: Sequence[Frame], faces: Sequence[Face]) -> float:
    """Time of one draw, its texture included."""
    (look,) = ControlReader(swap.painter).looks([(frames[0], faces[0])])
    subject = subject_from_frame(frames[0].picture, faces[0], look)
    assert subject is not None
    spent = []
    for latent in swap.donors.latents[-_DRAWS:]:
        start_s = time.perf_counter()
        crops, _ = tried_on(swap.painter, [subject], latent[None])
        swap.embedder.embed(crops)
        spent.append(time.perf_counter() - start_s)
    return 1e3 * median(spent)
