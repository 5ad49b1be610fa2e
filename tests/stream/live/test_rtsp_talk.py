"""Cameras that ask for a sign-in in any way, or refuse: they are read, or the cause is named."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.errors import SourceLost
from stream.live.network_source import NetworkSource, SourceOptions
from stream.live.rtsp_talk import Replies, Requests, RtspTalk
from stream.service.url_guard import OpenGate
from tests.stream.live.signing_camera import PASSWORD, USER, SigningCamera, signing_camera

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]
FAST = SourceOptions(timeout_s=3.0)
GIVEN = f"{USER}:{quote(PASSWORD, safe='')}@"


def read(camera: SigningCamera, given: str = GIVEN) -> int:
    """The width of the first picture."""
    address = address_from_text(f"rtsp://{given}127.0.0.1:{camera.port}/cam")
    source = NetworkSource(address, OpenGate(), SystemClock(), FAST)
    width = next(iter(source.frames())).picture.width
    source.close()
    return width


@pytest.mark.parametrize(
    ("challenges", "qop", "signed_by"),
    [
        (("SHA-256",), False, "SHA-256"),
        (("SHA-256",), True, "SHA-256"),
        (("SHA-256-sess",), True, "SHA-256-sess"),
        (("SHA-256", "MD5"), False, "SHA-256"),
        (("", "SHA-256"), True, "SHA-256"),
        (("SHA-999", "MD5"), False, "MD5"),
        (("",), False, "MD5"),
        (("MD5",), True, "MD5"),
    ],
)
def test_camera_is_signed_in_to_by_the_digest_that_it_wants(
    challenges: tuple[str, ...], qop: bool, signed_by: str
) -> None:
    with signing_camera(*challenges, qop=qop) as camera:
        assert read(camera) == 96
        assert set(camera.signed_by) == {signed_by}


@pytest.mark.parametrize(
    ("challenge", "given", "told"),
    [
        ("SHA-256", f"{USER}:wrong@", "other credentials"),
        ("MD5", f"{USER}:wrong@", "other credentials"),
        ("SHA-256", "", "a user name and password"),
        ("SHA-999", GIVEN, "does not know .Digest SHA-999."),
    ],
)
def test_sign_in_that_fails_names_its_cause(challenge: str, given: str, told: str) -> None:
    with (
        signing_camera(challenge) as camera,
        pytest.raises(SourceLost, match=told) as lost,
    ):
        read(camera, given)
    assert "wrong" not in str(lost.value)


@pytest.mark.parametrize(
    ("method", "line", "told"),
    [
        ("SETUP", "461 Unsupported Transport", "sources.rtsp_transport"),
        ("SETUP", "453 Not Enough Bandwidth", "bandwidth"),
        ("PLAY", "453 Not Enough Bandwidth", "bandwidth"),
        ("DESCRIBE", "503 Service Unavailable", "busy"),
        ("DESCRIBE", "404 Not Found", "check the path"),
        ("DESCRIBE", "403 Forbidden", "rights"),
        ("SETUP", "454 Session Not Found", "ended the session"),
        ("DESCRIBE", "500 Internal Server Error", "failed inside"),
        ("DESCRIBE", "418 Teapot", "status 418"),
    ],
)
def test_refusal_of_a_camera_names_its_cause(method: str, line: str, told: str) -> None:
    with (
        signing_camera(refusals={method: line}) as camera,
        pytest.raises(SourceLost, match=told),
    ):
        read(camera, "")


def test_refused_question_whether_it_lives_is_no_reason() -> None:
    talk = RtspTalk(address_from_text("rtsp://host/cam"))
    requests, replies = Requests(talk), Replies(talk)
    asked = bytearray(b"GET_PARAMETER rtsp://host/cam RTSP/1.0\r\nCSeq: 9\r\n\r\n")
    assert requests.passed(asked, len(asked)) == bytes(asked)
    refused = bytearray(b"RTSP/1.0 501 Not Implemented\r\nCSeq: 9\r\n\r\n")
    assert replies.passed(refused, len(refused)) == bytes(refused)
    assert talk.refusal == ""


@pytest.mark.parametrize("at", range(1, 100, 3))
def test_challenge_split_anywhere_is_translated(at: int) -> None:
    replies = Replies(RtspTalk(address_from_text("rtsp://me:secret@host/cam")))
    text = (
        b"RTSP/1.0 401 Unauthorized\r\nCSeq: 2\r\n"
        b'WWW-Authenticate: Digest algorithm=SHA-256, realm="cam", nonce="1"\r\n\r\n'
    )
    got = b""
    for piece in (text[:at], text[at:]):
        passed = replies.passed(bytearray(piece), len(piece))
        assert passed is not None
        got += passed
    assert got == text.replace(b"algorithm=SHA-256, ", b"")
