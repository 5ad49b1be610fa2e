"""What a client and a server of RTSP say to each other, read on its way through the relay.

It is read as the media library reads it: carriage returns count nowhere, a NUL ends a line, a
line without anything ends the head, and a dollar sign at the start of any line begins a packet
of media. Of the many ways to write a status that the library takes, only plain ones pass.
"""

from __future__ import annotations

import re
from typing import Final

from stream.live.address import Address
from stream.live.digest_sign_in import DigestTranslation

__all__ = ["Replies", "Requests", "RtspTalk"]

_BLANKS: Final = b" \t"
_PACKET_HEAD: Final = 3  # channel and length, after the dollar sign
_LONGEST_LINE: Final = 4095  # the library drops what comes after
_STATUS: Final = re.compile(rb"RTSP/[^ \t]*[ \t]+([1245]\d\d)(?!\d)")
_LENGTH: Final = re.compile(rb"content-length:[ \t]*(\d{1,7})(?!\d)", re.IGNORECASE)
_SEQUENCE: Final = re.compile(rb"cseq:[ \t]*(\d{1,9})", re.IGNORECASE)
_CHALLENGE: Final = b"www-authenticate:"
_ANSWER: Final = b"authorization:"
_DIGEST: Final = re.compile(r"[\w-]+:\s*digest\s", re.IGNORECASE)
_NOT_VITAL: Final = frozenset({"OPTIONS", "GET_PARAMETER", "SET_PARAMETER", "TEARDOWN"})
"""Requests whose refusal stops no stream."""
_MOST_REQUESTS: Final = 64
_UNAUTHORIZED: Final = 401
_REFUSED: Final = 400
_REFUSALS: Final = {
    403: "it forbids that to this user; check the user's rights",
    404: "it refuses; check the path of the address",
    453: "it has no bandwidth left; close other viewers or lower its bit rate",
    454: "it ended the session; it may have too many viewers",
    461: "it does not offer this transport; change sources.rtsp_transport (tcp or udp)",
    500: "it failed inside; restart it or look at its log",
    503: "it is busy or has too many viewers; close some or try later",
    551: "it does not know an option that is needed; update it",
}


class RtspTalk:
    """One conversation: the state that both directions share.

    Args:
        address: of the server; its password answers challenges.
    """

    def __init__(self, address: Address) -> None:
        self._has_name = bool(address.username)
        self.digest = DigestTranslation(address.password)
        self._methods: dict[int, str] = {}
        self._status = 0

    @property
    def refusal(self) -> str:
        """Why the server refused the newest request that matters; empty where it did not."""
        if self._status == _UNAUTHORIZED:
            if self.digest.unknown:
                return f"it wants a sign-in that kveil does not know (Digest {self.digest.unknown})"
            if not self._has_name:
                return "it wants a user name and password in the address"
            return "it wants other credentials"
        if self._status < _REFUSED:
            return ""
        return _REFUSALS.get(
            self._status, f"it refuses with status {self._status}; check the path of the address"
        )

    def asked(self, number: int, method: str) -> None:
        """A request of that number and method goes out."""
        self._methods[number] = method
        if method not in _NOT_VITAL:
            self._status = 0
        while len(self._methods) > _MOST_REQUESTS:
            del self._methods[next(iter(self._methods))]

    def answered(self, number: int, status: int) -> None:
        """A reply came in."""
        method = self._methods.pop(number, "")
        if method not in _NOT_VITAL or status == _UNAUTHORIZED:
            self._status = status


class _Direction:
    """Walks over what goes one way; a subclass looks at lines and may exchange some."""

    wanted = b""
    """Beginning of the headers that may be exchanged, in small letters."""

    def __init__(self, talk: RtspTalk) -> None:
        self._talk = talk
        self._line = bytearray()
        self._held = bytearray()
        self._packet_head: bytearray | None = None
        self._to_skip = 0
        self._is_first = True
        self._body_size = 0

    def passed(self, data: bytearray, size: int) -> bytes | None:
        """What goes on to the other end; None where the conversation must end.

        Args:
            data: holds the next bytes at its start; not kept.
            size: how many.
        """
        out = bytearray()
        at = begin = 0
        while at < size:
            if self._to_skip:
                skipped = min(self._to_skip, size - at)
                self._to_skip -= skipped
                at += skipped
            elif self._packet_head is not None:
                at = self._read_packet_head(data, at, size)
            elif not self._line and data[at : at + 1] == b"$":
                self._packet_head = bytearray()
                at += 1
            elif not self._line and data[at : at + 1] == b"\r":
                at += 1
            else:
                end = data.find(b"\n", at, size)
                place, at = at, end + 1 if end >= 0 else size
                self._keep(data[place : end if end >= 0 else size])
                if self._is_wanted():
                    out += data[begin:place]
                    self._held += data[place:at]
                    begin = at
                elif self._held:
                    out += self._held
                    self._held.clear()
                if end >= 0:
                    out += self._exchanged()
                    if not self._end_line():
                        return None
        return bytes(out + data[begin:size])

    def take_line(self, line: bytes, *, is_first: bool) -> bool:
        """Looks at a line that is complete; false where it must not pass."""
        raise NotImplementedError

    def end_head(self) -> None:
        """The head is complete."""

    def exchange(self, line: str) -> str:
        """Another line in place of a wanted one; empty to leave it out."""
        raise NotImplementedError

    def _is_wanted(self) -> bool:
        """Whether the line is, or may become, one that is exchanged."""
        start = bytes(self._line[: len(self.wanted)]).lower()
        return bool(start) and self.wanted.startswith(start)

    def _exchanged(self) -> bytes:
        """What stands for the line that was held back, if one was."""
        held, self._held = bytes(self._held), bytearray()
        text = bytes(self._line).decode("utf-8", "surrogateescape")
        if not held or len(self._line) < len(self.wanted) or _DIGEST.match(text) is None:
            return held
        instead = self.exchange(text)
        if instead == text:
            return held
        return f"{instead}\r\n".encode("utf-8", "surrogateescape") if instead else b""

    def _read_packet_head(self, data: bytearray, at: int, size: int) -> int:
        assert self._packet_head is not None
        end = min(size, at + _PACKET_HEAD - len(self._packet_head))
        self._packet_head += data[at:end]
        if len(self._packet_head) == _PACKET_HEAD:
            self._to_skip = int.from_bytes(self._packet_head[1:], "big")
            self._packet_head = None
        return end

    def _keep(self, piece: bytearray) -> None:
        self._line += piece.replace(b"\r", b"")
        del self._line[_LONGEST_LINE:]

    def _end_line(self) -> bool:
        line, self._line = bytes(self._line.split(b"\0")[0]), bytearray()
        if not line:
            self._to_skip, self._body_size, self._is_first = self._body_size, 0, True
            self.end_head()
            return True
        is_first, self._is_first = self._is_first, False
        if not self.take_line(line, is_first=is_first):
            return False
        if is_first or not line.lower().startswith(b"content-length:"):
            return True
        found = _LENGTH.match(line)
        self._body_size = int(found[1]) if found else 0
        return found is not None


class Replies(_Direction):
    """From the server to the library, which would follow a redirect while it connects."""

    wanted = _CHALLENGE

    def __init__(self, talk: RtspTalk) -> None:
        super().__init__(talk)
        self._status = self._number = -1

    def take_line(self, line: bytes, *, is_first: bool) -> bool:
        """Notes status and number; false for a redirect or what may be read as one."""
        if line.lstrip(_BLANKS).startswith(b"RTSP/"):
            found = _STATUS.match(line.lstrip(_BLANKS))
            self._status = int(found[1]) if found and is_first else -1
            self._talk.digest.begin()
            return found is not None
        named = _SEQUENCE.match(line)
        if named:
            self._number = int(named[1])
        return True

    def end_head(self) -> None:
        """Tells what the server answered."""
        if self._status >= 0:
            self._talk.answered(self._number, self._status)
        self._status = self._number = -1

    def exchange(self, line: str) -> str:
        """A challenge that the library understands."""
        return self._talk.digest.challenge(line)


class Requests(_Direction):
    """From the library to the server."""

    wanted = _ANSWER

    def __init__(self, talk: RtspTalk) -> None:
        super().__init__(talk)
        self._method = ""

    def take_line(self, line: bytes, *, is_first: bool) -> bool:
        """Notes method and number; everything passes."""
        if is_first:
            self._method = line.split(b" ")[0].decode("ascii", "replace")
        named = _SEQUENCE.match(line)
        if named:
            self._talk.asked(int(named[1]), self._method)
        return True

    def exchange(self, line: str) -> str:
        """An answer that the server understands."""
        return self._talk.digest.answer(line, self._method)
