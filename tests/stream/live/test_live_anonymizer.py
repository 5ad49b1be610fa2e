from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from config.settings import Settings, Tracking
from engines.blending.compositor import Composite
from engines.detectors.multiscale import DetectionPlan
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face, Frame
from stream.errors import UsageRefused
from stream.finding.finding import Scale
from stream.live.counters import Counters
from stream.live.live_anonymizer import LiveAnonymizers
from stream.live.overload import Effort
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.replacement import CoverEveryFace

pytestmark = pytest.mark.unit
HEIGHT, WIDTH = 72, 128
BRIGHT = 250
LOOKAHEAD = 5
PLANS: dict[Scale, DetectionPlan] = {
    "near": DetectionPlan(64),
    "coarse": DetectionPlan(64),
    "full": DetectionPlan(128),
}


class SeesSmallFacesAtFullScaleAlone:
    """Finds the bright block, which is the face, where the picture was not shrunken."""

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        rows, columns = np.nonzero(image_bgr[..., 0] > BRIGHT - 20)
        if image_bgr.shape[1] < WIDTH or not len(rows):
            return ()
        low = np.array([columns.min(), rows.min()], np.float32)
        high = np.array([columns.max() + 1, rows.max() + 1], np.float32)
        points = np.tile((low + high) / 2, (5, 1)).astype(np.float32)
        return (Face(np.concatenate([low, high]), points, 0.9),)


def frame_with_face(index: int, fps: int, first: int) -> Frame:
    """Grey; from frame `first` on with a block that drifts to the right."""
    image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    if index >= first:
        left = 20 + (index - first) % 40
        image[30:38, left : left + 8] = BRIGHT
    return Frame(picture_from_bgr(image), index * 90_000 // fps, Fraction(1, 90_000), index)


def made(effort: Effort, lookahead: int, method: str = "solid") -> LiveAnonymizers:
    settings = Settings(method=method, tracking=Tracking(lookahead_live_frames=lookahead))
    engines = EngineSet(SeesSmallFacesAtFullScaleAlone(), lambda height, width: PLANS, 1, ())
    live = LiveAnonymizers(
        settings, engines, CoverEveryFace, Counters(), None, sheds_load=False, now=lambda: 0.0
    )
    live.overload.effort = effort
    return live


def bare(composites: Sequence[Composite]) -> list[int]:
    """Indices of the pictures in which a pixel of the face is left."""
    return [
        one.index for one in composites if bool((one.picture.bgr() > BRIGHT - 20).all(axis=2).any())
    ]


@pytest.mark.parametrize("effort", list(Effort))
@pytest.mark.parametrize("fps", [4, 12, 30])
@pytest.mark.parametrize("first", range(10, 17))
def test_small_face_is_covered_from_its_first_frame_whatever_the_load(
    effort: Effort, fps: int, first: int
) -> None:
    anonymizer = made(effort, LOOKAHEAD).make()
    finished: list[Composite] = []
    for index in range(32):
        finished += anonymizer.push(frame_with_face(index, fps, first))
    finished += anonymizer.flush()
    anonymizer.close()
    assert [one.index for one in finished] == list(range(32))
    assert bare(finished) == []


@pytest.mark.parametrize("last", range(10, 16))
def test_run_that_breaks_off_covers_the_frames_no_thorough_search_has_followed(last: int) -> None:
    live = made(Effort.COARSE, LOOKAHEAD)
    anonymizer = live.make()
    finished: list[Composite] = []
    for index in range(last + 1):
        finished += anonymizer.push(frame_with_face(index, 25, last))
    finished += anonymizer.flush()
    anonymizer.close()
    assert len(finished) == last + 1
    assert bare(finished) == []
    unsearched = live.tally.frames(0, 0).covered_fully_by_cause.get("unsearched", 0)
    assert unsearched == (last % LOOKAHEAD)


def test_no_look_ahead_searches_every_frame_thoroughly() -> None:
    anonymizer = made(Effort.SPARSE, 0).make()
    finished: list[Composite] = []
    for index in range(20):
        finished += anonymizer.push(frame_with_face(index, 25, 7))
    anonymizer.close()
    assert bare(finished) == []


def test_unknown_method_is_refused_before_the_first_frame() -> None:
    with pytest.raises(UsageRefused, match="nosuch"):
        made(Effort.FULL, LOOKAHEAD, method="nosuch")


def test_frame_covered_for_want_of_an_anonymizer_is_counted() -> None:
    live = made(Effort.FULL, LOOKAHEAD)
    composite = live.cover(frame_with_face(0, 25, 0), "anonymizer_fault")
    assert bare([composite]) == []
    frames = live.tally.frames(1, 0)
    assert (frames.written, frames.covered_fully) == (1, 1)
