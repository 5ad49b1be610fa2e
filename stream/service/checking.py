"""What the start would refuse, told without starting: no network, no engine, no name asked."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from config.service import ServiceSettings, StreamSpec
from config.settings import Settings
from engines.errors import KveilError
from engines.models.catalogue import model_path
from gallery.secrets import SecretRing
from stream.errors import UsageRefused
from stream.live.address import address_from_text
from stream.live.assembly import check_file_source
from stream.pipeline.methods import SWAP, method_cover
from stream.service.allowances import StreamGate
from stream.service.web_server import check_tls

__all__ = ["check_service"]

_SOMEWHERE: Final = "192.0.2.1"
"""Stands for whatever a name resolves to: the cameras' network may not be here yet."""


def check_service(settings: ServiceSettings) -> None:
    """Looks at what the start, or the start of a stream, would refuse.

    What may be there later, such as a camera or the camera's network, is not asked for.

    Raises:
        UsageRefused: the certificate, the address to listen at, a method or a stream's entry does
            not hold.
        ModelMissing, ModelRejected: the detector is not there.
        SecretMissing: people are to be shared and there is no key.
    """
    check_tls(settings.listen)
    _check_host(settings.listen.host)
    if len(settings.streams) > settings.bounds.streams:
        raise UsageRefused(
            f"there are {len(settings.streams)} streams and bounds.streams is "
            f"{settings.bounds.streams}; raise it or remove some"
        )
    method_cover(settings.anonymize.method)
    model_path(settings.anonymize.detection.model)
    _check_keys(settings.anonymize)
    gate = StreamGate(settings, _as_if_resolved)
    for spec in settings.streams:
        try:
            _check_stream(spec, settings, gate)
        except KveilError as error:
            raise UsageRefused(f"stream {spec.name}: {error}") from None


def _check_keys(chosen: Settings) -> None:
    kept = chosen.gallery
    if chosen.method != SWAP or not kept.redis_url.get_secret_value():
        return
    if kept.key_file:
        SecretRing.from_file(Path(kept.key_file))
    else:
        SecretRing.from_environment()


def _check_stream(spec: StreamSpec, settings: ServiceSettings, gate: StreamGate) -> None:
    if spec.method is not None:
        method_cover(spec.method)
    for text in filter(None, (spec.source, *spec.sinks)):
        gate.admit(address_from_text(text))
    gate.check_files(spec)
    if spec.source:
        check_file_source(address_from_text(spec.source))
    if spec.record and not settings.recording.folder:
        raise UsageRefused("recording needs recording.folder in the configuration")
    if spec.record:
        _check_folder(Path(settings.recording.folder))


def _check_folder(folder: Path) -> None:
    """Refuses a folder that is not there and cannot be made, or cannot be written into."""
    place = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise UsageRefused("recording.folder cannot be written; check its rights")


def _check_host(host: str) -> None:
    try:
        socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        message = f"listen.host {host} does not resolve; give an address of this machine"
        raise UsageRefused(message) from None


def _as_if_resolved(host: str, port: int) -> Sequence[str]:
    del port
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        return [_SOMEWHERE]
