"""One encode per codec of a stream, whose pictures go to every output that takes it.

Composites come in, encoded pictures go out, each to a short queue of every taker, so that one
that blocks costs itself pictures up to the next key frame, and the others nothing. Nothing is
encoded while nobody takes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal, Protocol

import structlog

from engines.blending.compositor import Composite
from stream.errors import MailboxClosed
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.encoder_choice import EncoderOptions, LiveCodec
from stream.live.live_encoder import TICKS, EncodedPicture, LiveEncoder, even_size
from stream.live.output import NO_SIGNAL
from stream.pipeline.mailbox import Mailbox

__all__ = ["EncoderStage", "EncoderStages", "Need", "Taker"]

_LOG = structlog.get_logger("kveil.encoder")
_KEY_PAUSE_S: Final = Fraction(1, 2)
"""Least time of the stream between a key frame and one that is asked for."""
_MOST_HUNG: Final = 3
Need = Literal["nothing", "key", "next"]
"""What a taker can use: no picture, none before a key frame, or the next one."""


class Taker(Protocol):
    """Whoever takes the encoded pictures of a stream: a connection, a recording, a viewer."""

    @property
    def need(self) -> Need:
        """What it can use now; asked before each picture, from several threads."""

    @property
    def keeps_size(self) -> bool:
        """Begins anew where the picture's size changes, as a file must."""

    def offer(self, picture: EncodedPicture) -> None:
        """Takes one picture without blocking; leaves out up to a key frame when behind."""

    def end(self) -> None:
        """No more pictures will come; idempotent."""


class EncoderStage:
    """Encodes on a thread of its own while somebody takes what comes out.

    An encoder that fails is replaced by a fresh one, one that hangs together with its thread;
    a hardware encoder by software.

    Args:
        stream: name of the stream, for logs and the thread's name.
        codec: of all takers.
        options: of the encoder.
        is_marked: key frames carry the machine-readable mark; see `LiveEncoder`.
        capacity: most composites waiting; the oldest is dropped when full. More rides out
            slower pictures, fewer holds less delay.
        clock: tells how long an encode lasts.
        counters: gets drops and faults.
    """

    def __init__(
        self,
        stream: str,
        codec: LiveCodec,
        options: EncoderOptions,
        capacity: int,
        clock: Clock,
        counters: Counters,
        *,
        is_marked: bool = False,
    ) -> None:
        self.name = f"{stream}-{codec}"
        self._stream, self._codec, self._is_marked = stream, codec, is_marked
        self._options = options
        self._clock, self._counters = clock, counters
        self._mailbox = Mailbox[Composite](capacity, on_full="drop_oldest")
        self._counted_drops = 0
        self._lock = threading.Lock()
        self._takers: tuple[Taker, ...] = ()
        self._is_key_asked = False
        self._key_s = Fraction(-1)
        self._size = (0, 0)
        self._has_seen_picture = False
        self._hung: list[_Run] = []
        self._run = self._begun()

    @property
    def takers(self) -> tuple[Taker, ...]:
        """Who takes its pictures."""
        return self._takers

    def add(self, taker: Taker) -> None:
        """From now on `taker` gets pictures, the first of them a key frame."""
        with self._lock:
            self._takers = (*self._takers, taker)

    def remove(self, taker: Taker) -> None:
        """`taker` gets no more pictures, and is told so; idempotent."""
        with self._lock:
            self._takers = tuple(one for one in self._takers if one is not taker)
        taker.end()

    def want_key(self) -> None:
        """Somebody lost a picture: a key frame soon, at most two a second; from any thread."""
        self._is_key_asked = True

    def offer(self, composite: Composite) -> None:
        """Queues a composite while somebody takes pictures; drops the oldest when behind."""
        if all(taker.need == "nothing" for taker in self._takers):
            return
        with suppress(MailboxClosed):
            self._mailbox.send(composite)
        fresh = self._mailbox.dropped - self._counted_drops
        self._counted_drops += fresh
        self._counters.add("dropped_output", fresh)

    def check(self, hang_s: float) -> None:
        """Replaces an encoder that has been at one picture for longer than `hang_s`."""
        since_s = self._run.since_s
        is_hung = since_s is not None and self._clock.now() - since_s > hang_s
        if is_hung and len(self._hung) < _MOST_HUNG:
            hung = self._run
            hung.is_replaced = True
            self._hung.append(hung)
            self._distrust(hung.encoder)
            self._run = self._begun()

    def close(self, timeout_s: float = 5.0) -> bool:
        """Encodes what waits and tells every taker that it was the last; false if it hangs."""
        self._mailbox.close()
        self._run.thread.join(timeout_s)
        self._mailbox.cancel()
        for taker in self._takers:
            taker.end()
        return not any(run.thread.is_alive() for run in (self._run, *self._hung))

    def _begun(self) -> _Run:
        run = _Run()
        run.thread = threading.Thread(target=self._work, args=(run,), name=self.name, daemon=True)
        run.thread.start()
        return run

    def _work(self, run: _Run) -> None:
        with suppress(MailboxClosed):
            while not run.is_replaced:
                composite = self._mailbox.receive()
                run.since_s = self._clock.now()
                try:
                    pictures = self._encoded(run, composite)
                except BaseException:  # a fresh encoder takes over, with a key frame
                    pictures, failed, run.encoder = [], run.encoder, None
                    self._distrust(failed)
                run.since_s = None
                if not run.is_replaced:
                    self._spread(pictures)

    def _encoded(self, run: _Run, composite: Composite) -> list[EncodedPicture]:
        encoder = run.encoder = self._encoder_for(run, composite)
        is_new = encoder.choice is None
        if self._is_key_due(composite.pts * composite.time_base):
            self._is_key_asked = False
            encoder.want_key()
        pictures = encoder.encode(composite)
        if is_new and encoder.choice is not None:
            self._size = encoder.size
            reason = encoder.choice.reason
            _LOG.info("encoder_chosen", stream=self._stream, codec=self._codec, reason=reason)
        return pictures

    def _encoder_for(self, run: _Run, composite: Composite) -> LiveEncoder:
        """A fresh one where there is none, or where the size changed and every taker follows.

        A slate before the first picture has a size that nobody knows to be right, so whatever
        began with it begins anew.
        """
        is_kept = any(taker.keeps_size and taker.need != "nothing" for taker in self._takers)
        size = even_size(composite.picture.height, composite.picture.width)
        if is_kept and self._has_seen_picture:
            size = self._size
        self._has_seen_picture |= composite.cause != NO_SIGNAL
        if run.encoder is None or (size != self._size and self._size != (0, 0)):
            return LiveEncoder(self._options, self._codec, is_marked=self._is_marked, size=size)
        return run.encoder

    def _is_key_due(self, time_s: Fraction) -> bool:
        is_wanted = self._is_key_asked or any(taker.need == "key" for taker in self._takers)
        return is_wanted and time_s - self._key_s >= _KEY_PAUSE_S

    def _spread(self, pictures: Sequence[EncodedPicture]) -> None:
        for picture in pictures:
            if picture.is_key:
                self._key_s = picture.pts * TICKS
            for taker in self._takers:
                if taker.need != "nothing":
                    taker.offer(picture)

    def _distrust(self, encoder: LiveEncoder | None) -> None:
        """Counts an encoder that failed or hung; hardware is left alone from then on."""
        self._counters.add("encoder_faults")
        choice = None if encoder is None else encoder.choice
        if choice is not None and choice.is_hardware:
            self._options = replace(self._options, encoder="software")
            _LOG.warning("encoder_lost", stream=self._stream, encoder=choice.name)


@dataclass(slots=True, eq=False)
class _Run:
    """A thread that encodes, and its encoder.

    Attributes:
        since_s: when the present encode began; None between them.
        is_replaced: it hung: nothing that it still makes leaves.
    """

    thread: threading.Thread = field(default_factory=threading.Thread)
    encoder: LiveEncoder | None = None
    since_s: float | None = None
    is_replaced: bool = False


class EncoderStages:
    """The encoders of one stream, each made at its first use; an outlet.

    Args:
        make: makes the encoder of a codec.
    """

    def __init__(self, make: Callable[[LiveCodec], EncoderStage]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._stages: dict[LiveCodec, EncoderStage] = {}

    @property
    def takers(self) -> tuple[Taker, ...]:
        """Who takes pictures of any of them."""
        return tuple(taker for stage in tuple(self._stages.values()) for taker in stage.takers)

    def stage(self, codec: LiveCodec) -> EncoderStage:
        """The encoder of everybody who takes this codec."""
        with self._lock:
            if codec not in self._stages:
                self._stages[codec] = self._make(codec)
            return self._stages[codec]

    def offer(self, composite: Composite) -> None:
        """Queues a composite for each encoder whose pictures somebody takes."""
        for stage in tuple(self._stages.values()):
            stage.offer(composite)

    def check(self, hang_s: float) -> None:
        """Replaces encoders that hang."""
        for stage in tuple(self._stages.values()):
            stage.check(hang_s)

    def close(self, timeout_s: float = 5.0) -> list[str]:
        """Encodes what waits and ends; gives the names of threads that would not leave."""
        return [stage.name for stage in self._stages.values() if not stage.close(timeout_s)]
