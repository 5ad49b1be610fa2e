"""WebRTC egress (draft-ietf-wish-whep): the anonymized pictures to browsers."""

from __future__ import annotations

import asyncio
import re
from fractions import Fraction
from typing import Final, cast

from aiortc import MediaStreamTrack, RTCRtpReceiver
from aiortc.mediastreams import MediaStreamError
from av.packet import Packet
from av.video.stream import VideoStream

from stream.live.errors import OfferRefused
from stream.live.live_encoder import LiveCodec
from stream.live.rtc_sessions import RtcSession
from stream.live.viewer_encoder import Viewer, ViewerEncoder

__all__ = ["EncodedTrack", "codec_of_offer", "send_to"]

_MIME: Final[dict[LiveCodec, str]] = {"vp8": "video/VP8", "h264": "video/H264"}
_ASKED_FOR_KEY: Final = "_send_keyframe"
_TICKS: Final = Fraction(1, 90_000)


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
        packet.time_base = _TICKS
        packet.is_keyframe = picture.is_key
        return packet


def codec_of_offer(offer: str) -> LiveCodec:
    """The codec to send: VP8, which every browser has, or H.264 where the offer has no VP8.

    >>> codec_of_offer("a=rtpmap:96 VP8/90000")
    'vp8'

    Raises:
        OfferRefused: neither is in the offer.
    """
    names = {name.upper() for name in re.findall(r"a=rtpmap:\d+ ([A-Za-z0-9]+)/90000", offer)}
    if "VP8" in names:
        return "vp8"
    if "H264" in names:
        return "h264"
    raise OfferRefused("the offer has neither VP8 nor H.264")


async def send_to(session: RtcSession, encoder: ViewerEncoder, codec: LiveCodec) -> None:
    """Sends a stream's pictures on the session's first video transceiver."""
    viewer = Viewer(asyncio.get_running_loop())
    transceivers = [t for t in session.connection.getTransceivers() if t.kind == "video"]
    if not transceivers:
        raise OfferRefused("the offer has no video section to send on")
    sender = session.connection.addTrack(EncodedTrack(viewer))
    capable = RTCRtpReceiver.getCapabilities("video")
    assert capable is not None
    wanted = [one for one in capable.codecs if one.mimeType in (_MIME[codec], "video/rtx")]
    transceivers[0].setCodecPreferences(wanted)
    # The library asks its own encoder for key frames; these pictures come from ours.
    setattr(sender, _ASKED_FOR_KEY, encoder.want_key)
    session.on_end = lambda: encoder.remove(viewer)
    encoder.add(viewer)
