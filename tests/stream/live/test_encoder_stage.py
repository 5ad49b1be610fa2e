"""One encode per codec: every output gets a complete stream from it, and holds up no other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import av
import pytest

from config.service import Live, Recording, ServiceSettings, StreamSpec
from engines.blending.compositor import Composite
from engines.types import Frame
from stream.live import encoder_choice
from stream.live.address import Address
from stream.live.assembly import Assembly
from stream.live.backoff import Backoff
from stream.live.clock import SystemClock
from stream.live.counters import Counters
from stream.live.encoder_choice import EncoderOptions, LiveCodec, choose_live_encoder
from stream.live.encoder_stage import EncoderStage, EncoderStages
from stream.live.live_encoder import EncodedPicture, LiveEncoder
from stream.live.publishing import SinkCodec
from stream.live.running_stream import RunningStream
from stream.live.sink_lane import SinkLane
from stream.live.viewer import Viewer
from stream.media.marking import mark_in_bitstream
from stream.media.writing.encoder_proof import Coding, passes_live_test
from stream.media.writing.encoders import EncoderChoice
from stream.pipeline.replacement import CoverEveryFace
from stream.service.url_guard import OpenGate
from tests.stream.live.fakes import FakeClock, FakeSink, Taking, composite_at, frame_at, slate
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.service_bench import engines

pytestmark = [pytest.mark.unit, pytest.mark.timeout(90)]
OPTIONS = EncoderOptions(fps=10, keyframe_s=60.0)
STEP = 9000


class Stage:
    """A stage that many composites may wait for."""

    def __init__(self, codec: LiveCodec = "h264", options: EncoderOptions = OPTIONS) -> None:
        self.counters, self.clock = Counters(), FakeClock()
        self.inner = EncoderStage("cam", codec, options, 512, self.clock, self.counters)

    def give(self, given: Sequence[Composite], *takers: Taking) -> None:
        """Waits until every one of the takers has got a picture for each composite."""
        wanted = [len(taker.taken) + len(given) for taker in takers]
        for composite in given:
            self.inner.offer(composite)
        assert eventually(lambda: [len(taker.taken) for taker in takers] == wanted)


def composites(count: int, first: int = 0) -> list[Composite]:
    return [slate(48, 64, (first + number) * STEP) for number in range(count)]


def times(pictures: Sequence[EncodedPicture]) -> list[int]:
    return [picture.pts // STEP for picture in pictures]


def keys(pictures: Sequence[EncodedPicture]) -> list[int]:
    return times([picture for picture in pictures if picture.is_key])


def decoded(pictures: Sequence[EncodedPicture]) -> int:
    """How many pictures a decoder gives that gets these alone, without any error."""
    context = av.CodecContext.create("h264", "r")
    assert isinstance(context, av.VideoCodecContext)
    context.options = {"err_detect": "explode"}
    frames = [frame for one in pictures for frame in context.decode(av.Packet(one.data))]
    return len(frames + context.decode(None))


def test_takers_of_one_codec_share_an_encoder(made: list[str]) -> None:
    stage, takers = Stage(), [Taking() for _ in range(4)]
    for taker in takers:
        stage.inner.add(taker)
    stage.give(composites(25), *takers)
    assert stage.inner.close()
    assert made == ["h264"]
    assert all(taker.taken == takers[0].taken for taker in takers)
    assert times(takers[0].taken) == list(range(25))
    assert decoded(takers[0].taken) == 25
    assert all(taker.is_ended for taker in takers)


def test_nothing_is_encoded_while_nobody_takes_it(made: list[str]) -> None:
    stage, away = Stage(), Taking("nothing")
    stage.inner.add(away)
    for composite in composites(5):
        stage.inner.offer(composite)
    assert stage.inner.close()
    assert not made
    assert not away.taken


def test_taker_that_joins_gets_a_key_frame_at_once() -> None:
    stage, first, second = Stage(), Taking(), Taking()
    given = composites(20)
    stage.inner.add(first)
    stage.give(given[:10], first)
    stage.inner.add(second)
    stage.give(given[10:], first, second)
    assert times(second.taken) == list(range(10, 20))
    assert decoded(second.taken) == 10
    assert decoded(first.taken) == 20
    assert stage.inner.close()


def test_key_frames_that_are_asked_for_come_at_most_twice_a_second() -> None:
    stage, taker = Stage(), Taking()
    stage.inner.add(taker)
    for composite in composites(40):
        stage.inner.want_key()
        stage.give([composite], taker)
    assert keys(taker.taken) == list(range(0, 40, 5))
    assert stage.inner.close()


def test_key_frame_that_is_asked_for_too_early_comes_later() -> None:
    stage, taker = Stage(), Taking()
    stage.inner.add(taker)
    stage.give(composites(2), taker)
    stage.inner.want_key()
    stage.give(composites(10, first=2), taker)
    assert keys(taker.taken) == [0, 5]
    assert stage.inner.close()


def test_taker_that_blocks_holds_up_no_other_and_goes_on_at_a_key_frame() -> None:
    loop = asyncio.new_event_loop()
    stage, slow, quick = Stage(options=EncoderOptions(fps=10)), Viewer(loop), Taking()
    stage.inner.add(slow)
    stage.inner.add(quick)
    stage.give(composites(100), quick)
    left = loop.run_until_complete(_received(slow, slow.dropped))
    assert times(quick.taken) == list(range(100))
    assert keys(quick.taken) == list(range(0, 100, 10)), "one that blocks asks for none"
    assert left[0].is_key
    assert times(left) == list(range(100 - len(left), 100))
    assert stage.inner.close()
    loop.close()


class Blocking(FakeSink):
    """A server that takes its first pictures and then no more."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def write(self, picture: EncodedPicture) -> None:
        super().write(picture)
        if len(self.written) == 3:
            self.let_go.wait(60.0)


def test_sink_that_blocks_stalls_no_other_and_resumes_at_a_key_frame_that_its_queue_holds() -> None:
    stage, blocked, flowing = Stage(options=EncoderOptions(fps=10)), Blocking(), FakeSink()
    counters = Counters()
    lanes = [
        SinkLane("out", lambda sink=sink: sink, 16, Backoff(1, 8), FakeClock(), counters)  # type: ignore[misc]
        for sink in (blocked, flowing)
    ]
    threads = [threading.Thread(target=lane.run) for lane in lanes]
    for lane, thread in zip(lanes, threads, strict=True):
        stage.inner.add(lane)
        thread.start()
    for first in range(0, 100, 10):
        for composite in composites(10, first):
            stage.inner.offer(composite)
        assert eventually(lambda wanted=first + 10: len(flowing.written) == wanted)  # type: ignore[misc]
    blocked.let_go.set()
    assert stage.inner.close()
    for thread in threads:
        thread.join(20.0)
    assert times(flowing.written) == list(range(100))
    assert times(blocked.written) == [0, 1, 2, *range(90, 100)]
    assert blocked.written[3].is_key
    assert decoded(blocked.written[3:]) == 10
    assert counters.counts()["dropped_output"] == 87


async def _received(viewer: Viewer, dropped: int) -> list[EncodedPicture]:
    found = [await viewer.receive() for _ in range(100 - dropped)]
    return [one for one in found if one is not None]


def test_failed_encode_costs_its_picture_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, takers = Stage(), (Taking(), Taking())
    for taker in takers:
        stage.inner.add(taker)
    given = composites(6)
    stage.give(given[:2], *takers)
    monkeypatch.setattr(LiveEncoder, "encode", fails)
    stage.inner.offer(given[2])
    assert eventually(lambda: stage.counters.counts().get("encoder_faults") == 1)
    monkeypatch.undo()
    stage.give(given[3:], *takers)
    for taker in takers:
        assert times(taker.taken) == [0, 1, 3, 4, 5]
        assert keys(taker.taken) == [0, 3]
        assert decoded(taker.taken) == 5
    assert stage.inner.close()


def fails(self: LiveEncoder, composite: Composite) -> list[EncodedPicture]:
    raise av.error.InvalidDataError(1, "no")


def test_size_stays_after_an_encoder_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, taker = Stage(), Taking()
    stage.inner.add(taker)
    stage.give([composite_at(0, 48, 64)], taker)
    monkeypatch.setattr(LiveEncoder, "encode", fails)
    stage.inner.offer(slate(96, 128, STEP))
    assert eventually(lambda: stage.counters.counts().get("encoder_faults") == 1)
    monkeypatch.undo()
    stage.give([slate(96, 128, 2 * STEP)], taker)
    assert sizes(taker.taken) == [(48, 64)] * 2
    assert stage.inner.close()


def test_encoder_that_hangs_is_replaced_and_nothing_it_still_makes_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage, taker = Stage(), Taking()
    release, is_hanging = threading.Event(), threading.Event()
    stage.inner.add(taker)
    given = composites(8)
    stage.give(given[:2], taker)
    encode = LiveEncoder.encode

    def hang(self: LiveEncoder, composite: Composite) -> list[EncodedPicture]:
        is_hanging.set()
        release.wait(60.0)
        return encode(self, composite)

    monkeypatch.setattr(LiveEncoder, "encode", hang)
    stage.inner.offer(given[2])
    assert is_hanging.wait(20.0)
    monkeypatch.undo()
    stage.inner.check(5.0)
    assert not stage.counters.counts().get("encoder_faults")
    stage.clock.seconds += 6.0
    stage.inner.check(5.0)
    stage.give(given[3:6], taker)
    release.set()
    stage.give(given[6:], taker)
    assert times(taker.taken) == [0, 1, 3, 4, 5, 6, 7]
    assert keys(taker.taken) == [0, 3]
    assert stage.counters.counts()["encoder_faults"] == 1
    assert eventually(stage.inner.close)


def test_decoded_frame_is_refused_by_the_encoder_and_nothing_of_it_leaves() -> None:
    bare = frame_at(1.0)
    with pytest.raises(TypeError, match="only a Composite"):
        LiveEncoder(OPTIONS).encode(cast(Composite, bare))
    stage, taker = Stage(), Taking()
    stage.inner.add(taker)
    stage.give(composites(1), taker)
    assert isinstance(bare, Frame)
    stage.inner.offer(cast(Composite, bare))
    assert eventually(lambda: stage.counters.counts().get("encoder_faults") == 1)
    assert stage.inner.close()
    assert len(taker.taken) == 1


def sizes(pictures: Sequence[EncodedPicture]) -> list[tuple[int, int]]:
    """Height and width of every picture, decoded."""
    context = av.CodecContext.create("h264", "r")
    frames = [frame for one in pictures for frame in context.decode(av.Packet(one.data))]
    return [(frame.height, frame.width) for frame in (*frames, *context.decode(None))]


def test_size_is_followed_only_while_no_taker_has_to_keep_it() -> None:
    stage, viewer, file = Stage(), Taking(keeps_size=False), Taking("nothing")
    stage.inner.add(viewer)
    stage.inner.add(file)
    given = [composite_at(0, 48, 64), slate(96, 128, STEP), slate(47, 64, 2 * STEP)]
    stage.give(given, viewer)
    assert keys(viewer.taken) == [0, 1, 2]
    assert sizes(viewer.taken) == [(48, 64), (96, 128), (48, 64)]
    file.need = "key"
    stage.give([slate(96, 128, number * STEP) for number in range(10, 13)], viewer, file)
    assert sizes(file.taken) == [(48, 64)] * 3
    file.need = "nothing"
    stage.give([slate(96, 128, 14 * STEP)], viewer)
    assert sizes(viewer.taken[-1:]) == [(96, 128)]
    assert stage.inner.close()


def test_what_began_with_a_slate_begins_anew_once_with_the_size_of_the_first_picture() -> None:
    stage, sinks = Stage(), [FakeSink(), FakeSink()]
    script = iter(sinks)
    lane = SinkLane("out", lambda: next(script), 64, Backoff(1, 8), FakeClock(), Counters())
    stage.inner.add(lane)
    thread = threading.Thread(target=lane.run)
    thread.start()
    for number, size in enumerate([(48, 64), (48, 64), (96, 128), (32, 48)]):
        given = slate(*size, number * STEP)
        stage.inner.offer(given if number < 2 else composite_at(number * STEP, *size))
    stage.inner.offer(slate(32, 48, 9 * STEP))
    assert stage.inner.close()
    thread.join(20.0)
    assert [times(sink.written) for sink in sinks] == [[0, 1], [2, 3, 9]]
    assert [sizes(sink.written) for sink in sinks] == [[(48, 64)] * 2, [(96, 128)] * 3]
    assert all(sink.is_finished for sink in sinks)
    assert lane.taken == 5


def test_key_frames_carry_the_mark() -> None:
    stages = EncoderStages(
        lambda codec: EncoderStage(
            "cam", codec, OPTIONS, 8, FakeClock(), Counters(), is_marked=True
        )
    )
    takers: dict[LiveCodec, Taking] = {"h264": Taking(), "hevc": Taking()}
    for codec, taker in takers.items():
        stages.stage(codec).add(taker)
    stages.offer(slate(48, 64, 0))
    assert not stages.close()
    assert all(mark_in_bitstream(taker.taken[0].data) for taker in takers.values())


def passing(*fit: str) -> Callable[[Coding], bool]:
    return lambda coding: coding.name in fit


def test_hardware_is_used_live_only_after_its_test_encode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_choice, "passes_live_test", passing("h264_qsv"))
    choice = choose_live_encoder("h264", OPTIONS, 360, 640)
    assert (choice.name, choice.pixel_format, choice.is_hardware) == ("h264_qsv", "nv12", True)
    asked = EncoderOptions(encoder="h264_nvenc")
    assert "h264_nvenc does not work here" in choose_live_encoder("h264", asked, 360, 640).reason
    for wanted in ("software", "libx264", "h264_nvenc", "libx265"):
        choice = choose_live_encoder("h264", EncoderOptions(encoder=wanted), 360, 640)
        assert choice.name == "libx264"
    assert choose_live_encoder("vp8", OPTIONS, 360, 640).name == "libvpx"
    monkeypatch.undo()


def test_software_passes_the_test_that_hardware_has_to_pass() -> None:
    options = dict(choose_live_encoder("h264", EncoderOptions(encoder="software"), 48, 64).options)
    unfit: tuple[dict[str, str], ...] = (
        {"tune": "film"},  # gives pictures late
        {"x264-params": "bframes=2"},  # and out of order
        {"x264-params": "repeat-headers=0"},  # key frames without their headers
    )
    hevc = choose_live_encoder("hevc", EncoderOptions(encoder="software"), 48, 64)
    assert passes_live_test(Coding("libx265", "yuv420p", 64, 48, hevc.options))
    for more in ({}, *unfit):
        given = tuple(sorted((options | more).items()))
        assert passes_live_test(Coding("libx264", "yuv420p", 64, 48, given)) == (not more), more


def test_hardware_that_fails_in_use_gives_way_to_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for hardware is libx264, told apart by what is said of it."""
    stage, taker = Stage(), Taking()
    monkeypatch.setattr(encoder_choice, "is_hardware", lambda name: True)
    monkeypatch.setattr(encoder_choice, "encoder_names", lambda codec, wanted: STAND_IN[wanted])
    stage.inner.add(taker)
    given = composites(6)
    stage.give(given[:2], taker)
    assert _choice(stage.inner).is_hardware
    with monkeypatch.context() as patch:
        patch.setattr(LiveEncoder, "encode", fails)
        stage.inner.offer(given[2])
        assert eventually(lambda: stage.counters.counts().get("encoder_faults") == 1)
    stage.give(given[3:], taker)
    assert not _choice(stage.inner).is_hardware
    assert decoded(taker.taken) == 5
    assert stage.inner.close()


STAND_IN = {"auto": ("libx264",), "software": ()}


def _choice(stage: EncoderStage) -> EncoderChoice:
    choice = stage._run.encoder.choice if stage._run.encoder else None
    assert choice is not None
    return choice


def assembled(folder: Path, codec: SinkCodec = "h264", *more: str) -> RunningStream:
    settings = ServiceSettings(
        live=Live(fps=10, codec=codec), recording=Recording(folder=str(folder / "kept"))
    )
    spec = StreamSpec(
        name="desk",
        sinks=(str(folder / "a" / "live.m3u8"), str(folder / "b" / "live.m3u8"), *more),
        record=True,
    )
    assembly = Assembly(
        settings, engines(), lambda chosen, name: CoverEveryFace(), _Open(), SystemClock()
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
        running.live.encoders.stage(codec).add(viewer)  # type: ignore[arg-type]
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


def test_outputs_in_hevc_leave_rtmp_viewers_and_players_their_h264(tmp_path: Path) -> None:
    running, loop = (
        assembled(tmp_path, "hevc", "rtmp://127.0.0.1:9/live/key"),
        asyncio.new_event_loop(),
    )
    stages = running.live.encoders
    stages.stage("h264").add(Viewer(loop))
    assert running.hls in stages.stage("h264").takers
    assert [len(stages.stage(codec).takers) for codec in ("h264", "hevc")] == [3, 3]
    assert running.viewers == 1
    assert not running.stop()
    loop.close()
