"""Whole runs on self-made clips, with every engine fault planted."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import av
import numpy as np
import pytest

from config.settings import Settings
from engines.errors import EngineFault
from engines.types import Face, Frame, Track
from stream.errors import (
    Defect,
    InputUnreadable,
    OutputNotWritable,
    PrivacyRefused,
    UsageRefused,
)
from stream.files import file_run, file_runs, track_run
from stream.files.jobs import Job
from stream.files.report import ClusterCounts
from stream.media.writing.segments import SEGMENT_FRAMES
from stream.pipeline.replacement import CoverEveryFace, Replacement
from tests.clips import Clip, apart, decoded, made_clip
from tests.stream.scripted_runs import (
    Answer,
    CountingDetector,
    leftovers,
    one_face,
    run,
)

pytestmark = pytest.mark.unit


def test_clip_comes_out_covered_with_its_report(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    engines(one_face)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=12))
    report = run(source, tmp_path / "out.mp4")
    assert report.status == "complete"
    assert (report.frames.read, report.frames.written, report.frames.uncovered) == (12, 12, 0)
    assert report.faces.covered >= 12
    assert report.faces.swapped == 0
    assert report.input is not None
    assert report.output is not None
    assert report.input.sha256 != report.output.sha256
    assert len(decoded(tmp_path / "out.mp4").times_s) == 12
    assert not leftovers(tmp_path, "in.mp4", "out.mp4", "report.json")


@pytest.mark.parametrize(("look", "is_blue"), [("muted", False), ("solid", True)])
def test_what_cannot_be_swapped_wears_the_cover_asked_for(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector], look: str, is_blue: bool
) -> None:
    engines(one_face)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=12))
    report = run(source, tmp_path / "out.mp4", flags={"method": "swap", "cover.look": look})
    assert report.faces.covered >= 12
    middle = (slice(35, 55), slice(41, 55))
    before, after = (
        decoded(path).first.to_ndarray(format="bgr24")[middle].astype(int)
        for path in (source, tmp_path / "out.mp4")
    )
    # In a plain scene, a cover in the colours of the scene is not seen.
    assert (np.abs(after - before).mean() > 8) == is_blue
    assert (float((after[..., 0] - after[..., 2]).mean()) > 60) is is_blue


@pytest.mark.parametrize(
    ("flags", "is_marked"),
    [
        ({"method": "swap"}, True),
        ({"method": "swap", "privacy.label": False}, False),
        ({"method": "solid"}, False),
    ],
)
def test_file_is_marked_as_synthetic_unless_told_otherwise(
    flags: dict[str, object],
    is_marked: bool,
    tmp_path: Path,
    engines: Callable[[Answer], CountingDetector],
) -> None:
    engines(one_face)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    for resume in (False, True):
        run(source, tmp_path / f"{resume}.mp4", flags=flags, resume=resume)
        with av.open(str(tmp_path / f"{resume}.mp4")) as file:
            assert ("comment" in file.metadata) is is_marked


def test_report_names_no_folder(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    engines(one_face)
    run(made_clip(tmp_path / "in.mp4", Clip(frames=3)), tmp_path / "out.mp4")
    assert str(tmp_path) not in (tmp_path / "report.json").read_text()


def test_detector_that_dies_leaves_no_output(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    def dying(number: int) -> tuple[Face, ...]:
        if number > 4:
            raise RuntimeError("planted")
        return one_face(number)

    engines(dying)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=60))
    with pytest.raises(EngineFault, match="failed"):
        run(source, tmp_path / "out.mp4")
    assert not leftovers(tmp_path, "in.mp4", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["status"] == "failed"
    assert "detector" in report["error"]


def test_detector_that_hangs_leaves_no_output(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    release = threading.Event()

    def hanging(number: int) -> tuple[Face, ...]:
        if number == 3:
            release.wait(30)
        return one_face(number)

    engines(hanging)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=10))
    try:
        with pytest.raises(EngineFault, match="hung"):
            run(source, tmp_path / "out.mp4", flags={"limits.engine_deadline_s": 0.05})
    finally:
        release.set()
    assert not leftovers(tmp_path, "in.mp4", "report.json")


def test_single_fault_covers_one_frame_and_the_run_goes_on(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    def stumbling(number: int) -> tuple[Face, ...]:
        if number == 5:
            raise RuntimeError("planted")
        return one_face(number)

    engines(stumbling)
    report = run(made_clip(tmp_path / "in.mp4", Clip(frames=12)), tmp_path / "out.mp4")
    assert report.frames.covered_fully_by_cause == {"detector_fault": 1}


def test_full_disk_leaves_no_output(
    tmp_path: Path,
    engines: Callable[[Answer], CountingDetector],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engines(one_face)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=12))

    def full(self: object, composite: object) -> None:
        raise OutputNotWritable("the disk is full; free some space and run again")

    monkeypatch.setattr("stream.media.writing.file_sink.FileSink.write", full)
    with pytest.raises(OutputNotWritable, match="disk is full"):
        run(source, tmp_path / "out.mp4")
    assert not leftovers(tmp_path, "in.mp4", "report.json")


def of_batch(path: Path) -> list[str]:
    return [one["status"] for one in json.loads(path.read_text())["runs"]]


def test_failed_input_does_not_stop_the_others(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    engines(one_face)
    folder = tmp_path / "clips"
    folder.mkdir()
    (folder / "a.mp4").write_bytes(b"no video at all")
    made_clip(folder / "b.mp4", Clip(frames=3))
    with pytest.raises(InputUnreadable):
        run(folder, tmp_path / "out")
    assert leftovers(tmp_path / "out") == ["b.mp4"]
    assert of_batch(tmp_path / "report.json") == ["failed", "complete"]


class SharedGallery(CoverEveryFace):
    """Covers faces, and counts as if the first file's were swapped with fewer than k people."""

    swaps_below_k = 0

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        SharedGallery.swaps_below_k = 1
        return super().replace(frame, tracks)

    def counts(self) -> ClusterCounts:
        return ClusterCounts(k=5, swaps_below_k=self.swaps_below_k)


def test_strict_refuses_the_file_that_broke_the_promise_and_no_other(
    tmp_path: Path,
    engines: Callable[[Answer], CountingDetector],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(track_run, "CoverEveryFace", SharedGallery)
    folder = tmp_path / "clips"
    folder.mkdir()
    for name in ("a.mp4", "b.mp4"):
        made_clip(folder / name, Clip(frames=3))
    engines(one_face)
    with pytest.raises(PrivacyRefused, match="1 tracks"):
        run(folder, tmp_path / "out", flags={"privacy.strict": True})
    assert leftovers(tmp_path / "out") == ["b.mp4"]
    runs = json.loads((tmp_path / "report.json").read_text())["runs"]
    assert [one["clusters"]["swaps_below_k"] for one in runs] == [1, 0]


def test_ledger_that_could_not_be_written_is_told_on_the_terminal(
    tmp_path: Path,
    engines: Callable[[Answer], CountingDetector],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: a ledger on a full disk, of which only the report told."""
    monkeypatch.setattr(track_run, "CoverEveryFace", lambda: CoverEveryFace("ledger_unavailable"))
    engines(one_face)
    heard = _Heard()
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    (report,) = file_runs.run_files(
        [source], tmp_path / "out.mp4", Settings(method="solid"), progress=heard
    )
    told = "the ledger could not be written, and 3 faces are covered for that"
    assert told in report.warnings
    assert any(line.startswith(f"out.mp4: {told}; free some space") for line in heard.lines)


def dying_in_the_second_segment(number: int) -> tuple[Face, ...]:
    if number > SEGMENT_FRAMES + 30:
        raise RuntimeError("planted")
    return one_face(number)


def interrupted_run(
    folder: Path, engines: Callable[[Answer], CountingDetector], frames: int
) -> Path:
    """The input of a resumable run that died in its second segment."""
    source = made_clip(folder / "in.mp4", Clip(frames=frames))
    engines(dying_in_the_second_segment)
    with pytest.raises(EngineFault):
        run(source, folder / "out.mp4", resume=True)
    return source


def test_resumed_run_equals_an_uninterrupted_one(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    frames = SEGMENT_FRAMES + 60
    source = interrupted_run(tmp_path, engines, frames)
    assert not (tmp_path / "out.mp4").exists()
    detector = engines(one_face)
    again = run(source, tmp_path / "out.mp4", resume=True)
    assert detector.calls < frames - SEGMENT_FRAMES + 10
    engines(one_face)
    whole = run(source, tmp_path / "whole.mp4", resume=True)
    assert apart(tmp_path / "out.mp4", tmp_path / "whole.mp4") < 1
    assert apart(source, tmp_path / "whole.mp4") > 5, "a cover that is missing would show"
    assert again.faces == whole.faces
    assert again.frames.written == frames
    assert not leftovers(tmp_path, "in.mp4", "whole.mp4", "out.mp4", "report.json")


class OtherPack:
    """A pack whose files have other hashes."""

    sha256: ClassVar = {"donors.npz": "0" * 64}


@pytest.mark.parametrize(
    ("name", "other"),
    [("read_pack", lambda folder: OtherPack), ("installed_versions", lambda: {"kveil": "0"})],
)
def test_run_with_other_donors_or_another_kveil_begins_anew(
    name: str,
    other: Callable[..., object],
    tmp_path: Path,
    engines: Callable[[Answer], CountingDetector],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames = SEGMENT_FRAMES + 60
    source = interrupted_run(tmp_path, engines, frames)
    monkeypatch.setattr(file_run, name, other)
    detector = engines(one_face)
    run(source, tmp_path / "out.mp4", resume=True)
    assert detector.calls >= frames


def test_defect_in_one_input_does_not_stop_the_others(
    tmp_path: Path,
    engines: Callable[[Answer], CountingDetector],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    for name in ("a.mp4", "b.mp4"):
        made_clip(folder / name, Clip(frames=3))
    right = file_run.run_file

    def failing(job: Job, *rest: Any, **named: Any) -> None:
        if job.source.name == "a.mp4":
            raise ValueError(f"planted: {job.source}")
        right(job, *rest, **named)

    monkeypatch.setattr(file_runs, "run_file", failing)
    engines(one_face)
    with pytest.raises(Defect, match=r"internal error \(ValueError\)"):
        run(folder, tmp_path / "out")
    assert leftovers(tmp_path / "out") == ["b.mp4"]
    assert of_batch(tmp_path / "report.json") == ["failed", "complete"]
    assert str(tmp_path) not in (tmp_path / "report.json").read_text()


@pytest.mark.parametrize("victim", ["in.mp4", "out.mp4"])
def test_report_does_not_replace_an_input_or_output(victim: str, tmp_path: Path) -> None:
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    before = source.read_bytes()
    (tmp_path / "link.json").symlink_to(tmp_path / victim)
    for name in (victim, "link.json"):
        with pytest.raises(UsageRefused, match=f"would replace {victim}"):
            run(source, tmp_path / "out.mp4", report=tmp_path / name)
    assert source.read_bytes() == before


@pytest.mark.parametrize("place", ["missing/report.json", ""])
def test_report_that_cannot_be_written_is_told_before_the_work(place: str, tmp_path: Path) -> None:
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    with pytest.raises(OutputNotWritable):
        run(source, tmp_path / "new" / "out.mp4", report=tmp_path / place)
    assert leftovers(tmp_path) == ["in.mp4"]


def test_resumed_batch_keeps_the_reports_of_what_was_finished(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    made_clip(folder / "a.mp4", Clip(frames=3))
    broken = folder / "b.mp4"
    broken.write_bytes(b"no video at all")
    engines(one_face)
    with pytest.raises(InputUnreadable):
        run(folder, tmp_path / "out", resume=True)
    first = json.loads((tmp_path / "report.json").read_text())["runs"][0]
    made_clip(broken, Clip(frames=3))
    for _ in range(2):
        run(folder, tmp_path / "out", resume=True, is_batch=True)
        assert of_batch(tmp_path / "report.json") == ["complete", "complete"]
    assert json.loads((tmp_path / "report.json").read_text())["runs"][0] == first
    (tmp_path / "report.json").unlink()
    run(folder, tmp_path / "out", resume=True, is_batch=True)
    assert of_batch(tmp_path / "report.json") == ["skipped", "skipped"]


def test_copy_of_the_input_is_not_taken_for_a_finished_output(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    """The planted fault: somebody copied the originals to where results belong."""
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    shutil.copy(source, tmp_path / "out.mp4")
    engines(one_face)
    run(source, tmp_path / "out.mp4", resume=True)
    assert apart(source, tmp_path / "out.mp4") > 5


class _Heard:
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, name: str, frames: int | None) -> None:
        """Nothing is kept of it."""

    def advance(self, written: int) -> None:
        """Nothing is kept of it."""

    def say(self, text: str) -> None:
        """Keeps the line."""
        self.lines.append(text)


def test_skipped_output_is_called_finished_only_where_a_report_tells_so(
    tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    """The planted fault: an original of another recording lies where the result belongs."""
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    made_clip(tmp_path / "out.mp4", Clip(frames=4))
    engines(one_face)
    report = tmp_path / "report.json"

    def resumed() -> str:
        heard = _Heard()
        file_runs.run_files(
            [source],
            tmp_path / "out.mp4",
            Settings(method="solid"),
            resume=True,
            report_path=report,
            progress=heard,
        )
        return heard.lines[-1]

    assert "there already" in resumed()
    (tmp_path / "out.mp4").unlink()
    report.unlink()
    resumed()
    assert resumed() == "out.mp4: already finished, skipped"


@pytest.mark.parametrize("looped", ["output", "report", "folder"])
def test_links_in_a_circle_are_told(
    looped: str, tmp_path: Path, engines: Callable[[Answer], CountingDetector]
) -> None:
    engines(one_face)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=3))
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    target = {"output": loop, "folder": loop / "out.mp4"}.get(looped, tmp_path / "out.mp4")
    if looped == "output":
        target = tmp_path / "loop.mp4"
        target.symlink_to("loop.mp4")
    with pytest.raises(OutputNotWritable):
        run(source, target, report=loop if looped == "report" else tmp_path / "report.json")
    assert not (tmp_path / "out.mp4").exists()
