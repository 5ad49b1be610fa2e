"""Drives a real Chromium through ChromeDriver's HTTP interface."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.stream.live.rtsp_peer import eventually, free_port

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--mute-audio",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--allow-loopback-in-peer-connection",
    "--force-webrtc-ip-handling-policy=default_public_interface_only",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
)
Json = dict[str, object]
ENTER, ESCAPE = "\ue007", "\ue00c"


def need_browser() -> tuple[str, str]:
    """Chromium and its driver, or a skip that says what to install."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    return browser, driver


class Browser:
    """One session of a browser."""

    def __init__(self, driver: str, session: str, driver_pid: int) -> None:
        self._driver_pid = driver_pid
        self.has_vanished = False
        self._base = f"{driver}/session/{session}"
        self._client = httpx.Client(timeout=60.0)

    def open(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def emulate(self, width: int, height: int) -> None:
        """A phone's screen, narrower than a window can be made."""
        screen: Json = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
        command: Json = {"cmd": "Emulation.setDeviceMetricsOverride", "params": screen}
        self._ask("POST", "/goog/cdp/execute", command)

    def run(self, script: str, *arguments: object) -> object:
        """Runs JavaScript; a promise is waited for."""
        body: Json = {"script": script, "args": list(arguments)}
        return self._ask("POST", "/execute/sync", body)

    def type(self, selector: str, keys: str) -> None:
        """Presses keys in an element, as a person does."""
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        assert isinstance(found, dict)
        self._ask("POST", f"/element/{next(iter(found.values()))}/value", {"text": keys})

    def screenshot(self, path: Path) -> None:
        data = self._ask("GET", "/screenshot")
        path.write_bytes(base64.b64decode(str(data)))

    def vanish(self) -> None:
        """Ends the browser at once: it says goodbye to nobody."""
        self.has_vanished = True
        for process in psutil.Process(self._driver_pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def close(self) -> None:
        if not self.has_vanished:
            self._ask("DELETE", "")
        self._client.close()

    def _ask(self, method: str, path: str, body: Json | None = None) -> object:
        answer = self._client.request(method, self._base + path, json=body)
        value: object = answer.json()["value"]
        assert answer.status_code == 200, value
        return value


@contextmanager
def browser(profile: Path, camera: Path | None = None) -> Iterator[Browser]:
    """A headless browser whose camera plays a file (.mjpeg or .y4m)."""
    program, driver = need_browser()
    port = free_port()
    process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    flags = [*_FLAGS, f"--user-data-dir={profile}"]
    if camera is not None:
        flags.append(f"--use-file-for-fake-video-capture={camera}")
    try:
        assert eventually(lambda: _answers(base))
        options = {"binary": program, "args": flags}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        answer = httpx.post(f"{base}/session", json=wanted, timeout=60.0)
        assert answer.status_code == 200, answer.text
        session = Browser(base, answer.json()["value"]["sessionId"], process.pid)
        try:
            yield session
        finally:
            session.close()
    finally:
        process.terminate()
        process.wait(10.0)


def _answers(base: str) -> bool:
    try:
        return bool(httpx.get(f"{base}/status", timeout=2.0).json()["value"]["ready"])
    except httpx.HTTPError:
        return False
