"""Offers of H.264 in any profile, for a library that knows the baseline alone (RFC 6184).

The library compares profiles, though its decoder takes all of them. An offer's H.264 is shown to
it as constrained baseline; its answer names the profile that was offered. Both packetization
modes without interleaving are received in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["RECEIVED_MODES", "SENT_MODES", "offer_in_baseline", "with_offered_profiles"]

_H264: Final = re.compile(r"a=rtpmap:(\d{1,3}) h264/90000\s*", re.IGNORECASE)
_FORMAT: Final = re.compile(r"a=fmtp:(\d{1,3}) (.*)")
_BASELINE: Final = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
_UNKNOWN: Final = "packetization-mode=2;profile-level-id=42e01f"
"""Interleaved: the library takes no such format, so it leaves it out of its answer."""
_PROFILE: Final = re.compile(r"[0-9A-Fa-f]{6}")
_DEFAULT_PROFILE: Final = "42e01f"
_DYNAMIC: Final = range(96, 128)
"""Numbers of formats that the library repeats in its answer; it would exchange others."""
RECEIVED_MODES: Final = ("0", "1")
"""Packetization modes in which pictures are taken: single packets, and packets cut or joined."""
SENT_MODES: Final = ("1",)
"""The packetization mode in which pictures are sent."""


def offer_in_baseline(
    offer: str, modes: Sequence[str] = RECEIVED_MODES
) -> tuple[str, dict[str, str]]:
    r"""The offer as the library takes it, and what each format of H.264 was.

    Args:
        offer: SDP.
        modes: packetization modes that may be used; the library sends in mode 1 alone.

    Returns:
        The offer; and by the format's number the parameters that belong into the answer.

    >>> offer = "a=rtpmap:96 H264/90000\r\na=fmtp:96 profile-level-id=64001f"
    >>> offer_in_baseline(offer)[1]
    {'96': 'level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=64001f'}
    """
    lines = offer.splitlines()
    given = {number: "" for line in lines for number in _H264.findall(line)}
    for line in lines:
        found = _FORMAT.match(line)
        if found and found[1] in given:
            given[found[1]] = found[2]
    kept: list[str] = []
    were: dict[str, str] = {}
    for line in lines:
        found = _FORMAT.match(line)
        if not (found and found[1] in given):
            kept.append(line)
        named = _H264.fullmatch(line)
        if named:
            answer = _answer_to(int(named[1]), _parameters(given[named[1]]), modes)
            kept.append(f"a=fmtp:{named[1]} {_BASELINE if answer else _UNKNOWN}")
            if answer:
                were[named[1]] = answer
    return "\r\n".join(kept) + "\r\n", were


def with_offered_profiles(answer: str, were: Mapping[str, str]) -> str:
    """The library's answer with the profiles and modes that were offered."""
    lines = []
    for line in answer.splitlines():
        found = _FORMAT.match(line)
        is_ours = found is not None and found[1] in were
        lines.append(f"a=fmtp:{found[1]} {were[found[1]]}" if found and is_ours else line)
    return "\r\n".join(lines) + "\r\n"


def _answer_to(number: int, offered: Mapping[str, str], modes: Sequence[str]) -> str:
    """The parameters of the answer to a format; empty where it cannot be taken."""
    mode = offered.get("packetization-mode", "0")
    profile = offered.get("profile-level-id", _DEFAULT_PROFILE)
    if number not in _DYNAMIC or mode not in modes or _PROFILE.fullmatch(profile) is None:
        return ""
    asymmetry = offered.get("level-asymmetry-allowed", "1")
    return (
        f"level-asymmetry-allowed={'1' if asymmetry == '1' else '0'};"
        f"packetization-mode={mode};profile-level-id={profile}"
    )


def _parameters(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return {name.lower(): value.strip() for name, _, value in pairs if name}
