"""Decodes RTSP, RTMP, SRT, HTTP, HLS, cameras, and files in real time, one connection each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import av
from av.container import InputContainer
from av.error import InvalidDataError
from av.packet import Packet
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from engines.errors import KveilError
from engines.types import Frame
from stream.live.address import Address, Gate
from stream.live.clock import Clock
from stream.live.errors import SourceLost
from stream.live.library_errors import reason_of
from stream.live.packet_muxer import TICKS
from stream.live.sound import Hear, SoundDecoder
from stream.live.transports import RtspTransport, Transport, transport_for
from stream.media.ends import StreamShape
from stream.media.planes import picture_from_frame
from stream.media.reading.decoder_bounds import decoder_bound
from stream.media.reading.inspection import has_decoder, upright_format

__all__ = ["LIVE_MAX_PIXELS", "NetworkSource", "SourceOptions"]

LIVE_MAX_PIXELS: Final = 8192 * 4320
"""Largest live picture, px: 8K. Files may be larger, as they are read one after the other."""

_MOST_BAD_PACKETS = 300


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read a source.

    Attributes:
        rtsp: `tcp` loses nothing and may lag behind; `udp` loses packets and does not.
        timeout_s: silence after which a read fails; connecting may take three times that.
        max_pixels: larger pictures are refused before they are decoded.
        rotation: degrees clockwise by which pictures are turned besides what they say themselves.
    """

    rtsp: RtspTransport = "tcp"
    timeout_s: float = 5.0
    max_pixels: int = LIVE_MAX_PIXELS
    rotation: int = 0


class NetworkSource:
    """One connection to a live source; opened by the constructor.

    Args:
        address: where it is.
        gate: decides whether it may be reached.
        clock: paces files.
        options: how to read it.
        hear: takes the sound, if there is any, by the clock of the frames; None leaves it out.

    Raises:
        AddressRefused: the gate does not let it through.
        SourceLost: unreachable, silent, refusing, or without video.
    """

    def __init__(
        self,
        address: Address,
        gate: Gate,
        clock: Clock,
        options: SourceOptions | None = None,
        hear: Hear | None = None,
    ) -> None:
        self._address = address
        self._options = options or SourceOptions()
        self._clock = clock
        self._closed = threading.Event()
        self._is_reading = False
        self._hear = hear
        self._sound_decoder = SoundDecoder()
        self._transport = transport_for(
            address,
            gate,
            self._options.timeout_s,
            self._options.rtsp,
            max_pixels=self._options.max_pixels,
            has_sound=hear is not None,
        )
        self._container = self._opened(self._transport)
        try:
            self._stream = self._video_of(self._container)
        except BaseException:
            self._container.close()
            self._transport.close()
            raise

    @property
    def shape(self) -> StreamShape:
        """Size and clock as the source announced them; frames may differ later."""
        stream = self._stream
        context = stream.codec_context
        rate = stream.average_rate or stream.guessed_rate or Fraction(25)
        base = stream.time_base or TICKS
        return StreamShape(context.height, context.width, Fraction(rate), base, None)

    def frames(self) -> Iterator[Frame]:
        """Decoded frames as they come, upright; a file's are held back to real time.

        Raises:
            SourceLost: the connection broke, fell silent, or sends what cannot be decoded.
        """
        self._is_reading = True
        try:
            yield from self._decoded_frames()
        except KveilError:
            raise
        except Exception as error:
            if not self._closed.is_set():
                raise self._lost(error) from None
        finally:
            self._container.close()
            self._transport.close()

    def close(self) -> None:
        """Ends `frames` soon; idempotent, callable from any thread."""
        self._closed.set()
        self._transport.close()
        if not self._is_reading:
            with suppress(av.FFmpegError):
                self._container.close()

    def _opened(self, transport: Transport) -> InputContainer:
        try:
            return transport.open()
        except KveilError:
            transport.close()
            raise
        except Exception as error:
            lost = self._lost(error)
            transport.close()
            raise lost from None

    def _video_of(self, container: InputContainer) -> VideoStream:
        if not container.streams.video:
            raise SourceLost(f"{self._address} has no video track")
        stream = container.streams.video[0]
        if not has_decoder(stream):
            raise SourceLost(f"{self._address} sends video of an unknown coding")
        context = stream.codec_context
        self._check_size(context.width, context.height)
        context.thread_type = "SLICE"
        context.options = decoder_bound(self._options.max_pixels)
        return stream

    def _check_size(self, width: int, height: int) -> None:
        if width * height > self._options.max_pixels:
            raise SourceLost(
                f"{self._address} sends pictures of {width}×{height}; live, "
                f"{self._options.max_pixels} px are the most (limits.max_pixels)"
            )

    def _decoded_frames(self) -> Iterator[Frame]:
        bad, index, start = 0, 0, None
        for packet in self._container.demux(self._tracks()):
            if self._closed.is_set():
                return
            if packet.stream.type == "audio":
                self._listen(packet)
                continue
            decoded = _decoded_or_none(packet.decode)
            if decoded is None and index == 0:  # a playlist does not tell the size
                context = self._stream.codec_context
                self._check_size(context.width, context.height)
            bad = bad + 1 if decoded is None else 0
            if bad > _MOST_BAD_PACKETS:
                raise SourceLost(f"{self._address} sends video that cannot be decoded")
            for picture in decoded or ():
                frame = self._frame(picture, index)
                start = self._paced(frame, start)
                index += 1
                yield frame
        if self._address.is_network and not self._closed.is_set():
            raise SourceLost(f"{self._address} ended the stream")

    def _tracks(self) -> list[Stream]:
        """The video, and the first sound where somebody listens."""
        sounds = self._container.streams.audio[:1] if self._hear is not None else ()
        return [self._stream, *sounds]

    def _listen(self, packet: Packet[Stream]) -> None:
        """Decodes sound; what is damaged falls silent."""
        with suppress(av.FFmpegError, ValueError):
            for decoded in packet.decode():
                if isinstance(decoded, av.AudioFrame) and self._hear is not None:
                    for sound in self._sound_decoder.sounds(decoded):
                        self._hear(sound)

    def _frame(self, decoded: VideoFrame, index: int) -> Frame:
        self._check_size(decoded.width, decoded.height)
        picture = picture_from_frame(decoded, *upright_format(decoded, self._options.rotation))
        base = decoded.time_base or self._stream.time_base or TICKS
        pts = decoded.pts if decoded.pts is not None else int(self._clock.now() / base)
        return Frame(picture, pts, base, index, is_damaged=decoded.is_corrupt)

    def _paced(self, frame: Frame, start: float | None) -> float | None:
        """Holds a file's frame back until its time has come."""
        if self._address.kind != "file":
            return None
        if start is None:
            return self._clock.now() - frame.time_s
        ahead_s = start + frame.time_s - self._clock.now()
        if ahead_s > 0:
            self._clock.wait(self._closed, min(ahead_s, 10.0))
        return start

    def _lost(self, error: Exception) -> SourceLost:
        """One line; the library's own text is left out because it repeats the URL."""
        reason = self._transport.failure() or _reason(error)
        return SourceLost(f"cannot read {self._address}: {reason}")


def _decoded_or_none(decode: Callable[[], Sequence[object]]) -> Sequence[VideoFrame] | None:
    """The frames of a packet; None where it cannot be decoded."""
    try:
        return [frame for frame in decode() if isinstance(frame, VideoFrame)]
    except InvalidDataError:
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, av.error.ExitError):
        return "it is silent; check the camera and the network"
    return reason_of(error) or f"the stream broke off ({type(error).__name__})"
