"""The ends that a network sink writes encoded pictures to; each can be cut at any moment."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Protocol

from stream.live.address import Address, Gate
from stream.live.errors import AddressRefused
from stream.live.live_encoder import EncodedPicture
from stream.live.packet_muxer import PacketMuxer
from stream.live.publisher import HEADER, SOUND
from stream.live.relay import Relay
from stream.live.transports import ROOT, end_process, srt_bridge, srt_failure

__all__ = ["Outgoing", "SinkCodec", "codec_for", "outgoing_to"]

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


class Outgoing(Protocol):
    """One connection that takes encoded pictures."""

    def write(self, picture: EncodedPicture) -> None:
        """Sends one picture; may block until `cut`.

        Raises:
            OSError: the other end is gone.
        """

    def write_sound(self, pcm: bytes, place: int) -> None:
        """Sends sound, if the connection has any; see `PacketMuxer.write_sound`."""

    def finish(self) -> None:
        """Says goodbye and waits until that is done.

        Raises:
            OSError: the other end had not taken what it was sent.
        """

    def cut(self) -> None:
        """Breaks off at once; idempotent, callable from any thread."""

    @property
    def failure(self) -> str:
        """What is known about why it failed; empty if nothing."""


def codec_for(address: Address, wanted: SinkCodec) -> SinkCodec:
    """The coding in which pictures go to an address: many RTMP servers take H.264 alone."""
    return "h264" if address.kind == "rtmp" else wanted


def outgoing_to(
    address: Address,
    gate: Gate,
    metadata: Mapping[str, str],
    timeout_s: float,
    codec: SinkCodec = "h264",
    *,
    has_sound: bool = False,
) -> Outgoing:
    """The way out to an address for pictures of a codec; the gate is asked here.

    Raises:
        AddressRefused: the gate does not let it through, or nothing can be published there.
    """
    ips = gate.admit(address)
    if address.kind in ("rtsp", "rtmp"):
        return _Published(address, Relay(address, ips, timeout_s), metadata, codec, has_sound)
    if address.kind == "srt":
        return _Bridged(srt_bridge(address, ips[0], goes_out=True), metadata, codec, has_sound)
    if address.kind == "file" and address.path.endswith(".m3u8"):
        return _segmented(Path(address.path), metadata, codec, has_sound)
    raise AddressRefused(f"cannot publish to {address}; use rtsp, rtmp, srt or a name in .m3u8")


class _Published:
    def __init__(
        self,
        address: Address,
        relay: Relay,
        metadata: Mapping[str, str],
        codec: SinkCodec,
        has_sound: bool,
    ) -> None:
        self._relay = relay
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
            "metadata": dict(metadata),
            "codec": codec,
            "has_sound": has_sound,
        }
        self._send(json.dumps(order).encode() + b"\n")

    @property
    def failure(self) -> str:
        if self._relay.reason:
            return self._relay.reason
        stdout = self._process.stdout
        if stdout is None or stdout.closed or self._process.poll() is None:
            return ""
        return stdout.readline(200).decode(errors="replace").strip()

    def write(self, picture: EncodedPicture) -> None:
        header = HEADER.pack(picture.pts, picture.is_key, len(picture.data))
        self._send(header + picture.data)

    def write_sound(self, pcm: bytes, place: int) -> None:
        self._send(HEADER.pack(place, SOUND, len(pcm)) + pcm)

    def finish(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        _wait_for_success(self._process)

    def cut(self) -> None:
        end_process(self._process)
        self._relay.close()

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            raise


class _Muxed:
    """Writes a container in this process; a subclass says which, and how to cut it."""

    def __init__(self, muxer: PacketMuxer) -> None:
        self._muxer = muxer

    @property
    def failure(self) -> str:
        return ""

    def write(self, picture: EncodedPicture) -> None:
        self._muxer.write(picture.data, picture.pts, picture.is_key)

    def write_sound(self, pcm: bytes, place: int) -> None:
        self._muxer.write_sound(pcm, place)

    def finish(self) -> None:
        self._muxer.close()

    def cut(self) -> None:
        """Files need no cutting: a new connection writes them anew."""


class _Bridged(_Muxed):
    """MPEG-TS into the bridge's process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        metadata: Mapping[str, str],
        codec: SinkCodec,
        has_sound: bool,
    ) -> None:
        kind = (_Unseekable(process), "mpegts", _TS, codec, metadata)
        super().__init__(PacketMuxer(*kind, has_sound=has_sound))
        self._process = process

    @property
    def failure(self) -> str:
        return srt_failure(self._process)

    def finish(self) -> None:
        super().finish()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            _wait_for_success(self._process)
        finally:
            self.cut()

    def cut(self) -> None:
        end_process(self._process)


def _segmented(
    playlist: Path, metadata: Mapping[str, str], codec: SinkCodec, has_sound: bool
) -> _Muxed:
    """HLS beside a playlist, whose folder is made."""
    playlist.parent.mkdir(parents=True, exist_ok=True)
    names = {"hls_segment_filename": str(playlist.with_suffix("")) + "-%05d.m4s"}
    kind = (str(playlist), "hls", _HLS | names, codec, metadata)
    return _Muxed(PacketMuxer(*kind, has_sound=has_sound))


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
