"""Stand-ins for cameras, engines and outputs, with a clock that tests turn by hand."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from engines.blending.compositor import Composite, compose, compose_slate, compose_unknown
from engines.pictures import picture_from_bgr
from engines.types import Frame
from stream.live.encoder_choice import EncoderOptions, LiveCodec
from stream.live.encoder_stage import Need
from stream.live.errors import SourceLost
from stream.live.live_encoder import EncodedPicture, LiveEncoder
from stream.live.sink_lane import PictureSink
from stream.live.sound import Sound
from stream.media.ends import StreamShape

TICKS = Fraction(1, 90_000)


class FakeClock:
    """Stands still until turned; a wait turns it by the whole timeout."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []
        self.on_wait: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.seconds

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        self.seconds += timeout_s
        self.on_wait()
        return event.is_set()


def frame_at(time_s: float, index: int = 0, height: int = 8, width: int = 12) -> Frame:
    """A bright frame, so that an original pixel is told from a cover."""
    bgr = np.full((height, width, 3), 250, np.uint8)
    return Frame(picture_from_bgr(bgr), round(time_s * 1000), Fraction(1, 1000), index)


class ScriptedSource:
    """Yields frames at the times given, then ends or fails."""

    def __init__(
        self,
        clock: FakeClock,
        times_s: Sequence[float],
        *,
        step_s: float = 0.1,
        then: Exception | None = None,
    ) -> None:
        self._clock = clock
        self._times_s = times_s
        self._step_s = step_s
        self._then = then
        self.is_closed = False

    @property
    def shape(self) -> StreamShape:
        return StreamShape(8, 12, Fraction(10), Fraction(1, 1000), None)

    def frames(self) -> Iterator[Frame]:
        for index, time_s in enumerate(self._times_s):
            if self.is_closed:
                return
            self._clock.seconds += self._step_s
            yield frame_at(time_s, index)
        if self._then is not None:
            raise self._then

    def close(self) -> None:
        self.is_closed = True


class LookAhead:
    """Holds frames back like the real one, and shows every frame as it came.

    Tests tell an original from a cover by brightness, so this stand-in lets pixels through.
    """

    def __init__(self, frames: int = 2, fail_at: int | None = None) -> None:
        self._frames = frames
        self._fail_at = fail_at
        self._waiting: deque[Frame] = deque()
        self.indices: list[int] = []
        self.is_closed = False

    def push(self, frame: Frame) -> Sequence[Composite]:
        self.indices.append(frame.index)
        if frame.index == self._fail_at:
            raise RuntimeError("the engine broke")
        self._waiting.append(frame)
        if len(self._waiting) <= self._frames:
            return ()
        return (compose(self._waiting.popleft(), (), {}),)

    def flush(self) -> Sequence[Composite]:
        done = [compose(frame, (), {}) for frame in self._waiting]
        self._waiting.clear()
        return done

    def close(self) -> None:
        self.is_closed = True


class Collector:
    """An outlet that keeps what it is offered."""

    def __init__(self) -> None:
        self.taken: list[Composite] = []

    def offer(self, composite: Composite) -> None:
        self.taken.append(composite)


class FakeSink:
    """A sink that keeps pictures, or fails."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.written: list[EncodedPicture] = []
        self.sounds: list[tuple[Sequence[Sound], float]] = []
        self.fail_after = fail_after
        self.failures = 0
        self.is_finished = False
        self.is_aborted = False

    def write(self, picture: EncodedPicture) -> None:
        if self.fail_after is not None and len(self.written) >= self.fail_after:
            self.failures += 1
            raise ConnectionResetError("rtsp://user:secret@host/path went away")
        self.written.append(picture)

    def write_sound(self, sounds: Sequence[Sound], until_s: float) -> None:
        self.sounds.append((sounds, until_s))

    def finish(self) -> None:
        self.is_finished = True

    def abort(self) -> None:
        self.is_aborted = True


class Taking:
    """A taker that keeps what it is offered."""

    def __init__(self, begins: Need = "key", *, keeps_size: bool = True) -> None:
        self.need: Need = begins
        self.keeps_size = keeps_size
        self.taken: list[EncodedPicture] = []
        self.is_ended = False

    def offer(self, picture: EncodedPicture) -> None:
        if picture.is_key:
            self.need = "next"
        if self.need == "next":
            self.taken.append(picture)

    def end(self) -> None:
        self.is_ended = True


class Encoding:
    """Encodes composites for a sink alone."""

    def __init__(
        self,
        sink: PictureSink,
        options: EncoderOptions | None = None,
        codec: LiveCodec = "h264",
        *,
        is_marked: bool = False,
    ) -> None:
        self._sink = sink
        self._encoder = LiveEncoder(options or EncoderOptions(), codec, is_marked=is_marked)

    def write(self, composite: Composite) -> None:
        for picture in self._encoder.encode(composite):
            self._sink.write(picture)


def encoded(number: int, is_key: bool = False) -> EncodedPicture:
    """A picture that only looks like one, a twenty-fifth of a second after the one before."""
    return EncodedPicture(b"x", number * 3600, is_key)


def slate(height: int, width: int, ticks: int) -> Composite:
    return compose_slate(height, width, pts=ticks, time_base=TICKS, index=0, cause="no signal")


def composite_at(ticks: int, height: int = 8, width: int = 12) -> Composite:
    bgr = np.full((height, width, 3), 250, np.uint8)
    frame = Frame(picture_from_bgr(bgr), ticks, TICKS, 0)
    return compose_unknown(frame, "test")


def lost(text: str = "the camera is gone") -> SourceLost:
    return SourceLost(text)
