"""`--video-track all`: every picture track anonymized by itself, together in one output."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.audio.stream import AudioStream
from av.video.stream import VideoStream
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.types import Face
from stream.errors import InputUnreadable, OutputNotWritable, UsageRefused
from stream.media.writing.output_file import OutputFile
from stream.media.writing.segments import resume_folder
from tests.clips import Clip, made_clip, numbered_frame
from tests.stream.scripted_runs import Answer, CountingDetector, leftovers, one_face, run

pytestmark = pytest.mark.unit

Engines = Callable[[Answer], CountingDetector]
ALL = {"source.video_track": "all"}
WIDE, NARROW = Clip(64, 96, frames=20), Clip(96, 64, frames=20)


def two_views(
    path: Path, clips: tuple[Clip, Clip] = (WIDE, NARROW), *, late_ticks: int = 0, default: int = 1
) -> Path:
    """Two tracks with times of their own, and a sound; the second is the default."""
    with av.open(str(path), "w") as output:
        tracks = []
        for number, clip in enumerate(clips):
            track = output.add_stream("libx264", rate=clip.rate)
            assert isinstance(track, VideoStream)
            context = track.codec_context
            context.height, context.width = clip.height, clip.width
            context.pix_fmt, context.time_base = clip.pixel_format, clip.time_base
            track.time_base = clip.time_base
            track.disposition = av.stream.Disposition(int(number == default))
            tracks.append((track, clip))
        sound = output.add_stream("aac", rate=48000)
        assert isinstance(sound, AudioStream)
        sound.codec_context.layout = "mono"
        for track, clip in tracks:
            for number, pts in enumerate(clip.ticks()):
                frame = numbered_frame(number, clip)
                frame.pts, frame.time_base = pts + late_ticks, clip.time_base
                output.mux(track.encode(frame))
            output.mux(track.encode(None))
        for start in range(0, 48000, 1024):
            wave = av.AudioFrame.from_ndarray(
                np.zeros((1, 1024), np.float32), format="fltp", layout="mono"
            )
            wave.sample_rate, wave.pts, wave.time_base = 48000, start, Fraction(1, 48000)
            output.mux(sound.encode(wave))
        output.mux(sound.encode(None))
    return path


def shown(path: Path) -> list[list[tuple[float, NDArray[np.uint8]]]]:
    """Time, s, and grey picture of every frame, by track."""
    found = []
    with av.open(str(path)) as file:
        count = len(file.streams.video)
    for number in range(count):
        with av.open(str(path)) as file:
            frames = file.decode(video=number)
            found.append(
                [
                    (float(f.time or 0), np.asarray(f.to_ndarray(format="gray"), np.uint8))
                    for f in frames
                ]
            )
    return found


def covered_share(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Share of the middle of the scripted face, which lies alike in both shapes, that changed."""
    scale = max(before.shape) / 64
    rows, columns = (slice(round(a * scale), round(b * scale)) for a, b in ((24, 36), (28, 36)))
    change = np.abs(before[rows, columns].astype(int) - after[rows, columns])
    return float((change > 10).mean())


@pytest.mark.parametrize("name", ["out.mp4", "out.mov", "out.mkv", "out.ts"])
@pytest.mark.parametrize("resume", [False, True])
def test_every_track_is_covered_and_keeps_its_place_size_and_times(
    name: str, resume: bool, tmp_path: Path, engines: Engines
) -> None:
    engines(one_face)
    uneven = tuple(n * 512 + n * n * 16 for n in range(20))
    clips = (WIDE, Clip(96, 64, frames=20, times=uneven, time_base=Fraction(1, 15360)))
    source = two_views(tmp_path / "in.mp4", clips)
    report = run(source, tmp_path / name, flags=ALL, resume=resume)
    before, after = shown(source), shown(tmp_path / name)
    assert [len(track) for track in after] == [20, 20]
    for was, now in zip(before, after, strict=True):
        assert [time for time, _ in now] == pytest.approx([time for time, _ in was], abs=6e-4)
        for (_, one), (_, other) in zip(was, now, strict=True):
            assert one.shape == other.shape
            assert covered_share(one, other) > 0.9
    assert [(one.number, one.height, one.width) for one in report.tracks] == [
        (1, 64, 96),
        (2, 96, 64),
    ]
    assert [one.frames.written for one in report.tracks] == [20, 20]
    assert all(one.faces.covered >= 20 for one in report.tracks)
    assert (report.frames.written, report.frames.uncovered, report.losses) == (40, 0, [])
    assert report.faces.covered == sum(one.faces.covered for one in report.tracks)
    assert not leftovers(tmp_path, "in.mp4", name, "report.json")


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_sound_and_the_default_track_stay(name: str, tmp_path: Path, engines: Engines) -> None:
    engines(one_face)
    run(two_views(tmp_path / "in.mp4"), tmp_path / name, flags=ALL)
    with av.open(str(tmp_path / name)) as file:
        default = av.stream.Disposition.default
        assert [bool(one.disposition & default) for one in file.streams.video] == [False, True]
        assert len(file.streams.audio) == 1
        assert sum(frame.samples for frame in file.decode(audio=0)) >= 47000


def test_tracks_that_start_late_stay_late_together(tmp_path: Path, engines: Engines) -> None:
    engines(one_face)
    source = two_views(tmp_path / "in.mkv", late_ticks=12800)
    run(source, tmp_path / "out.mkv", flags=ALL)
    for track in shown(tmp_path / "out.mkv"):
        assert track[0][0] == pytest.approx(1.0, abs=2e-3)


def test_loss_names_its_track(tmp_path: Path, engines: Engines) -> None:
    engines(one_face)
    source = two_views(tmp_path / "in.mp4", (WIDE, Clip(96, 64, frames=6, pixel_format="yuv422p")))
    report = run(source, tmp_path / "out.mkv", flags={**ALL, "output.codec": "vp8"})
    assert report.losses
    assert all(line.startswith("video track ") for line in report.losses)


def test_only_track_of_a_file_is_written_as_ever(tmp_path: Path, engines: Engines) -> None:
    engines(one_face)
    source = made_clip(tmp_path / "in.mp4", Clip(frames=6))
    report = run(source, tmp_path / "out.avi", flags=ALL)
    assert (report.tracks, report.frames.written) == ([], 6)


@pytest.mark.parametrize("name", ["out.avi", "out.flv", "out.gif", "out.h264"])
def test_file_that_holds_one_track_is_refused(name: str, tmp_path: Path, engines: Engines) -> None:
    engines(one_face)
    with pytest.raises(UsageRefused, match="2 video tracks"):
        run(two_views(tmp_path / "in.mp4"), tmp_path / name, flags=ALL)
    assert not leftovers(tmp_path, "in.mp4", "report.json")


def dying_in_the_second_track(number: int) -> tuple[Face, ...]:
    if number > 30:
        raise RuntimeError("planted")
    return one_face(number)


def test_track_that_fails_fails_all_and_leaves_nothing(tmp_path: Path, engines: Engines) -> None:
    engines(dying_in_the_second_track)
    clips = (WIDE, Clip(96, 64, frames=60))
    with pytest.raises(EngineFault, match="failed"):
        run(two_views(tmp_path / "in.mp4", clips), tmp_path / "out.mp4", flags=ALL)
    assert not leftovers(tmp_path, "in.mp4", "report.json")


def test_track_without_a_picture_is_named(tmp_path: Path, engines: Engines) -> None:
    engines(one_face)
    with pytest.raises(InputUnreadable, match="track 2 of 2"):
        run(
            two_views(tmp_path / "in.mkv", (WIDE, Clip(96, 64, times=()))),
            tmp_path / "out.mkv",
            flags=ALL,
        )
    assert not leftovers(tmp_path, "in.mkv", "report.json")


def test_full_disk_while_joining_leaves_nothing(
    tmp_path: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines(one_face)

    def full(self: object, packets: object, track: int = 0) -> None:
        raise OutputNotWritable("the disk is full; free some space and run again")

    monkeypatch.setattr(OutputFile, "mux", full)
    with pytest.raises(OutputNotWritable, match="disk is full"):
        run(two_views(tmp_path / "in.mp4"), tmp_path / "out.mp4", flags=ALL)
    assert not leftovers(tmp_path, "in.mp4", "report.json")


def test_broken_off_run_goes_on_with_the_first_track(tmp_path: Path, engines: Engines) -> None:
    engines(dying_in_the_second_track)
    source = two_views(tmp_path / "in.mp4", (WIDE, Clip(96, 64, frames=60)))
    with pytest.raises(EngineFault):
        run(source, tmp_path / "out.mp4", flags=ALL, resume=True)
    assert resume_folder(tmp_path / "out.mp4").is_dir()
    detector = engines(one_face)
    report = run(source, tmp_path / "out.mp4", flags=ALL, resume=True)
    assert detector.calls < 20 + 60, "the first track is searched again"
    assert [one.frames.written for one in report.tracks] == [20, 60]
    assert all(one.faces.covered >= one.frames.written for one in report.tracks)
    assert not leftovers(tmp_path, "in.mp4", "out.mp4", "report.json")


def test_resumed_run_over_one_track_clears_what_one_over_all_left(
    tmp_path: Path, engines: Engines
) -> None:
    engines(dying_in_the_second_track)
    source = two_views(tmp_path / "in.mp4", (WIDE, Clip(96, 64, frames=60)))
    with pytest.raises(EngineFault):
        run(source, tmp_path / "out.mp4", flags=ALL, resume=True)
    engines(one_face)
    report = run(source, tmp_path / "out.mp4", resume=True)
    assert report.frames.written == 60
    assert not leftovers(tmp_path, "in.mp4", "out.mp4", "report.json")
