"""How bytes reach the media library: each way can be cut from another thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Protocol
from urllib.parse import urlsplit

import av
from av.container import InputContainer

from stream.live.address import Address, Gate
from stream.live.errors import AddressRefused, SourceLost
from stream.live.http_reader import HttpOpener
from stream.live.relay import Relay
from stream.live.srt_bridge import FAILURES, options_of, srt_library
from stream.media.reading.decoder_bounds import decoder_bound, unseen_at_opening
from stream.media.reading.inputs import is_pipe_or_device

__all__ = ["ROOT", "RtspTransport", "Transport", "end_process", "srt_bridge", "srt_failure"]
__all__ += ["transport_for"]

ROOT: Final = Path(__file__).resolve().parents[2]
"""Where processes of ours find their modules."""

RtspTransport = Literal["tcp", "udp"]
_CONTAINERS: Final = (
    "mpegts,mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,flv,live_flv,avi,mpjpeg,mjpeg,"
    "h264,hevc,ivf,mpeg,mpegvideo,yuv4mpegpipe,ogg,aac,mp3"
)
"""Formats that hold their own media."""
_PLAYLISTS: Final = "hls,applehttp"
"""Those that name what else is to be read. Over HTTP the gate is asked about each; of a file nobody
would be, and it could lead anywhere."""
_LAST_WORD_S: Final = 1.0
_PROBE: Final = {"fflags": "nobuffer", "analyzeduration": "1000000", "probesize": "1000000"}


class Transport(Protocol):
    """One connection."""

    def open(self) -> InputContainer:
        """Connects; blocks until there is something to decode or the time is up."""

    def close(self) -> None:
        """Cuts the connection at once; idempotent, callable from any thread."""

    @property
    def failure(self) -> str:
        """What the transport knows about why it failed; empty if nothing."""


def transport_for(
    address: Address,
    gate: Gate,
    timeout_s: float,
    rtsp: RtspTransport,
    *,
    max_pixels: int,
    has_sound: bool = False,
) -> Transport:
    """The way to an address; the gate is asked here.

    Args:
        address: where the source is.
        gate: decides whether it may be reached.
        timeout_s: silence after which a read fails.
        rtsp: how RTSP carries its media.
        max_pixels: larger pictures are not decoded.
        has_sound: sound is wanted as well.

    Raises:
        AddressRefused: the gate does not let it through, or an option is not known.
        SourceLost: the name does not resolve, or a library is missing.
    """
    if address.kind == "http":
        gate.admit(address)
        return _Http(address, HttpOpener(address, gate, timeout_s), timeout_s, max_pixels)
    ips = gate.admit(address)
    if address.kind in ("rtsp", "rtmp"):
        relay = Relay(address, ips, timeout_s)
        return _Relayed(address, relay, timeout_s, rtsp, has_sound, max_pixels)
    if address.kind == "srt":
        return _Piped(srt_bridge(address, ips[0], goes_out=False), timeout_s, max_pixels)
    return _Local(address, timeout_s, max_pixels)


class _Relayed:
    def __init__(
        self,
        address: Address,
        relay: Relay,
        timeout_s: float,
        rtsp: RtspTransport,
        has_sound: bool,
        max_pixels: int,
    ) -> None:
        self._pixels = max_pixels
        self._address, self._relay, self._timeout_s = address, relay, timeout_s
        self._options = dict(_PROBE)
        if address.kind == "rtsp":
            self._options |= {
                "rtsp_transport": rtsp,
                "allowed_media_types": "video+audio" if has_sound else "video",
                "protocol_whitelist": "rtsp,tcp,udp,rtp",
                "timeout": str(int(timeout_s * 1e6)),
                "reorder_queue_size": "64",
                "max_delay": "200000",
            }
        else:
            self._options["protocol_whitelist"] = "rtmp,tcp"

    @property
    def failure(self) -> str:
        return self._relay.reason

    def open(self) -> InputContainer:
        scheme = self._address.kind
        url = self._address.url("127.0.0.1", self._relay.port, scheme)
        form = "rtsp" if scheme == "rtsp" else "flv"
        return _opened(url, form, self._options, self._timeout_s, self._pixels)

    def close(self) -> None:
        self._relay.close()


class _Http:
    def __init__(
        self, address: Address, opener: HttpOpener, timeout_s: float, max_pixels: int
    ) -> None:
        self._pixels = max_pixels
        self._address, self._opener, self._timeout_s = address, opener, timeout_s
        self.failure = ""

    def open(self) -> InputContainer:
        options = {
            **_PROBE,
            "format_whitelist": f"{_CONTAINERS},{_PLAYLISTS}",
            "protocol_whitelist": "http,https,tls,tcp,crypto",
            "http_persistent": "0",
            "http_multiple": "0",
        }
        return av.open(
            self._address.url(),
            options=decoder_bound(self._pixels),
            container_options=options | unseen_at_opening(),
            timeout=(3 * self._timeout_s, self._timeout_s),
            io_open=self._opener,
        )

    def close(self) -> None:
        self._opener.close()


class _Piped:
    def __init__(self, process: subprocess.Popen[bytes], timeout_s: float, max_pixels: int) -> None:
        self._pixels = max_pixels
        self._process, self._timeout_s = process, timeout_s

    @property
    def failure(self) -> str:
        return srt_failure(self._process)

    def open(self) -> InputContainer:
        assert self._process.stdout is not None
        return av.open(
            self._process.stdout,
            "r",
            format="mpegts",
            options=decoder_bound(self._pixels),
            container_options=_PROBE | unseen_at_opening(),
            timeout=(3 * self._timeout_s, self._timeout_s),
        )

    def close(self) -> None:
        end_process(self._process)


class _Local:
    def __init__(self, address: Address, timeout_s: float, max_pixels: int) -> None:
        self._pixels = max_pixels
        self._address, self._timeout_s = address, timeout_s
        self.failure = ""

    def open(self) -> InputContainer:
        if self._address.kind == "camera":
            return _opened(self._address.path, "v4l2", {}, self._timeout_s, self._pixels)
        path = Path(self._address.path)
        if path.name == "-" or is_pipe_or_device(path):
            raise SourceLost(f"cannot read {self._address}: it is no regular file; save it first")
        options = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}
        return _opened(f"file:{path.absolute()}", None, options, self._timeout_s, self._pixels)

    def close(self) -> None:
        """Reads of files and cameras end by themselves."""


def srt_bridge(address: Address, ip: str, *, goes_out: bool) -> subprocess.Popen[bytes]:
    """Starts the process between SRT and its standard output or input.

    Args:
        address: as written; its options are read here.
        ip: admitted address of the peer, or of this machine where it listens.
        goes_out: what the process is given is sent; otherwise it gives what it receives.

    Raises:
        AddressRefused: an option is not known or not a number.
        SourceLost: the SRT library is not installed.
    """
    query = urlsplit(address.path).query
    try:
        options_of(query)
    except ValueError as error:
        raise AddressRefused(f"{address}: {error}") from None
    if srt_library() is None:
        raise SourceLost(FAILURES[3])
    process = subprocess.Popen(
        [sys.executable, "-m", "stream.live.srt_bridge"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL if goes_out else subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    order = {"host": ip, "port": address.port, "goes_out": goes_out, "query": query}
    assert process.stdin is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    return process


def srt_failure(process: subprocess.Popen[bytes]) -> str:
    """Why the process has ended, or is about to; empty where it goes on."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_WORD_S)
    return FAILURES.get(process.poll() or 0, "")


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Ends a bridge and waits until it is gone; idempotent."""
    with suppress(OSError):
        process.terminate()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(2.0)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()


def _opened(
    url: str, form: str | None, options: dict[str, str], timeout_s: float, max_pixels: int
) -> InputContainer:
    return av.open(
        url,
        format=form,
        options=decoder_bound(max_pixels),
        container_options=options | unseen_at_opening(),
        timeout=(3 * timeout_s, timeout_s),
    )
