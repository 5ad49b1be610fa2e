"""Runs the face detector beside the stream's own thread, and never lets a fault through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from engines.detectors.closer_look import SIZE_PX, faces_at
from engines.detectors.detector import Detector, PreparedDetector
from engines.detectors.multiscale import DetectionPlan, detect_picture, sizes_searched
from engines.detectors.tones import Tones
from engines.errors import EngineFault
from engines.types import Box, Face, Frame
from stream.finding.finding_memory import FindingMemory, faces_from_json, json_from_faces
from stream.pipeline.stage_clock import StageClock

__all__ = ["FaceFinder", "Findings", "Plans", "Scale", "Search"]

Scale = Literal["skip", "near", "coarse", "full"]
"""How finely a frame is searched: not at all; for large faces; as most frames; thoroughly."""
_SMALL_PX: Final = 14.0
"""Faces below this size, in the picture that is searched, are lost at times."""
_HARDLY: Final = 0.4
"""Least score in a closer look over that in a search. Larger: fewer covers where nothing is; more
faces that are hardly seen, blurred or half hidden, are bare beside their detections."""
T = TypeVar("T")
Plans = Callable[[int, int], Mapping[Scale, DetectionPlan]]
"""Scales at which a frame of some height and width is searched."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the detector said of one frame.

    Attributes:
        faces: the faces found; None where it did not look.
        failure: why it could not look although it should have; the frame's faces are unknown.
        least_px: size in the frame from which this search finds faces; 0 for a thorough one.
    """

    faces: tuple[Face, ...] | None
    failure: str = ""
    least_px: float = 0.0


class Done(Generic[T]):
    """A future that is already there."""

    def __init__(self, value: T) -> None:
        self._value = value

    def result(self, timeout: float | None = None) -> T:
        """The value."""
        return self._value


Search = Future[tuple[Face, ...]] | Done[tuple[Face, ...] | None]
"""A search under way, or one that needs none."""


class FaceFinder:
    """Searches frames in worker threads, within a deadline.

    Args:
        detector: shared by all workers.
        plans: scales at which `coarse` and `full` look, by height and width of a frame.
        min_score: faces below it are left out.
        workers: searches under way at once.
        deadline_s: a search that takes longer counts as hung.
        give_up_after: failed frames in a row after which the detector counts as dead.
        clock: gets the duration of each search as stage `detect`.
        memory: recalls what an interrupted run found, and keeps what this one finds.
        closer: takes closer looks; without it none are taken.
    """

    def __init__(
        self,
        detector: Detector,
        plans: Plans,
        *,
        min_score: float,
        workers: int,
        deadline_s: float,
        give_up_after: int,
        clock: StageClock,
        memory: FindingMemory | None = None,
        closer: Detector | None = None,
    ) -> None:
        self._memory = memory
        self._closer = closer
        self._detector = detector
        self._plans = plans
        self._min_score = min_score
        self._deadline_s = deadline_s
        self._give_up_after = give_up_after
        self._clock = clock
        self._failures = 0
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="detect")
        self._closer_pool = ThreadPoolExecutor(1, thread_name_prefix="closer")
        self.workers = workers

    def prepare(self, height: int, width: int) -> None:
        """Gets the detector ready for frames of this size, within the deadline.

        That is, for the thorough search, with which every stream begins. Other scales are got
        ready by the first search that needs them, and many streams need one of them alone. A
        fault shows again when a frame is searched, and is told there.
        """
        detector = self._detector
        if not isinstance(detector, PreparedDetector):
            return
        plan = self._plans(height, width)["full"]
        sizes = {
            (min(rows, plan.tile_px), min(columns, plan.tile_px))
            for rows, columns in sizes_searched(height, width, plan)
        }
        under_way = [self._pool.submit(detector.prepare, *size) for size in sorted(sizes)]
        if isinstance(self._closer, PreparedDetector):
            self._closer_pool.submit(self._closer.prepare, SIZE_PX, SIZE_PX)
        wait(under_way, self._deadline_s)

    def begin(self, frame: Frame, scale: Scale, tones: Sequence[Tones]) -> Search:
        """Starts a search, in further tones too; `skip` starts none."""
        kept = self._memory.recalled(frame.index) if self._memory else None
        if kept is not None:
            return Done(faces_from_json(kept))
        if scale == "skip" or frame.is_damaged:
            return Done(None)
        plans = self._plans(frame.picture.height, frame.picture.width)
        return self._pool.submit(self._search, frame, plans[scale], tones)

    def least_px(self, frame: Frame, scale: Scale) -> float:
        """Size in the frame of a face that a search hardly sees; 0 for a thorough one."""
        if scale in ("full", "skip"):
            return 0.0
        longest = max(frame.picture.height, frame.picture.width)
        plan = self._plans(frame.picture.height, frame.picture.width)[scale]
        return _SMALL_PX / min(plan.long_side_px / longest, plan.max_upscale)

    def collect(self, frame: Frame, search: Search) -> Findings:
        """Waits for a search; a fault becomes `Findings.failure`.

        Raises:
            EngineFault: the detector is dead: it hung, or failed too often in a row.
        """
        if frame.is_damaged:
            return Findings(None, "damaged")
        try:
            faces = self._awaited(search)
        except TimeoutError:
            raise EngineFault(
                f"the face detector hung for {self._deadline_s:g} s; "
                "run `kveil doctor`, or try --set detection.backend=onnxruntime"
            ) from None
        except Exception as fault:
            return self._failed(fault)
        self._failures = 0
        if self._memory:
            self._memory.record(frame.index, json_from_faces(faces))
        return Findings(faces)

    def look_closer(self, frame: Frame, boxes: Sequence[Box]) -> list[tuple[Face, ...]] | None:
        """What a closer look finds at places of a frame, down to scores of no use in a search.

        Args:
            frame: its picture is not changed.
            boxes: (4,) x0 y0 x1 y1 px each.

        Returns:
            The faces at each place; None where they are not known. After a look that took longer
            than the deadline none is taken any more.
        """
        if self._closer is None:
            return None
        looks = self._closer_pool.submit(self._look_at, self._closer, frame, boxes)
        try:
            return looks.result(self._deadline_s)
        except TimeoutError:
            self._closer = None
        except Exception:  # not to know what is there is no fault of the frame
            return None
        return None

    def close(self) -> None:
        """Ends the workers without waiting for a hung one; idempotent."""
        for pool in (self._pool, self._closer_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def _awaited(self, search: Search) -> tuple[Face, ...] | None:
        """The result within the deadline, in two halves: a machine that slept wakes up late."""
        try:
            return search.result(self._deadline_s / 2)
        except TimeoutError:
            return search.result(self._deadline_s / 2)

    def _failed(self, fault: Exception) -> Findings:
        self._failures += 1
        if self._failures >= self._give_up_after:
            raise EngineFault(
                f"the face detector failed {self._failures} times in a row "
                f"({type(fault).__name__}); run `kveil doctor`"
            ) from None
        return Findings(None, "detector_fault")

    def _look_at(
        self, detector: Detector, frame: Frame, boxes: Sequence[Box]
    ) -> list[tuple[Face, ...]]:
        least = _HARDLY * self._min_score
        with self._clock.measure("detect"):
            return faces_at(detector, frame.picture, boxes, least)

    def _search(
        self, frame: Frame, plan: DetectionPlan, tones: Sequence[Tones]
    ) -> tuple[Face, ...]:
        with self._clock.measure("detect"):
            return detect_picture(self._detector, frame.picture, plan, self._min_score, tones)
