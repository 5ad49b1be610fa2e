"""What the configuration lets streams reach: its allow-list, and what its own entries name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from config.service import ServiceSettings, Sources, StreamSpec
from stream.live.address import address_from_text
from stream.live.errors import AddressRefused
from stream.service.url_guard import Allowance

__all__ = ["allowance_of"]


def allowance_of(settings: ServiceSettings) -> Allowance:
    """What may be reached: the allow-list, and what the configuration's own streams name.

    The metadata addresses stay refused for those as well.
    """
    wanted = settings.sources
    own = [_own_allowance(spec) for spec in settings.streams]
    listed = _listed(wanted)
    return replace(
        listed,
        endpoints=tuple(end for one in own for end in one.endpoints),
        folders=(*listed.folders, *(folder for one in own for folder in one.folders)),
        devices=(*listed.devices, *(device for one in own for device in one.devices)),
    )


def _listed(wanted: Sources) -> Allowance:
    return Allowance(
        hosts=wanted.hosts,
        networks=wanted.networks,
        schemes=wanted.schemes,
        folders=tuple(Path(folder) for folder in wanted.folders),
        devices=wanted.devices,
    )


def _own_allowance(spec: StreamSpec) -> Allowance:
    """The addresses that one entry of the configuration file names itself."""
    endpoints, folders, devices = [], [], []
    for text in filter(None, (spec.source, *spec.sinks)):
        with suppress(AddressRefused):
            address = address_from_text(text)
            if address.kind == "file":
                folders.append(Path(address.path).parent)
            elif address.kind == "camera":
                devices.append(address.path)
            else:
                endpoints.append(str(address))
    return Allowance(folders=tuple(folders), devices=tuple(devices), endpoints=tuple(endpoints))
