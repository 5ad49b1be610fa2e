"""Looking at what a file or a stream holds makes no room for pictures that are too large."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import pytest

from stream.errors import InputUnreadable
from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.errors import SourceLost
from stream.live.network_source import NetworkSource, SourceOptions
from stream.media.reading.decoder_bounds import unseen_at_opening
from stream.media.reading.file_source import FileSource
from stream.service.url_guard import OpenGate
from tests.clips import Clip, made_clip
from tests.stream.media.test_round_trip import passed_through

pytestmark = pytest.mark.unit
SIDE = 6144
PICTURE_MB = SIDE * SIDE * 1.5 / 1e6
FORMATS = {
    "a.mp4": "mp4",
    "a.ts": "mpegts",
    "a.flv": "flv",
    "a.mkv": "matroska",
    "a.h264": "h264",
}
LOOK = """
import json, sys
from pathlib import Path
from stream.errors import StreamError
from stream.media.reading.file_source import FileSource
from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.network_source import NetworkSource, SourceOptions
from stream.service.url_guard import OpenGate

def peak_mb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))

def live(path):
    address = address_from_text(str(path))
    return NetworkSource(address, OpenGate(), SystemClock(), SourceOptions(max_pixels=64 * 96))

openers = {"live": live, "file": lambda path: FileSource(path, max_pixels=64 * 96)}
open_one, (small, *large) = openers[sys.argv[1]], map(Path, sys.argv[2:])
open_one(small).close()
told = {}
for path in large:
    before = peak_mb()
    try:
        open_one(path).close()
        said = "opened"
    except StreamError as error:
        said = str(error)
    told[path.name] = (said, peak_mb() - before)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small clip, and large ones in each container."""
    folder = tmp_path_factory.mktemp("large")
    options = {"preset": "ultrafast", "x264-params": "rc-lookahead=0:threads=1"}
    whole = made_clip(folder / "a.mp4", Clip(SIDE, SIDE, frames=2, options=options))
    return [made_clip(folder / "small.mp4", Clip(frames=2)), *copies(whole, FORMATS)]


def copies(whole: Path, formats: dict[str, str]) -> list[Path]:
    """The same coded pictures in other containers; the first is there already."""
    made = [whole]
    for name, muxer in list(formats.items())[1:]:
        made.append(whole.with_name(name))
        with av.open(str(whole)) as source, av.open(str(made[-1]), "w", format=muxer) as target:
            track = source.streams.video[0]
            copied = target.add_stream_from_template(track)
            for packet in source.demux(track):
                if packet.dts is not None:
                    packet.stream = copied
                    target.mux(packet)
    return made


@pytest.mark.parametrize("kind", ["live", "file"])
def test_opening_makes_no_room_for_pictures_beyond_the_limit(kind: str, clips: list[Path]) -> None:
    command = [sys.executable, "-c", LOOK, kind, *map(str, clips)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60.0)
    told: dict[str, tuple[str, float]] = json.loads(done.stdout)
    assert set(told) == set(FORMATS)
    for name, (said, grown_mb) in told.items():
        assert f"{SIDE}×{SIDE}" in said, name
        assert "limits.max_pixels" in said, name
        assert grown_mb < PICTURE_MB / 2, (name, grown_mb)


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """Serves a folder on loopback; gives its address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            """Says nothing."""

    handler = partial(Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_too_large_pictures_of_a_playlist_are_told_by_their_size(tmp_path: Path) -> None:
    made_clip(tmp_path / "a.m3u8", Clip(480, 640, frames=100, options={"g": "10"}, muxer="hls"))
    with web_server(tmp_path) as at:
        options = SourceOptions(max_pixels=64 * 64)
        address = address_from_text(f"{at}/a.m3u8")
        source = NetworkSource(address, OpenGate(), SystemClock(), options)
        with pytest.raises(SourceLost, match="640×480"):
            list(source.frames())


def test_live_video_of_an_unknown_coding_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream.live.network_source.has_decoder", lambda stream: False)
    clip = made_clip(tmp_path / "a.ts", Clip(frames=10))
    with pytest.raises(SourceLost, match="unknown coding"):
        NetworkSource(address_from_text(str(clip)), OpenGate(), SystemClock())


@pytest.mark.parametrize(("name", "codec"), [("a.flv", "libx264"), ("a.mpg", "mpeg2video")])
def test_pixel_shape_is_kept_where_only_the_decoder_tells_it(
    name: str, codec: str, tmp_path: Path
) -> None:
    base, shape = Fraction(1, 25), Fraction(4, 3)
    clip = Clip(64, 96, frames=10, codec=codec, time_base=base, sample_aspect=shape)
    source = made_clip(tmp_path / name, clip)
    with av.open(str(source), container_options=unseen_at_opening()) as container:
        assert container.streams.video[0].sample_aspect_ratio is None
    reader, _ = passed_through(source, tmp_path / "out.mp4")
    with av.open(str(source)) as container:
        told = container.streams.video[0].sample_aspect_ratio
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.streams.video[0].sample_aspect_ratio == told != 1
    assert reader.report.frames == 10


def test_file_of_exactly_the_most_pixels_is_read(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=2))
    assert len(list(FileSource(clip, max_pixels=64 * 96).frames())) == 2
    with pytest.raises(InputUnreadable, match=r"limits\.max_pixels"):
        FileSource(clip, max_pixels=64 * 96 - 1)
