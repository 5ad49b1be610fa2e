from __future__ import annotations

import functools
import http.server
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import pytest

from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.encoder_choice import EncoderOptions
from stream.live.errors import AddressRefused, SinkLost, SourceLost
from stream.live.network_source import NetworkSource, SourceOptions
from stream.live.publishing import SinkCodec, network_sink
from stream.live.srt_bridge import srt_library
from stream.media.marking import mark_in_bitstream
from stream.service.url_guard import OpenGate
from tests.stream.live.fakes import Encoding, slate
from tests.stream.live.publishing import publishing
from tests.stream.live.redirecting_server import redirecting_server
from tests.stream.live.rtmp_server import rtmp_server
from tests.stream.live.rtsp_peer import eventually, free_port

pytestmark = pytest.mark.unit
FAST = SourceOptions(timeout_s=3.0)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@contextmanager
def web_server(folder: Path) -> Iterator[int]:
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join(10.0)


def frames_of(address: str, number: int) -> int:
    source = NetworkSource(address_from_text(address), OpenGate(), SystemClock(), FAST)
    count = sum(1 for _ in itertools.islice(source.frames(), number))
    source.close()
    return count


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_hls_is_written_marked_and_read_again_over_http(tmp_path: Path, codec: SinkCodec) -> None:
    sink = network_sink(address_from_text(str(tmp_path / "live.m3u8")), OpenGate(), codec)
    encoding = Encoding(sink, codec=codec, is_marked=True)
    for number in range(120):
        encoding.write(slate(90, 160, number * 3600))
    sink.finish()
    names = {file.suffix for file in tmp_path.iterdir()}
    assert names == {".m3u8", ".mp4", ".m4s"}
    assert any(mark_in_bitstream(file.read_bytes()) for file in tmp_path.glob("*.m4s"))
    with web_server(tmp_path) as port:
        assert frames_of(f"http://127.0.0.1:{port}/live.m3u8", 60) == 60


@pytest.mark.parametrize("keyframe_s", [0.5, 1.0])
def test_hls_segments_are_as_short_as_the_key_frames_ask(tmp_path: Path, keyframe_s: float) -> None:
    sink = network_sink(address_from_text(str(tmp_path / "live.m3u8")), OpenGate())
    encoding = Encoding(sink, EncoderOptions(keyframe_s=keyframe_s))
    for number in range(150):
        encoding.write(slate(90, 160, number * 3600))
    sink.finish()
    lines = (tmp_path / "live.m3u8").read_text().splitlines()
    lengths = [float(line[8:].rstrip(",")) for line in lines if line.startswith("#EXTINF:")]
    assert len(lengths) >= 5
    assert max(lengths) <= keyframe_s + 0.05
    assert "#EXT-X-INDEPENDENT-SEGMENTS" in lines
    assert sum(line.startswith("#EXT-X-PROGRAM-DATE-TIME:") for line in lines) == len(lengths)
    assert any(line.startswith("#EXT-X-MAP:") for line in lines)


def test_playlist_that_points_at_a_file_gives_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret.ts"
    secret.write_bytes(b"G" * 188 * 20)
    text = f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://{secret}\n#EXT-X-ENDLIST\n"
    (tmp_path / "evil.m3u8").write_text(text)
    with web_server(tmp_path) as port, pytest.raises((SourceLost, AddressRefused)):
        frames_of(f"http://127.0.0.1:{port}/evil.m3u8", 1)


def test_concatenation_script_over_http_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "evil.mp4").write_text("ffconcat version 1.0\nfile /etc/passwd\n")
    with web_server(tmp_path) as port, pytest.raises(SourceLost):
        frames_of(f"http://127.0.0.1:{port}/evil.mp4", 1)


def test_rtmp_publication_reaches_a_server() -> None:
    port, seen = free_port(), threading.Event()

    def listen() -> None:
        address = f"rtmp://127.0.0.1:{port}/live/key"
        with av.open(address, format="flv", container_options={"listen": "1"}) as server:
            for _ in itertools.islice(server.decode(video=0), 10):
                pass
            seen.set()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    with publishing(f"rtmp://127.0.0.1:{port}/live/key"):
        assert eventually(seen.is_set, 30.0)
    thread.join(10.0)


def test_rtmp_goes_out_to_a_server_and_comes_in_from_it() -> None:
    with rtmp_server() as port, publishing(f"rtmp://127.0.0.1:{port}/live/key"):
        assert eventually(lambda: plays(f"rtmp://127.0.0.1:{port}/live/key"), 30.0)


def plays(address: str) -> bool:
    try:
        return frames_of(address, 10) == 10
    except SourceLost:
        return False


def test_rtmp_stream_that_nobody_publishes_is_told_in_one_line() -> None:
    with rtmp_server() as port, pytest.raises(SourceLost) as lost:
        frames_of(f"rtmp://me:s3cret@127.0.0.1:{port}/live/none", 1)
    assert "s3cret" not in str(lost.value)
    assert "\n" not in str(lost.value)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_srt_goes_out_and_comes_in(codec: SinkCodec) -> None:
    if srt_library() is None:
        pytest.skip("needs SRT: apt-get install libsrt1.5-gnutls")
    port = free_port()
    with publishing(f"srt://127.0.0.1:{port}?mode=caller", codec):
        assert frames_of(f"srt://127.0.0.1:{port}?mode=listener", 10) == 10


@pytest.mark.parametrize(
    "target", ["rtmp://user:s3cret@127.0.0.1:9/app/key", "rtsp://user:s3cret@127.0.0.1:9/key"]
)
def test_server_that_is_not_there_is_told_without_secrets(target: str) -> None:
    sink = network_sink(address_from_text(target), OpenGate(), timeout_s=2.0)

    def publish() -> None:
        encoding = Encoding(sink)
        for number in range(10_000):
            encoding.write(slate(90, 160, number * 3600))

    with pytest.raises(SinkLost, match="refused") as lost:
        publish()
    sink.abort()
    assert "s3cret" not in str(lost.value)
    assert "key" not in str(lost.value)


def test_output_that_cannot_be_is_refused() -> None:
    with pytest.raises(AddressRefused):
        network_sink(address_from_text("http://127.0.0.1/x"), OpenGate())


def test_goodbye_to_a_server_that_never_took_anything_fails() -> None:
    address = address_from_text("rtmp://user:s3cret@127.0.0.1:9/app/key")
    sink = network_sink(address, OpenGate(), timeout_s=2.0)
    Encoding(sink).write(slate(90, 160, 0))
    with pytest.raises(SinkLost, match="refused") as lost:
        sink.finish()
    assert "s3cret" not in str(lost.value)
    assert "key" not in str(lost.value)


def test_goodbye_to_an_srt_peer_that_is_not_there_fails() -> None:
    if srt_library() is None:
        pytest.skip("needs SRT: apt-get install libsrt1.5-gnutls")
    address = address_from_text(f"srt://127.0.0.1:{free_port()}?conntimeo=300")
    sink = network_sink(address, OpenGate())
    Encoding(sink).write(slate(90, 160, 0))
    with pytest.raises(SinkLost, match="nobody answers"):
        sink.finish()


def test_path_that_a_camera_does_not_have_is_told_as_such() -> None:
    with redirecting_server("RTSP/1.0 404 Not Found\r\nCSeq: {cseq}") as server:
        address = f"rtsp://me:s3cret@127.0.0.1:{server.port}/none"
        with pytest.raises(SourceLost, match="check the path") as lost:
            frames_of(address, 1)
    assert "s3cret" not in str(lost.value)
    assert "none" not in str(lost.value)


def test_path_that_a_server_does_not_take_is_told_as_such() -> None:
    with redirecting_server("RTSP/1.0 404 Not Found\r\nCSeq: {cseq}") as server:
        address = address_from_text(f"rtsp://127.0.0.1:{server.port}/none")
        sink = network_sink(address, OpenGate(), timeout_s=2.0)
        Encoding(sink).write(slate(90, 160, 0))
        with pytest.raises(SinkLost, match="check the path"):
            sink.finish()
