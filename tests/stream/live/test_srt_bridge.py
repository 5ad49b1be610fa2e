from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import av
import psutil
import pytest

from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.errors import AddressRefused, SinkLost, SourceLost
from stream.live.network_source import NetworkSource, SourceOptions
from stream.live.publishing import network_sink
from stream.live.srt_bridge import options_of, srt_library
from stream.live.transports import ROOT, end_process, srt_bridge
from stream.service.url_guard import OpenGate
from tests.stream.live.fakes import Encoding, slate
from tests.stream.live.publishing import publishing
from tests.stream.live.rtsp_peer import eventually, free_port

pytestmark = pytest.mark.unit
SECRET = "correct-horse-battery"
needs_srt = pytest.mark.skipif(srt_library() is None, reason="apt-get install libsrt1.5-gnutls")


def visible_of_children() -> str:
    """What anybody on the machine may read of the processes that we started."""
    texts = []
    for child in psutil.Process().children(recursive=True):
        texts.append("\0".join(child.cmdline()))
        texts.append(Path(f"/proc/{child.pid}/environ").read_bytes().decode(errors="replace"))
    return "\n".join(texts)


@needs_srt
def test_encrypted_stream_goes_out_and_comes_in_without_showing_its_passphrase() -> None:
    port = free_port()
    options = SourceOptions(timeout_s=10.0)
    seen = ""
    with publishing(f"srt://127.0.0.1:{port}?passphrase={SECRET}&pbkeylen=32&streamid=a/b"):
        address = address_from_text(f"srt://127.0.0.1:{port}?mode=listener&passphrase={SECRET}")
        source = NetworkSource(address, OpenGate(), SystemClock(), options)
        for _ in itertools.islice(source.frames(), 10):
            seen += visible_of_children()
        source.close()
    assert "srt_bridge" in seen
    assert SECRET not in seen


@needs_srt
def test_wrong_passphrase_is_refused_in_one_line_without_it() -> None:
    port = free_port()
    listener = f"srt://127.0.0.1:{port}?mode=listener&passphrase={SECRET}"
    sink = network_sink(
        address_from_text(f"srt://127.0.0.1:{port}?passphrase=something-else-entirely"), OpenGate()
    )

    def publish() -> None:
        encoding = Encoding(sink)
        for number in range(100_000):
            encoding.write(slate(90, 160, number * 3600))

    with pytest.raises(SinkLost, match="refuses") as lost, another_listener(listener):
        publish()
    sink.abort()
    assert "something" not in str(lost.value)


def another_listener(address: str) -> Peer:
    """Another program's SRT listener."""
    program = shutil.which("srt-live-transmit")
    if program is None:
        pytest.skip("needs another SRT program: apt-get install srt-tools")
    return Peer([program, "-q", "-loglevel:fatal", address, "file://con"])


class Peer(subprocess.Popen[bytes]):
    """A process that is ended with its block."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def __exit__(self, *told: object) -> None:
        self.kill()
        super().__exit__(None, None, None)


@needs_srt
def test_another_programs_listener_takes_what_we_send() -> None:
    port = free_port()
    with (
        another_listener(f"srt://127.0.0.1:{port}?mode=listener&passphrase={SECRET}") as peer,
        publishing(f"srt://127.0.0.1:{port}?passphrase={SECRET}"),
    ):
        assert peer.stdout is not None
        with av.open(peer.stdout, "r", format="mpegts") as received:
            sizes = {frame.width for frame in itertools.islice(received.decode(video=0), 5)}
    assert sizes == {160}


KVEIL_WITH_A_LISTENER = """
import sys
from stream.live.address import address_from_text
from stream.live.transports import srt_bridge
bridge = srt_bridge(address_from_text(sys.argv[1]), "127.0.0.1", goes_out=True)
print(bridge.pid, flush=True)
sys.stdin.read()
"""


def runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def holds_port(pid: int, port: int) -> bool:
    return port in {one.laddr.port for one in psutil.Process(pid).net_connections("udp")}


@needs_srt
@pytest.mark.parametrize("is_listening", [True, False])
def test_listener_without_a_peer_ends_with_a_kveil_that_is_killed(is_listening: bool) -> None:
    port = free_port()
    url = f"srt://127.0.0.1:{port}?mode=listener"
    kveil = subprocess.Popen(
        [sys.executable, "-c", KVEIL_WITH_A_LISTENER, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    with kveil:
        assert kveil.stdout is not None
        bridge = int(kveil.stdout.readline())
        if is_listening:
            assert eventually(lambda: holds_port(bridge, port))
        kveil.kill()
    try:
        assert eventually(lambda: not runs(bridge), 20.0)
    finally:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(bridge).kill()


@needs_srt
def test_listener_whose_input_is_closed_still_waits_a_little_for_its_peer() -> None:
    port = free_port()
    address = address_from_text(f"srt://127.0.0.1:{port}?mode=listener")
    bridge = srt_bridge(address, "127.0.0.1", goes_out=True)
    assert bridge.stdin is not None
    bridge.stdin.write(bytes(188))
    bridge.stdin.close()
    assert eventually(lambda: holds_port(bridge.pid, port))
    caller = address_from_text(f"srt://127.0.0.1:{port}")
    receiver = srt_bridge(caller, "127.0.0.1", goes_out=False)
    assert bridge.wait(20.0) == 0
    end_process(receiver)


@needs_srt
def test_nobody_there_is_told() -> None:
    address = address_from_text(f"srt://127.0.0.1:{free_port()}?conntimeo=300")
    with pytest.raises(SourceLost, match="nobody answers"):
        NetworkSource(address, OpenGate(), SystemClock(), SourceOptions(timeout_s=5.0))


@pytest.mark.parametrize("query", ["mode=open", "latency=soon", "pasphrase=typo-here", "linger=1"])
def test_option_that_is_not_known_is_refused_without_its_value(query: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is checked below
        options_of(query)
    assert "typo-here" not in str(refused.value)
    with pytest.raises(AddressRefused):
        NetworkSource(address_from_text(f"srt://127.0.0.1:9000?{query}"), OpenGate(), SystemClock())
