"""The last picture of a recording is shown for as long as it was, and that is no damage."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest
from av.video.stream import VideoStream

from engines.blending.compositor import compose
from stream.media.opening import open_sink
from stream.media.reading.file_source import FileSource
from stream.media.reading.matroska import is_whole_matroska
from stream.media.writing.encoder_options import EncodeSettings
from tests.clips import Clip, decoded, numbered_frame

pytestmark = pytest.mark.unit

TICKS = 90_000
STEP = 3000
FRAMES = 20


def held_clip(path: Path, last_s: float, *, b_frames: int = 0) -> Path:
    """A clip of a screen: steady, a pause of 2 s after frame 9, and a last frame that is held."""
    clip = Clip(rate=30)
    lengths = [STEP] * FRAMES
    lengths[9], lengths[-1] = 2 * TICKS, round(last_s * TICKS)
    starts = [sum(lengths[:number]) for number in range(FRAMES)]
    options = {"video_track_timescale": str(TICKS)} if path.suffix == ".mp4" else {}
    with av.open(str(path), "w", container_options=options) as output:
        video = output.add_stream("libx264", rate=30, options={"bf": str(b_frames)})
        assert isinstance(video, VideoStream)
        context = video.codec_context
        context.width, context.height, context.pix_fmt = clip.width, clip.height, "yuv420p"
        context.time_base = video.time_base = Fraction(1, TICKS)
        packets = []
        for number, pts in enumerate(starts):
            frame = numbered_frame(number, clip)
            frame.pts, frame.time_base = pts, Fraction(1, TICKS)
            packets += video.encode(frame)
        packets += video.encode(None)
        for packet in packets:
            assert packet.pts is not None
            packet.duration = lengths[starts.index(packet.pts)]
            output.mux(packet)
    return path


def length_s(path: Path) -> float:
    with av.open(str(path)) as container:
        assert container.duration is not None
        return container.duration / av.time_base


def passed(source: Path, target: Path, resume: str | None = None) -> FileSource:
    reader = FileSource(source)
    sink = open_sink(target, reader, EncodeSettings(), resume=resume)
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    sink.finish()
    return reader


@pytest.mark.parametrize("target", ["out.mp4", "out.mkv", "out.mov"])
@pytest.mark.parametrize("source", ["in.mp4", "in.mkv"])
@pytest.mark.parametrize("last_s", [3.0, 0.01])
def test_last_frame_is_held_as_long_as_it_was(
    source: str, target: str, last_s: float, tmp_path: Path
) -> None:
    clip = held_clip(tmp_path / source, last_s)
    whole_s = length_s(clip)
    assert whole_s == pytest.approx(2 + (FRAMES - 2) / 30 + last_s, abs=0.04)
    reader = passed(clip, tmp_path / target)
    assert reader.report.warnings == ()
    assert not reader.report.is_truncated
    assert length_s(tmp_path / target) == pytest.approx(whole_s, abs=0.03)
    times = decoded(clip).times_s
    assert decoded(tmp_path / target).times_s == pytest.approx(times, abs=0.001)


def test_resumable_run_holds_the_last_frame_as_well(tmp_path: Path) -> None:
    passed(held_clip(tmp_path / "in.mp4", 3.0), tmp_path / "out.mp4", resume="words")
    assert length_s(tmp_path / "out.mp4") == pytest.approx(length_s(tmp_path / "in.mp4"), abs=0.002)


def test_frames_tell_for_how_long_they_are_shown(tmp_path: Path) -> None:
    frames = list(FileSource(held_clip(tmp_path / "in.mp4", 3.0)).frames())
    seconds = [float(frame.duration * frame.time_base) for frame in frames]
    assert seconds[9] == pytest.approx(2.0)
    assert seconds[-1] == pytest.approx(3.0)
    assert seconds[:9] == pytest.approx([1 / 30] * 9)


def test_matroska_that_was_cut_off_is_told(tmp_path: Path) -> None:
    whole = held_clip(tmp_path / "in.mkv", 3.0)
    assert is_whole_matroska(whole)
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 9 // 10])
    assert not is_whole_matroska(cut)
    reader = FileSource(cut)
    *_, last = reader.frames()
    assert float(last.duration * last.time_base) < 0.2
    assert any("ends early" in warning for warning in reader.report.warnings)


@pytest.mark.parametrize(
    "content", [b"", b"\x1a\x45\xdf\xa3", b"\x00" * 40, b"\x1a\x45\xdf\xa3\xff"]
)
def test_what_is_no_matroska_is_not_whole(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.mkv").write_bytes(content)
    assert not is_whole_matroska(tmp_path / "a.mkv")
