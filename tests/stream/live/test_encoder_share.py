"""One encode per codec and rate: every output gets a complete stream from it, at its own pace."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import av
import pytest

from config.service import Live, Recording, ServiceSettings, StreamSpec
from engines.compositor import Composite
from stream.live.address import Address
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.encoder_share import EncoderShares, SharedEncoding
from stream.live.live_encoder import EncodedPicture, EncoderOptions, LiveEncoder
from stream.live.running_stream import RunningStream
from stream.live.turns import Turns
from stream.live.viewer_encoder import Viewer
from stream.replacement import CoverEveryFace
from stream.service.url_guard import OpenGate
from tests.stream.live.fakes import slate
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.service_bench import engines

pytestmark = [pytest.mark.unit, pytest.mark.timeout(90)]
OPTIONS = EncoderOptions(fps=10, keyframe_s=1.0)
STEP = 9000


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codec of every encoder that is made."""
    found: list[str] = []
    configured = LiveEncoder._configured

    def counted(self: LiveEncoder) -> object:
        found.append(self._codec)
        return configured(self)

    monkeypatch.setattr(LiveEncoder, "_configured", counted)
    return found


def composites(count: int, first: int = 0) -> list[Composite]:
    return [slate(48, 64, (first + number) * STEP) for number in range(count)]


def times(pictures: Sequence[EncodedPicture]) -> list[int]:
    return [picture.pts // STEP for picture in pictures]


def taken(encoding: SharedEncoding, given: Sequence[Composite]) -> list[EncodedPicture]:
    return [picture for one in given for picture in encoding.encode(one)]


def decoded(pictures: Sequence[EncodedPicture]) -> int:
    """How many pictures a decoder gives that gets these alone, without any error."""
    context = av.CodecContext.create("h264", "r")
    assert isinstance(context, av.VideoCodecContext)
    context.options = {"err_detect": "explode"}
    frames = [frame for one in pictures for frame in context.decode(av.Packet(one.data))]
    return len(frames + context.decode(None))


def test_outputs_of_one_codec_and_rate_share_an_encoder(made: list[str]) -> None:
    shares = EncoderShares()
    outputs = [shares.begin(OPTIONS, "h264") for _ in range(4)]
    found: list[list[EncodedPicture]] = [[] for _ in outputs]
    for composite in composites(25):
        for output, into in zip(outputs, found, strict=True):
            into += output.encode(composite)
    assert made == ["h264"]
    assert all(one == found[0] for one in found)
    assert times(found[0]) == list(range(25))
    assert decoded(found[0]) == 25


def test_other_codec_or_rate_has_an_encoder_of_its_own(made: list[str]) -> None:
    shares = EncoderShares()
    slower = EncoderOptions(fps=10, bitrate_kbps=500)
    for options, codec in ((OPTIONS, "h264"), (OPTIONS, "vp8"), (slower, "h264")):
        shares.begin(options, codec).encode(slate(48, 64, 0))  # type: ignore[arg-type]
    assert made == ["h264", "vp8", "h264"]


def test_output_that_left_pictures_out_misses_none_of_the_stream(made: list[str]) -> None:
    shares = EncoderShares()
    quick, slow = (shares.begin(OPTIONS, "h264") for _ in range(2))
    given = composites(40)
    pictures, late = [], []
    for number, composite in enumerate(given):
        pictures += quick.encode(composite)
        if number < 5 or number % 4 == 0:
            late += slow.encode(composite)
    assert times(pictures) == list(range(40))
    assert late == [one for one in pictures if one in late], "in order, each once"
    assert decoded(late) == len(late)
    for before, after in itertools.pairwise(late):
        assert after.is_key or after.pts - before.pts == STEP, "no picture lacks its reference"


def test_output_that_is_behind_gets_the_older_pictures_first() -> None:
    shares = EncoderShares()
    quick, slow = (shares.begin(OPTIONS, "h264") for _ in range(2))
    given = composites(6)
    ahead = taken(quick, given)
    assert taken(slow, given) == ahead


def test_output_that_was_away_begins_again_with_a_key_frame() -> None:
    shares = EncoderShares()
    quick, slow = (shares.begin(EncoderOptions(fps=10, keyframe_s=60.0), "h264") for _ in range(2))
    given = composites(120)
    taken(slow, given[:3])
    taken(quick, given[:100])
    again = taken(slow, given[100:])
    assert again[0].is_key
    assert decoded(again) == len(again)
    assert len(again) >= 18


def test_output_that_joins_late_begins_with_a_fresh_key_frame() -> None:
    shares = EncoderShares()
    first = shares.begin(EncoderOptions(fps=10, keyframe_s=60.0), "h264")
    given = composites(20)
    taken(first, given[:10])
    second = shares.begin(EncoderOptions(fps=10, keyframe_s=60.0), "h264")
    found = []
    for composite in given[10:]:
        first.encode(composite)
        found += second.encode(composite)
    assert times(found) == list(range(10, 20))
    assert found[0].is_key
    assert decoded(found) == 10


def test_failed_encode_costs_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = EncoderShares()
    one, other = (shares.begin(OPTIONS, "h264") for _ in range(2))
    given = composites(6)
    found = taken(other, given[:2])
    encode = LiveEncoder.encode

    def fail(self: LiveEncoder, composite: Composite) -> list[EncodedPicture]:
        raise av.error.InvalidDataError(1, "no")

    monkeypatch.setattr(LiveEncoder, "encode", fail)
    with pytest.raises(av.FFmpegError):
        one.encode(given[2])
    monkeypatch.setattr(LiveEncoder, "encode", encode)
    found += taken(other, given[3:])
    assert found[2].is_key
    assert decoded(found) == 5


def test_key_frames_carry_the_mark() -> None:
    encoding = EncoderShares(b"\0\0\1\x06mark").begin(OPTIONS, "h264")
    assert encoding.encode(slate(48, 64, 0))[0].data.startswith(b"\0\0\1\x06mark")


def assembled(folder: Path) -> RunningStream:
    settings = ServiceSettings(live=Live(fps=10), recording=Recording(folder=str(folder / "kept")))
    spec = StreamSpec(
        name="desk",
        sinks=(str(folder / "a" / "live.m3u8"), str(folder / "b" / "live.m3u8")),
        record=True,
    )
    assembly = Assembly(
        settings, engines(), lambda chosen, name: CoverEveryFace(), _Open(), Turns(1), SystemClock()
    )
    return assembly.build(spec)


class _Open(OpenGate):
    def admit(self, address: Address) -> tuple[str, ...]:
        return ()


def test_stream_with_every_kind_of_output_is_encoded_once_per_codec(
    made: list[str], tmp_path: Path
) -> None:
    running = assembled(tmp_path)
    loop = asyncio.new_event_loop()
    viewers = {codec: Viewer(loop) for codec in ("h264", "vp8")}
    for codec, viewer in viewers.items():
        running.encoder(codec).add(viewer)  # type: ignore[arg-type]
    window = running.hls.ask()
    never, number = threading.Event(), 0

    def everything_is_there() -> bool:
        nonlocal number
        for composite in composites(1, first=number):
            running.live.output.put(composite, 0.0)
        number += 1
        never.wait(0.02)
        return (
            bool(window.playlist())
            and all((tmp_path / name / "live.m3u8").exists() for name in "ab")
            and bool(list((tmp_path / "kept").rglob("*.mp4*")))
            and all(viewer._pictures for viewer in viewers.values())
        )

    try:
        assert eventually(everything_is_there, 45.0)
        assert sorted(made) == ["h264", "vp8"]
    finally:
        began = time.monotonic()
        assert not running.stop()
        loop.close()
    assert time.monotonic() - began < 30.0
    with av.open(str(next((tmp_path / "kept").rglob("*.mp4")))) as recording:
        assert len(list(recording.decode(video=0))) >= 2
