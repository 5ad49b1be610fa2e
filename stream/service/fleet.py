"""The streams of the service: added, removed and exchanged at run time, each on its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from config.errors import ConfigError
from config.service import StreamSpec
from engines.errors import KveilError
from stream.live.running_stream import RunningStream
from stream.service.errors import StreamConflict, StreamUnknown

__all__ = ["Fleet", "Member"]

_LOG = structlog.get_logger("kveil.fleet")
_TAKEN: Final = "a stream added by REST has that name; delete that one, then reload"
_CLOSED: Final = "the service is ending"


@dataclass(slots=True)
class Member:
    """A stream that is known.

    Attributes:
        spec: its entry.
        running: the stream while it runs.
        is_from_file: it came with the configuration file and goes with it.
    """

    spec: StreamSpec
    running: RunningStream | None
    is_from_file: bool


class Fleet:
    """All streams; safe from any thread.

    Changes wait for one another, and for streams to start and stop; looking waits for nothing.

    Args:
        build: builds a stream that does not run yet; see `Assembly.build`.
        most: how many there may be.
    """

    def __init__(self, build: Callable[[StreamSpec], RunningStream], most: int) -> None:
        self._build = build
        self._most = most
        self._lock = threading.RLock()
        self._members: dict[str, Member] = {}  # exchanged as a whole: it is read without the lock
        self._is_closed = False
        self._stuck: list[str] = []
        self._told_taken: set[str] = set()

    @property
    def stuck(self) -> tuple[str, ...]:
        """Threads that did not leave when their stream was stopped."""
        return tuple(self._stuck)

    def members(self) -> Sequence[Member]:
        """Every stream, by name."""
        return sorted(self._members.values(), key=lambda member: member.spec.name)

    def find(self, name: str) -> Member:
        """The stream of that name.

        Raises:
            StreamUnknown: there is none.
        """
        member = self._members.get(name)
        if member is None:
            raise StreamUnknown("there is no stream of that name")
        return member

    def running(self, name: str) -> RunningStream:
        """The running stream of that name.

        Raises:
            StreamUnknown: there is none.
            StreamConflict: it is stopped.
        """
        running = self.find(name).running
        if running is None:
            raise StreamConflict("the stream is stopped; start it first")
        return running

    def has(self, running: RunningStream) -> bool:
        """Whether that stream still runs; one of its name may have taken its place."""
        member = self._members.get(running.spec.name)
        return member is not None and member.running is running

    def add(
        self, spec: StreamSpec, holder: str | None = None, *, is_from_file: bool = False
    ) -> Member:
        """Adds a stream and starts it where its entry says so.

        Args:
            spec: its entry.
            holder: who asks, for the log; None for the configuration.
            is_from_file: it goes with the configuration file.

        Raises:
            StreamConflict: the name is taken, there are too many streams, or the fleet is closed.
            AddressRefused: it may not be reached.
        """
        with self._lock:
            if spec.name in self._members:
                raise StreamConflict("there is a stream of that name already")
            if len(self._members) >= self._most:
                raise StreamConflict(f"there are {self._most} streams already; see bounds.streams")
            member = Member(spec, None, is_from_file)
            if spec.start:
                self._launch(member)
            else:  # built all the same, to refuse now what could not be started
                self._end(spec.name, self._built(spec))
            self._members = {**self._members, spec.name: member}
            _tell("stream_added", spec.name, holder)
            return member

    def remove(self, name: str, holder: str | None = None) -> None:
        """Stops a stream and forgets it; `holder` asks, for the log.

        Raises:
            StreamUnknown: there is none of that name.
        """
        with self._lock:
            member = self.find(name)
            self._halt(member)
            self._members = {own: one for own, one in self._members.items() if own != name}
            _tell("stream_removed", name, holder)

    def start(self, name: str, holder: str | None = None) -> Member:
        """Starts a stopped stream; does nothing to a running one. `holder` is for the log.

        Raises:
            StreamUnknown: there is none of that name.
            StreamConflict: the fleet is closed.
            AddressRefused: it may not be reached any more.
        """
        with self._lock:
            member = self.find(name)
            if member.running is None:
                self._launch(member)
                _tell("stream_started", name, holder)
            return member

    def stop(self, name: str, holder: str | None = None) -> Member:
        """Stops a stream and keeps its entry; `holder` asks, for the log.

        Raises:
            StreamUnknown: there is none of that name.
        """
        with self._lock:
            member = self.find(name)
            if member.running is not None:
                self._halt(member)
                _tell("stream_stopped", name, holder)
            return member

    def apply(self, specs: Sequence[StreamSpec]) -> list[str]:
        """Makes the streams of the file be these; gives the names of those touched.

        A stream whose entry is unchanged is not touched, nor is one added by REST. An entry
        that cannot be built leaves the others alone. A closed fleet stays as it is.
        """
        with self._lock:
            if self._is_closed:
                return []
            wanted = {spec.name: spec for spec in specs}
            touched = []
            for name, member in list(self._members.items()):
                if member.is_from_file and wanted.get(name) != member.spec:
                    self.remove(name)
                    touched.append(name)
            for name, spec in wanted.items():
                if name not in self._members:
                    self._add_or_tell(spec)
                    touched.append(name)
            self._tell_taken(wanted)
            return sorted(set(touched))

    def close(self) -> list[str]:
        """Stops every stream, for good; gives the names of threads that would not leave."""
        with self._lock:
            self._is_closed = True
            for member in self._members.values():
                self._halt(member)
            return list(self._stuck)

    def _add_or_tell(self, spec: StreamSpec) -> None:
        try:
            self.add(spec, is_from_file=True)
        except (KveilError, ConfigError) as error:
            _LOG.error("stream_refused", stream=spec.name, reason=str(error))
        except Exception as error:  # its text may hold an address with secrets
            _LOG.error("stream_failed", stream=spec.name, error=type(error).__name__)

    def _tell_taken(self, wanted: Collection[str]) -> None:
        """Says once of each entry that a stream added by REST has its name."""
        added = {name for name, member in self._members.items() if not member.is_from_file}
        taken = added.intersection(wanted)
        for name in sorted(taken - self._told_taken):
            _LOG.error("stream_refused", stream=name, reason=_TAKEN)
        self._told_taken = taken

    def _launch(self, member: Member) -> None:
        """Builds and starts a stream; one that cannot start leaves nothing running."""
        running = self._built(member.spec)
        try:
            running.live.start()
        except BaseException:
            self._end(member.spec.name, running)
            raise
        member.running = running

    def _built(self, spec: StreamSpec) -> RunningStream:
        if self._is_closed:
            raise StreamConflict(_CLOSED)
        return self._build(spec)

    def _halt(self, member: Member) -> None:
        running, member.running = member.running, None
        if running is not None:
            self._end(member.spec.name, running)

    def _end(self, name: str, running: RunningStream) -> None:
        """Stops a stream; whatever comes of that, the others are still to be looked after."""
        try:
            stuck = running.stop()
        except Exception as error:
            _LOG.error("stop_failed", stream=name, error=type(error).__name__)
            stuck = [name]
        if stuck:
            _LOG.error("threads_left_behind", stream=name, threads=stuck)
        self._stuck = [*self._stuck, *stuck][-100:]


def _tell(event: str, stream: str, holder: str | None) -> None:
    _LOG.info(event, stream=stream, **({"holder": holder} if holder else {}))
