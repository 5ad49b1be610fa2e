"""A real RTMP server: nginx with its RTMP module, on loopback."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stream.live.rtsp_peer import eventually, free_port

MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")
SETTINGS = """
load_module {module};
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log warn;
events {{ worker_connections 64; }}
rtmp {{
  access_log off;
  server {{
    listen 127.0.0.1:{port};
    application live {{ live on; record off; }}
  }}
}}
"""


@contextmanager
def rtmp_server() -> Iterator[int]:
    """Runs the server; gives its port. What is published to live/NAME can be played there."""
    if shutil.which("nginx") is None or not MODULE.exists():
        pytest.skip("needs an RTMP server: apt-get install libnginx-mod-rtmp")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "nginx.conf"
        settings.write_text(SETTINGS.format(module=MODULE, folder=folder, port=port))
        command = ["nginx", "-p", folder, "-c", str(settings), "-e", f"{folder}/error.log"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            assert eventually(lambda: _listens(port), 10.0), "nginx did not start"
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10.0)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
