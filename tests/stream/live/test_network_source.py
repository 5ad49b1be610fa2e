from __future__ import annotations

import itertools
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import psutil
import pytest

from config.service import Sources
from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.errors import AddressRefused, SourceLost
from stream.live.http_reader import HttpOpener
from stream.live.network_source import NetworkSource, SourceOptions
from stream.live.publishing import SinkCodec, network_sink
from stream.live.transports import RtspTransport
from stream.media.reading.file_source import FileSource
from stream.service.url_guard import OpenGate, UrlGuard
from tests.clips import Clip, made_clip
from tests.stream.live.fakes import Encoding, slate
from tests.stream.live.redirecting_server import redirecting_server
from tests.stream.live.rtsp_peer import burnt_ms, eventually, rtsp_peer
from tests.stream.service.test_tls import write_certificate

pytestmark = pytest.mark.rtsp
FAST = SourceOptions(timeout_s=2.0)


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_rtsp_camera_gives_frames_within_half_a_second(transport: RtspTransport) -> None:
    with rtsp_peer("--size", "320x180") as peer:
        options = SourceOptions(rtsp=transport)
        source = NetworkSource(peer.address("camera"), OpenGate(), SystemClock(), options)
        first = itertools.islice(source.frames(), 30)
        delays = [time.monotonic() * 1000 - burnt_ms(frame.picture) for frame in first]
        source.close()
        assert source.shape.width == 320
        # What the source holds back, it holds back of every frame; a busy machine delays some.
        assert 0 <= min(delays) < 500


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p"])
@pytest.mark.parametrize("further", [0, 90])
def test_recording_played_live_comes_upright_as_a_file_does(
    rotation: int, pixel_format: str, further: int, tmp_path: Path
) -> None:
    clip = Clip(frames=3, rotation=rotation, pixel_format=pixel_format)
    path = made_clip(tmp_path / "a.mp4", clip)
    options = replace(FAST, rotation=further)
    source = NetworkSource(address_from_text(str(path)), OpenGate(), SystemClock(), options)
    expected_frames = FileSource(path, rotation=further).frames()
    for frame, expected in zip(source.frames(), expected_frames, strict=True):
        assert frame.picture.layout == expected.picture.layout
        for plane, same in zip(frame.picture.planes, expected.picture.planes, strict=True):
            assert np.array_equal(plane, same)


def test_wrong_password_is_one_line_without_the_password() -> None:
    with rtsp_peer("--user", "me:right") as peer:
        with pytest.raises(SourceLost) as lost:
            NetworkSource(peer.address("camera", "me:wr0ng"), OpenGate(), SystemClock(), FAST)
        assert "credentials" in str(lost.value)
        assert "wr0ng" not in str(lost.value)
        assert "\n" not in str(lost.value)
        assert lost.value.__cause__ is None


def test_right_password_gives_frames() -> None:
    with rtsp_peer("--user", "me:right", "--size", "320x180") as peer:
        source = NetworkSource(peer.address("camera", "me:right"), OpenGate(), SystemClock(), FAST)
        assert next(iter(source.frames())).picture.width == 320
        source.close()


def test_nothing_listening_is_told_at_once() -> None:
    address = address_from_text("rtsp://me:secret@127.0.0.1:9/x")
    with pytest.raises(SourceLost, match="connection refused") as lost:
        NetworkSource(address, OpenGate(), SystemClock(), FAST)
    assert "secret" not in str(lost.value)


def test_close_from_another_thread_frees_a_stuck_read() -> None:
    with rtsp_peer("--size", "320x180") as peer:
        options = SourceOptions(timeout_s=60.0)
        source = NetworkSource(peer.address("camera"), OpenGate(), SystemClock(), options)
        frames = source.frames()
        next(frames)
        peer.process.send_signal(19)
        reader = threading.Thread(target=lambda: [None for _ in frames])
        reader.start()
        source.close()
        reader.join(5.0)
        peer.process.send_signal(18)
        assert not reader.is_alive()


def test_rtsp_redirect_to_another_host_is_not_followed() -> None:
    with redirecting_server("RTSP/1.0 302 Found\r\nCSeq: {cseq}\r\nLocation: {elsewhere}") as trap:
        guard = UrlGuard(Sources(networks=("127.0.0.1/32",)))
        address = address_from_text(f"rtsp://127.0.0.1:{trap.port}/cam")
        with pytest.raises(SourceLost, match="redirects"):
            NetworkSource(address, guard, SystemClock(), FAST)
        assert trap.visits_elsewhere == 0


def test_http_redirect_to_a_refused_host_is_not_followed() -> None:
    with redirecting_server("HTTP/1.1 302 Found\r\nLocation: {elsewhere}") as trap:
        guard = UrlGuard(Sources(networks=("127.0.0.1/32",)))
        address = address_from_text(f"http://127.0.0.1:{trap.port}/live.m3u8")
        with pytest.raises((AddressRefused, SourceLost)):
            NetworkSource(address, guard, SystemClock(), FAST)
        assert trap.visits_elsewhere == 0


def test_camera_of_this_machine_gives_frames() -> None:
    if not Path("/dev/video0").exists():
        pytest.skip("needs a camera: /dev/video0 (or the kernel module v4l2loopback)")
    source = NetworkSource(address_from_text("/dev/video0"), OpenGate(), SystemClock(), FAST)
    assert all(frame.picture.width > 0 for frame in itertools.islice(source.frames(), 3))
    source.close()


def test_camera_that_is_not_there_is_told_in_one_line() -> None:
    address = address_from_text("/dev/video987")
    with pytest.raises(SourceLost, match="cannot read /dev/video987: no such file"):
        NetworkSource(address, OpenGate(), SystemClock(), FAST)


def test_credentials_of_a_publication_are_seen_in_no_process() -> None:
    with rtsp_peer("--size", "320x180") as peer:
        sink = network_sink(peer.address("out", "me:s3cret"), OpenGate())
        Encoding(sink).write(slate(180, 320, 0))
        seen = ""
        for child in psutil.Process().children():
            seen += " ".join(child.cmdline())
            seen += Path(f"/proc/{child.pid}/environ").read_bytes().decode(errors="replace")
        sink.abort()
    assert "stream.live.publisher" in seen
    assert "s3cret" not in seen


@pytest.mark.parametrize(("codec", "takes"), [("h264", "h264"), ("hevc", "h265")])
def test_published_stream_can_be_watched_and_says_goodbye(codec: SinkCodec, takes: str) -> None:
    with rtsp_peer("--takes", takes) as peer:
        sink = network_sink(peer.address("out"), OpenGate(), codec)
        encoding = Encoding(sink, codec=codec)
        stop = threading.Event()

        def publish() -> None:
            for number in itertools.count():
                if stop.wait(1 / 30):
                    return
                encoding.write(slate(180, 320, number * 3000))

        writer = threading.Thread(target=publish)
        writer.start()
        seen: list[int] = []

        def can_watch() -> bool:
            try:
                source = NetworkSource(peer.address("watch"), OpenGate(), SystemClock(), FAST)
            except SourceLost:
                return False
            seen.extend(f.picture.width for f in itertools.islice(source.frames(), 10))
            source.close()
            return True

        assert eventually(can_watch)
        stop.set()
        writer.join()
        sink.finish()
        assert seen == [320] * 10


@pytest.mark.parametrize("blanks", ["  ", "\t", " 0"])
def test_rtsp_redirect_in_an_odd_form_is_not_followed(blanks: str) -> None:
    reply = f"RTSP/1.0{blanks}302 Found\r\nCSeq: {{cseq}}\r\nLocation: {{elsewhere}}"
    with redirecting_server(reply) as trap:
        guard = UrlGuard(Sources(networks=("127.0.0.1/32",)))
        address = address_from_text(f"rtsp://127.0.0.1:{trap.port}/cam")
        with pytest.raises(SourceLost, match="redirects"):
            NetworkSource(address, guard, SystemClock(), FAST)
        assert trap.visits_elsewhere == 0


@contextmanager
def web_server(seen: list[str], reply: str, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Notes what credentials come with each request; gives its port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.wfile.write(f"{reply}\r\nContent-Length: 0\r\n\r\n".encode())

        def log_message(self, *told: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def asked_of(url: str) -> None:
    """Opens a URL with credentials, as the media library does."""
    guard = UrlGuard(Sources(networks=("127.0.0.1/32",)))
    opener = HttpOpener(address_from_text(url), guard, 5.0)
    opener(url)
    opener.close()


def test_credentials_stay_behind_where_another_port_of_the_host_takes_over() -> None:
    first: list[str] = []
    second: list[str] = []
    with web_server(second, "HTTP/1.0 200 OK") as port:
        moved = f"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:{port}/live.ts"
        with web_server(first, moved) as own:
            asked_of(f"http://me:secret@127.0.0.1:{own}/live")
    assert first == ["Basic bWU6c2VjcmV0"]
    assert second == [""]


def test_credentials_do_not_leave_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listen = write_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", listen.tls_certificate)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(listen.tls_certificate, listen.tls_key)
    hidden: list[str] = []
    shown: list[str] = []
    with web_server(shown, "HTTP/1.0 200 OK") as port:
        moved = f"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:{port}/live.ts"
        with web_server(hidden, moved, tls) as own:
            asked_of(f"https://me:secret@127.0.0.1:{own}/live")
    assert hidden == ["Basic bWU6c2VjcmV0"]
    assert shown == [""]


def test_credentials_come_with_a_redirect_within_one_server() -> None:
    seen: list[str] = []
    moved = "HTTP/1.0 302 Found\r\nLocation: /other"
    with web_server(seen, moved) as port, pytest.raises(SourceLost, match="too often"):
        asked_of(f"http://me:secret@127.0.0.1:{port}/live")
    assert seen == ["Basic bWU6c2VjcmV0"] * 4
