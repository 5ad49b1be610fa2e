"""Opens the engines for the live commands and runs them until the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from config.service import ServiceSettings, StreamSpec
from engines.errors import EngineFault
from stream.allocator import keep_memory_flat
from stream.engine_set import open_engines
from stream.errors import InputUnreadable
from stream.live.assembly import Assembly, RunningStream
from stream.live.clock import SystemClock
from stream.live.replacers import open_replacers
from stream.live.turns import Turns
from stream.service.url_guard import OpenGate

__all__ = ["running_service", "running_stream"]

_SAY_EVERY_S = 5.0
_LOOK_S = 0.2


def running_service(
    settings: ServiceSettings, file: Path | None, on_listening: Callable[[str], None]
) -> None:
    """Runs the service until it is told to end.

    Raises:
        EngineFault: threads would not leave at the end.
        ModelMissing, ModelRejected, BackendMissing: the engines cannot be had.
    """
    from stream.service.serving import serve_forever

    keep_memory_flat()
    with (
        open_engines(settings.anonymize) as engines,
        open_replacers(engines, settings.anonymize, settings.live.batch_wait_ms / 1e3) as replacers,
    ):
        stuck = serve_forever(settings, engines, replacers, file, on_listening)
    _complain_about(stuck)


def running_stream(
    settings: ServiceSettings, spec: StreamSpec, seconds: float | None, say: Callable[[str], None]
) -> None:
    """Runs one stream until its source ends, the time is up, or Ctrl-C.

    Raises:
        InputUnreadable: the source never gave a picture.
        EngineFault: threads would not leave at the end.
        ModelMissing, ModelRejected, BackendMissing: the engines cannot be had.
    """
    keep_memory_flat()
    clock = SystemClock()
    with (
        open_engines(settings.anonymize) as engines,
        open_replacers(engines, settings.anonymize) as replacers,
    ):
        assembly = Assembly(settings, engines, replacers, OpenGate(), Turns(1), clock)
        running = assembly.build(spec)
        running.live.start()
        try:
            _wait(running, seconds, say)
        finally:
            stuck = running.stop()
    _complain_about(stuck)
    status = running.live.status()
    if not status.counts.get("frames_in"):
        raise InputUnreadable(status.trouble or "the source gave no picture")


def _wait(running: RunningStream, seconds: float | None, say: Callable[[str], None]) -> None:
    end_s = None if seconds is None else time.monotonic() + seconds
    said_s = time.monotonic()
    never = threading.Event()
    while not running.live.ended.is_set():
        if end_s is not None and time.monotonic() >= end_s:
            return
        if time.monotonic() - said_s >= _SAY_EVERY_S:
            said_s = time.monotonic()
            say(_line(running))
        never.wait(_LOOK_S)


def _line(running: RunningStream) -> str:
    status = running.live.status()
    faces = running.anonymizers.tally.faces()
    parts = [
        f"source {status.source}, output {status.output}",
        f"{status.fps_in:g} in, {status.fps_out:g} fps out",
        f"latency p95 {status.latency.p95_s * 1e3:.0f} ms",
        f"{faces.swapped} faces swapped, {faces.covered} covered",
    ]
    troubles = [status.trouble, *(text for text in status.sinks.values() if text != "ok")]
    return "; ".join([*parts, *filter(None, troubles)])


def _complain_about(stuck: list[str]) -> None:
    if stuck:
        raise EngineFault(f"{len(stuck)} threads did not end: {', '.join(stuck)}")
