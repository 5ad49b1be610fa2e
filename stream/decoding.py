"""From packets to frames, through damage: no frame of the container's is lost on the way.

What the decoder had to guess is flagged; what it lost altogether leaves a place under its
own timestamp. Without that, a damaged second would shorten the recording by a second.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

__all__ = ["Decoded", "Decoding"]

_MOST_READ_ERRORS: Final = 100
_DISTRUST_FRAMES: Final = 300
_REORDER_PACKETS: Final = 32
# Codings in which every packet shows a picture, so that a missing one is a lost one even
# where the decoder is silent about it. Others have hidden or empty packets.
_ONE_FOR_ONE: Final = frozenset({"h264", "hevc"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoder's frame, or the place of one that it lost.

    Attributes:
        image: the decoder's frame, None where it was lost.
        pts: in units of the track's time base; None where the container gives none.
        is_damaged: lost, concealed, or predicted from something that was.
    """

    image: av.VideoFrame | None
    pts: int | None
    is_damaged: bool


@dataclass(slots=True)
class Decoding:
    """The loop from packets to frames that outlives damage.

    Attributes:
        container: the open file.
        stream: its video track.
        max_pixels: larger pictures are refused.
        packets: coded pictures read so far.
        read_errors: stretches of the file that could not be read.
    """

    container: InputContainer
    stream: VideoStream
    max_pixels: int
    read_errors: int = 0
    _lost: int = 0
    _distrust: int = 0
    packets: int = 0
    _sent: int = 0
    _pending: list[int] = field(default_factory=list)
    _given_up: deque[int] = field(default_factory=lambda: deque(maxlen=_DISTRUST_FRAMES))
    _has_pts: bool = True
    _has_begun: bool = False

    def frames(self) -> Iterator[Decoded]:
        """Decoded frames and the places of lost ones, in presentation order."""
        context = self.stream.codec_context
        context.thread_type = "AUTO"
        context.options = {"max_pixels": str(self.max_pixels), "flags": "+output_corrupt"}
        for packet in self._packets():
            self._register(packet)
            try:
                images = packet.decode()
            except (av.FFmpegError, ValueError) as error:
                if not isinstance(error, av.error.EOFError):
                    self._lost += 1
                continue
            for image in images:
                if image.pts in self._given_up:
                    continue
                yield from self._before(image)
                self._has_begun = True
                yield self._judged(image)
        yield from self._missing(len(self._pending))

    def _packets(self) -> Iterator[Packet[VideoStream]]:
        """Packets of the track; after a read error goes on behind it."""
        while True:
            try:
                yield from self.container.demux(self.stream)
            except (av.FFmpegError, ValueError) as error:
                if isinstance(error, av.error.EOFError):
                    return
                self.read_errors += 1
                self._lost += 1
                if self.read_errors >= _MOST_READ_ERRORS:
                    return
            else:
                return

    def _register(self, packet: Packet[VideoStream]) -> None:
        """Remembers that a frame is due, under its pts or, without one, its number."""
        if packet.size == 0:
            return
        self.packets += 1
        if packet.is_discard:
            return
        if self._sent == 0:
            self._has_pts = packet.pts is not None
        if not self._has_pts:
            packet.pts = self._sent
        self._sent += 1
        if packet.is_corrupt:
            self._distrust = _DISTRUST_FRAMES
        if packet.pts is not None:
            bisect.insort(self._pending, packet.pts)

    def _before(self, image: av.VideoFrame) -> Iterator[Decoded]:
        """Places of frames that were due before this one and were lost to an error."""
        if image.pts is None:
            return
        border = image.pts if self._has_pts else image.pts - _REORDER_PACKETS
        yield from self._missing(bisect.bisect_left(self._pending, border))
        at = bisect.bisect_left(self._pending, image.pts)
        if at < len(self._pending) and self._pending[at] == image.pts:
            del self._pending[at]

    def _missing(self, count: int) -> Iterator[Decoded]:
        overdue, self._pending = self._pending[:count], self._pending[count:]
        if not self._has_begun:
            # Pictures that refer to what lies before the file's start are left out by every
            # decoder; they are not lost.
            return
        is_one_for_one = self.stream.codec_context.codec.canonical_name in _ONE_FOR_ONE
        lost = overdue if is_one_for_one else overdue[: self._lost]
        self._lost = max(0, self._lost - len(overdue))
        if lost:
            self._distrust = _DISTRUST_FRAMES
        for pts in lost:
            self._given_up.append(pts)
            yield Decoded(None, pts if self._has_pts else None, is_damaged=True)

    def _judged(self, image: av.VideoFrame) -> Decoded:
        """After damage nothing is trusted up to the next key frame, within a bound."""
        if image.key_frame and not image.is_corrupt and not self._lost:
            self._distrust = 0
        elif image.is_corrupt or self._lost:
            self._distrust = _DISTRUST_FRAMES
        is_damaged = self._distrust > 0
        self._distrust = max(0, self._distrust - 1)
        return Decoded(image, image.pts if self._has_pts else None, is_damaged)
