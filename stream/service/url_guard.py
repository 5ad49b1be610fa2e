"""Which addresses the service may connect to, so that nobody reaches inside through it.

Names are resolved once and the connection goes to the addresses that were checked: a name
that changes its answer in between gains nothing. Cloud metadata and other link-local
addresses are refused whatever the allow-list says.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import socket
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from config.service import Sources
from stream.file_names import real_place
from stream.live.address import Address
from stream.live.errors import AddressRefused, SourceLost
from stream.live.ip_addresses import Ip, is_metadata, unwrapped

__all__ = ["OpenGate", "Resolve", "UrlGuard", "resolve"]

Resolve = Callable[[str, int], Sequence[str]]


class UrlGuard:
    """Admits what is listed and nothing else.

    Args:
        listed: what may be reached. Hosts by name admit public addresses alone; of a host in
            `networks` every address must lie in one of them, unless its name matches `hosts`
            and the address is a public one.
        endpoints: single ends such as `rtsp://10.0.0.7:554`, whatever their address.
        resolve_name: gives the IP addresses of a name; tests pass a fake.

    >>> from stream.live.address import address_from_text
    >>> guard = UrlGuard(Sources(networks=("10.0.0.0/8",)))
    >>> guard.admit(address_from_text("rtsp://10.1.2.3/live"))
    ('10.1.2.3',)
    """

    def __init__(
        self,
        listed: Sources,
        endpoints: Collection[str] = (),
        resolve_name: Resolve | None = None,
    ) -> None:
        self._listed, self._endpoints = listed, endpoints
        self._resolve = resolve_name or resolve
        self._networks = tuple(ipaddress.ip_network(text) for text in listed.networks)

    def admit(self, address: Address) -> tuple[str, ...]:
        """IP addresses to connect to; none for files and cameras.

        Raises:
            AddressRefused: not in the allow-list.
            SourceLost: the name does not resolve.
        """
        if address.kind == "file":
            return self._admit_file(address)
        if address.kind == "camera":
            return self._admit_camera(address)
        if address.scheme not in self._listed.schemes:
            raise AddressRefused(f"{address.scheme} is not among the schemes allowed")
        found = tuple(self._resolve(address.host, address.port))
        if not found:
            raise SourceLost(f"{address} does not resolve; check the name")
        is_named = any(fnmatch.fnmatchcase(address.host, host) for host in self._listed.hosts)
        for text in found:
            self._admit_ip(address, ipaddress.ip_address(text.split("%")[0]), is_named)
        return found

    def _admit_ip(self, address: Address, ip: Ip, is_named: bool) -> None:
        inner = unwrapped(ip)
        if is_metadata(inner) or inner.is_multicast:
            raise AddressRefused(f"{address} leads to a link-local or metadata address")
        # The library calls IPv6's loopback reserved, too.
        if inner.is_unspecified or (inner.is_reserved and not inner.is_loopback):
            raise AddressRefused(f"{address} leads to an address that no camera has")
        is_listed = any(inner in network for network in self._networks)
        is_listed = is_listed or str(address) in self._endpoints
        if not is_listed and not (is_named and _is_public(inner)):
            raise AddressRefused(
                f"{address} is not allowed; add its name to sources.hosts and, where its "
                "address is private, its network to sources.networks"
            )

    def _admit_file(self, address: Address) -> tuple[str, ...]:
        path = real_place(Path(address.path))
        if not any(path.is_relative_to(Path(one).resolve()) for one in self._listed.folders):
            raise AddressRefused("that file is outside sources.folders")
        return ()

    def _admit_camera(self, address: Address) -> tuple[str, ...]:
        if address.path not in self._listed.devices:
            raise AddressRefused(f"{address} is not in sources.devices")
        return ()


class OpenGate:
    """Admits what the person at the command line asks for; still resolves names once."""

    def admit(self, address: Address) -> tuple[str, ...]:
        """IP addresses of the host.

        Raises:
            SourceLost: the name does not resolve.
        """
        if not address.is_network:
            return ()
        found = tuple(resolve(address.host, address.port))
        if not found:
            raise SourceLost(f"{address} does not resolve; check the name")
        return found


def resolve(host: str, port: int) -> Sequence[str]:
    """Every IP address of a name, in the system's order; none when it does not resolve.

    >>> resolve("127.0.0.1", 554)
    ['127.0.0.1']
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_public(ip: Ip) -> bool:
    is_site_local = isinstance(ip, ipaddress.IPv6Address) and ip.is_site_local
    return ip.is_global and not is_site_local
