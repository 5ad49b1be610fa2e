"""A stream that runs, and everything that hangs on it: viewers, segments, where it is published."""

from __future__ import annotations

import threading

from config.service import StreamSpec
from stream.live.clock import Clock
from stream.live.latest_picture import LatestPicture
from stream.live.live_anonymizer import LiveAnonymizers
from stream.live.live_stream import LiveStream
from stream.live.low_latency_hls import LowLatencyHls
from stream.live.viewer import Viewer
from stream.live.whip import WhipEntrance

__all__ = ["RunningStream"]


class RunningStream:
    """A stream and everything that hangs on it.

    Args:
        spec: its entry in the configuration.
        live: the pipeline.
        anonymizers: makes its anonymizers and counts outcomes.
        entrance: where browsers publish it; None where it has a source of its own.
        clock: time.
    """

    def __init__(
        self,
        spec: StreamSpec,
        live: LiveStream,
        anonymizers: LiveAnonymizers,
        entrance: WhipEntrance | None,
        clock: Clock,
    ) -> None:
        self.spec = spec
        self.live = live
        self.anonymizers = anonymizers
        self.entrance = entrance
        self.latest = LatestPicture()
        self._clock = clock
        self._lock = threading.Lock()
        self._hls: LowLatencyHls | None = None
        live.add_outlet(self.latest)

    @property
    def viewers(self) -> int:
        """How many watch by WHEP."""
        return sum(isinstance(taker, Viewer) for taker in self.live.encoders.takers)

    @property
    def hls(self) -> LowLatencyHls:
        """The segments and parts for players; made at the first request."""
        encoders = self.live.encoders
        with self._lock:
            if self._hls is None:
                self._hls = LowLatencyHls(
                    self.spec.name, self.live.bounds.keyframe_s, self._clock, self.live.counters
                )
                encoders.stage("h264").add(self._hls)
            return self._hls

    def stop(self, timeout_s: float = 5.0) -> list[str]:
        """Ends the stream; gives the names of threads that would not leave."""
        if self.entrance is not None:
            self.entrance.close()
        stuck = self.live.stop(timeout_s)
        if self._hls is not None and not self._hls.join(timeout_s):
            stuck.append(f"{self.spec.name}-hls")
        return stuck
