"""Sound beside the pictures: decoded to one form, on the stream's time, without gaps at the end.

Whatever a camera sends becomes 48 kHz stereo, so that an output keeps one form while its
source comes, goes and changes. Sound leaves together with the picture of its time: whoever
watches hears what is seen, however long the anonymizer looks ahead.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import av

from stream.live.packet_muxer import SOUND_RATE as RATE

__all__ = [
    "FRAME_BYTES",
    "RATE",
    "Ear",
    "Hear",
    "Sound",
    "SoundDecoder",
    "SoundLine",
    "SoundShelf",
]

FRAME_BYTES: Final = 4
_MOST_WAITING_S: Final = 10.0
_JITTER: Final = RATE // 20
"""Samples by which sound may stand off its place before silence is put in or some is cut."""
_LATE: Final = RATE // 10
"""Samples that sound may come late before silence takes its place."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A stretch of sound.

    Attributes:
        pcm: int16 samples, left and right in turn, native byte order, 48 kHz.
        time_s: of its first sample. From a source: by the clock of the source's frames; on a
            stream: s of its timeline.
    """

    pcm: bytes
    time_s: float

    @property
    def samples(self) -> int:
        """Samples of each channel."""
        return len(self.pcm) // FRAME_BYTES


Hear = Callable[[Sound], None]
"""Takes the sound of a source; must not block."""


class Ear(Protocol):
    """Whoever takes the sound of a stream besides its pictures."""

    def hear(self, sounds: tuple[Sound, ...], until_s: float) -> None:
        """Takes the sound up to the next picture without blocking.

        Args:
            sounds: in order, on the stream's timeline.
            until_s: time of that picture.
        """


class SoundDecoder:
    """Turns decoded audio of any form into `Sound`."""

    def __init__(self) -> None:
        self._resampler: av.AudioResampler | None = None
        self._form: tuple[object, ...] = ()

    def sounds(self, frame: av.AudioFrame) -> Iterator[Sound]:
        """What one frame becomes; nothing where it has no time."""
        form = (frame.format.name, frame.layout.name, frame.sample_rate)
        if self._resampler is None or form != self._form:
            self._resampler = av.AudioResampler(format="s16", layout="stereo", rate=RATE)
            self._form = form
        for made in self._resampler.resample(frame):
            if made.pts is not None and made.time_base and made.samples:
                pcm = bytes(made.planes[0])[: made.samples * FRAME_BYTES]
                yield Sound(pcm, float(made.pts * made.time_base))


class SoundShelf:
    """Where a stream's sound waits for the picture of its time; bounded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Sound] = deque()

    def put(self, sound: Sound) -> None:
        """Keeps a sound; the oldest goes where ten seconds wait."""
        with self._lock:
            self._waiting.append(sound)
            while self._waiting[-1].time_s - self._waiting[0].time_s > _MOST_WAITING_S:
                self._waiting.popleft()

    def take(self, until_s: float) -> tuple[Sound, ...]:
        """Everything that begins before a time, s of the stream's timeline."""
        with self._lock:
            taken = []
            while self._waiting and self._waiting[0].time_s < until_s:
                taken.append(self._waiting.popleft())
            return tuple(taken)


class SoundLine:
    """Lays sounds end to end, in time with the pictures.

    What lacks becomes silence, what overlaps is cut, and a small wandering of the source's
    clock is left alone, as a cut would be heard.

    >>> line = SoundLine()
    >>> second = Sound(bytes(RATE * 4), 2.0)
    >>> [(at, len(pcm) // 4) for pcm, at in line.laid((second,), 3.0)]
    [(96000, 48000)]
    >>> [(at, len(pcm) // 4) for pcm, at in line.laid((), 4.1)]
    [(144000, 48000)]
    """

    def __init__(self) -> None:
        self._next: int | None = None

    def laid(self, sounds: Sequence[Sound], until_s: float) -> Iterator[tuple[bytes, int]]:
        """Stretches and the place of their first sample, without gaps between them.

        Args:
            sounds: in order of time.
            until_s: time of the picture beside; sound that is later than it by a tenth of a
                second is not waited for.
        """
        for sound in sounds:
            yield from self._placed(sound)
        silent_from = round(until_s * RATE) - _LATE
        if self._next is None:
            self._next = silent_from
        yield from self._silence(silent_from)

    def _placed(self, sound: Sound) -> Iterator[tuple[bytes, int]]:
        place = round(sound.time_s * RATE)
        if self._next is None:
            self._next = place
        off = place - self._next
        if off > _JITTER:
            yield from self._silence(place)
        cut = -off if off < -_JITTER else 0
        pcm = sound.pcm[cut * FRAME_BYTES :]
        if pcm:
            yield pcm, self._next
            self._next += len(pcm) // FRAME_BYTES

    def _silence(self, until: int) -> Iterator[tuple[bytes, int]]:
        assert self._next is not None
        while self._next < until:
            samples = min(until - self._next, RATE)
            yield bytes(samples * FRAME_BYTES), self._next
            self._next += samples
