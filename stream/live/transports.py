"""How bytes reach the media library: each way can be cut from another thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Final, Literal
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
_HTTP: Final = {
    **_PROBE,
    "format_whitelist": f"{_CONTAINERS},{_PLAYLISTS}",
    "protocol_whitelist": "http,https,tls,tcp,crypto",
    "http_persistent": "0",
    "http_multiple": "0",
}
_FILE: Final = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}


@dataclass(frozen=True, slots=True)
class Transport:
    """One connection.

    Attributes:
        place: URL, or the pipe that bytes come out of.
        timeout_s: silence after which a read fails; opening may take three times that.
        max_pixels: larger pictures are not decoded.
        form: the library's name of the format; None where it is to find out.
        options: of the container.
        io_open: opens what the place leads to; None for the library's own way.
        close: cuts the connection at once; idempotent, callable from any thread. Reads of files
            and cameras end by themselves.
        failure: what is known about why it failed; empty if nothing.
    """

    place: str | IO[bytes]
    timeout_s: float
    max_pixels: int
    form: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    io_open: HttpOpener | None = None
    close: Callable[[], None] = lambda: None
    failure: Callable[[], str] = str

    def open(self) -> InputContainer:
        """Connects; blocks until there is something to decode or the time is up."""
        return av.open(
            self.place,
            "r",
            format=self.form,
            options=decoder_bound(self.max_pixels),
            container_options={**self.options, **unseen_at_opening()},
            timeout=(3 * self.timeout_s, self.timeout_s),
            io_open=self.io_open,
        )


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
        SourceLost: the name does not resolve, a library is missing, or it is no regular file.
    """
    ips = gate.admit(address)
    if address.kind == "http":
        opener = HttpOpener(address, gate, timeout_s)
        way = partial(Transport, address.url(), options=_HTTP, io_open=opener, close=opener.close)
    elif address.kind in ("rtsp", "rtmp"):
        way = _relayed(address, Relay(address, ips, timeout_s), timeout_s, rtsp, has_sound)
    elif address.kind == "srt":
        process = srt_bridge(address, ips[0], goes_out=False)
        assert process.stdout is not None
        way = partial(
            Transport,
            process.stdout,
            form="mpegts",
            options=_PROBE,
            close=partial(end_process, process),
            failure=partial(srt_failure, process),
        )
    elif address.kind == "camera":
        way = partial(Transport, address.path, form="v4l2")
    else:
        path = Path(address.path)
        if path.name == "-" or is_pipe_or_device(path):
            raise SourceLost(f"cannot read {address}: it is no regular file; save it first")
        way = partial(Transport, f"file:{path.absolute()}", options=_FILE)
    return way(timeout_s=timeout_s, max_pixels=max_pixels)


def _relayed(
    address: Address, relay: Relay, timeout_s: float, rtsp: RtspTransport, has_sound: bool
) -> partial[Transport]:
    options = _PROBE | {"protocol_whitelist": "rtmp,tcp"}
    if address.kind == "rtsp":
        options |= {
            "rtsp_transport": rtsp,
            "allowed_media_types": "video+audio" if has_sound else "video",
            "protocol_whitelist": "rtsp,tcp,udp,rtp",
            "timeout": str(int(timeout_s * 1e6)),
            "reorder_queue_size": "64",
            "max_delay": "200000",
        }
    return partial(
        Transport,
        address.url("127.0.0.1", relay.port, address.kind),
        form="rtsp" if address.kind == "rtsp" else "flv",
        options=options,
        close=relay.close,
        failure=lambda: relay.reason,
    )


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
