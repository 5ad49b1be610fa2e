"""Addresses that a browser or encoder sends after its offer (RFC 8840, RFC 9725)."""

from __future__ import annotations

import ipaddress
from typing import Final

from aiortc import RTCIceCandidate
from aiortc.sdp import candidate_from_sdp

from stream.live.errors import OfferRefused
from stream.live.ip_addresses import is_metadata, unwrapped

__all__ = ["candidates_of_fragment", "restarts_ice", "with_peers_alone"]

_LONGEST: Final = 16_384
_MOST_CANDIDATES: Final = 64
_CANDIDATE: Final = "a=candidate:"
_LAST: Final = "a=end-of-candidates"
_PLACE_OF_ADDRESS: Final = 4


def candidates_of_fragment(fragment: str) -> list[RTCIceCandidate]:
    r"""The candidates of a fragment, each with the section that it belongs to.

    Names, and addresses that no peer on a network has, are left out: the service would send to
    whatever stands there.

    >>> text = "a=mid:0\r\na=candidate:1 1 udp 1 192.0.2.7 4000 typ host\r\n"
    >>> [(one.ip, one.sdpMid) for one in candidates_of_fragment(text)]
    [('192.0.2.7', '0')]

    Raises:
        OfferRefused: it is too long, or malformed.
    """
    lines = fragment.splitlines()
    if len(fragment) > _LONGEST or sum(one.startswith(_CANDIDATE) for one in lines) > (
        _MOST_CANDIDATES
    ):
        raise OfferRefused("the fragment has more candidates than any browser sends")
    section, found = "0", []
    for line in lines:
        if line.startswith("a=mid:"):
            section = line.removeprefix("a=mid:").strip()
        elif line.startswith(_CANDIDATE):
            found += _read(line.removeprefix(_CANDIDATE), section)
    return found


def with_peers_alone(offer: str) -> str:
    r"""An offer without the candidates that `candidates_of_fragment` would leave out.

    Whoever is left out is still found, as a peer sends first; so the list counts as unfinished.

    >>> with_peers_alone("a=candidate:1 1 udp 1 127.0.0.1 80 typ host\r\na=end-of-candidates\r\n")
    ''
    """
    lines = offer.splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(_CANDIDATE) or _leads_to_a_peer(line)]
    if len(kept) < len(lines):
        kept = [line for line in kept if not line.startswith(_LAST)]
    return "".join(kept)


def _leads_to_a_peer(line: str) -> bool:
    words = line.split()
    return len(words) > _PLACE_OF_ADDRESS and _is_peer(words[_PLACE_OF_ADDRESS])


def _is_peer(text: str) -> bool:
    """Whether this is an address, and one that a peer on a network can have."""
    try:
        ip = unwrapped(ipaddress.ip_address(text))
    except ValueError:
        return False
    return not (is_metadata(ip) or ip.is_loopback or ip.is_multicast or ip.is_unspecified)


def restarts_ice(fragment: str, offer: str) -> bool:
    r"""Whether a fragment has other ICE credentials than the offer, which asks for a restart.

    >>> restarts_ice("a=ice-ufrag:new\r\n", "a=ice-ufrag:old\r\n")
    True
    """
    names = {line.strip() for line in fragment.splitlines() if line.startswith("a=ice-ufrag:")}
    return bool(names) and not names & {line.strip() for line in offer.splitlines()}


def _read(text: str, section: str) -> list[RTCIceCandidate]:
    try:
        candidate = candidate_from_sdp(text)
    except (ValueError, IndexError, AssertionError):
        raise OfferRefused("a candidate of the fragment is malformed") from None
    if not _is_peer(candidate.ip):
        return []
    candidate.sdpMid = section
    return [candidate]
