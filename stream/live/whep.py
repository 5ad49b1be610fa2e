"""WebRTC egress (draft-ietf-wish-whep): the anonymized pictures to browsers."""

from __future__ import annotations

import asyncio
import re
import threading
from fractions import Fraction
from typing import Final, cast

from aiortc import MediaStreamTrack, RTCPeerConnection, RTCRtpSender
from aiortc.mediastreams import MediaStreamError
from av.audio.frame import AudioFrame
from av.packet import Packet
from av.video.stream import VideoStream

from stream.live.bell import Bell
from stream.live.encoder_choice import LiveCodec
from stream.live.encoder_stage import EncoderStage
from stream.live.errors import OfferRefused
from stream.live.h264_offers import SENT_MODES, offer_in_baseline
from stream.live.output import Output
from stream.live.packet_muxer import TICKS
from stream.live.rtc_queues import bound_queues
from stream.live.rtc_sessions import RtcSession
from stream.live.sound import FRAME_BYTES, RATE, Sound, SoundLine
from stream.live.viewer import Viewer

__all__ = ["EncodedTrack", "HeardTrack", "codec_of_offer", "send_sound_to", "send_to"]

_VP8: Final = re.compile(r"(a=rtpmap:\d+ )VP8(/90000)", re.IGNORECASE)
_H264: Final = re.compile(r"(a=rtpmap:\d+ )H264(/90000)", re.IGNORECASE)
_HIDDEN: Final = r"\1none\2"
_ASKED_FOR_KEY: Final = "_send_keyframe"
_SAMPLES: Final = RATE // 50


class EncodedTrack(MediaStreamTrack):
    """Hands pictures that are already encoded to the WebRTC library.

    Args:
        viewer: whose queue is read.
    """

    kind = "video"

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer

    async def recv(self) -> Packet[VideoStream]:
        """The next picture.

        Raises:
            MediaStreamError: there will be no more.
        """
        picture = await self._viewer.receive()
        if picture is None or self.readyState != "live":
            raise MediaStreamError
        packet = cast("Packet[VideoStream]", Packet(picture.data))
        packet.pts = packet.dts = picture.pts
        packet.time_base = TICKS
        packet.is_keyframe = picture.is_key
        return packet


class HeardTrack(MediaStreamTrack):
    """Hands the stream's sound to the WebRTC library, which encodes it for one viewer.

    Args:
        loop: on which the library asks.
    """

    kind = "audio"

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._line = SoundLine()
        self._pcm = bytearray()
        self._place = 0
        self._arrived = Bell(loop)

    def hear(self, sounds: tuple[Sound, ...], until_s: float) -> None:
        """Takes sound; what a slow viewer has not fetched after a second is dropped."""
        with self._lock:
            for pcm, place in self._line.laid(sounds, until_s):
                if not self._pcm:
                    self._place = place
                self._pcm += pcm
            excess = max(0, len(self._pcm) - RATE * FRAME_BYTES)
            del self._pcm[:excess]
            self._place += excess // FRAME_BYTES
        self._arrived.ring()

    async def recv(self) -> AudioFrame:
        """The next 20 ms.

        Raises:
            MediaStreamError: there will be no more.
        """
        while True:
            if self.readyState != "live":
                raise MediaStreamError
            frame = self._fetched()
            if frame is not None:
                return frame
            await self._arrived.wait()

    def stop(self) -> None:
        """Ends `recv`; idempotent."""
        super().stop()
        self._arrived.ring()

    def _fetched(self) -> AudioFrame | None:
        size = _SAMPLES * FRAME_BYTES
        with self._lock:
            if len(self._pcm) < size:
                return None
            pcm, place = bytes(self._pcm[:size]), self._place
            del self._pcm[:size]
            self._place += _SAMPLES
        frame = AudioFrame("s16", "stereo", _SAMPLES)
        frame.planes[0].update(pcm)
        frame.sample_rate, frame.pts, frame.time_base = RATE, place, Fraction(1, RATE)
        return frame


def codec_of_offer(offer: str) -> tuple[LiveCodec, str]:
    r"""The codec to send, and the offer with that one alone, as the library takes the first.

    H.264, which other outputs take too, or VP8 where the offer has none that can be sent.

    >>> codec_of_offer("a=rtpmap:96 VP8/90000")
    ('vp8', 'a=rtpmap:96 VP8/90000')
    >>> h264 = "a=rtpmap:97 H264/90000\r\na=fmtp:97 packetization-mode=1"
    >>> codec_of_offer("a=rtpmap:96 VP8/90000\r\n" + h264)[1].splitlines()[0]
    'a=rtpmap:96 none/90000'

    Raises:
        OfferRefused: neither is in the offer.
    """
    if offer_in_baseline(offer, SENT_MODES)[1]:
        return "h264", _VP8.sub(_HIDDEN, offer)
    if _VP8.search(offer):
        return "vp8", _H264.sub(_HIDDEN, offer)
    raise OfferRefused("the offer has neither VP8 nor H.264 in packetization mode 1")


async def send_to(session: RtcSession, encoder: EncoderStage) -> None:
    """Sends a stream's pictures on the session's first video transceiver, and receives nothing.

    Raises:
        OfferRefused: there is nothing to send on, or the viewer wants to send data.
    """
    connection = session.connection
    transceivers = [t for t in connection.getTransceivers() if t.kind == "video"]
    if not transceivers:
        raise OfferRefused("the offer has no video section to send on")
    if connection.sctp is not None:
        raise OfferRefused("the offer has a data channel; leave it out")
    viewer = Viewer(asyncio.get_running_loop())
    sender = connection.addTrack(EncodedTrack(viewer))
    _receive_nothing(connection, sender)
    # The library asks its own encoder for key frames; these pictures come from ours.
    setattr(sender, _ASKED_FOR_KEY, encoder.want_key)
    session.on_end = lambda: encoder.remove(viewer)
    encoder.add(viewer)


def _receive_nothing(connection: RTCPeerConnection, sender: RTCRtpSender) -> None:
    """Answers that nothing is taken from a viewer, who may send all the same."""
    for transceiver in connection.getTransceivers():
        transceiver.direction = "sendonly" if transceiver.sender is sender else "inactive"
    bound_queues(connection, lambda: None)


def send_sound_to(session: RtcSession, output: Output) -> None:
    """Sends a stream's sound, where the offer takes any; after `send_to`, which turns sound off."""
    if not any(one.kind == "audio" for one in session.connection.getTransceivers()):
        return
    track = HeardTrack(asyncio.get_running_loop())
    session.connection.addTrack(track)
    output.add_ear(track)
    before = session.on_end

    def end() -> None:
        output.remove_ear(track)
        before()

    session.on_end = end
