from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

import pytest

from stream.live.address import address_from_text
from stream.live.relay import Relay

pytestmark = pytest.mark.unit
OPTIONS = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: DESCRIBE, SETUP, PLAY\r\n\r\n"
LOCATION = b"\r\nCSeq: 2\r\nLocation: rtsp://127.0.0.2/x\r\n\r\n"
MOVED = b"RTSP/1.0 302 Found" + LOCATION


def answering(pieces: Sequence[bytes], got_all: Sequence[threading.Event]) -> socket.socket:
    """A server that sends each piece once the client has the one before."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = server.accept()
        with server, peer:
            for piece, got in zip(pieces, got_all, strict=True):
                peer.sendall(piece)
                got.wait(5.0)

    threading.Thread(target=serve, daemon=True).start()
    return server


def relayed(*pieces: bytes) -> tuple[bytes, str]:
    """What reaches the client of a server that sends these pieces, and why no more did."""
    got_all = [threading.Event() for _ in pieces]
    server = answering(pieces, got_all)
    address = address_from_text(f"rtsp://127.0.0.1:{server.getsockname()[1]}/cam")
    relay = Relay(address, ("127.0.0.1",), 5.0)
    received = b""
    with socket.create_connection(("127.0.0.1", relay.port), 5.0) as client:
        for piece, got in zip(pieces, got_all, strict=True):
            wanted = len(received) + len(piece)
            while len(received) < wanted and (more := client.recv(65536)):
                received += more
            got.set()
    relay.close()
    return received, relay.failure


def packet(payload: bytes, size: int | None = None) -> bytes:
    """A packet of media within a connection of RTSP."""
    return b"$\0" + (len(payload) if size is None else size).to_bytes(2, "big") + payload


@pytest.mark.parametrize(
    "status",
    [
        b"RTSP/1.0 302",
        b"RTSP/1.0  302 Found",
        b"RTSP/1.0\t302 Found",
        b"RTSP/1.0 \t \t302 Found",
        b"RTSP/1.0 0302 Found",
        b"RTSP/1.0 +302 Found",
        b"RTSP/1.0 \x0b302 Found",
        b"RTSP/1.0 302Found",
        b"RTSP/1.0 4294967598 Found",
        b"RTSP/1 302 Found",
        b"RTSP/ 302 Found",
        b"RTSP/1.0-and-more 302 Found",
        b"RTSP/1.0 3\r02 Found",
        b"R\rTSP/1.0 302 Found",
        b"\r \tRTSP/1.0 302 Found",
        b"RTSP/1.0 399",
        b"RTSP/1.0" + b" " * 3000 + b"302 Found",
    ],
)
def test_redirect_in_any_form_that_the_library_takes_does_not_pass(status: bytes) -> None:
    assert relayed(OPTIONS, status + LOCATION)[0] == OPTIONS
    assert "redirects" in relayed(OPTIONS + status + LOCATION)[1]


@pytest.mark.parametrize("at", range(1, len(b"RTSP/1.0  302 F")))
def test_redirect_split_over_two_packets_does_not_pass(at: int) -> None:
    text = b"RTSP/1.0  302 Found" + LOCATION
    received, failure = relayed(text[:at], text[at:])
    assert received == text[:at]
    assert "redirects" in failure


@pytest.mark.parametrize(
    "before",
    [
        packet(b"no line ends here"),
        packet(b""),
        b"\r\r" + packet(b"RTSP/1.0 200 OK\r\n"),
        b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 6\r\n\r\nv=0\r\ns",
        b"RTSP/1.0 200 OK\nContent-Length: 600\ncontent-LENGTH:2\n\nab",
        b"RTSP/1.0 200 OK\r\n" + packet(b"\r\n\r\n") + b"Content-Length: 1\r\n\r\na",
        b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n\0Content-Length: 500\r\n",
        b"RTSP/1.0 200 OK\r\nX:" + b"x" * 5000 + b"\nCSeq: 1\r\n\r\n",
        b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
        b"Content-Length: 500\r\n\r\n",
    ],
)
def test_redirect_right_behind_something_else_does_not_pass(before: bytes) -> None:
    received, failure = relayed(before, MOVED)
    assert received == before
    assert "redirects" in failure


@pytest.mark.parametrize("size", [b"-1", b"+9", b"\x0b9", b"4294967396", b"", b"99999999"])
def test_reply_of_unclear_size_does_not_pass(size: bytes) -> None:
    reply = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: " + size + b"\r\n\r\n"
    assert relayed(OPTIONS, reply)[0] == OPTIONS


@pytest.mark.parametrize(
    "text",
    [
        b"RTSP/1.0 100 Continue\r\n\r\n",
        b"RTSP/1.0 401 Unauthorized\r\nCSeq: 2\r\nWWW-Authenticate: Basic\r\n\r\n",
        b"RTSP/1.0 454 Session Not Found\r\n\r\n",
        b"RTSP/1.0 551 Option not supported\r\n\r\n",
        b"RTSP/2.0  200\tOK\r\n\r\n",
        b"RTSP/1.0 200\x00302\r\n\r\n",
        b"ANNOUNCE rtsp://camera/x RTSP/1.0\r\nCSeq: 7\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nServer: RTSP/1.0 302\r\nContent-Length: 30 \r\n\r\n"
        b"s=RTSP/RTP stream\nRTSP/1.0 302",
        packet(MOVED) + packet(b"\n" + MOVED) + OPTIONS + packet(b"\n" * 12 + MOVED),
        packet(b"x" * 65535) * 3 + OPTIONS,
    ],
)
def test_replies_and_media_of_a_camera_pass_unchanged(text: bytes) -> None:
    assert relayed(OPTIONS, text, OPTIONS) == (OPTIONS + text + OPTIONS, "")
    middle = len(text) // 2
    assert relayed(text[:middle], text[middle:]) == (text, "")


def test_media_split_within_its_head_is_still_told_from_replies() -> None:
    whole = packet(b"\n" + MOVED)
    for at in range(1, 6):
        assert relayed(whole[:at], whole[at:] + OPTIONS) == (whole + OPTIONS, "")
