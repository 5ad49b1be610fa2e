"""Searches the key frames of a recording, and those between where the keys disagree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import overlaps_of
from engines.detectors.tones import SteadyTones
from engines.types import Box, Face, Frame
from stream.finding.finding import FaceFinder, Findings, Scale, Search
from stream.finding.frame_search import NEAR_SHARE, Searched, tones_after
from stream.finding.sketches import Sketch, is_passing, sketch_of
from tracker.spans import Agreement, KeySchedule, SpanSettings, agreement

__all__ = ["SpanSearch", "frames_held"]

_SAME: Final = 0.5
"""Intersection over union from which clear finds at both ends of a span are one face. Larger: more
frames are searched in which a face that is known moves."""


@dataclass(slots=True)
class _Held:
    frame: Frame
    thumbnail: NDArray[np.uint8]
    sketch: Sketch
    search: Search | None = None
    scale: Scale = "skip"


@dataclass(slots=True)
class _Span:
    """Frames between two keys and the key that ends them."""

    between: list[_Held]
    key: _Held
    is_full: bool
    findings: Findings | None = None
    is_compared: bool = False


def frames_held(workers: int, most_frames: int) -> int:
    """Most frames that a `SpanSearch` holds.

    >>> frames_held(2, 4)
    28
    """
    return (2 * (workers + 1) + 1) * most_frames


class SpanSearch:
    """Looks ahead by key frames; see `tracker.spans`.

    What is searched, and at which scale, depends on the frames and the findings alone, not
    on which search happens to be done first: a resumed run takes the same decisions.

    Args:
        finder: runs the detector, several searches at once.
        schedule: chooses the keys.
    """

    def __init__(self, finder: FaceFinder, schedule: KeySchedule) -> None:
        self._finder = finder
        self._schedule = schedule
        self._depth = finder.workers + 1
        self._open: list[_Held] = []
        self._spans: deque[_Span] = deque()
        self._last: Sequence[Face] | None = None
        self._last_sketch: Sketch | None = None
        self._in_view: list[Face] = []
        self._tones: SteadyTones | None = None

    def push(self, frame: Frame, thumbnail: NDArray[np.uint8]) -> Iterator[Searched]:
        """Takes the next frame; a key begins its search."""
        self._tones = tones_after(frame, self._tones)
        held = _Held(frame, thumbnail, sketch_of(frame.picture, self._tones.tones))
        small_px = self._finder.least_px(frame, "coarse")
        has_small = any(face.size_px < small_px for face in self._in_view)
        choice = self._schedule.decide(frame.time_s, thumbnail, has_small=has_small)
        if self._open and (choice.ends_before or frame.is_damaged):
            yield from self._begin_key(self._open.pop(), is_full=False)
        if choice.is_key or frame.is_damaged:
            yield from self._begin_key(held, is_full=choice.is_full)
        else:
            self._open.append(held)

    def flush(self) -> Iterator[Searched]:
        """The last frame is a key, searched thoroughly; all that is inside comes out."""
        if self._open:
            yield from self._begin_key(self._open.pop(), is_full=True)
        elif self._spans and not self._spans[-1].is_full:
            self._spans[-1].is_full = True
            self._begin(self._spans[-1].key, "full")
        for span in self._spans:
            self._compare(span)
        while self._spans:
            yield from self._released(self._spans.popleft())

    def close(self) -> None:
        """Ends the workers."""
        self._finder.close()

    def _begin_key(self, key: _Held, *, is_full: bool) -> Iterator[Searched]:
        """Makes room, at fixed distances so that decisions do not depend on timing."""
        under_way = self._depth - 1
        for span in list(self._spans)[: max(0, len(self._spans) - under_way)]:
            self._compare(span)
        self._begin(key, self._scale(key.frame, is_full=is_full))
        self._spans.append(_Span(self._open, key, is_full))
        self._open = []
        while len(self._spans) > 2 * self._depth:
            yield from self._released(self._spans.popleft())

    def _begin(self, held: _Held, scale: Scale) -> None:
        held.scale, held.search = scale, self._finder.begin(held.frame, scale, held.sketch.tones)

    def _collected(self, held: _Held) -> Findings:
        assert held.search is not None
        findings = self._finder.collect(held.frame, held.search)
        return replace(findings, least_px=self._finder.least_px(held.frame, held.scale))

    def _scale(self, frame: Frame, *, is_full: bool) -> Scale:
        if is_full:
            return "full"
        least_px = NEAR_SHARE * max(frame.picture.height, frame.picture.width)
        sizes = [face.size_px for face in self._in_view]
        return "near" if sizes and min(sizes) >= least_px else "coarse"

    def _compare(self, span: _Span) -> None:
        """Waits for a key and begins the searches that its span turns out to need."""
        if span.is_compared:
            return
        span.is_compared = True
        span.findings = self._collected(span.key)
        if span.findings.failure:
            self._schedule.fail()
        faces = span.findings.faces
        before = self._last or ()
        verdict = agreement(
            self._last,
            faces,
            self._schedule.settings,
            least_px=self._finder.least_px(span.key.frame, "coarse"),
        )
        known = _known_places(before, faces or (), self._schedule.settings, span.key.frame)
        for held, scale in zip(span.between, self._scales(span, verdict, known), strict=True):
            self._begin(held, scale)
        self._last, self._last_sketch = faces, span.key.sketch
        if span.is_full or faces is None:
            self._in_view = []
        self._in_view += faces or ()

    def _scales(self, span: _Span, verdict: Agreement, known: Sequence[Box]) -> list[Scale]:
        """A change is looked at thoroughly once, since it may be more than was seen of it."""
        if verdict == "changed":
            scales: list[Scale] = ["coarse" for _ in span.between]
        else:
            usual = self._scale(span.key.frame, is_full=False)
            scales = [usual if passes else "skip" for passes in self._passings(span, known)]
        if scales and verdict != "same":
            scales[len(scales) // 2] = "full" if verdict == "changed" else "coarse"
        return scales

    def _passings(self, span: _Span, known: Sequence[Box]) -> list[bool]:
        """Whether each frame between shows what neither end does."""
        before, after = self._last_sketch, span.key.sketch
        if before is None:
            return [True] * len(span.between)
        least = self._schedule.settings.passing_change
        return [is_passing(held.sketch, before, after, least, known) for held in span.between]

    def _released(self, span: _Span) -> Iterator[Searched]:
        self._compare(span)
        assert span.findings is not None
        for held in span.between:
            yield Searched(held.frame, held.thumbnail, self._collected(held))
        yield Searched(span.key.frame, span.key.thumbnail, span.findings)


def _known_places(
    before: Sequence[Face], after: Sequence[Face], settings: SpanSettings, frame: Frame
) -> list[Box]:
    """What both ends show of a face that is clearly seen in each: it is covered in between.

    Returns:
        (4,) x0 y0 x1 y1 each, as shares of the frame's width and height.
    """
    clear = [
        np.array(
            [one.box_px for one in end if one.score >= settings.clear_score], np.float32
        ).reshape(-1, 4)
        for end in (before, after)
    ]
    pairs = np.argwhere(overlaps_of(*clear) >= _SAME)
    size = np.array([frame.picture.width, frame.picture.height] * 2, np.float32)
    shared = [
        np.concatenate([np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])])
        for one, other in ((clear[0][i], clear[1][j]) for i, j in pairs)
    ]
    return [np.asarray(one / size, np.float32) for one in shared]
