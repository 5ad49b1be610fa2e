"""What the gallery knows of a live stream ends with its run of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from config.settings import Settings
from engines.pictures import picture_from_bgr
from engines.types import Face, Frame, Track, TrackState
from gallery.errors import LedgerBroken
from gallery.gallery import Gallery
from gallery.settings import GallerySettings
from gallery.simulation import THRESHOLDS, NoiseMaker, look
from stream.files.report import ClusterCounts
from stream.live.assembly import ReplacerMaker
from stream.live.overload import Overload, SheddingReplacer
from stream.live.replacers import open_replacers
from stream.pipeline.anonymizer import Closable
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.replacement import Replacement
from stream.swap.swapping import SurrogateSource

pytestmark = pytest.mark.unit

FACE = Face(np.array([0, 0, 8, 8], np.float32), np.zeros((5, 2), np.float32), 0.9)
TRACK = Track(1, FACE, TrackState.DETECTED, 3)


class AsksAlone:
    """A swap that asks for surrogates and draws nothing.

    Args:
        lender: lends them.
    """

    ahead = 0

    def __init__(self, lender: SurrogateSource) -> None:
        self.lender = lender

    def begin(self, frame: Frame, tracks: Sequence[Track]) -> Callable[[], Replacement]:
        self.lender.see(frame, tracks)
        for track in tracks:
            self.lender.lend(frame, track, look(2))
        return Replacement

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        return self.begin(frame, tracks)()

    def counts(self) -> ClusterCounts:
        return self.lender.counts()

    def close(self) -> None:
        """Nothing to close."""


def frame_at(time_s: float) -> Frame:
    return Frame(picture_from_bgr(np.zeros((8, 8, 3), np.uint8)), int(time_s), Fraction(1), 0)


@pytest.fixture
def gallery() -> Gallery:
    return Gallery(GallerySettings(thresholds=THRESHOLDS, period_s=60.0), NoiseMaker())


@pytest.fixture
def make(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplacerMaker]:
    monkeypatch.setattr("stream.live.replacers.gallery_from_settings", lambda *_: gallery)
    monkeypatch.setattr(
        "stream.live.replacers.swap_by", lambda _, lender, *__, **___: AsksAlone(lender)
    )
    parts = SimpleNamespace(
        donors=None, thresholds=None, painter=None, attributes=None,
        fitting=lambda step_s: None,
    )  # fmt: skip
    engines = cast("EngineSet", SimpleNamespace(swap=parts))
    with open_replacers(engines, Settings()) as made:
        yield made


def in_view(gallery: Gallery) -> list[str]:
    return list(gallery._presence.streams())


def test_streams_that_come_and_go_leave_nothing_behind(
    gallery: Gallery, make: ReplacerMaker
) -> None:
    for number in range(20):
        run = SheddingReplacer(make(Settings(), f"guest-{number}"), Overload(is_on=False))
        run.replace(frame_at(1.0), [TRACK])
        assert in_view(gallery) == [f"guest-{number}"]
        run.close()
        run.close()
        assert in_view(gallery) == []
    assert gallery.report().people == 1


def test_end_of_a_run_records_who_was_in_view(gallery: Gallery, make: ReplacerMaker) -> None:
    run = make(Settings(), "door")
    assert isinstance(run, Closable)
    for second in (1.0, 2.0):
        run.replace(frame_at(second), [TRACK])
    noted: list[str] = []
    gallery._ledger.period = lambda window, people: noted.append(window)  # type: ignore[method-assign]
    run.close()
    assert noted == [gallery.window]


def test_run_that_ends_after_the_next_one_began_takes_nobody_from_it(
    gallery: Gallery, make: ReplacerMaker
) -> None:
    hung, next_one = make(Settings(), "door"), make(Settings(), "door")
    hung.replace(frame_at(1.0), [TRACK])
    next_one.replace(frame_at(1.5), [TRACK])
    assert isinstance(hung, Closable)
    assert isinstance(next_one, Closable)
    hung.close()
    assert in_view(gallery) == ["door"]
    next_one.close()
    assert in_view(gallery) == []


def test_ledger_that_cannot_be_written_is_told_in_the_log_once(
    gallery: Gallery, make: ReplacerMaker, logged: Sequence[MutableMapping[str, Any]]
) -> None:
    """The planted fault: a full disk, of which only the report of a run told."""

    def full(*_line: object, **_how: object) -> None:
        raise LedgerBroken("a release cannot be recorded, so its face is covered: no space")

    gallery._ledger._write = full  # type: ignore[method-assign]
    for stream in ("door", "yard"):
        make(Settings(), stream).replace(frame_at(1.0), [TRACK])
    assert [one["event"] for one in logged] == ["ledger_failing"]
    assert "free some space" in logged[0]["reason"]
