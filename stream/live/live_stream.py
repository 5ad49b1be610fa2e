"""One live stream: reader, anonymizer and outputs, supervised so that the output never dies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from config.service import Live
from engines.blending.compositor import compose_unknown
from engines.errors import EngineFault
from engines.types import Frame
from stream.live.clock import Clock
from stream.live.counters import Counters, Event, Latency
from stream.live.encoder_choice import EncoderOptions, LiveCodec
from stream.live.encoder_stage import EncoderStage, EncoderStages
from stream.live.engine_trouble import EngineTrouble
from stream.live.frame_worker import AnonymizerFactory, Arrival, FrameCover, FrameWorker
from stream.live.output import Outlet, Output, SlateMaker
from stream.live.packet_muxer import TICKS
from stream.live.sink_lane import SinkLane
from stream.live.sound import Hear, Sound, SoundShelf
from stream.live.source_keeper import SourceKeeper, SourceState
from stream.live.timeline import Timeline
from stream.media.ends import Source
from stream.pipeline.mailbox import Mailbox

__all__ = ["LiveStream", "StreamStatus"]

_TICK_S = 0.04
_MOST_HUNG = 3
_LOOK_S = 0.2
OutputState = Literal["live", "slate"]


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """What can be told of a stream at one moment; nothing in it is personal or secret.

    Attributes:
        trouble: what is wrong with the source and the engines; empty if nothing.
        sinks: what is wrong with each output; `ok` if nothing.
        taken: pictures that have certainly arrived at each output; a few late.
        hung_calls: into the engines.
    """

    name: str
    source: SourceState
    output: OutputState
    trouble: str
    fps_in: float
    fps_out: float
    latency: Latency
    counts: dict[Event, int]
    sinks: dict[str, str]
    taken: dict[str, int]
    hung_calls: int


class LiveStream:
    """Wires one source to its outputs and keeps it running until `stop`.

    Args:
        name: of the stream.
        connect: opens the source, which gives its sound to what it is called with, if to any.
        make_anonymizer: makes the anonymizer of an uninterrupted run of frames.
        make_slate: draws slates.
        clock: time.
        bounds: sizes and times; those of the configuration by default.
        counters: of this stream; a fresh one by default.
        repeats: a source that ends (a file) starts over instead of ending the stream.
        has_sound: the sound that `hear` is given goes to the outputs.
        cover: covers a frame in full where the anonymizer fails.
        encoders: of the outputs; ones of the usual options by default.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[Hear | None], Source],
        make_anonymizer: AnonymizerFactory,
        make_slate: SlateMaker,
        clock: Clock,
        bounds: Live | None = None,
        counters: Counters | None = None,
        *,
        repeats: bool = False,
        has_sound: bool = False,
        cover: FrameCover = compose_unknown,
        encoders: EncoderStages | None = None,
    ) -> None:
        self.name = name
        self._shelf = SoundShelf() if has_sound else None
        self.counters = counters or Counters()
        self.bounds = bounds or Live()
        self._make_anonymizer = make_anonymizer
        self._cover = cover
        self._engine_trouble = EngineTrouble(name, clock)
        self._clock = clock
        self._timeline = Timeline(self.bounds.clock_jump_s)
        self._inbox = Mailbox[Arrival](self.bounds.inbox_frames, on_full="drop_oldest")
        self._counted_drops = 0
        self._counted_jumps = 0
        self.output = Output(
            self._timeline,
            make_slate,
            (self.bounds.slate_height, self.bounds.slate_width),
            self.bounds.hold_s,
            self.bounds.slate_fps,
            clock,
            self.counters,
            self._shelf,
        )
        self.encoders = encoders or EncoderStages(
            lambda codec: EncoderStage(name, codec, EncoderOptions(), 8, clock, self.counters)
        )
        self.output.add(self.encoders)
        self._keeper = SourceKeeper(
            partial(connect, self.hear if has_sound else None),
            self._deliver,
            self.bounds,
            clock,
            self.counters,
            stream=name,
            repeats=repeats,
        )
        self._worker = self._new_worker()
        self._hung: list[threading.Thread] = []
        self._lanes: dict[SinkLane, threading.Thread] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._stopping = threading.Event()
        self._has_all = threading.Event()
        self.ended = threading.Event()

    def start(self) -> None:
        """Starts the worker, the reader and the supervisor."""
        self._spawn("worker", self._worker.run)
        self._spawn("reader", self._read)
        self._spawn("supervisor", self._supervise)

    def replace_source(self, connect: Callable[[], Source]) -> None:
        """Takes another source than the one given; before `start` alone."""
        self._keeper.replace_connect(connect)

    def add_lane(self, lane: SinkLane, codec: LiveCodec = "h264") -> None:
        """Adds an output of encoded pictures; it runs until the stream stops."""
        thread = threading.Thread(
            target=lane.run, name=f"{self.name}-sink-{len(self._lanes)}", daemon=True
        )
        self._lanes[lane] = thread
        self.encoders.stage(codec).add(lane)
        if self._shelf is not None:
            self.output.add_ear(lane)
        thread.start()

    def add_outlet(self, outlet: Outlet) -> None:
        """Adds a taker of the finished pictures themselves, such as the previews."""
        self.output.add(outlet)

    def stop(self, timeout_s: float = 5.0) -> list[str]:
        """Ends everything: the supervisor, the source, then what waits, then the outputs.

        Returns:
            Names of the threads that had not left in time; empty is the proof that all have.
        """
        self._stopping.set()  # the supervisor first: it may be replacing a worker
        self._join("supervisor", timeout_s)
        self._keeper.stop()
        self._close_inbox()
        self._join("reader", timeout_s)
        self._join("worker", timeout_s)
        self.output.remove(self.encoders)
        stuck = self.encoders.close(timeout_s)
        for lane in self._lanes:
            self.output.remove_ear(lane)
        for lane, thread in self._lanes.items():
            thread.join(timeout_s)
            if thread.is_alive():
                lane.abort()
                thread.join(1.0)
            if thread.is_alive():
                lane.give_up()
        self.ended.set()
        everyone = [*self._threads.values(), *self._lanes.values(), *self._hung]
        return stuck + [thread.name for thread in everyone if thread.is_alive()]

    def hear(self, sound: Sound) -> None:
        """Takes sound of the source, by the clock of its frames; from any thread."""
        time_s = self._timeline.along(sound.time_s)
        if self._shelf is not None and time_s is not None:
            self._shelf.put(replace(sound, time_s=time_s))

    def status(self) -> StreamStatus:
        """The stream at this moment."""
        fps_in, fps_out = self.counters.rates(self._clock.now())
        return StreamStatus(
            name=self.name,
            source=self._keeper.state,
            output="slate" if self.output.is_on_slate else "live",
            trouble="; ".join(filter(None, (self._keeper.trouble, self._engine_trouble.text))),
            fps_in=round(fps_in, 2),
            fps_out=round(fps_out, 2),
            latency=self.counters.latency(),
            counts=self.counters.counts(),
            sinks={lane.name: lane.trouble or "ok" for lane in self._lanes},
            taken={lane.name: lane.taken for lane in self._lanes},
            hung_calls=sum(thread.is_alive() for thread in self._hung),
        )

    def supervise_once(self) -> None:
        """One round of the supervisor: watchdogs, then a slate if one is due.

        What fails in one of these duties, and however, keeps none of the others from being done.
        """
        for duty in (
            self._keeper.check,
            self._replace_hung_worker,
            self._replace_dead_worker,
            self._replace_hung_encoders,
            self.output.tick,
            self._engine_trouble.check,
            self._count_bounded_losses,
        ):
            try:
                duty()
            except BaseException as error:
                self.counters.add("engine_faults")
                self._engine_trouble.note(error)

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            self.supervise_once()
            self._clock.wait(self._stopping, _TICK_S)

    def _close_inbox(self) -> None:
        self._has_all.set()
        self._inbox.close()

    def _read(self) -> None:
        self._keeper.run()
        self._close_inbox()
        if self._keeper.state == "ended":
            while self._threads["worker"].is_alive():  # a hung one may be replaced meanwhile
                self._join("worker", _LOOK_S)
            self.ended.set()

    def _deliver(self, frame: Frame) -> None:
        now_s = self._clock.now()
        self.counters.arrived(now_s)
        if frame.is_damaged:
            self.counters.add("frames_damaged")
        ticks = self._timeline.place(frame.time_s, now_s)
        placed = replace(frame, pts=ticks, time_base=TICKS, stream=self.name)
        self._inbox.send(Arrival(placed, now_s))

    def _new_worker(self) -> FrameWorker:
        return FrameWorker(
            self._inbox.receiver,
            self._make_anonymizer,
            self.output.put,
            self._clock,
            self.counters,
            cover=self._cover,
            on_fault=self._engine_trouble.note,
        )

    def _replace_hung_worker(self) -> None:
        self._hung = [thread for thread in self._hung if thread.is_alive()]
        if self._worker.busy_s <= self.bounds.hang_s or len(self._hung) >= _MOST_HUNG:
            return
        self.counters.add("engine_hangs")
        self._worker.abandon()
        self._hung.append(self._threads["worker"])
        self._worker = self._new_worker()
        self._spawn("worker", self._worker.run)

    def _replace_dead_worker(self) -> None:
        """A worker ends when its inbox is closed, and not before, unless something killed it."""
        thread = self._threads.get("worker")
        if thread is None or thread.is_alive() or self._has_all.is_set():
            return
        self.counters.add("worker_deaths")
        self._engine_trouble.note(EngineFault("a worker died and was replaced"))
        self._worker.abandon()
        self._worker = self._new_worker()
        self._spawn("worker", self._worker.run)

    def _replace_hung_encoders(self) -> None:
        self.encoders.check(self.bounds.hang_s)

    def _count_bounded_losses(self) -> None:
        dropped, jumps = self._inbox.dropped, self._timeline.jumps
        self.counters.add("dropped_input", dropped - self._counted_drops)
        self.counters.add("clock_jumps", jumps - self._counted_jumps)
        self._counted_drops, self._counted_jumps = dropped, jumps

    def _spawn(self, role: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=f"{self.name}-{role}", daemon=True)
        thread.start()
        self._threads[role] = thread

    def _join(self, role: str, timeout_s: float | None) -> None:
        thread = self._threads.get(role)
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
