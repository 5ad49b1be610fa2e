from __future__ import annotations

import asyncio

import pytest
from aiortc import RTCPeerConnection
from aiortc.rtp import RTCP_PSFB_PLI, RtcpPsfbPacket

from stream.live.clock import SystemClock
from stream.live.counters import Counters
from stream.live.encoder_choice import EncoderOptions
from stream.live.encoder_stage import EncoderStage
from stream.live.errors import OfferRefused
from stream.live.live_encoder import EncodedPicture
from stream.live.rtc_queues import NewestQueue, SheddingQueue, bound_queues
from stream.live.rtc_sessions import RtcSession, RtcSessions
from stream.live.viewer import Viewer
from stream.live.whep import send_to
from stream.live.whip import WhipEntrance
from tests.stream.live.fakes import Taking, slate
from tests.stream.live.rtsp_peer import eventually

pytestmark = pytest.mark.unit
DIRECTIONS = {"a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"}


def picture(number: int, is_key: bool = False) -> EncodedPicture:
    return EncodedPicture(b"x", number, is_key)


def test_unread_track_keeps_the_newest_pictures() -> None:
    async def fill() -> list[int]:
        dropped: list[None] = []
        queue = NewestQueue[int](2, lambda: dropped.append(None))
        for number in range(10):
            await queue.put(number)
        assert len(dropped) == 8
        return [queue.get_nowait() for _ in range(2)]

    assert asyncio.run(fill()) == [8, 9]


def test_slow_decoder_sheds_pictures_but_gets_its_end_mark() -> None:
    dropped: list[None] = []
    queue = SheddingQueue[int | None](3, lambda: dropped.append(None))
    for number in range(10):
        queue.put(number)
    queue.put(None)
    assert [queue.get() for _ in range(4)] == [0, 1, 2, None]
    assert len(dropped) == 7


def test_both_queues_of_a_received_track_are_bounded() -> None:
    async def check() -> None:
        sender, receiver = RTCPeerConnection(), RTCPeerConnection()
        sender.addTransceiver("video", direction="sendonly")
        await sender.setLocalDescription(await sender.createOffer())
        await receiver.setRemoteDescription(sender.localDescription)
        bound_queues(receiver, lambda: None)
        track = receiver.getReceivers()[0]
        assert isinstance(vars(track)["_RTCRtpReceiver__decoder_queue"], SheddingQueue)
        assert isinstance(vars(track.track)["_queue"], NewestQueue)
        await sender.close()
        await receiver.close()

    asyncio.run(check())


def test_viewer_begins_with_a_key_frame_and_overflow_waits_for_the_next() -> None:
    async def watch() -> list[int]:
        viewer = Viewer(asyncio.get_running_loop())
        viewer.offer(picture(0))
        assert viewer.need == "key"
        viewer.offer(picture(1, True))
        for number in range(2, 60):
            viewer.offer(picture(number))
        viewer.offer(picture(60, True))
        viewer.offer(picture(61))
        got = [await viewer.receive(), await viewer.receive()]
        viewer.end()
        assert await viewer.receive() is None
        assert viewer.dropped == 59
        return [one.pts for one in got if one is not None]

    assert asyncio.run(watch()) == [60, 61]


def test_slow_viewer_does_not_hold_up_another() -> None:
    async def watch() -> None:
        loop = asyncio.get_running_loop()
        encoder = viewer_encoder()
        slow, quick = Viewer(loop), Viewer(loop)
        encoder.add(slow)
        encoder.add(quick)
        got = 0
        for number in range(60):
            encoder.offer(slate(48, 64, number * 6000))
            if await asyncio.wait_for(quick.receive(), 5.0) is not None:
                got += 1
        assert got == 60
        assert slow.dropped >= 1
        assert encoder.close()

    asyncio.run(watch())


def test_session_that_never_connects_is_ended_and_frees_its_place() -> None:
    async def abandon() -> None:
        sessions = RtcSessions([], idle_s=0.1, most=1)
        browser = RTCPeerConnection()
        browser.addTransceiver("video", direction="recvonly")
        await browser.setLocalDescription(await browser.createOffer())

        async def nothing(session: object) -> None:
            del session

        await sessions.begin("desk", browser.localDescription.sdp, nothing)
        assert sessions.count() == 1
        gone = asyncio.Event()
        for _ in range(100):
            if sessions.count() == 0:
                gone.set()
                break
            await asyncio.sleep(0.05)
        assert gone.is_set()
        await browser.close()
        others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(abandon())
    assert eventually(lambda: True)


async def offered(session: RtcSession, *, has_data: bool = False) -> None:
    """Sets the offer of a browser that wants to send as well as to watch."""
    browser = RTCPeerConnection()
    browser.addTransceiver("audio", direction="sendrecv")
    browser.addTransceiver("video", direction="sendrecv")
    browser.addTransceiver("video", direction="sendonly")
    if has_data:
        browser.createDataChannel("any")
    await browser.setLocalDescription(await browser.createOffer())
    await session.connection.setRemoteDescription(browser.localDescription)
    await browser.close()


def viewer_encoder() -> EncoderStage:
    return EncoderStage("desk", "vp8", EncoderOptions(), 8, SystemClock(), Counters())


def test_viewer_that_sends_is_told_not_to_and_nothing_of_it_can_gather() -> None:
    async def watch() -> None:
        session = RtcSession("id", "desk", RTCPeerConnection())
        await offered(session)
        encoder = viewer_encoder()
        await send_to(session, encoder)
        connection = session.connection
        await connection.setLocalDescription(await connection.createAnswer())
        lines = connection.localDescription.sdp.splitlines()
        directions = [line[2:] for line in lines if line in DIRECTIONS]
        assert directions == ["inactive", "sendonly", "inactive"]
        for receiver in connection.getReceivers():
            assert not receiver._enabled
            assert isinstance(vars(receiver)["_RTCRtpReceiver__decoder_queue"], SheddingQueue)
            assert isinstance(vars(receiver.track)["_queue"], NewestQueue)
        session.on_end()
        await connection.close()
        assert encoder.close()

    asyncio.run(watch())


def test_lost_packet_of_a_viewer_asks_the_encoder_for_a_key_frame() -> None:
    async def watch() -> None:
        session, encoder, taker = (
            RtcSession("id", "desk", RTCPeerConnection()),
            viewer_encoder(),
            Taking(),
        )
        encoder.add(taker)
        await offered(session)
        await send_to(session, encoder)
        sender = next(
            one.sender for one in session.connection.getTransceivers() if one.kind == "video"
        )
        loss = RtcpPsfbPacket(fmt=RTCP_PSFB_PLI, ssrc=1, media_ssrc=sender._ssrc)
        for number in range(8):
            encoder.offer(slate(48, 64, number * 9000))
            assert eventually(lambda wanted=number + 1: len(taker.taken) == wanted)  # type: ignore[misc]
            await sender._handle_rtcp_packet(loss)
        keys = [one.pts // 9000 for one in taker.taken if one.is_key]
        assert keys == [0, 5], "half a second later at the earliest"
        session.on_end()
        await session.connection.close()
        assert encoder.close()

    asyncio.run(watch())


def test_data_channel_is_refused_to_viewers_and_publishers() -> None:
    async def ask() -> None:
        encoder, entrance = viewer_encoder(), WhipEntrance(Counters(), 2, 10**6, SystemClock())
        for answer in (lambda one: send_to(one, encoder), entrance.receive_from):
            session = RtcSession("id", "desk", RTCPeerConnection())
            await offered(session, has_data=True)
            with pytest.raises(OfferRefused, match="data channel"):
                await answer(session)
            await session.connection.close()
        assert encoder.close()

    asyncio.run(ask())
