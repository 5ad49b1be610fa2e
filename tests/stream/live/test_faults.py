from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.service import Live
from engines.blending.compositor import Composite
from stream.live.address import Address, address_from_text
from stream.live.backoff import Backoff
from stream.live.clock import SystemClock
from stream.live.counters import Event
from stream.live.frame_worker import FrameAnonymizer
from stream.live.live_stream import LiveStream
from stream.live.network_source import NetworkSource, SourceOptions
from stream.live.publishing import network_sink
from stream.live.sink_lane import SinkLane
from stream.live.transports import RtspTransport
from stream.service.url_guard import OpenGate
from tests.stream.live.face_stand_in import CoversTheFace, shows_the_face, write_base
from tests.stream.live.fakes import slate
from tests.stream.live.rtsp_peer import RtspPeer, eventually, free_port

pytestmark = pytest.mark.rtsp


class Witness:
    """Looks at every picture that leaves."""

    def __init__(self) -> None:
        self.pictures = 0
        self.slates = 0
        self.faces_seen = 0
        self.longest_gap_s = 0.0
        self.sizes: set[tuple[int, int]] = set()
        self._last_s: float | None = None
        self._last_pts = -1

    def offer(self, composite: Composite) -> None:
        now = time.monotonic()
        if self._last_s is not None:
            self.longest_gap_s = max(self.longest_gap_s, now - self._last_s)
        self._last_s = now
        assert composite.pts > self._last_pts
        self._last_pts = composite.pts
        self.pictures += 1
        self.slates += composite.cause == "no signal"
        self.faces_seen += shows_the_face(composite)
        self.sizes.add((composite.picture.height, composite.picture.width))


class Stage:
    """A camera that comes and goes, a stream, and a witness of its output."""

    def __init__(
        self,
        folder: Path,
        make: Callable[[], FrameAnonymizer],
        transport: RtspTransport = "tcp",
        hang_s: float = 1.0,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.peer: RtspPeer | None = None
        self.witness = Witness()
        clock = SystemClock()
        options = SourceOptions(rtsp=transport, timeout_s=3.0)
        self.stream = LiveStream(
            "cam",
            lambda hear: NetworkSource(self.address(), OpenGate(), clock, options, hear),
            make,
            slate,
            clock,
            Live(
                stall_s=2.5,
                reconnect_first_s=0.2,
                reconnect_longest_s=0.5,
                hold_s=0.5,
                hang_s=hang_s,
                slate_height=180,
                slate_width=320,
            ),
        )
        self.stream.add_outlet(self.witness)

    def address(self) -> Address:
        return address_from_text(f"rtsp://127.0.0.1:{self.port}/camera")

    def camera(self, size: str = "320x180", *options: str) -> RtspPeer:
        width, height = map(int, size.split("x"))
        base = write_base(self.folder / f"{size}.i420", height, width)
        command = ("--size", size, "--base", str(base), *options)
        self.peer = RtspPeer(self.port, *command)
        return self.peer

    def count(self, event: Event) -> int:
        return self.stream.counters.counts().get(event, 0)

    def is_live(self) -> bool:
        status = self.stream.status()
        return status.source == "live" and status.output == "live" and status.fps_out > 3

    def more_pictures(self, number: int) -> Callable[[], bool]:
        goal = self.count("frames_out") + number
        return lambda: self.count("frames_out") >= goal


@contextmanager
def stage(
    folder: Path,
    make: Callable[[], FrameAnonymizer] = CoversTheFace,
    transport: RtspTransport = "tcp",
) -> Iterator[Stage]:
    made = Stage(folder, make, transport)
    made.stream.start()
    try:
        yield made
    finally:
        stuck = made.stream.stop()
        if made.peer is not None:
            made.peer.kill()
    assert not stuck, stuck
    assert made.witness.faces_seen == 0
    assert made.witness.longest_gap_s < 3.0


def test_camera_killed_and_back_the_output_goes_on(tmp_path: Path) -> None:
    with stage(tmp_path) as scene:
        camera = scene.camera()
        assert eventually(scene.is_live)
        camera.kill()
        assert eventually(lambda: scene.witness.slates >= 10)
        scene.camera()
        assert eventually(scene.is_live)
        assert scene.count("reconnects") >= 1


@pytest.mark.slow
def test_camera_away_for_half_a_minute_comes_back(tmp_path: Path) -> None:
    with stage(tmp_path) as scene:
        scene.camera().kill()
        assert eventually(lambda: scene.witness.slates >= 150, 60.0)
        scene.camera()
        assert eventually(scene.is_live, 30.0)


def test_camera_that_freezes_with_its_connection_open_is_noticed(tmp_path: Path) -> None:
    with stage(tmp_path) as scene:
        camera = scene.camera()
        assert eventually(scene.is_live)
        camera.process.send_signal(signal.SIGSTOP)
        assert eventually(lambda: scene.witness.slates >= 5)
        assert eventually(lambda: scene.stream.status().source != "live")
        camera.process.send_signal(signal.SIGCONT)
        assert eventually(scene.is_live, 30.0)
        assert scene.count("source_stalls") + scene.count("reconnects") >= 1


def test_size_codec_and_rate_change_mid_stream(tmp_path: Path) -> None:
    with stage(tmp_path) as scene:
        camera = scene.camera("320x180")
        assert eventually(scene.is_live)
        camera.kill()
        scene.camera("640x360", "--codec", "jpeg", "--fps", "25")
        assert eventually(lambda: (360, 640) in scene.witness.sizes, 30.0)
        assert eventually(scene.more_pictures(20))
        assert scene.count("shape_changes") == 1


def test_one_packet_in_ten_lost_covers_what_is_damaged(tmp_path: Path) -> None:
    with stage(tmp_path, transport="udp") as scene:
        scene.camera("640x360", "--drop", "0.1")
        assert eventually(scene.more_pictures(30), 45.0)
        assert scene.count("frames_in") >= 30


def test_packets_out_of_order_and_lost_show_no_face(tmp_path: Path) -> None:
    with stage(tmp_path, transport="udp") as scene:
        scene.camera("640x360", "--drop", "0.1", "--late", "0.2")
        assert eventually(scene.more_pictures(30), 45.0)
        assert scene.count("frames_in") >= 30


def test_packets_out_of_order_alone_are_put_in_order(tmp_path: Path) -> None:
    with stage(tmp_path, transport="udp") as scene:
        scene.camera("640x360", "--late", "0.2")
        assert eventually(scene.more_pictures(60), 45.0)
        assert scene.count("frames_damaged") < scene.count("frames_in") / 2


def test_engine_that_fails_again_and_again_shows_no_face(tmp_path: Path) -> None:
    with stage(tmp_path, lambda: CoversTheFace(fail_every=8)) as scene:
        scene.camera()
        assert eventually(lambda: scene.count("engine_faults") >= 5, 30.0)
        assert scene.witness.pictures > 20


def test_engine_that_hangs_is_replaced_and_its_frames_never_leave(tmp_path: Path) -> None:
    release = threading.Event()
    made: list[CoversTheFace] = []

    def make() -> CoversTheFace:
        made.append(CoversTheFace(hang=None if made else release))
        return made[-1]

    with stage(tmp_path, make) as scene:
        scene.camera()
        assert eventually(lambda: scene.count("engine_hangs") == 1)
        assert eventually(scene.more_pictures(20))
        assert scene.stream.status().hung_calls == 1
        release.set()
        assert eventually(lambda: scene.stream.status().hung_calls == 0)
        assert len(made) == 2


def test_server_that_takes_the_output_restarts(tmp_path: Path) -> None:
    port = free_port()
    server = RtspPeer(port)
    clock = SystemClock()
    with stage(tmp_path) as scene:
        lane = SinkLane(
            "out",
            lambda: network_sink(server.address("out"), OpenGate(), timeout_s=2.0),
            8,
            Backoff(0.2, 0.5),
            clock,
            scene.stream.counters,
        )
        scene.stream.add_lane(lane)
        scene.camera()
        assert eventually(scene.is_live)
        server.kill()
        assert eventually(lambda: scene.count("sink_losses") >= 1)
        assert "out" not in scene.stream.status().sinks or lane.trouble
        server = RtspPeer(port)
        losses = scene.count("sink_losses")
        assert eventually(lambda: lane.trouble == "", 20.0), lane.trouble
        assert eventually(scene.more_pictures(15))
        assert scene.count("sink_losses") <= losses + 3
    server.kill()
