"""What IP addresses stand for: the IPv4 address inside of an IPv6 one, and clouds' metadata."""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

__all__ = ["Ip", "is_metadata", "unwrapped"]

Ip: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_METADATA: Final = tuple(
    ipaddress.ip_network(text)
    for text in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32")
)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def is_metadata(ip: Ip) -> bool:
    """Whether metadata of a cloud may stand at an unwrapped address, or it is link-local.

    >>> [is_metadata(ipaddress.ip_address(text)) for text in ("169.254.169.254", "10.0.0.1")]
    [True, False]
    """
    return any(ip in network for network in _METADATA)


def unwrapped(ip: Ip) -> Ip:
    """The IPv4 address that an IPv6 one stands for, where it does.

    >>> unwrapped(ipaddress.ip_address("64:ff9b::7f00:1"))
    IPv4Address('127.0.0.1')
    """
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip
