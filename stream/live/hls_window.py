"""The newest segments and parts of a low-latency HLS stream (RFC 8216bis), and its playlist."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from stream.live.packet_muxer import TICKS
from stream.live.part_cutter import Fragment

__all__ = ["HlsWindow"]

_COMPLETE_SEGMENTS: Final = 8
_SEGMENTS_WITH_PARTS: Final = 4
_EPSILON_S: Final = 1e-3
_HOLD_BACK_PARTS: Final = 3


@dataclass(slots=True)
class _Part:
    is_independent: bool
    data: bytes = b""
    duration_s: float = 0.0


@dataclass(slots=True)
class _Segment:
    number: int
    began: datetime
    parts: list[_Part] = field(default_factory=list)
    open_part: _Part | None = None

    @property
    def duration_s(self) -> float:
        return sum(part.duration_s for part in self.parts)


class HlsWindow:
    """Keeps the last segments in memory; safe to use from several threads.

    Args:
        keyframe_s: spacing of key frames; each begins a segment.
        part_s: longest part; shorter lets players follow more closely, at more requests.
        wall: present time, for the playlist's dates.
    """

    def __init__(
        self,
        keyframe_s: float,
        part_s: float,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.part_s = part_s
        self.initial = b""
        self._target_s = math.ceil(keyframe_s) + 1
        self._least_s = keyframe_s / 2
        self._wall = wall
        self._lock = threading.Lock()
        self._segments: deque[_Segment] = deque(maxlen=_COMPLETE_SEGMENTS + 1)
        self._next_number = 0

    def add(self, fragment: Fragment) -> bool:
        """Takes the next fragment; whether a part or a segment became complete."""
        duration_s = float(fragment.duration * TICKS)
        with self._lock:
            is_fresh = self._begin_segment() if self._is_cut(fragment) else False
            if not self._segments:
                return False
            segment = self._segments[-1]
            if segment.open_part is None:
                segment.open_part = _Part(fragment.is_key)
            part = segment.open_part
            part.data += fragment.data
            part.duration_s += duration_s
            if part.duration_s + duration_s <= self.part_s + _EPSILON_S:
                return is_fresh
            _close_part(segment)
            return True

    def _is_cut(self, fragment: Fragment) -> bool:
        """Whether a segment begins here: not where key frames come early, asked for by others."""
        if not fragment.is_key or not self._segments:
            return fragment.is_key
        newest = self._segments[-1]
        lasted_s = newest.duration_s + (newest.open_part.duration_s if newest.open_part else 0.0)
        return lasted_s >= self._least_s

    def clear(self) -> None:
        """Forgets everything; numbers go on, so that no player takes new parts for old ones."""
        with self._lock:
            self._segments.clear()
            self.initial = b""

    def has(self, segment: int, part: int | None) -> bool:
        """Whether a segment, or a part of it, is complete; also where it has left again."""
        with self._lock:
            if not self._segments:
                return False
            newest = self._segments[-1]
            if segment != newest.number:
                return segment < newest.number
            return part is not None and part < len(newest.parts)

    def is_far_ahead(self, segment: int) -> bool:
        """Whether a segment is none that a player could be waiting for yet."""
        with self._lock:
            return segment > self._next_number + 1

    def segment(self, number: int) -> bytes | None:
        """A complete segment; None where it is not there."""
        with self._lock:
            for one in list(self._segments)[:-1]:
                if one.number == number:
                    return b"".join(part.data for part in one.parts)
        return None

    def part(self, number: int, place: int) -> bytes | None:
        """A complete part; None where it is not there."""
        with self._lock:
            for one in self._segments:
                if one.number == number and place < len(one.parts):
                    return one.parts[place].data
        return None

    def playlist(self) -> str:
        """The playlist as it is now; empty before the first complete segment."""
        with self._lock:
            segments = list(self._segments)
            if len(segments) < 2:
                return ""
            newest = segments[-1]
            lines = self._head(segments[0].number)
            for one in segments:
                has_parts = newest.number - one.number < _SEGMENTS_WITH_PARTS
                lines += _told(one, has_parts=has_parts, is_complete=one is not newest)
            hint = f"{newest.number}.{len(newest.parts)}.m4s"
            lines.append(f'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="{hint}"')
            return "\n".join(lines) + "\n"

    def _head(self, first: int) -> list[str]:
        hold_back_s = _HOLD_BACK_PARTS * self.part_s
        return [
            "#EXTM3U",
            "#EXT-X-VERSION:9",
            f"#EXT-X-TARGETDURATION:{self._target_s}",
            f"#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK={hold_back_s:.3f}",
            f"#EXT-X-PART-INF:PART-TARGET={self.part_s:.3f}",
            f"#EXT-X-MEDIA-SEQUENCE:{first}",
            '#EXT-X-MAP:URI="init.mp4"',
        ]

    def _begin_segment(self) -> bool:
        """Begins a segment; whether another became complete by it."""
        is_fresh = bool(self._segments)
        if is_fresh:
            _close_part(self._segments[-1])
        self._segments.append(_Segment(self._next_number, self._wall()))
        self._next_number += 1
        return is_fresh


def _close_part(segment: _Segment) -> None:
    part, segment.open_part = segment.open_part, None
    if part is not None:
        segment.parts.append(part)


def _told(segment: _Segment, *, has_parts: bool, is_complete: bool) -> list[str]:
    """The lines of one segment."""
    if not segment.parts:
        return []
    began = segment.began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lines = [f"#EXT-X-PROGRAM-DATE-TIME:{began}"]
    for place, part in enumerate(segment.parts if has_parts else ()):
        text = f'#EXT-X-PART:DURATION={part.duration_s:.5f},URI="{segment.number}.{place}.m4s"'
        lines.append(text + (",INDEPENDENT=YES" if part.is_independent else ""))
    if is_complete:
        lines += [f"#EXTINF:{segment.duration_s:.5f},", f"{segment.number}.m4s"]
    return lines
