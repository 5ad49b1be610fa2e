"""What the start would refuse, told without starting: no network, no engine, no name asked."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from config.service import ServiceSettings, StreamSpec
from config.settings import Settings
from engines.catalogue import model_path
from engines.errors import KveilError
from gallery.secrets import SecretRing
from stream.errors import UsageRefused
from stream.live.address import address_from_text
from stream.methods import SWAP, method_cover
from stream.service.allowances import StreamGate
from stream.service.certificates import check_tls

__all__ = ["check_service"]

_SOMEWHERE: Final = "192.0.2.1"
"""Stands for whatever a name resolves to: the cameras' network may not be here yet."""


def check_service(settings: ServiceSettings) -> None:
    """Looks at what the start, or the start of a stream, would refuse.

    What may be there later, such as a camera or the file to play, is not asked for: one stream
    that waits must not keep the others from starting.

    Raises:
        UsageRefused: the certificate, a method or a stream's entry does not hold.
        ModelMissing, ModelRejected: the detector is not there.
        SecretMissing: people are to be shared and there is no key.
    """
    check_tls(settings.listen)
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
    if spec.record and not settings.recording.folder:
        raise UsageRefused("recording needs recording.folder in the configuration")


def _as_if_resolved(host: str, port: int) -> Sequence[str]:
    del port
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        return [_SOMEWHERE]
