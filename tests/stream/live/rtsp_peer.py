"""Starts the real RTSP server and reads the time that its camera burns into the picture."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from engines.pictures import Picture
from stream.live.address import Address, address_from_text

SERVER = Path(__file__).with_name("gst_server.py")
BITS = 40
_PROBE = "import gi; gi.require_version('GstRtspServer', '1.0')"
_MISSING = (
    "needs the GStreamer RTSP server: apt-get install gir1.2-gst-rtsp-server-1.0 python3-gi "
    "gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly"
)


def need_rtsp_server() -> str:
    """The system's Python, or a skip that says what to install."""
    python = "/usr/bin/python3"
    if not Path(python).exists() or shutil.which("gst-inspect-1.0") is None:
        pytest.skip(_MISSING + " gstreamer1.0-tools")
    if subprocess.run([python, "-c", _PROBE], capture_output=True, check=False).returncode:
        pytest.skip(_MISSING)
    return python


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RtspPeer:
    """One run of the server."""

    def __init__(self, port: int, *options: str) -> None:
        self.port = port
        self.process = subprocess.Popen(
            [need_rtsp_server(), str(SERVER), "--port", str(port), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith(b"ready")

    def address(self, mount: str, user: str = "") -> Address:
        at = f"{user}@" if user else ""
        return address_from_text(f"rtsp://{at}127.0.0.1:{self.port}/{mount}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def rtsp_peer(*options: str) -> Iterator[RtspPeer]:
    peer = RtspPeer(free_port(), *options)
    try:
        yield peer
    finally:
        peer.kill()


def burnt_ms(picture: Picture) -> int:
    """The monotonic time in ms that the camera wrote into the top rows."""
    row = picture.planes[0][16].astype(int)
    cell = len(row) // BITS
    middle = np.arange(BITS) * cell + cell // 2
    return sum(1 << int(bit) for bit in np.flatnonzero(row[middle] > 125))


def eventually(holds: Callable[[], bool], timeout_s: float = 45.0) -> bool:
    """Whether something comes to hold within the time."""
    never = threading.Event()
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if holds():
            return True
        never.wait(0.05)
    return holds()
