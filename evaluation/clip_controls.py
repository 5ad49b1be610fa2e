"""Controls of the exposure attack: a leak it must find, a cover it must not.

Run on the same originals, by the same detector and recognisers, in the same report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np

from evaluation.clips import FramePair
from evaluation.exposure import Exposure, FaceFinder, measure_exposure
from evaluation.footage_floor import FLOOR_FMR, FootageFloor
from evaluation.metrics.intervals import Z999, wilson
from evaluation.recognisers import Recogniser

__all__ = ["ClipControls", "run_clip_controls"]

_LEAST_BARE = 0.98
_LEAST_RECOGNISED = 0.9
_JPEG_QUALITY = 80
_LEAST_LEAK_PX = 32.0
_MOST_FRAMES = 20


@dataclass(frozen=True, slots=True)
class ClipControls:
    """How the attack did on clips whose truth is known.

    Attributes:
        leak: exposure of a re-compressed original, which leaks every face.
        cover: exposure of frames of one grey, which leak none.
    """

    leak: Exposure
    cover: Exposure

    def hold(self, judges: Sequence[Recogniser]) -> bool:
        """Whether the leak was found and the cover was not called a leak.

        Recognition of the leak is asked of faces of at least 32 px: below that, a
        re-compressed face may be lost to the judge, and A12 has `bare` to find it. The
        cover is asked not to match beyond the footage's own floor.
        """
        found = self.leak.bare().rate >= _LEAST_BARE and self.cover.bare().hits == 0
        for judge in judges:
            large = self.leak.recognisable(judge.name, _LEAST_LEAK_PX)
            found &= large.rate >= _LEAST_RECOGNISED or not large.probes
            covered = self.cover.identified(judge.name)
            found &= wilson(covered.hits, covered.probes, Z999)[0] <= FLOOR_FMR
        return found


def run_clip_controls(
    pairs: Iterable[FramePair],
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    *,
    every: int = 15,
    least_px: float = 16,
    floors: Mapping[str, FootageFloor] | None = None,
) -> ClipControls:
    """Runs both controls on every `every`-th frame of the original.

    Args:
        pairs: frames of the original; the other side is not looked at.
        finder: detector for the originals.
        judges: recognisers.
        every: frames between two that are looked at; at most 20 are.
        least_px: smaller faces are not counted.
        floors: of the whole clip, which know more pairs than these few frames.
    """
    sampled = list(islice((pair for pair in pairs if pair.index % every == 0), _MOST_FRAMES))
    leak = measure_exposure(_leaking(sampled), finder, judges, least_px=least_px)
    cover = measure_exposure(_covered(sampled), finder, judges, least_px=least_px)
    if floors is not None:
        leak.floors = cover.floors = dict(floors)
    return ClipControls(leak, cover)


def _leaking(pairs: Iterable[FramePair]) -> Iterator[FramePair]:
    for pair in pairs:
        quality = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
        _, encoded = cv2.imencode(".jpg", pair.original, quality)
        copy = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), np.uint8)
        yield FramePair(pair.index, pair.original, copy, pair.time_s)


def _covered(pairs: Iterable[FramePair]) -> Iterator[FramePair]:
    for pair in pairs:
        # Far from every tone of a face, so that a uniform cheek never counts as unchanged.
        flat = np.zeros_like(pair.original)
        flat[..., 0] = 255
        yield FramePair(pair.index, pair.original, flat, pair.time_s)
