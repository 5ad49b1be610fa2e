"""A stream that runs, and everything that hangs on it: viewers, segments, where it is published."""

from __future__ import annotations

import threading
from functools import partial

from config.service import StreamSpec
from stream.live.clock import Clock
from stream.live.encoder_share import EncoderShares
from stream.live.latest_picture import LatestPicture
from stream.live.live_anonymizer import LiveAnonymizers
from stream.live.live_encoder import EncoderOptions, LiveCodec
from stream.live.live_stream import LiveStream
from stream.live.low_latency_hls import LowLatencyHls
from stream.live.viewer_encoder import ViewerEncoder
from stream.live.whip import WhipEntrance

__all__ = ["RunningStream"]


class RunningStream:
    """A stream and everything that hangs on it.

    Args:
        spec: its entry in the configuration.
        live: the pipeline.
        anonymizers: makes its anonymizers and counts outcomes.
        entrance: where browsers publish it; None where it has a source of its own.
        encoder_options: for viewers.
        clock: time.
        encoders: shared by all outputs of the stream.
        is_marked: segments carry the machine-readable mark.
    """

    def __init__(
        self,
        spec: StreamSpec,
        live: LiveStream,
        anonymizers: LiveAnonymizers,
        entrance: WhipEntrance | None,
        encoder_options: EncoderOptions,
        clock: Clock,
        encoders: EncoderShares,
        *,
        is_marked: bool = True,
    ) -> None:
        self._shares = encoders
        self.spec = spec
        self.live = live
        self.anonymizers = anonymizers
        self.entrance = entrance
        self.latest = LatestPicture()
        self._encoder_options = encoder_options
        self._clock = clock
        self._is_marked = is_marked
        self._lock = threading.Lock()
        self._encoders: dict[LiveCodec, ViewerEncoder] = {}
        self._hls: LowLatencyHls | None = None
        live.add_outlet(self.latest)

    @property
    def viewers(self) -> int:
        """How many watch by WHEP."""
        return sum(encoder.viewers for encoder in self._encoders.values())

    def encoder(self, codec: LiveCodec) -> ViewerEncoder:
        """The encoder of all viewers that take this codec; made at the first."""
        with self._lock:
            if codec not in self._encoders:
                made = ViewerEncoder(
                    self.spec.name,
                    codec,
                    self._encoder_options,
                    self._clock,
                    self.live.counters,
                    partial(self._shares.begin, self._encoder_options, codec),
                )
                self._encoders[codec] = made
                self.live.add_outlet(made)
            return self._encoders[codec]

    @property
    def hls(self) -> LowLatencyHls:
        """The segments and parts for players; made at the first request."""
        with self._lock:
            if self._hls is None:
                self._hls = LowLatencyHls(
                    self.spec.name,
                    self._encoder_options,
                    self._clock,
                    self.live.counters,
                    is_marked=self._is_marked,
                    shares=self._shares,
                )
                self.live.add_outlet(self._hls)
            return self._hls

    def stop(self, timeout_s: float = 5.0) -> list[str]:
        """Ends the stream; gives the names of threads that would not leave."""
        if self.entrance is not None:
            self.entrance.close()
        stuck = self.live.stop(timeout_s)
        for codec, encoder in self._encoders.items():
            if not encoder.close(timeout_s):
                stuck.append(f"{self.spec.name}-{codec}")
        if self._hls is not None and not self._hls.close(timeout_s):
            stuck.append(f"{self.spec.name}-hls")
        return stuck
