"""Viewers by WHEP get what other outputs take, encoded once, whatever their offer begins with."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest
from aiortc import RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription
from aiortc.mediastreams import MediaStreamTrack

from config.service import Listen, Recording, ServiceSettings, StreamSpec, Webrtc
from tests.stream.service.served import served
from tests.stream.service.service_bench import service_of

pytestmark = [pytest.mark.unit, pytest.mark.timeout(120)]
LIVE = {"hold_s": 0.1, "slate_fps": 25.0, "slate_height": 90, "slate_width": 160}
PICTURES = 20


async def viewed(address: str, *codecs: str) -> tuple[str, set[tuple[int, int]]]:
    """The codec that a viewer with these is answered, and the sizes of what it then decodes."""
    peer = RTCPeerConnection()
    capable = RTCRtpReceiver.getCapabilities("video")
    assert capable is not None
    wanted = [one for codec in codecs for one in capable.codecs if one.mimeType == codec]
    peer.addTransceiver("video", direction="recvonly").setCodecPreferences(wanted)
    tracks: asyncio.Queue[MediaStreamTrack] = asyncio.Queue()
    peer.on("track", tracks.put_nowait)
    await peer.setLocalDescription(await peer.createOffer())
    async with httpx.AsyncClient() as client:
        offer, headers = peer.localDescription.sdp, {"Content-Type": "application/sdp"}
        answer = await client.post(f"{address}/whep/desk", content=offer, headers=headers)
    assert answer.status_code == 201, answer.text
    await peer.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
    track = await tracks.get()
    frames = [await asyncio.wait_for(track.recv(), 20.0) for _ in range(PICTURES)]
    await peer.close()
    named = re.search(r"a=rtpmap:\d+ (\w+)/", answer.text)
    assert named is not None
    return named[1], {(frame.height, frame.width) for frame in frames}  # type: ignore[union-attr]


def settings_of(folder: Path) -> ServiceSettings:
    sink = str(folder / "hls" / "live.m3u8")
    return ServiceSettings.model_validate(
        {
            "listen": Listen(port=0),
            "webrtc": Webrtc(addresses=("127.0.0.1",)),
            "live": LIVE,
            "recording": Recording(folder=str(folder / "kept")),
            "streams": (StreamSpec(name="desk", sinks=(sink,), record=True),),
        }
    )


@pytest.mark.parametrize(
    ("codecs", "answered", "encoders"),
    [
        (("video/VP8", "video/H264"), "H264", ["h264"]),  # as Chrome and Firefox offer
        (("video/H264", "video/VP8"), "H264", ["h264"]),  # as Safari does
        (("video/VP8",), "VP8", ["h264", "vp8"]),  # a browser without H.264
    ],
)
def test_viewers_see_the_stream_and_share_its_encoder(
    tmp_path: Path, made: list[str], codecs: tuple[str, ...], answered: str, encoders: list[str]
) -> None:
    settings = settings_of(tmp_path)

    async def watch(address: str) -> list[tuple[str, set[tuple[int, int]]]]:
        return await asyncio.gather(*(viewed(address, *codecs) for _ in range(2)))

    with served(service_of(settings), settings) as address:
        seen = asyncio.run(watch(address))
    assert seen == [(answered, {(90, 160)})] * 2
    assert sorted(made) == encoders
    assert list((tmp_path / "kept").rglob("*.mp4"))
    assert (tmp_path / "hls" / "live.m3u8").exists()
