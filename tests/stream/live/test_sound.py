from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from config.service import Live, Recording, ServiceSettings, StreamSpec
from config.settings import Settings
from engines.types import Frame
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.errors import SourceLost
from stream.live.network_source import NetworkSource
from stream.live.running_stream import RunningStream
from stream.live.sound import Hear, Sound
from stream.pipeline.replacement import CoverEveryFace
from stream.service.url_guard import OpenGate
from tests.stream.live.rtsp_peer import RtspPeer, eventually, rtsp_peer
from tests.stream.service.service_bench import engines

pytestmark = pytest.mark.rtsp
LOUD = 2000
BRIGHT = 120
MOST_APART_S = 0.15


@contextmanager
def passing(peer: RtspPeer, folder: Path, *sinks: str, audio: str = "pass") -> Iterator[None]:
    """The peer's camera, anonymized and with its sound, to the sinks and into recordings.

    Begins when the camera is there: until then a slow machine's recording shows no signal.
    """
    settings = ServiceSettings(
        anonymize=Settings(method="solid"),
        live=Live(fps=15),
        recording=Recording(folder=str(folder / "recordings")),
    )
    assembly = Assembly(
        settings,
        engines(),
        lambda chosen, name: CoverEveryFace(),
        OpenGate(),
        SystemClock(),
    )
    running: RunningStream = assembly.build(
        StreamSpec.model_validate(
            {
                "name": "cam",
                "source": f"rtsp://127.0.0.1:{peer.port}/camera",
                "sinks": sinks,
                "record": True,
                "label": False,
                "audio": audio,
            }
        )
    )
    running.live.start()
    try:
        assert eventually(lambda: running.live.status().source == "live", 60.0)
        yield
    finally:
        stuck = running.stop()
    assert not stuck


def further_segments(folder: Path, count: int) -> bool:
    """Whether so many parts of the HLS stream are written from now on, within a minute."""

    def newest() -> int:
        return max((int(path.stem.rpartition("-")[2]) for path in folder.glob("*.m4s")), default=-1)

    already = newest()
    return eventually(lambda: newest() >= already + count, 60.0)


def is_flash(luma: NDArray[np.generic]) -> bool:
    return float(luma[-24:-8, luma.shape[1] // 4 :].mean()) > BRIGHT


def is_tone(pcm: bytes) -> bool:
    return int(np.abs(np.frombuffer(pcm, np.int16).astype(int)).max(initial=0)) > LOUD


def changes(told: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    """Where something begins: times of the last that is without it and of the first with it."""
    pairs = itertools.pairwise(told)
    return [(before, at) for (before, was), (at, is_on) in pairs if is_on and not was]


def worst_offset_s(flashes: list[tuple[float, bool]], tones: list[tuple[float, bool]]) -> float:
    """Largest time between a flash and the tone next to it.

    A flash begins somewhere between two pictures; how far these are apart is the machine's
    affair, which drops pictures when it is busy.
    """
    seen, heard = changes(sorted(flashes)), [at for _, at in changes(sorted(tones))]
    inside = [
        (before, at) for before, at in seen if min(heard) - 0.5 <= before <= at <= max(heard) + 0.5
    ]
    assert len(inside) >= 2, "the picture flashes while the tone sounds"
    return max(min(max(before - tone, tone - at, 0.0) for tone in heard) for before, at in inside)


def test_an_offset_is_told_whatever_pictures_are_dropped() -> None:
    tones = [(n / 100, n // 100 % 2 == 1) for n in range(600)]
    flashes = [(n / 15, n // 15 % 2 == 1) for n in range(90) if n not in {45, 46, 47}]
    assert worst_offset_s(flashes, tones) == pytest.approx(0.0, abs=0.01)
    late = [(at + 0.25, is_on) for at, is_on in flashes]
    assert worst_offset_s(late, tones) > MOST_APART_S


def offset_in_file(path: Path) -> float:
    flashes: list[tuple[float, bool]] = []
    tones: list[tuple[float, bool]] = []
    with av.open(str(path)) as container:
        resampler = av.AudioResampler("s16", "stereo", 48_000, frame_size=480)
        for frame in container.decode():
            if isinstance(frame, av.VideoFrame):
                flashes.append((float(frame.time), is_flash(frame.to_ndarray(format="gray"))))
            elif isinstance(frame, av.AudioFrame):
                parts = resampler.resample(frame)
                tones += [(float(part.time), is_tone(bytes(part.planes[0]))) for part in parts]
    return worst_offset_s(flashes, tones)


@pytest.mark.parametrize("codec", ["pcma", "aac", "opus"])
def test_sound_of_a_camera_is_recorded_in_time_with_its_picture(tmp_path: Path, codec: str) -> None:
    with rtsp_peer("--size", "320x180", "--sound", codec) as peer:
        with passing(peer, tmp_path, str(tmp_path / "live.m3u8")):
            assert further_segments(tmp_path, 7)
        recordings = sorted((tmp_path / "recordings" / "cam").glob("*.mp4"))
    assert len(recordings) <= 2, "one more where the slate came first"
    assert offset_in_file(recordings[-1]) < MOST_APART_S
    assert offset_in_file(tmp_path / "live.m3u8") < MOST_APART_S


def test_sound_reaches_an_rtsp_server_together_with_its_picture(tmp_path: Path) -> None:
    flashes: list[tuple[float, bool]] = []
    tones: list[tuple[float, bool]] = []

    def hear(sound: Sound) -> None:
        parts = [sound.pcm[at : at + 1920] for at in range(0, len(sound.pcm), 1920)]
        tones.extend((sound.time_s + n / 100, is_tone(part)) for n, part in enumerate(parts))

    def see(frame: Frame) -> bool:
        flashes.append((frame.time_s, is_flash(frame.picture.planes[0])))
        return len(changes(flashes)) >= 3

    with rtsp_peer("--size", "320x180", "--sound", "aac") as peer:
        published = f"rtsp://127.0.0.1:{peer.port}/out"
        with passing(peer, tmp_path, published):
            source = watched(peer, hear)
            for frame in source.frames():
                if see(frame):
                    break
            source.close()
    assert worst_offset_s(flashes, tones) < MOST_APART_S


def watched(peer: RtspPeer, hear: Hear) -> NetworkSource:
    """The publication, once it is there."""
    opened: list[NetworkSource] = []

    def is_there() -> bool:
        try:
            opened.append(
                NetworkSource(peer.address("watch"), OpenGate(), SystemClock(), None, hear)
            )
        except SourceLost:
            return False
        return True

    assert eventually(is_there, 60.0)
    return opened[0]


def test_sound_that_is_dropped_reaches_nobody(tmp_path: Path) -> None:
    with rtsp_peer("--size", "320x180", "--sound", "pcma") as peer:
        with passing(peer, tmp_path, str(tmp_path / "live.m3u8"), audio="drop"):
            assert further_segments(tmp_path, 2)
        recordings = list((tmp_path / "recordings" / "cam").glob("*.mp4"))
    for path in (tmp_path / "live.m3u8", *recordings):
        with av.open(str(path)) as container:
            assert not container.streams.audio
