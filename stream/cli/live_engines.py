"""Opens the engines for the live commands and runs them until the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from config.service import ServiceSettings, StreamSpec
from config.settings import Settings
from stream.allocator import keep_memory_flat
from stream.cli.exits import on_leaving
from stream.cli.log_lines import say_logs
from stream.cli.stream_end import account_of, raise_failure, refuse_stuck
from stream.files.interruption import held_back
from stream.live.address import address_from_text
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.replacers import open_replacers
from stream.live.running_stream import RunningStream
from stream.pipeline.engine_set import EngineSet, open_engines
from stream.pipeline.methods import method_cover
from stream.service.url_guard import OpenGate

__all__ = ["running_service", "running_stream"]

_SAY_EVERY_S = 5.0
_LOOK_S = 0.2


def running_service(
    settings: ServiceSettings, file: Path | None, on_listening: Callable[[str], None]
) -> None:
    """Runs the service until it is told to end.

    Raises:
        UsageRefused: there is no such method.
        EngineFault: threads would not leave at the end.
        ModelMissing, ModelRejected, BackendMissing: the engines cannot be had.
    """
    from stream.service.serving import serve_forever

    on_leaving(lambda: "every stream has ended; what was recorded stays")
    _check_method(settings.anonymize)
    keep_memory_flat()
    with (
        _engines(settings) as engines,
        open_replacers(engines, settings.anonymize) as replacers,
    ):
        stuck = serve_forever(settings, engines, replacers, file, on_listening)
    refuse_stuck(stuck)


def running_stream(
    settings: ServiceSettings, spec: StreamSpec, seconds: float | None, say: Callable[[str], None]
) -> None:
    """Runs one stream until its source ends, the time is up, or Ctrl-C.

    Raises:
        UsageRefused: there is no such method.
        InputUnreadable: the source never gave a picture.
        SinkLost: the output never took a picture, or was lost at the end.
        EngineFault: threads would not leave at the end.
        ModelMissing, ModelRejected, BackendMissing: the engines cannot be had.
    """
    on_leaving(lambda: "nothing was published")
    say_logs(say)
    _check_method(settings.anonymize)
    keep_memory_flat()
    clock = SystemClock()
    with (
        _engines(settings) as engines,
        open_replacers(engines, settings.anonymize) as replacers,
    ):
        assembly = Assembly(settings, engines, replacers, OpenGate(), clock)
        running = assembly.build(spec)
        account = partial(account_of, running, settings.recording.folder)
        on_leaving(account)
        try:
            running.live.start()
            _wait(running, seconds, say)
        finally:
            with held_back():  # a second Ctrl-C would leave a recording without its name
                stuck = running.stop()
    raise_failure(running.live.status(), stuck)
    say(account())


def _engines(settings: ServiceSettings) -> AbstractContextManager[EngineSet]:
    live = settings.live
    return open_engines(settings.anonymize, hang_s=live.hang_s, join_s=live.batch_wait_ms / 1e3)


def _check_method(settings: Settings) -> None:
    """Refuses an unknown method before the engines are opened, which takes a while."""
    method_cover(settings.method, settings.cover.look)


def _wait(running: RunningStream, seconds: float | None, say: Callable[[str], None]) -> None:
    end_s = None if seconds is None else time.monotonic() + seconds
    said_s = time.monotonic()
    never = threading.Event()
    while not running.live.ended.is_set() and not _is_unreadable_file(running):
        if end_s is not None and time.monotonic() >= end_s:
            return
        if time.monotonic() - said_s >= _SAY_EVERY_S:
            said_s = time.monotonic()
            say(_line(running))
        never.wait(_LOOK_S)


def _is_unreadable_file(running: RunningStream) -> bool:
    """Whether the source is a file that gave no picture: unlike a camera, it will never do so."""
    if address_from_text(running.spec.source).kind != "file":
        return False
    status = running.live.status()
    return status.source == "lost" and not status.counts.get("frames_in")


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
