"""Puts a stream together from its entry in the configuration, and takes it apart again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from config.service import Live, ServiceSettings, StreamSpec
from config.settings import Settings
from engines.blending.compositor import Composite, compose_slate
from engines.blending.marking import MarkStyle, mark
from stream.errors import InputUnreadable, UsageRefused
from stream.live.address import Address, Gate, address_from_text
from stream.live.backoff import Backoff
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.encoder_choice import EncoderOptions
from stream.live.encoder_stage import EncoderStage, EncoderStages
from stream.live.live_anonymizer import LiveAnonymizers
from stream.live.live_stream import LiveStream
from stream.live.network_source import LIVE_MAX_PIXELS, NetworkSource, SourceOptions
from stream.live.output import NO_SIGNAL
from stream.live.packet_muxer import TICKS
from stream.live.publishing import SinkCodec, codec_for, network_sink
from stream.live.recording import RecordingSink, recording_folder
from stream.live.running_stream import RunningStream
from stream.live.sink_lane import PictureSink, SinkLane
from stream.live.sound import Hear
from stream.live.whip import WhipEntrance
from stream.media.ends import Source
from stream.media.reading.inputs import is_pipe_or_device
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.methods import method_warning
from stream.pipeline.replacement import CoverEveryFace, FaceReplacer

__all__ = ["RECORDING", "Assembly", "ReplacerMaker", "check_file_source"]

RECORDING: Final = "recording"
"""Name of the output that writes recordings."""

ReplacerMaker = Callable[[Settings, str], FaceReplacer]
"""Makes the surrogates' side for the settings and the name of a stream."""
_Connect = Callable[[Hear | None], Source]
"""Opens a source that gives its sound to whoever is named."""
_LOG = structlog.get_logger("kveil.assembly")
_WAITING_PICTURES = 64
"""Encoded pictures that may wait for one output."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """What all streams share.

    Attributes:
        settings: of the service.
        engines: opened once.
        make_replacer: gives the surrogates' side of a stream.
        gate: decides which addresses may be reached.
        clock: time.
    """

    settings: ServiceSettings
    engines: EngineSet
    make_replacer: ReplacerMaker
    gate: Gate
    clock: Clock

    def build(self, spec: StreamSpec) -> RunningStream:
        """Builds a stream; it does not run yet.

        Raises:
            AddressRefused: its source or a sink may not be reached.
            UsageRefused: it asks for what the service does not have, such as an unknown method.
            InputUnreadable: the file to play is not there.
        """
        counters = Counters()
        encoders = self._encoders(spec, counters)
        anonymizers = self._anonymizers(spec, counters)
        entrance, connect = self._way_in(spec, counters)
        live = LiveStream(
            spec.name,
            connect,
            anonymizers.make,
            partial(_slate, spec.name),
            self.clock,
            self._bounds(spec),
            counters,
            repeats=spec.repeat,
            has_sound=spec.audio == "pass",
            cover=anonymizers.cover,
            encoders=encoders,
        )
        running = RunningStream(spec, live, anonymizers, entrance, self.clock)
        for name, codec, open_sink in self._ways_out(spec, encoders):
            live.add_lane(self._lane(spec, name, open_sink, counters), codec)
        self._warn_of_method(spec)
        return running

    def _method(self, spec: StreamSpec) -> str:
        return self.settings.anonymize.method if spec.method is None else spec.method

    def _warn_of_method(self, spec: StreamSpec) -> None:
        method = self._method(spec)
        warning = method_warning(method)
        if warning:
            _LOG.warning("method_unsafe", stream=spec.name, method=method, reason=warning)

    def _anonymizers(self, spec: StreamSpec, counters: Counters) -> LiveAnonymizers:
        live = self.settings.live
        chosen = self.settings.anonymize.model_copy(update={"method": self._method(spec)})
        is_labelled = chosen.privacy.label if spec.label is None else spec.label
        style = MarkStyle(live.label_text, live.label_corner) if is_labelled else None
        return LiveAnonymizers(
            chosen,
            self.engines,
            self._replacer_of(chosen, spec.name),
            counters,
            style,
            sheds_load=live.sheds_load,
            now=self.clock.now,
        )

    def _replacer_of(self, chosen: Settings, name: str) -> Callable[[], FaceReplacer]:
        if chosen.method != "swap":
            return CoverEveryFace
        return lambda: self.make_replacer(chosen, name)

    def _way_in(self, spec: StreamSpec, counters: Counters) -> tuple[WhipEntrance | None, _Connect]:
        largest = min(self.settings.anonymize.limits.max_pixels, LIVE_MAX_PIXELS)
        rotation = self.settings.anonymize.source.rotation
        if not spec.source:
            inbox = self.settings.live.inbox_frames
            entrance = WhipEntrance(counters, inbox, largest, self.clock, rotation)
            return entrance, lambda hear: entrance.connect(hear)
        address = address_from_text(spec.source)
        self.gate.admit(address)
        check_file_source(address)
        options = SourceOptions(
            self.settings.sources.rtsp_transport, self._timeout_s, largest, rotation
        )
        return None, lambda hear: NetworkSource(address, self.gate, self.clock, options, hear)

    def _ways_out(
        self, spec: StreamSpec, encoders: EncoderStages
    ) -> list[tuple[str, SinkCodec, Callable[[], PictureSink]]]:
        """Name, codec and maker of every output."""
        is_marked = self.settings.anonymize.privacy.label
        has_sound = spec.audio == "pass"
        ways: list[tuple[str, SinkCodec, Callable[[], PictureSink]]] = []
        for text in spec.sinks:
            address = address_from_text(text)
            self.gate.admit(address)
            codec = codec_for(address, self.settings.live.codec)
            make = partial(
                network_sink, address, self.gate, codec, is_marked=is_marked, has_sound=has_sound
            )
            ways.append((str(address), codec, make))
        if spec.record:
            if not self.settings.recording.folder:
                raise UsageRefused("recording needs recording.folder in the configuration")
            codec = self.settings.live.codec
            folder = recording_folder(Path(self.settings.recording.folder), spec.name)
            record = partial(
                RecordingSink,
                folder,
                self.settings.recording,
                codec=codec,
                is_marked=is_marked,
                has_sound=has_sound,
                want_key=encoders.stage(codec).want_key,
            )
            ways.append((RECORDING, codec, record))
        return ways

    def _lane(
        self, spec: StreamSpec, name: str, open_sink: Callable[[], PictureSink], counters: Counters
    ) -> SinkLane:
        live = self.settings.live
        backoff = Backoff(live.reconnect_first_s, live.reconnect_longest_s)
        return SinkLane(
            name, open_sink, _WAITING_PICTURES, backoff, self.clock, counters, stream=spec.name
        )

    def _encoders(self, spec: StreamSpec, counters: Counters) -> EncoderStages:
        live, wanted = self.settings.live, self.settings.anonymize
        options = EncoderOptions(
            live.fps, live.bitrate_kbps, live.keyframe_s, encoder=wanted.output.encoder
        )
        return EncoderStages(
            lambda codec: EncoderStage(
                spec.name,
                codec,
                options,
                live.outbox_frames,
                self.clock,
                counters,
                is_marked=wanted.privacy.label,
            )
        )

    def _bounds(self, spec: StreamSpec) -> Live:
        """As configured; who publishes may be silent for as long as they like."""
        live = self.settings.live
        return live if spec.source else live.model_copy(update={"stall_s": math.inf})

    @property
    def _timeout_s(self) -> float:
        return self.settings.live.stall_s


def check_file_source(address: Address) -> None:
    """Refuses a source that is a file and cannot be played.

    Raises:
        InputUnreadable: it is not there, or no regular file.
    """
    if address.kind != "file" or Path(address.path).is_file():
        return
    reason = "no such file; check the path"
    if address.path == "-" or is_pipe_or_device(Path(address.path)):
        reason = "it is no regular file; save it to one first"
    elif Path(address.path).is_dir():
        reason = "it is a folder; name a file"
    raise InputUnreadable(f"cannot read {address}: {reason}")


def _slate(stream: str, height: int, width: int, ticks: int) -> Composite:
    slate = compose_slate(
        height,
        width,
        pts=ticks,
        time_base=TICKS,
        index=0,
        cause=NO_SIGNAL,
        stream=stream,
    )
    mark(slate, MarkStyle("waiting for video", "top-left", 0.06))
    return slate
