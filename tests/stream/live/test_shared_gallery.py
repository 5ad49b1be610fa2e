"""People shared through a real Redis by live streams, and what leaves while it is away."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
import structlog

from config.service import Live, ServiceSettings, StreamSpec
from config.settings import Settings
from engines.blending.compositor import Composite
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Embedding, Face, Frame, Surrogate, Track, TrackState
from evaluation.bare import is_bare
from gallery.secrets import SecretRing
from gallery.stores.local_redis import INSTALL, LocalRedis
from stream.files.report import ClusterCounts
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.outage import Outage
from stream.live.replacers import RunLender, open_replacers
from stream.live.running_stream import RunningStream
from stream.pipeline.engine_set import EngineSet, open_engines
from stream.service.url_guard import OpenGate
from tests.stream.live.rtsp_peer import RtspPeer, eventually, rtsp_peer

SIZE = (360, 640)
FPS = 8
MOST_LATE_S = 5.0
_ATTEMPTS = 4


class Witness:
    """Counts what became of faces, and looks for the original ones in every picture.

    Args:
        originals: the camera's pictures, BGR.
        faces: where the face is in each.
    """

    def __init__(self, originals: list[BgrImage], faces: list[Face]) -> None:
        self._originals = originals
        self._faces = faces
        self.outcomes: Counter[str] = Counter()
        self.bare = 0
        self.pictures = 0

    def offer(self, composite: Composite) -> None:
        self.pictures += 1
        self.outcomes.update(one.cause or one.result for one in composite.outcomes)
        if composite.is_fully_covered:
            return
        shown = composite.picture.bgr()
        pairs = zip(self._originals, self._faces, strict=True)
        self.bare += any(is_bare(image, shown, face.box_px) for image, face in pairs)

    def more(self, outcome: str, number: int = 10) -> bool:
        """Whether so many faces had this outcome since this was last reset."""
        return self.outcomes[outcome] >= number


@pytest.fixture
def folder() -> Iterator[Path]:
    short = Path(tempfile.mkdtemp())  # sockets have short names
    SecretRing.ephemeral().write(short / "keys")
    yield short
    shutil.rmtree(short)


def camera_pictures(clip: Path, target: Path) -> list[BgrImage]:
    """Ten pictures of the clip, also as the camera's raw I420."""
    pictures: list[BgrImage] = []
    with av.open(str(clip)) as container, target.open("wb") as file:
        for frame in itertools.islice(container.decode(video=0), 10):
            fitted = frame.reformat(SIZE[1], SIZE[0], "yuv420p")
            file.write(fitted.to_ndarray().tobytes())
            pictures.append(np.asarray(fitted.to_ndarray(format="bgr24"), np.uint8))
    return pictures


def service(redis: LocalRedis, folder: Path) -> ServiceSettings:
    gallery = {"redis_url": redis.url, "key_file": str(folder / "keys"), "session": "hall"}
    # Of all kinds of donors some are always unlike the person, whatever the keys.
    wanted = Settings.model_validate({"gallery": gallery | {"attributes": "none"}})
    return ServiceSettings(anonymize=wanted, live=Live(fps=FPS, stall_s=2.0, sheds_load=False))


def begun(assembly: Assembly, name: str, port: int, witness: Witness) -> RunningStream:
    spec = StreamSpec(name=name, source=f"rtsp://127.0.0.1:{port}/camera", label=False)
    running = assembly.build(spec)
    running.live.add_outlet(witness)
    running.live.start()
    return running


def keeps_its_face_while_away(redis: LocalRedis, witness: Witness) -> bool:
    """Whether someone who wore a face before Redis died still wears it; Redis stays dead if so.

    A machine too busy to look for most of a second loses sight of people, who are newcomers then:
    Redis comes back, for another attempt.
    """
    witness.outcomes.clear()
    assert eventually(lambda: witness.more("swapped"), 60.0), f"{witness.outcomes}"
    redis.kill()
    witness.outcomes.clear()
    if eventually(lambda: witness.more("swapped", 20), 15.0):
        return True
    redis.start()
    return False


@pytest.mark.redis
@pytest.mark.rtsp
@pytest.mark.data
@pytest.mark.skipif(shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}")
def test_redis_down_covers_newcomers_keeps_the_output_up_and_swaps_again_later(
    folder: Path, shared_data: Path
) -> None:
    base = folder / "faces.i420"
    pictures = camera_pictures(shared_data / "video" / "Twitch1.mp4", base)
    options = ("--size", f"{SIZE[1]}x{SIZE[0]}", "--fps", str(FPS), "--base", str(base))
    with LocalRedis(folder) as redis:
        settings = service(redis, folder)
        with (
            open_engines(settings.anonymize) as engines,
            open_replacers(engines, settings.anonymize) as make,
            ExitStack() as undo,
        ):
            witness = Witness(pictures, [face_in(engines, picture) for picture in pictures])
            assembly = Assembly(settings, engines, make, OpenGate(), SystemClock())
            with rtsp_peer(*options) as camera:
                running = begun(assembly, "hall", camera.port, witness)
                undo.callback(running.stop)
                kept = any(keeps_its_face_while_away(redis, witness) for _ in range(_ATTEMPTS))
                assert kept, f"{witness.outcomes} {running.live.status()}"
            undo.callback(RtspPeer(camera.port, *options).kill)
            assert eventually(lambda: witness.more("store_unavailable"), 60.0), (
                f"{witness.outcomes}"
            )
            assert running.live.status().output == "live"
            assert running.live.counters.latency().p50_s < MOST_LATE_S
            assert running.anonymizers.clusters().store_failures >= 1
            redis.start()
            witness.outcomes.clear()
            assert eventually(lambda: witness.more("swapped"), 90.0), f"{witness.outcomes}"
            stuck = running.stop()
    assert not stuck
    assert witness.pictures > 50
    assert witness.bare == 0


def face_in(engines: EngineSet, picture: BgrImage) -> Face:
    """The face of a picture of one person."""
    return max(engines.detector.detect(picture, min_score=0.3), key=lambda face: face.score)


class Notes:
    """A source of surrogates that writes down whom it is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        return frozenset(track.id for track in tracks[:1])

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        self.asked.append(track.id)
        return "no_surrogate"

    def counts(self) -> ClusterCounts:
        return ClusterCounts()


@pytest.mark.unit
def test_tracks_of_two_runs_are_never_taken_for_one() -> None:
    notes, ledger = Notes(), Outage(structlog.get_logger(), ("failing", "back"), SystemClock())
    frame = Frame(picture_from_bgr(np.zeros((8, 8, 3), np.uint8)), 0, Fraction(1, 25), 0)
    face = Face(np.array([0, 0, 8, 8], np.float32), np.zeros((5, 2), np.float32), 0.9)
    track = Track(1, face, TrackState.DETECTED, 3)
    for run in range(2):
        lender = RunLender(notes, run, ledger)
        assert lender.see(frame, [track]) == {1}
        lender.lend(frame, track, np.zeros(8, np.float32))
    assert len(set(notes.asked)) == 2
