"""Outputs appear complete or not at all, and only composites get in."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
import pytest

from engines.blending.compositor import Composite, compose
from engines.pictures import Picture
from engines.types import Frame
from stream.errors import OutputExists, OutputNotWritable, StreamError, UsageRefused
from stream.media.opening import open_sink, open_source
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.partial_file import PartialFile, partial_name
from tests.clips import Clip, content_of, decoded, made_clip

pytestmark = pytest.mark.unit


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return made_clip(tmp_path / "a.mp4", Clip(frames=10))


def composites(source: FileSource) -> Iterator[Composite]:
    for frame in source.frames():
        yield compose(frame, [], {})


def noisy_composites(source: FileSource) -> Iterator[Composite]:
    """Pictures that no encoder can make small."""
    rng = np.random.default_rng(0)
    for frame in source.frames():
        shapes = [plane.shape for plane in frame.picture.planes]
        planes = tuple(rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes)
        noise = Picture(planes, frame.picture.layout)
        yield compose(Frame(noise, frame.pts, frame.time_base, frame.index), [], {})


def write_all(sink: FileSink, pictures: Iterator[Composite]) -> None:
    for composite in pictures:
        sink.write(composite)
    sink.finish()


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """The system refuses to let any file grow further, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_output_is_incomplete_under_another_name_until_finished(clip: Path) -> None:
    target = clip.with_name("out.mp4")
    source = FileSource(clip)
    sink = FileSink(target, source.probe, EncodeSettings())
    for composite in composites(source):
        sink.write(composite)
        assert not target.exists()
        assert partial_name(target).exists()
    sink.finish()
    sink.finish()
    sink.abort()
    assert names(clip.parent) == {"a.mp4", "out.mp4"}
    assert decoded(target).numbers == list(range(10))


def test_abort_leaves_nothing(clip: Path) -> None:
    source = FileSource(clip)
    sink = FileSink(clip.with_name("out.mp4"), source.probe, EncodeSettings())
    sink.write(next(composites(source)))
    sink.abort()
    sink.abort()
    assert names(clip.parent) == {"a.mp4"}
    with pytest.raises(OutputNotWritable, match="closed"):
        sink.write(next(composites(FileSource(clip))))


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv", "out.gif", "out.ts"])
def test_full_disk_is_told_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(height=240, width=320, frames=20))
    source = FileSource(clip)
    with files_limited_to(100_000):
        sink = FileSink(tmp_path / name, source.probe, EncodeSettings(crf=10))
        with pytest.raises(OutputNotWritable) as caught:
            write_all(sink, noisy_composites(source))
        sink.abort()
    assert caught.value.exit_code == 4
    assert names(tmp_path) == {"a.mp4"}


def test_existing_output_is_kept_unless_asked(clip: Path) -> None:
    target = clip.with_name("out.mp4")
    target.write_bytes(b"precious")
    source = FileSource(clip)
    with pytest.raises(OutputExists, match="--overwrite") as caught:
        FileSink(target, source.probe, EncodeSettings())
    assert caught.value.exit_code == 4
    assert target.read_bytes() == b"precious"
    sink = FileSink(target, source.probe, EncodeSettings(overwrite=True))
    for composite in composites(source):
        sink.write(composite)
    assert target.read_bytes() == b"precious"
    sink.finish()
    assert decoded(target).numbers == list(range(10))


@pytest.mark.parametrize("how", ["same name", "other spelling", "link", "hard link"])
def test_input_is_never_its_own_output(how: str, clip: Path) -> None:
    target = {
        "same name": clip,
        "other spelling": clip.parent / "." / "x" / ".." / clip.name,
        "link": clip.with_name("link.mp4"),
        "hard link": clip.with_name("hard.mp4"),
    }[how]
    (clip.parent / "x").mkdir()
    if how == "link":
        target.symlink_to(clip)
    elif how == "hard link":
        target.hardlink_to(clip)
    before = clip.read_bytes()
    with pytest.raises(UsageRefused) as caught:
        FileSink(target, FileSource(clip).probe, EncodeSettings(overwrite=True))
    assert caught.value.exit_code == 2
    assert clip.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("none/out.mp4", OutputNotWritable),
        (".", UsageRefused),
        ("folder.mp4", OutputNotWritable),
        ("out.xyz", UsageRefused),
        ("out", UsageRefused),
        ("out.jpg", UsageRefused),
    ],
)
def test_impossible_output_is_refused_in_one_line(
    name: str, error: type[StreamError], clip: Path
) -> None:
    (clip.parent / "folder.mp4").mkdir()
    with pytest.raises(error) as caught:
        open_sink(clip.parent / name, open_source(clip), EncodeSettings())
    assert "\n" not in str(caught.value)
    assert names(clip.parent) == {"a.mp4", "folder.mp4"}


def test_planted_link_under_the_temporary_name_is_not_written_through(clip: Path) -> None:
    victim = clip.with_name("victim")
    victim.write_bytes(b"precious")
    partial_name(clip.with_name("out.mp4")).symlink_to(victim)
    source = FileSource(clip)
    sink = FileSink(clip.with_name("out.mp4"), source.probe, EncodeSettings())
    write_all(sink, composites(source))
    assert victim.read_bytes() == b"precious"


def test_second_run_on_one_output_is_refused_and_the_first_one_keeps_it(clip: Path) -> None:
    target, source = clip.with_name("out.mp4"), FileSource(clip)
    sink = FileSink(target, source.probe, EncodeSettings())
    frames = composites(source)
    sink.write(next(frames))
    for _ in range(2):
        with pytest.raises(OutputNotWritable, match="another run"):
            FileSink(target, FileSource(clip).probe, EncodeSettings())
    write_all(sink, frames)
    assert decoded(target).numbers == list(range(10))
    assert names(clip.parent) == {"a.mp4", "out.mp4"}


def test_leftover_of_a_crash_is_replaced(clip: Path) -> None:
    target, source = clip.with_name("out.mp4"), FileSource(clip)
    partial_name(target).write_bytes(b"half a file")
    sink = FileSink(target, source.probe, EncodeSettings())
    write_all(sink, composites(source))
    assert decoded(target).numbers == list(range(10))
    assert names(clip.parent) == {"a.mp4", "out.mp4"}


def test_output_that_appears_meanwhile_is_kept(clip: Path) -> None:
    file = PartialFile(clip.with_name("out.mp4"), clip, overwrite=False)
    clip.with_name("out.mp4").write_bytes(b"precious")
    with pytest.raises(OutputExists):
        file.publish()
    assert clip.with_name("out.mp4").read_bytes() == b"precious"


def test_frame_is_refused_even_untyped(clip: Path) -> None:
    source = FileSource(clip)
    sink = FileSink(clip.with_name("out.mp4"), source.probe, EncodeSettings())
    with pytest.raises(TypeError, match="only a Composite"):
        sink.write(next(source.frames()))  # type: ignore[arg-type]
    sink.abort()


def test_failing_disk_sync_publishes_nothing(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    source = FileSource(clip)
    sink = FileSink(clip.with_name("out.mp4"), source.probe, EncodeSettings())
    for composite in composites(source):
        sink.write(composite)
    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(OutputNotWritable):
        sink.finish()
    assert names(clip.parent) == {"a.mp4"}


def test_same_pictures_give_the_same_file(clip: Path) -> None:
    written = []
    for name in ("one.mp4", "two.mp4"):
        source = FileSource(clip)
        sink = FileSink(clip.with_name(name), source.probe, EncodeSettings())
        write_all(sink, composites(source))
        written.append(content_of(clip.with_name(name)))
    assert written[0] == written[1]


def test_index_lies_before_the_pictures(clip: Path) -> None:
    source = FileSource(clip)
    sink = FileSink(clip.with_name("out.mp4"), source.probe, EncodeSettings())
    write_all(sink, composites(source))
    content = clip.with_name("out.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_failing_encoder_is_reported(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FileSource(clip)
    sink = FileSink(clip.with_name("out.mp4"), source.probe, EncodeSettings())

    def refuse(picture: Picture, pts: int, length: int) -> list[av.Packet[av.VideoStream]]:
        raise av.error.InvalidDataError(errno.EINVAL, "refused")

    monkeypatch.setattr(sink._file.videos[0], "packets", refuse)
    with pytest.raises(OutputNotWritable, match="refused"):
        sink.write(next(composites(source)))
    sink.abort()
    assert names(clip.parent) == {"a.mp4"}
