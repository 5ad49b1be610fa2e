"""However often a run is interrupted, the file comes out the same, and no half one before."""

from __future__ import annotations

import io
import weakref
from pathlib import Path

import pytest

from engines.blending.compositor import Composite, compose
from stream.digests import file_digest
from stream.errors import OutputNotWritable
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.segment_files import JsonValue
from stream.media.writing.segments import SegmentSink, resume_folder
from tests.clips import Clip, click_time_s, content_of, decoded, made_clip

pytestmark = pytest.mark.unit

VARIABLE = tuple(sum(256 + (97 * i) % 1900 for i in range(n)) for n in range(60))
LENGTH = 16


def opened(source: Path, target: Path, identity: str = "one") -> tuple[FileSource, SegmentSink]:
    reader = FileSource(source)
    settings = EncodeSettings(overwrite=True)
    return reader, SegmentSink(target, reader.probe, settings, identity, segment_frames=LENGTH)


def run(source: Path, target: Path, stop_at: int | None = None, identity: str = "one") -> int:
    """One run, cut off without a farewell after `stop_at` frames; returns frames found done."""
    reader, sink = opened(source, target, identity)
    done = sink.frames_done
    for frame in reader.frames():
        if frame.index == stop_at:
            sink.abort()
            return done
        sink.write(compose(frame, [], {}))
    sink.finish()
    return done


CLIPS = {
    "h264 variable rate": ("a.mp4", Clip(frames=60, times=VARIABLE, options={"bf": "3"})),
    "h264 with sound": ("a.mkv", Clip(frames=50, sound="libopus", click_s=1.2)),
    "hevc 10 bit": ("a.mp4", Clip(frames=40, codec="libx265", pixel_format="yuv420p10le")),
    "vp9": ("a.webm", Clip(frames=40, codec="libvpx-vp9")),
    "av1": ("a.mp4", Clip(frames=36, codec="libsvtav1")),
    "mjpeg": ("a.mov", Clip(frames=36, codec="mjpeg", pixel_format="yuvj420p")),
    "gif": ("a.gif", Clip(frames=20, codec="gif", pixel_format="rgb8")),
    "raw": ("a.h264", Clip(frames=40, muxer="h264")),
}


@pytest.mark.parametrize("case", CLIPS)
def test_interrupted_run_gives_what_one_in_one_go_gives(case: str, tmp_path: Path) -> None:
    name, clip = CLIPS[case]
    source = made_clip(tmp_path / name, clip)
    whole, pieces = tmp_path / f"whole{source.suffix}", tmp_path / f"pieces{source.suffix}"
    assert run(source, whole) == 0
    count = len(decoded(source).numbers)
    assert run(source, pieces, stop_at=3) == 0
    assert run(source, pieces, stop_at=LENGTH + 2) == 0
    assert run(source, pieces, stop_at=count - 1) == LENGTH
    assert not pieces.exists()
    assert run(source, pieces) == (count - 1) // LENGTH * LENGTH
    assert content_of(pieces) == content_of(whole)
    assert decoded(pieces).numbers == decoded(source).numbers
    assert decoded(pieces).times_s == decoded(source).times_s
    assert not resume_folder(pieces).exists()


def test_sound_stays_with_the_pictures(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=50, sound="aac", click_s=1.2))
    run(source, tmp_path / "out.mp4", stop_at=20)
    run(source, tmp_path / "out.mp4")
    assert click_time_s(tmp_path / "out.mp4") == pytest.approx(
        click_time_s(source), abs=1024 / 48000
    )


def test_crash_while_joining_leaves_all_segments(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=40))
    target = tmp_path / "out.mp4"
    reader, sink = opened(source, target)
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    (tmp_path / "out.mp4.partial").mkdir()
    with pytest.raises(OutputNotWritable):
        sink.finish()
    (tmp_path / "out.mp4.partial").rmdir()
    assert not target.exists()
    assert run(source, target) == 40
    assert decoded(target).numbers == list(range(40))


def test_other_settings_throw_the_segments_away(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=40))
    run(source, tmp_path / "out.mp4", stop_at=LENGTH + 1)
    assert run(source, tmp_path / "out.mp4", stop_at=LENGTH + 1, identity="two") == 0
    assert run(source, tmp_path / "out.mp4", identity="two") == LENGTH


def test_changed_input_throws_the_segments_away(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=40))
    run(source, tmp_path / "out.mp4", stop_at=LENGTH + 1)
    made_clip(source, Clip(frames=40, options={"crf": "30"}))
    assert run(source, tmp_path / "out.mp4") == 0


def test_damaged_segment_and_all_after_it_are_made_again(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=60))
    target = tmp_path / "out.mp4"
    run(source, target, stop_at=3 * LENGTH + 1)
    second = sorted(resume_folder(target).glob("*.segment"))[1]
    second.write_bytes(second.read_bytes()[:-20] + bytes(20))
    assert run(source, target) == LENGTH
    assert decoded(target).numbers == list(range(60))


def test_second_run_at_the_same_time_is_refused(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=20))
    _, first = opened(source, tmp_path / "out.mp4")
    with pytest.raises(OutputNotWritable, match="another run"):
        opened(source, tmp_path / "out.mp4")
    first.abort()
    first.abort()
    _, third = opened(source, tmp_path / "out.mp4")
    third.abort()


def test_findings_come_back_with_their_segments(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=40))
    reader, sink = opened(source, tmp_path / "out.mp4")
    ahead = 5
    composites: list[Composite] = [compose(frame, [], {}) for frame in reader.frames()]
    for index in range(ahead):
        sink.record(index, [[index, 0.25]])
    for composite in composites[: LENGTH + 3]:
        sink.record(composite.index + ahead, [[composite.index + ahead, 0.25]])
        sink.write(composite)
    sink.abort()
    _, again = opened(source, tmp_path / "out.mp4")
    assert again.frames_done == LENGTH
    assert [again.recalled(index) for index in range(LENGTH)] == [
        [[index, 0.25]] for index in range(LENGTH)
    ]
    assert again.recalled(LENGTH) is None
    again.abort()


class Finding(list[JsonValue]):
    """What a detector found, that tells whether somebody keeps it."""


def test_findings_of_finished_segments_are_not_kept_in_memory(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=2 * LENGTH))
    run(source, tmp_path / "b.mp4", stop_at=LENGTH + 1)
    _, sink = opened(source, tmp_path / "b.mp4")
    kept = []
    for index in (0, LENGTH):
        finding = Finding()
        sink.record(index, finding)
        kept.append(weakref.ref(finding))
        del finding
    sink.abort()
    assert [one() is not None for one in kept] == [False, True]


def test_folder_holds_nothing_but_segments_journal_and_lock(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=40))
    target = tmp_path / "out.mp4"
    run(source, target, stop_at=2 * LENGTH + 1)
    names = {path.name for path in resume_folder(target).iterdir()}
    assert names == {"journal.json", "lock", "000000.segment", "000001.segment"}
    assert file_digest(source).encode() not in (resume_folder(target) / "journal.json").read_bytes()


def test_anything_but_a_composite_is_refused(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=2))
    reader, sink = opened(source, tmp_path / "out.mp4")
    with pytest.raises(TypeError, match="only a Composite"):
        sink.write(next(reader.frames()))  # type: ignore[arg-type]
    sink.abort()


@pytest.mark.parametrize("kind", ["link", "folder of others"])
def test_folder_that_is_not_ours_is_refused_and_left_as_it_was(kind: str, tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=3))
    others, folder = tmp_path / "others", resume_folder(tmp_path / "out.mp4")
    others.mkdir()
    (others / "kept").touch()
    if kind == "link":
        folder.symlink_to(others)
    else:
        others.rename(folder)
    with pytest.raises(OutputNotWritable, match="not a folder of kveil's"):
        opened(source, tmp_path / "out.mp4")
    assert [path.name for path in folder.iterdir()] == ["kept"]


def test_full_disk_is_told_although_what_is_waiting_cannot_be_written_either(
    tmp_path: Path,
) -> None:
    reader, sink = opened(made_clip(tmp_path / "a.mp4", Clip(frames=3)), tmp_path / "out.mp4")
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    coder = sink._track._coder
    assert coder is not None
    coder[1]._file.close()
    coder[1]._file = io.BufferedWriter(io.FileIO("/dev/full", "wb"), 64)
    coder[1]._file.write(b"waits")
    with pytest.raises(OutputNotWritable, match="disk is full"):
        sink.finish()
    sink.abort()
    names = {path.name for path in resume_folder(tmp_path / "out.mp4").iterdir()}
    assert names == {"journal.json", "lock"}
