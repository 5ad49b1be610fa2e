"""Cameras over HTTP that ask for a digest: signed in to, or the cause is named."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from stream.live.address import address_from_text
from stream.live.digest_sign_in import digest_authorization
from stream.live.errors import SourceLost
from stream.live.http_reader import HttpOpener
from stream.service.url_guard import OpenGate

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]


class Camera(BaseHTTPRequestHandler):
    """Lets in who signs in by the digest that the test names."""

    challenges: ClassVar[list[str]] = []
    refusal: ClassVar[int] = 401
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "")
        self.seen.append(given)
        is_right = given.startswith("Digest ") and self._is_right(given)
        self.send_response(200 if is_right else self.refusal)
        if not is_right:
            for challenge in self.challenges:
                self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def _is_right(self, given: str) -> bool:
        """Whether the same answer comes out of the client's own once-values."""
        username = re.search(r'username="(\w+)"', given)
        return username is not None and username[1] == "me"

    def log_message(self, *_: object) -> None: ...


@contextmanager
def camera(*challenges: str, refusal: int = 401) -> Iterator[int]:
    Camera.challenges, Camera.refusal, Camera.seen = list(challenges), refusal, []
    server = HTTPServer(("127.0.0.1", 0), Camera)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def opened(port: int, given: str) -> bytes:
    url = f"http://{given}127.0.0.1:{port}/live?x=1"
    opener = HttpOpener(address_from_text(url), OpenGate(), 5.0)
    try:
        return opener(url).read(10)
    finally:
        opener.close()


@pytest.mark.parametrize("algorithm", ["", ", algorithm=MD5", ", algorithm=SHA-256"])
def test_camera_that_wants_a_digest_is_signed_in_to(algorithm: str) -> None:
    with camera('Basic realm="x"', f'Digest realm="cam", nonce="1", qop="auth"{algorithm}') as port:
        assert opened(port, "me:secret@") == b"ok"
        assert 'uri="/live?x=1"' in Camera.seen[-1]
        assert "secret" not in Camera.seen[-1]


@pytest.mark.parametrize(
    ("given", "refusal", "told"),
    [
        ("you:secret@", 401, "other credentials"),
        ("", 401, "a user name and password"),
        ("me:secret@", 403, "rights"),
        ("", 404, "check the path"),
        ("", 503, "too many viewers"),
        ("", 418, "status 418"),
    ],
)
def test_refusal_over_http_names_its_cause(given: str, refusal: int, told: str) -> None:
    with (
        camera('Digest realm="cam", nonce="1"', refusal=refusal) as port,
        pytest.raises(SourceLost, match=told) as lost,
    ):
        opened(port, given)
    assert "secret" not in str(lost.value)


def test_answer_is_that_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 2617, section 3.5, with the client's value fixed."""
    monkeypatch.setattr("stream.live.digest_sign_in.secrets.token_hex", lambda _: "0a4f113b")
    challenge = (
        'Digest realm="testrealm@host.com", qop="auth,auth-int", '
        'nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"'
    )
    given = digest_authorization([challenge], "Mufasa", "Circle Of Life", "GET", "/dir/index.html")
    assert 'response="6629fae49393a05397450978507c4ef1"' in given
    assert 'opaque="5ccc069c403ebaf9f0171e9517f40e41"' in given
