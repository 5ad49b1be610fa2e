"""From packets to frames, through damage: no frame of the container's is lost on the way.

What the decoder had to guess is flagged; what it lost altogether leaves a place under its
own timestamp. Without that, a damaged second would shorten the recording by a second. Only what
is lost before the first frame leaves none, but is counted.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, Literal, NamedTuple, cast

import av
from av.codec.context import CodecContext
from av.container import Flags, InputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from stream.media.reading.decoder_bounds import decoder_bound
from stream.media.reading.field_pairs import FieldPairs

__all__ = ["Decoded", "Decoding"]

_MOST_READ_ERRORS: Final = 100
_DISTRUST_FRAMES: Final = 300
_REORDER_PACKETS: Final = 32
_MOST_JOINTS: Final = 64
"""Places remembered at which a clock was set back; frames wait behind far fewer."""
# Codings in which every packet shows a picture, so that a missing one is a lost one even
# where the decoder is silent about it. Others have hidden or empty packets.
_ONE_FOR_ONE: Final = frozenset({"h264", "hevc"})
# Codings whose decoder tells key frames by what is coded, where containers may be wrong, and which
# number no pictures, so that it does not miss a lost one.
_TELLING_KEYS: Final = frozenset(
    (
        *("mpeg1video", "mpeg2video", "mpeg4", "h263", "flv1", "msmpeg4v1", "msmpeg4v2"),
        *("msmpeg4v3", "wmv1", "wmv2", "theora", "vp8", "vp9", "av1"),
    )
)
# Codings whose display order the demuxer does not know: where it fills in times by itself, it
# numbers pictures as they are coded.
_UNTIMED: Final = frozenset({"h264", "hevc", "vvc"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoder's frame, or the place of one that it lost.

    Attributes:
        image: the decoder's frame, None where it was lost.
        pts: in units of the track's time base; None where the container gives none.
        is_damaged: lost, concealed, or predicted from something that was.
        duration: for how long it is shown, likewise; 0 where the container does not tell.
    """

    image: av.VideoFrame | None
    pts: int | None
    is_damaged: bool
    duration: int = 0


class _Joint(NamedTuple):
    """A place where a recording's clock was set back, as where files were joined end to end.

    Attributes:
        key: times from here on, as the decoder is told them, are behind the joint.
        shift: what they are more than the container's, ticks.
    """

    key: int
    shift: int


class _Due(NamedTuple):
    """A picture that the decoder owes.

    Attributes:
        key: the packet's pts, growing across joints; its number in coding order where the
            container gives none.
        is_second_field: shown within the frame of the packet before.
    """

    key: int
    is_second_field: bool = False


@dataclass(slots=True)
class Decoding:
    """The loop from packets to frames that outlives damage.

    Attributes:
        container: the open file.
        stream: its video track.
        max_pixels: larger pictures are refused.
        packets: coded pictures read so far.
        read_errors: stretches of the file that could not be read.
        lost_at_start: frames that were lost before the first that could be decoded.
        absent: frames that are not in the file, though others were coded from them.
    """

    container: InputContainer
    stream: VideoStream
    max_pixels: int
    read_errors: int = 0
    lost_at_start: int = 0
    absent: int = 0
    packets: int = 0
    _begins_amid: bool = False
    _is_start_hidden: bool = False
    _behind_gaps: set[int] = field(default_factory=set)
    _joints: deque[_Joint] = field(default_factory=lambda: deque([_Joint(0, 0)], _MOST_JOINTS))
    _latest: int | None = None
    _lost: int = 0
    _distrust: int = 0
    _sent: int = 0
    _frames_sent: int = 0
    _last_step: int | None = None
    _pending: list[_Due] = field(default_factory=list)
    _given_up: deque[int] = field(default_factory=lambda: deque(maxlen=_DISTRUST_FRAMES))
    _timing: Literal["pts", "order", "dts", "none"] = "pts"
    _times: deque[int | None] = field(default_factory=deque)
    _first_due: _Due | None = None
    _has_begun: bool = False
    _pairs: FieldPairs | None = None

    @property
    def is_silent_on_gaps(self) -> bool:
        """Whether the decoder goes on behind a packet that is not there as if it had never been."""
        return self._coding in _TELLING_KEYS

    def frames(self) -> Iterator[Decoded]:
        """Decoded frames and the places of lost ones, in presentation order."""
        self._set_up()
        packets = self._packets()
        first = list(islice(packets, _REORDER_PACKETS)) if self._may_reorder else []
        if self._tells_coding_times(first):
            self._timing = "order"
        for packet in chain(first, packets):
            self._register(packet)
            try:
                images = self._images(packet)
            except (av.FFmpegError, ValueError) as error:
                if not isinstance(error, av.error.EOFError):
                    self._lost += 1
                continue
            for image in images:
                if image.pts in self._given_up:
                    continue
                yield from self._before(image)
                has_gap = self._has_gap(image)
                if has_gap:
                    self._distrust = _DISTRUST_FRAMES
                yield self._judged(image)
                if has_gap:
                    # A key frame may come before what was swallowed.
                    self._distrust = _DISTRUST_FRAMES
        yield from self._missing(len(self._pending))

    def _images(self, packet: Packet[VideoStream]) -> list[av.VideoFrame]:
        """What a packet gives; a decoder that errors have filled up is emptied first."""
        try:
            return packet.decode()
        except av.error.BlockingIOError:
            self._distrust = _DISTRUST_FRAMES
            self.stream.codec_context.flush_buffers()
            return packet.decode()

    def _set_up(self) -> None:
        context = self.stream.codec_context
        context.thread_type = "AUTO"
        context.options = decoder_bound(self.max_pixels) | {"flags": "+output_corrupt"}
        if self._coding in _UNTIMED:
            self.container.flags &= ~cast("int", Flags.gen_pts.value)
        if self._coding == "h264":
            self._pairs = FieldPairs.of(context.extradata)

    @property
    def _may_reorder(self) -> bool:
        return bool(self.stream.codec_context.has_b_frames)

    def _tells_coding_times(self, first: list[Packet[VideoStream]]) -> bool:
        """Whether times grow from packet to packet, though pictures are shown in another order.

        Some muxers write the times of coding alone, as if they were those of display.
        """
        times = [packet.pts for packet in first if packet.size]
        if not times or None in times or times != sorted(times, key=lambda at: at or 0):
            return False
        context = self.stream.codec_context
        decoder = CodecContext.create(context.codec.name, "r")
        assert isinstance(decoder, VideoCodecContext)
        decoder.extradata = context.extradata
        decoder.options = decoder_bound(self.max_pixels)
        shown: list[int] = []
        for packet in first:
            try:
                shown += [image.pts or 0 for image in decoder.decode(packet)]
            except (av.FFmpegError, ValueError):
                continue
        return shown != sorted(shown)

    @property
    def _coding(self) -> str:
        return self.stream.codec_context.codec.canonical_name

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
        if self.packets == 1:
            # What follows was coded from what is not there; decoders show it over plain grey.
            is_apart = self.stream.codec_context.codec.intra_only
            self._begins_amid = not (packet.is_keyframe or is_apart)
            self._is_start_hidden = packet.is_discard
        is_second = self._pairs is not None and self._pairs.is_second(
            bytes(packet), is_key=packet.is_keyframe
        )
        if packet.is_discard:
            return
        if self._sent == 0 and packet.pts is None:
            self._timing = "none" if packet.dts is None else "dts"
        if self._timing in ("order", "dts") and not is_second:
            self._times.append(packet.pts if self._timing == "order" else packet.dts)
        if self._timing != "pts":
            packet.pts = self._sent
        else:
            self._shift_times(packet, may_begin=packet.is_keyframe and not is_second)
        self._frames_sent += not is_second
        if self._timing != "pts":
            packet.dts = self._frames_sent
        self._sent += 1
        if packet.is_corrupt:
            self._distrust = _DISTRUST_FRAMES
        self._note_gap(packet)
        if packet.pts is not None:
            due = _Due(packet.pts, is_second)
            self._first_due = self._first_due or due
            bisect.insort(self._pending, due)

    def _shift_times(self, packet: Packet[VideoStream], *, may_begin: bool) -> None:
        """Lets times grow across joints: nothing coded before a key frame is shown after it."""
        if packet.pts is None:
            return
        if may_begin and self._latest is not None and packet.pts + self._shift <= self._latest:
            start = packet.pts if packet.dts is None else min(packet.pts, packet.dts)
            self._joints.append(_Joint(self._latest + 1, self._latest + 1 - start))
        packet.pts += self._shift
        if packet.dts is not None:
            packet.dts += self._shift
        self._latest = packet.pts if self._latest is None else max(self._latest, packet.pts)

    @property
    def _shift(self) -> int:
        return self._joints[-1].shift

    def _note_gap(self, packet: Packet[VideoStream]) -> None:
        """Remembers a picture before which others are missing, which were coded before it."""
        if self._pairs is None or not self._pairs.absent:
            return
        self.absent += self._pairs.absent
        if packet.pts is not None:
            self._behind_gaps.add(packet.pts)
            if len(self._behind_gaps) > _DISTRUST_FRAMES:
                self._behind_gaps.remove(min(self._behind_gaps))

    def _before(self, image: av.VideoFrame) -> Iterator[Decoded]:
        """Places of frames that were due before this one and were lost to an error."""
        is_start = not (self._has_begun or self._is_start_hidden)
        if is_start and self._coding in _TELLING_KEYS and not image.key_frame:
            self._begins_amid = True
        if image.pts is not None:
            if not self._has_begun:
                self._begin(image.pts)
            # Nothing coded before a key frame is shown after it.
            is_border = self._timing == "pts" or image.key_frame
            border = image.pts if is_border else image.pts - _REORDER_PACKETS
            yield from self._missing(self._due_before(border))
            at = self._due_before(image.pts)
            if at < len(self._pending) and self._pending[at].key == image.pts:
                del self._pending[at]
        self._has_begun = True

    def _has_gap(self, image: av.VideoFrame) -> bool:
        """Whether the decoder swallowed a picture without a word, before it is overdue.

        For each coded picture H.264's decoder gives one, however late.
        """
        if self._timing == "pts" or self._coding != "h264" or image.dts is None:
            return False
        before, self._last_step = self._last_step, image.dts
        return before is not None and image.dts - before > 1

    def _due_before(self, key: int) -> int:
        return bisect.bisect_left(self._pending, _Due(key))

    def _begin(self, key: int) -> None:
        """Drops, and counts where they were lost, frames that precede the first decoded one.

        Pictures that refer to what lies before the file's start are left out by every decoder
        and without a word; they are not lost.
        """
        early = self._pending[: self._due_before(key)]
        is_told = self._coding in _ONE_FOR_ONE or self._begins_amid
        is_first_lost = self._first_due in early and is_told
        lost = early if is_first_lost and self._timing == "pts" else early[: self._lost]
        # Of packets without pts, some may only be shown later.
        del self._pending[: len(early if self._timing == "pts" else lost)]
        if not lost:
            return
        self.lost_at_start = sum(not due.is_second_field for due in lost)
        for _ in range(min(self.lost_at_start, len(self._times))):
            self._times.popleft()
        self._lost = max(0, self._lost - len(lost))
        self._distrust = _DISTRUST_FRAMES

    def _missing(self, count: int) -> Iterator[Decoded]:
        """Places of the lost ones among the first that are due."""
        overdue, self._pending = self._pending[:count], self._pending[count:]
        if not self._has_begun:
            return
        frames = [due.key for due in overdue if not due.is_second_field]
        is_one_for_one = self._coding in _ONE_FOR_ONE
        lost = frames if is_one_for_one else frames[: self._lost]
        if lost or (overdue and self._lost):
            self._distrust = _DISTRUST_FRAMES
        self._lost = max(0, self._lost - len(overdue))
        for key in lost:
            self._given_up.append(key)
            yield Decoded(None, self._time_of(key), is_damaged=True)
        for key in frames[len(lost) :]:
            self._time_of(key)

    def _judged(self, image: av.VideoFrame) -> Decoded:
        """After damage nothing is trusted up to the next key frame, within a bound."""
        is_behind_gap = image.pts in self._behind_gaps
        if is_behind_gap and image.pts is not None:
            self._behind_gaps.remove(image.pts)
        if image.key_frame and not image.is_corrupt and not self._lost:
            self._distrust = 0
        elif image.is_corrupt or self._lost or is_behind_gap or self._begins_amid:
            self._distrust = _DISTRUST_FRAMES
        self._begins_amid = False
        is_damaged = self._distrust > 0
        self._distrust = max(0, self._distrust - 1)
        # Of a picture coded by fields it is that of one field, of one without a time a guess.
        is_told = self._timing == "pts" and not image.interlaced_frame
        duration = image.duration if is_told else 0
        return Decoded(image, self._time_of(image.pts), is_damaged, duration or 0)

    def _time_of(self, key: int | None) -> int | None:
        """When the next frame in display order is shown.

        Where the container tells coding times alone, they are those of display, too, taken in
        their own order: one for each frame, the earliest first.
        """
        if self._timing in ("order", "dts"):
            return self._times.popleft() if self._times else None
        if self._timing == "none" or key is None:
            return None
        behind = [joint.shift for joint in self._joints if joint.key <= key]
        return key - (behind or [0])[-1]
