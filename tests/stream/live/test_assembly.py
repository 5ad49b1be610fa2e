from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import httpx
import pytest

from benchmarks.soak import PatternSource
from config.service import Access, Live, ServiceSettings, Sources, StreamSpec
from config.settings import Settings
from stream.errors import UsageRefused
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.running_stream import RunningStream
from stream.pipeline.replacement import CoverEveryFace, FaceReplacer
from stream.service.url_guard import OpenGate
from tests.stream.live.fakes import Collector
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.service_bench import engines, running_service, talk

pytestmark = pytest.mark.unit
CAMERA = "/dev/video0"


def no_surrogates(chosen: Settings, name: str) -> FaceReplacer:
    raise RuntimeError("the pack broke")


def assembly(method: str) -> Assembly:
    settings = ServiceSettings(anonymize=Settings(method=method), live=Live(hold_s=30.0))
    make = no_surrogates if method == "swap" else lambda chosen, name: CoverEveryFace()
    return Assembly(settings, engines(), make, OpenGate(), SystemClock())


def pattern_stream(method: str) -> RunningStream:
    running = assembly(method).build(StreamSpec(name="cam", source=CAMERA))
    running.live.replace_source(lambda: PatternSource(90, 160, 50, 10_000))
    return running


def test_unknown_method_of_the_settings_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageRefused, match="nosuch"):
        assembly("nosuch").build(StreamSpec(name="cam", source=CAMERA))


def test_unknown_method_of_one_stream_is_refused_by_the_service() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        wanted = {"name": "bad", "source": CAMERA, "method": "nosuch"}
        answer = await client.post("/api/v1/streams", json=wanted)
        assert answer.status_code == 422
        assert "kveil methods" in answer.text
        assert (await client.get("/api/v1/streams")).json() == []

    settings = ServiceSettings(access=Access(), sources=Sources(devices=(CAMERA,)))
    with running_service(settings) as service:
        talk(service, conversation, role=None)


def test_engines_that_always_fail_are_told_and_their_frames_counted() -> None:
    running, seen = pattern_stream("swap"), Collector()
    running.live.add_outlet(seen)
    running.live.start()
    assert eventually(lambda: len(seen.taken) >= 20)
    trouble = running.live.status().trouble
    assert running.live.stop() == []
    frames = running.anonymizers.tally.frames(0, 0)
    assert "the engines fail" in trouble
    assert "RuntimeError" in trouble
    assert frames.written == frames.covered_fully == len(seen.taken)
    assert frames.covered_fully_by_cause == {"anonymizer_fault": len(seen.taken)}


def test_fully_covered_frame_carries_the_mark() -> None:
    running, seen = pattern_stream("swap"), Collector()
    running.live.add_outlet(seen)
    running.live.start()
    assert eventually(lambda: bool(seen.taken))
    assert running.live.stop() == []
    luma = seen.taken[0].picture.planes[0]
    assert luma.max() > luma.min() + 50


def test_engines_that_work_are_no_trouble() -> None:
    running, seen = pattern_stream("solid"), Collector()
    running.live.add_outlet(seen)
    running.live.start()
    assert eventually(lambda: len(seen.taken) >= 20)
    assert running.live.status().trouble == ""
    assert running.live.stop() == []


@pytest.mark.parametrize(("method", "warnings"), [("blur", 1), ("solid", 0)])
def test_method_that_does_not_protect_is_warned_of_once(
    logged: Sequence[MutableMapping[str, Any]], method: str, warnings: int
) -> None:
    pattern_stream(method)
    told = [one for one in logged if one["event"] == "method_unsafe"]
    assert len(told) == warnings
    assert all("does not stop recognition" in one["reason"] for one in told)
    assert all(one["log_level"] == "warning" for one in told)
