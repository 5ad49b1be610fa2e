"""The order in which the frames of a stream are searched, ahead of the tracker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engines.detectors.tones import SteadyTones, Tones, steady_tones
from engines.types import Frame
from stream.finding.finding import FaceFinder, Findings, Scale, Search
from tracker.schedule import DetectionSchedule, MovingFace

__all__ = ["NEAR_SHARE", "FrameSearch", "SearchInTurn", "Searched", "tones_after"]

NEAR_SHARE = 0.06
"""Faces from this share of the frame's long side are large: they are found at a third less."""


@dataclass(frozen=True, slots=True)
class Searched:
    """A frame and what the detector said of it.

    Attributes:
        frame: the frame.
        thumbnail: 36×64 uint8 luma.
        findings: its faces, as far as it was searched.
    """

    frame: Frame
    thumbnail: NDArray[np.uint8]
    findings: Findings


@dataclass(frozen=True, slots=True)
class _Searching:
    frame: Frame
    thumbnail: NDArray[np.uint8]
    tones: tuple[Tones, ...]
    scale: Scale
    search: Search


class FrameSearch(Protocol):
    """Takes frames and gives them back searched, in order, each once."""

    def push(self, frame: Frame, thumbnail: NDArray[np.uint8]) -> Iterator[Searched]:
        """Takes the next frame.

        Yields:
            What is searched by now.

        Raises:
            EngineFault: the detector is dead.
        """

    def flush(self) -> Iterator[Searched]:
        """Yields the frames still inside; the stream has ended."""

    def close(self) -> None:
        """Ends the workers; idempotent."""


class SearchInTurn:
    """Searches frame after frame, each at the scale that the frames before suggest.

    Args:
        finder: runs the detector.
        schedule: says at which scale each frame is searched.
        moving: the faces tracked at the newest frame.
    """

    def __init__(
        self,
        finder: FaceFinder,
        schedule: DetectionSchedule,
        moving: Callable[[], Sequence[MovingFace]],
    ) -> None:
        self._finder = finder
        self._schedule = schedule
        self._moving = moving
        self._searching: deque[_Searching] = deque()
        self._tones: SteadyTones | None = None

    def push(self, frame: Frame, thumbnail: NDArray[np.uint8]) -> Iterator[Searched]:
        """Begins the frame's search and waits for that of an earlier one."""
        self._tones = tones_after(frame, self._tones)
        tones = self._tones.tones
        scale = self._scale(frame, thumbnail)
        search = self._finder.begin(frame, scale, tones)
        self._searching.append(_Searching(frame, thumbnail, tones, scale, search))
        if len(self._searching) > self._finder.workers:
            yield self._next()

    def flush(self) -> Iterator[Searched]:
        """Waits for the searches under way; the last frame is searched thoroughly."""
        if self._searching and self._searching[-1].scale != "full":
            last = self._searching.pop()
            search = self._finder.begin(last.frame, "full", last.tones)
            self._searching.append(replace(last, scale="full", search=search))
        while self._searching:
            yield self._next()

    def close(self) -> None:
        """Ends the workers."""
        self._finder.close()

    def _scale(self, frame: Frame, thumbnail: NDArray[np.uint8]) -> Scale:
        """Where only large faces are in view, large faces are looked for between full passes."""
        moving = self._moving()
        scale = self._schedule.decide(frame.time_s, thumbnail, moving)
        least_px = NEAR_SHARE * max(frame.picture.height, frame.picture.width)
        if scale == "coarse" and moving and min(face.size_px for face in moving) >= least_px:
            return "near"
        return scale

    def _next(self) -> Searched:
        first = self._searching.popleft()
        findings = self._finder.collect(first.frame, first.search)
        least_px = self._finder.least_px(first.frame, first.scale)
        if findings.failure:
            self._schedule.fail()
        return Searched(first.frame, first.thumbnail, replace(findings, least_px=least_px))


def tones_after(frame: Frame, before: SteadyTones | None) -> SteadyTones:
    """In which tones the next frame is searched; one that is damaged changes nothing."""
    if frame.is_damaged:
        return before or SteadyTones(time_s=frame.time_s)
    return steady_tones(frame.picture, frame.time_s, before)
