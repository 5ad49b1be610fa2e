"""Sections of an offer that are not taken, and what the offer leaves unsaid (RFC 3264, RFC 9143).

The library answers every section and bundles all of them. So it is shown the sections that can be
taken; in its answer the others are refused, in their places, and bundled is what the offer bundles.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["offer_to_take", "sends_video", "with_refused_sections"]

_KINDS: Final = ("audio", "video", "application")
_SOUNDS: Final = re.compile(r"a=rtpmap:\d+ (opus/48000|pcmu/8000|pcma/8000|g722/8000)", re.I)
_STATIC_SOUNDS: Final = frozenset(("0", "8", "9"))
"""Numbers of formats that need no name (RFC 3551): PCMU, PCMA and G.722."""
_DIRECTIONS: Final = ("a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive")
_BUNDLE: Final = "a=group:BUNDLE"
_SETUP: Final = "a=setup:"


@dataclass(frozen=True, slots=True)
class _Section:
    """The lines of one section, the first of which names its kind, port, protocol and formats."""

    lines: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        return [*self.lines[0].removeprefix("m=").split(), "", ""]

    @property
    def mid(self) -> str:
        return next((line[6:] for line in self.lines if line.startswith("a=mid:")), "")

    @property
    def is_taken(self) -> bool:
        kind, port, _, *formats = self.words
        if kind not in _KINDS or "a=inactive" in self.lines:
            return False
        if port == "0" and "a=bundle-only" not in self.lines:
            return False
        if kind != "audio":
            return True
        return bool(_STATIC_SOUNDS & set(formats)) or any(map(_SOUNDS.match, self.lines))

    def refusal(self) -> Iterator[str]:
        kind, _, *rest = self.words
        yield f"m={kind} 0 {' '.join(rest)}".rstrip()
        yield "c=IN IP4 0.0.0.0"
        if self.mid:
            yield f"a=mid:{self.mid}"
        yield "a=inactive"


def offer_to_take(offer: str) -> str:
    r"""The offer without the sections that are refused, and with what it leaves to defaults.

    >>> sound = "m=audio 0 RTP/SAVPF 0\r\n"
    >>> offer_to_take("v=0\r\n" + sound + "m=video 9 RTP/SAVPF 96\r\na=setup:active\r\n")
    'v=0\r\nm=video 9 RTP/SAVPF 96\r\na=setup:active\r\na=sendrecv\r\n'
    """
    head, sections = _parts(offer)
    taken = [section for section in sections if section.is_taken]
    lines = list(_bundled(head, [section.mid for section in taken]))
    for section in taken:
        lines += section.lines
        whole = (*head, *section.lines)
        if section.words[0] != "application":
            lines += [] if set(_DIRECTIONS) & set(whole) else ["a=sendrecv"]
        lines += [] if any(line.startswith(_SETUP) for line in whole) else [f"{_SETUP}actpass"]
    return _text(lines)


def with_refused_sections(answer: str, offer: str) -> str:
    """The library's answer to `offer_to_take` as an answer to the offer itself."""
    head, answers = _parts(answer)
    offered_head, offered = _parts(offer)
    given = iter(answers)
    lines = [line for line in head if not line.startswith(_BUNDLE)]
    taken = [section.mid for section in offered if section.is_taken]
    groups = [line for line in offered_head if line.startswith(_BUNDLE)]
    lines += _bundled(groups, taken)
    for section in offered:
        lines += next(given).lines if section.is_taken else section.refusal()
    return _text(lines)


def sends_video(offer: str) -> bool:
    r"""Whether a section of video that can be taken sends.

    >>> sends_video("v=0\r\nm=video 9 RTP/SAVPF 96\r\na=recvonly\r\n")
    False
    """
    _, sections = _parts(offer)
    videos = [section for section in sections if section.is_taken and section.words[0] == "video"]
    return any("a=recvonly" not in section.lines for section in videos)


def _parts(text: str) -> tuple[tuple[str, ...], list[_Section]]:
    """Lines before the first section, and the sections."""
    lines = [line.strip() for line in text.splitlines()]
    starts = [number for number, line in enumerate(lines) if line.startswith("m=")]
    bounds = itertools.pairwise([*starts, len(lines)])
    sections = [_Section(tuple(lines[start:end])) for start, end in bounds]
    return tuple(lines[: starts[0]] if starts else lines), sections


def _bundled(head: Sequence[str], mids: Sequence[str]) -> Iterator[str]:
    """The lines with groups of these sections alone."""
    for line in head:
        if not line.startswith(_BUNDLE):
            yield line
            continue
        left = [mid for mid in line.removeprefix(_BUNDLE).split() if mid in mids]
        if left:
            yield " ".join((_BUNDLE, *left))


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\r\n" for line in lines if line)
