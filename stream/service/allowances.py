"""What the configuration lets streams reach: its allow-list, and what its own entries name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from config.service import ServiceSettings, StreamSpec
from stream.file_names import real_place
from stream.live.address import Address, address_from_text
from stream.live.errors import AddressRefused
from stream.service.url_guard import Resolve, UrlGuard

__all__ = ["StreamGate"]


class StreamGate:
    """The gate of the service's streams.

    A file that an entry of the configuration names is admitted for what it is there, a source
    or a sink, and nothing else in its folder is. Sinks are admitted in no other way:
    `sources.folders` may be read alone.

    Args:
        settings: of the service.
        resolve_name: see `UrlGuard`.
    """

    def __init__(self, settings: ServiceSettings, resolve_name: Resolve | None = None) -> None:
        self._guard = _guard_of(settings, resolve_name)
        specs = settings.streams
        self._sources = _files_among(spec.source for spec in specs)
        self._sinks = _files_among(sink for spec in specs for sink in spec.sinks)

    def admit(self, address: Address) -> tuple[str, ...]:
        """IP addresses to connect to; see `Gate`.

        Who connects does not say what a file is to be: `check_files` has looked at that.

        Raises:
            AddressRefused: not allowed.
            SourceLost: the name does not resolve.
        """
        if address.kind == "file" and self._is_own_sink(address):
            return ()
        return self._admit_source(address)

    def check_files(self, spec: StreamSpec) -> None:
        """Looks at the files of a stream, each for what the stream would do with it.

        Raises:
            AddressRefused: its source may not be played, or a sink not be written.
        """
        for text in _files_among([spec.source]):
            self._admit_source(address_from_text(text))
        for text in _files_among(spec.sinks):
            if not self._is_own_sink(address_from_text(text)):
                raise AddressRefused("that file is no sink of the configuration; name it there")

    def _admit_source(self, address: Address) -> tuple[str, ...]:
        if address.kind == "file":
            path = real_place(Path(address.path))
            if any(path == Path(own).resolve() for own in self._sources):
                return ()
        return self._guard.admit(address)

    def _is_own_sink(self, address: Address) -> bool:
        place = _place_of(address.path)
        return any(place == _place_of(own) for own in self._sinks)


def _guard_of(settings: ServiceSettings, resolve_name: Resolve | None) -> UrlGuard:
    """Admits what is listed, and the ends and cameras that own streams name.

    The metadata addresses stay refused for those as well.
    """
    endpoints, devices = list[str](), list(settings.sources.devices)
    for text in (one for spec in settings.streams for one in (spec.source, *spec.sinks) if one):
        with suppress(AddressRefused):
            address = address_from_text(text)
            if address.kind == "camera":
                devices.append(address.path)
            elif address.is_network:
                endpoints.append(str(address))
    listed = settings.sources.model_copy(update={"devices": tuple(devices)})
    return UrlGuard(listed, endpoints, resolve_name)


def _files_among(texts: Iterable[str]) -> tuple[str, ...]:
    """Those that name a file; what is malformed is refused where the stream is built."""
    files = []
    for text in texts:
        with suppress(AddressRefused):
            if address_from_text(text).kind == "file":
                files.append(text)
    return tuple(files)


def _place_of(playlist: str) -> Path:
    """Where a playlist and the segments beside it are written.

    The segments are named after the playlist as written, so a link to it is another place.
    """
    path = Path(playlist)
    return path.parent.resolve() / path.name
