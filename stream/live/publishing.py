"""Connections that take encoded pictures: RTSP, RTMP, SRT, and folders of HLS."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from stream.live.address import Address, Gate
from stream.live.errors import AddressRefused
from stream.live.live_encoder import EncodedPicture
from stream.live.network_sink import NetworkSink, publishing_errors
from stream.live.packet_muxer import PacketMuxer, Writable
from stream.live.publisher import HEADER, SOUND
from stream.live.relay import Relay
from stream.live.transports import ROOT, end_process, srt_bridge, srt_failure
from stream.media.marking import CONTAINER_MARK

__all__ = ["SinkCodec", "codec_for", "network_sink"]

SinkCodec = Literal["h264", "hevc"]
_GOODBYE_S: Final = 4.0
_FORMATS: Final = {
    "rtsp": ("rtsp", {"rtsp_transport": "tcp"}),
    "rtmp": ("flv", {"flvflags": "no_duration_filesize"}),
}
_TS: Final = {"flush_packets": "1", "muxdelay": "0"}
_HLS: Final = {
    "hls_segment_type": "fmp4",
    "hls_time": "0.1",  # so that each key frame begins a segment
    "hls_list_size": "12",
    "hls_flags": "delete_segments+independent_segments+program_date_time+temp_file",
    "hls_fmp4_init_filename": "init.mp4",
}


def codec_for(address: Address, wanted: SinkCodec) -> SinkCodec:
    """The coding in which pictures go to an address: many RTMP servers take H.264 alone."""
    return "h264" if address.kind == "rtmp" else wanted


def network_sink(
    address: Address,
    gate: Gate,
    codec: SinkCodec = "h264",
    *,
    is_marked: bool = True,
    timeout_s: float = 5.0,
    has_sound: bool = False,
) -> NetworkSink:
    """A connection that takes pictures of a codec; the gate is asked here.

    Args:
        address: where to publish; a file ending in `.m3u8` makes HLS with fMP4 segments.
        gate: decides whether it may be reached.
        codec: of the pictures.
        is_marked: adds the machine-readable mark to the metadata.
        timeout_s: for connecting.
        has_sound: there is a track of sound, fed by `write_sound`.

    Raises:
        AddressRefused: the gate does not let it through, or nothing can be published there.
        SourceLost: the name does not resolve, or the SRT library is not installed.
        SinkLost: it cannot be begun, or its folder not be made.
    """
    what = _What(address, codec, CONTAINER_MARK if is_marked else {}, has_sound)
    with publishing_errors(address):
        ips = gate.admit(address)
        if address.kind in ("rtsp", "rtmp"):
            return _Published(what, Relay(address, ips, timeout_s))
        if address.kind == "srt":
            return _Bridged(what, srt_bridge(address, ips[0], goes_out=True))
        if address.kind == "file" and address.path.endswith(".m3u8"):
            return _segmented(what, Path(address.path))
    raise AddressRefused(f"cannot publish to {address}; use rtsp, rtmp, srt or a name in .m3u8")


@dataclass(frozen=True, slots=True)
class _What:
    """What is published, and where."""

    address: Address
    codec: SinkCodec
    metadata: Mapping[str, str]
    has_sound: bool

    def muxer(self, place: str | Writable, form: str, options: Mapping[str, str]) -> PacketMuxer:
        """Writes it into a container in this process."""
        kind = (place, form, options, self.codec, self.metadata)
        return PacketMuxer(*kind, has_sound=self.has_sound)


class _Published(NetworkSink):
    """A process of its own that speaks RTSP or RTMP, through a relay."""

    def __init__(self, what: _What, relay: Relay) -> None:
        super().__init__(what.address, has_sound=what.has_sound)
        self._relay, address = relay, what.address
        form, options = _FORMATS[address.kind]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stream.live.publisher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        order = {
            "url": address.url("127.0.0.1", relay.port, address.kind),
            "format": form,
            "options": options,
            "metadata": dict(what.metadata),
            "codec": what.codec,
            "has_sound": what.has_sound,
        }
        self._put(json.dumps(order).encode() + b"\n")

    @property
    def failure(self) -> str:
        if self._relay.reason:
            return self._relay.reason
        stdout = self._process.stdout
        if stdout is None or stdout.closed or self._process.poll() is None:
            return ""
        return stdout.readline(200).decode(errors="replace").strip()

    def abort(self) -> None:
        end_process(self._process)
        self._relay.close()

    def _send(self, picture: EncodedPicture) -> None:
        header = HEADER.pack(picture.pts, picture.is_key, len(picture.data))
        self._put(header + picture.data)

    def _send_sound(self, pcm: bytes, place: int) -> None:
        self._put(HEADER.pack(place, SOUND, len(pcm)) + pcm)

    def _say_goodbye(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        _wait_for_success(self._process)

    def _put(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            raise


class _Muxed(NetworkSink):
    """Writes a container in this process."""

    def __init__(self, what: _What, muxer: PacketMuxer) -> None:
        super().__init__(what.address, has_sound=what.has_sound)
        self._muxer = muxer

    def _send(self, picture: EncodedPicture) -> None:
        self._muxer.write(picture.data, picture.pts, picture.is_key)

    def _send_sound(self, pcm: bytes, place: int) -> None:
        self._muxer.write_sound(pcm, place)

    def _say_goodbye(self) -> None:
        self._muxer.close()

    def abort(self) -> None:
        """Files need no breaking off: a new connection writes them anew."""


class _Bridged(_Muxed):
    """MPEG-TS into the process that speaks SRT."""

    def __init__(self, what: _What, process: subprocess.Popen[bytes]) -> None:
        super().__init__(what, what.muxer(_Unseekable(process), "mpegts", _TS))
        self._process = process

    @property
    def failure(self) -> str:
        return srt_failure(self._process)

    def abort(self) -> None:
        end_process(self._process)

    def _say_goodbye(self) -> None:
        super()._say_goodbye()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        _wait_for_success(self._process)


def _segmented(what: _What, playlist: Path) -> NetworkSink:
    """HLS beside a playlist, whose folder is made."""
    playlist.parent.mkdir(parents=True, exist_ok=True)
    names = {"hls_segment_filename": str(playlist.with_suffix("")) + "-%05d.m4s"}
    return _Muxed(what, what.muxer(str(playlist), "hls", _HLS | names))


def _wait_for_success(process: subprocess.Popen[bytes]) -> None:
    """Waits until all is sent: a pipe takes pictures also while nobody takes them out."""
    try:
        status = process.wait(_GOODBYE_S)
    except subprocess.TimeoutExpired:
        raise TimeoutError(errno.ETIMEDOUT, "the server does not answer") from None
    if status != 0:
        raise ConnectionError(errno.ECONNABORTED, "the connection broke off")


class _Unseekable:
    """The bridge's input as a file that is only written."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        self._pipe = process.stdin
        self.name = "srt"

    def write(self, data: bytes) -> int:
        """Hands bytes to the bridge at once."""
        written = self._pipe.write(data)
        self._pipe.flush()
        return written
