"""What a live source may ask for is bounded before it is given: pixels, memory, other files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from aiortc import rtcrtpreceiver
from aiortc.jitterbuffer import JitterFrame
from aiortc.rtcrtpparameters import RTCRtpCodecParameters

from config.service import Sources
from config.settings import Limits, Settings, Tracking
from engines.pictures import picture_from_bgr
from engines.types import Frame
from stream.live.address import address_from_text
from stream.live.bounded_decoders import bound_decoders, vp8_size
from stream.live.clock import SystemClock
from stream.live.counters import Counters
from stream.live.errors import SourceLost
from stream.live.live_anonymizer import LiveAnonymizers, live_lookahead
from stream.live.network_source import LIVE_MAX_PIXELS, NetworkSource, SourceOptions
from stream.live.whip import WhipEntrance
from stream.pipeline.replacement import CoverEveryFace
from stream.service.url_guard import OpenGate, UrlGuard
from tests.clips import Clip, made_clip, numbered_frame
from tests.stream.live.test_live_anonymizer import made

pytestmark = pytest.mark.unit

FEW = SourceOptions(max_pixels=64 * 96)


def source(path: Path, options: SourceOptions = FEW) -> NetworkSource:
    return NetworkSource(address_from_text(str(path)), OpenGate(), SystemClock(), options)


@pytest.mark.parametrize("name", ["a.mp4", "a.ts", "a.mkv"])
def test_source_of_too_large_pictures_is_refused_before_they_are_decoded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream.live.network_source._decoded_or_none", None)
    clip = made_clip(tmp_path / name, Clip(96, 96, frames=5))
    with pytest.raises(SourceLost, match="96×96"):
        source(clip)


def test_pictures_that_grow_later_are_not_decoded(tmp_path: Path) -> None:
    small = made_clip(tmp_path / "a.h264", Clip(frames=5, muxer="h264"))
    large = made_clip(tmp_path / "b.h264", Clip(480, 640, frames=5, muxer="h264"))
    joined = tmp_path / "c.h264"
    joined.write_bytes(small.read_bytes() + large.read_bytes())
    sizes = {frame.picture.planes[0].shape for frame in source(joined).frames()}
    assert sizes == {(64, 96)}


def coded(codec: str, height: int, width: int) -> Iterator[bytes]:
    encoder = av.CodecContext.create(codec, "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.height, encoder.width, encoder.pix_fmt = height, width, "yuv420p"
    encoder.time_base = Fraction(1, 25)
    encoder.options = {"tune": "zerolatency"} if codec == "libx264" else {"lag-in-frames": "0"}
    for number in range(3):
        frame = numbered_frame(number, Clip(height, width))
        frame.pts = number
        yield from (bytes(packet) for packet in encoder.encode(frame))


@pytest.mark.parametrize(("encoder", "mime"), [("libx264", "H264"), ("libvpx", "VP8")])
def test_publishers_decoder_leaves_out_what_is_too_large(encoder: str, mime: str) -> None:
    kind = RTCRtpCodecParameters(mimeType=f"video/{mime}", clockRate=90_000, payloadType=97)
    bound_decoders(64 * 96)
    try:
        for height, width, wanted in ((64, 96, True), (480, 640, False)):
            decoder = rtcrtpreceiver.get_decoder(kind)  # type: ignore[attr-defined]
            frames = []
            for data in coded(encoder, height, width):
                with suppress(av.FFmpegError):
                    frames += decoder.decode(JitterFrame(data=data, timestamp=0))
            assert bool(frames) == wanted
    finally:
        bound_decoders(LIVE_MAX_PIXELS)


def test_entrance_of_publishers_bounds_their_decoders() -> None:
    WhipEntrance(Counters(), 2, 1 << 30, SystemClock())
    assert rtcrtpreceiver.get_decoder.max_pixels == LIVE_MAX_PIXELS  # type: ignore[attr-defined]
    assert vp8_size(next(iter(coded("libvpx", 64, 96)))) == (64, 96)


@pytest.mark.parametrize(("lookahead_mb", "held"), [(512, 5), (16, 2), (1024, 5)])
def test_live_look_ahead_keeps_within_its_memory(lookahead_mb: int, held: int) -> None:
    settings = Settings(
        method="solid",
        limits=Limits(lookahead_mb=lookahead_mb),
        tracking=Tracking(lookahead_live_frames=5),
    )
    picture = np.full((1080, 1920, 3), 90, np.uint8)
    assert live_lookahead(settings, picture.nbytes) == held
    assert held * picture.nbytes <= lookahead_mb * 1e6
    engines = made(0, 5)._engines  # type: ignore[arg-type]
    live = LiveAnonymizers(
        settings, engines, CoverEveryFace, Counters(), None, sheds_load=False, now=lambda: 0.0
    )
    anonymizer = live.make()
    given = 0
    for index in range(9):
        frame = Frame(picture_from_bgr(picture.copy()), index * 3600, Fraction(1, 90_000), index)
        given += len(anonymizer.push(frame))
        assert index + 1 - given <= held
    anonymizer.close()


@pytest.mark.parametrize("inside", ["{outside}", "file:{outside}", "../private/secret.ts"])
def test_playlist_in_an_allowed_folder_leads_nowhere(inside: str, tmp_path: Path) -> None:
    for name in ("private", "public"):
        (tmp_path / name).mkdir()
    outside = made_clip(tmp_path / "private" / "secret.ts", Clip(frames=9))
    entry = inside.format(outside=outside)
    head = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:8\n#EXTINF:8,\n"
    guard = UrlGuard(Sources(folders=(str(tmp_path / "public"),)))
    for name in ("a.m3u8", "a.mp4", "a.ts"):
        playlist = tmp_path / "public" / name
        playlist.write_text(f"{head}{entry}\n#EXT-X-ENDLIST\n", encoding="utf-8")
        with pytest.raises(SourceLost):
            NetworkSource(address_from_text(str(playlist)), guard, SystemClock())
