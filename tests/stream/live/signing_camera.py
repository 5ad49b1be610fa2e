"""A small RTSP camera that asks for a sign-in, or refuses, as real ones do."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction

import av
import numpy as np

USER, PASSWORD, NONCE = "me", "s:ec ret", "0123456789abcdef"
_HASHES = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
_LONGEST = 1200


def _pictures() -> list[bytes]:
    """Coded pictures, a key frame first."""
    context = av.CodecContext.create("libx264", "w")
    assert isinstance(context, av.VideoCodecContext)
    context.width, context.height, context.pix_fmt = 96, 64, "yuv420p"
    context.time_base, context.framerate = Fraction(1, 25), Fraction(25)
    context.options = {"tune": "zerolatency", "g": "5"}
    pictures = []
    for number in range(10):
        picture = np.full((96, 96), 40 + 10 * number, np.uint8)
        frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
        frame.pts = number
        pictures += [bytes(packet) for packet in context.encode(frame)]
    return pictures


def _units(picture: bytes) -> list[bytes]:
    return [unit for unit in re.split(rb"\x00\x00\x00\x01|\x00\x00\x01", picture) if unit]


class SigningCamera:
    """Serves until closed.

    Args:
        challenges: of each 401, such as `Digest SHA-256`; none asks for no sign-in.
        refusals: by method, the status line that is answered instead.
        qop: offers `auth` with each challenge.
    """

    def __init__(
        self, challenges: Sequence[str], refusals: dict[str, str], *, qop: bool = False
    ) -> None:
        self._challenges, self._refusals, self._qop = challenges, refusals, qop
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.signed_by: list[str] = []
        self._closed = threading.Event()
        self._pictures = _pictures()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                peer.settimeout(10.0)
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, suppress(OSError, ValueError):
            text = b""
            while not self._closed.is_set():
                while b"\r\n\r\n" not in text:
                    more = peer.recv(4096)
                    if not more:
                        return
                    text += more
                    while text[:1] == b"$" and len(text) >= 4:
                        text = text[4 + int.from_bytes(text[2:4], "big") :]
                head, text = text.split(b"\r\n\r\n", 1)
                self._answer(peer, head.decode())

    def _answer(self, peer: socket.socket, head: str) -> None:
        method, uri, _ = head.split("\r\n")[0].split(" ")
        number = re.search(r"CSeq: (\d+)", head)
        line, more, body = self._reply_to(method, uri, head)
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        sequence = number[1] if number else "0"
        peer.sendall(f"RTSP/1.0 {line}\r\nCSeq: {sequence}\r\n{more}{length}\r\n{body}".encode())
        if method == "PLAY" and line.startswith("200"):
            threading.Thread(target=self._play, args=(peer,), daemon=True).start()

    def _reply_to(self, method: str, uri: str, head: str) -> tuple[str, str, str]:
        if self._challenges and method != "OPTIONS" and not self._is_signed(method, head):
            qop = ', qop="auth"' if self._qop else ""
            lines = [
                f'WWW-Authenticate: Digest realm="cam", nonce="{NONCE}"{qop}'
                + (f", algorithm={name}" if name else "")
                for name in self._challenges
            ]
            return "401 Unauthorized", "\r\n".join(lines) + "\r\n", ""
        if method in self._refusals:
            return self._refusals[method], "", ""
        if method == "DESCRIBE":
            units = _units(self._pictures[0])
            sets = ",".join(base64.b64encode(unit).decode() for unit in units[:2])
            body = (
                "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\n"
                "a=rtpmap:96 H264/90000\r\n"
                f"a=fmtp:96 packetization-mode=1;sprop-parameter-sets={sets}\r\n"
                "a=control:track1\r\n"
            )
            return "200 OK", f"Content-Base: {uri}/\r\nContent-Type: application/sdp\r\n", body
        if method == "SETUP":
            place = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"
            return "200 OK", f"{place}Session: 1\r\n", ""
        return "200 OK", "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\nSession: 1\r\n", ""

    def _is_signed(self, method: str, head: str) -> bool:
        line = re.search(r"Authorization: Digest (.*)", head)
        if line is None:
            return False
        given = {
            name: quoted or bare
            for name, quoted, bare in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', line[1])
        }
        name = given.get("algorithm", "MD5")
        kind = name.removesuffix("-sess")
        if name not in [one or "MD5" for one in self._challenges]:
            return False

        def digest(text: str) -> str:
            return hashlib.new(_HASHES[kind], text.encode()).hexdigest()

        secret = digest(f"{USER}:cam:{PASSWORD}")
        if name.endswith("-sess"):
            secret = digest(f"{secret}:{NONCE}:{given.get('cnonce')}")
        once = f"{NONCE}:{given.get('nc')}:{given.get('cnonce')}:auth" if self._qop else NONCE
        wanted = digest(f"{secret}:{once}:{digest(method + ':' + given['uri'])}")
        self.signed_by.append(name)
        return bool(wanted == given["response"])

    def _play(self, peer: socket.socket) -> None:
        sequence = 0
        with suppress(OSError, ValueError):
            for number in range(500):
                units = _units(self._pictures[number % len(self._pictures)])
                for place, unit in enumerate(units):
                    assert len(unit) < _LONGEST
                    is_last = 0x80 if place == len(units) - 1 else 0
                    head = struct.pack(">BBHII", 0x80, is_last | 96, sequence, number * 3600, 7)
                    packet = head + unit
                    peer.sendall(b"$\0" + struct.pack(">H", len(packet)) + packet)
                    sequence += 1
                if self._closed.wait(0.02):
                    return


@contextmanager
def signing_camera(
    *challenges: str, refusals: dict[str, str] | None = None, qop: bool = False
) -> Iterator[SigningCamera]:
    camera = SigningCamera(challenges, refusals or {}, qop=qop)
    try:
        yield camera
    finally:
        camera.close()
