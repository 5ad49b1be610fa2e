"""What an output cannot keep of its input is told, in one line, where people look."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.stream import VideoStream
from PIL import Image
from typer.testing import CliRunner

from engines.blending.compositor import compose
from stream.cli.main import add_commands, app
from stream.errors import InputUnreadable, UsageRefused
from stream.media.opening import open_sink, open_source
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.image_sink import ImageSink
from stream.media.writing.segments import SegmentSink
from tests.clips import Clip, decoded, made_clip, numbered_frame

pytestmark = pytest.mark.unit

SMALL, LARGE = (32, 48), (64, 96)


def losses(source: Path, target: Path, *, resume: bool = False) -> tuple[str, ...]:
    reader = open_source(source)
    sink = open_sink(target, reader, EncodeSettings(), resume="words" if resume else None)
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    sink.finish()
    assert isinstance(sink, FileSink | SegmentSink | ImageSink)
    return (*reader.probe.lost, *reader.report.warnings, *sink.losses)


def two_tracks(path: Path, sizes: list[tuple[int, int]], default: int | None) -> Path:
    """A file with a video track for each size; one may be the default."""
    with av.open(str(path), "w") as output:
        tracks = []
        for number, (height, width) in enumerate(sizes):
            track = output.add_stream("libx264", rate=25)
            assert isinstance(track, VideoStream)
            track.codec_context.height, track.codec_context.width = height, width
            track.codec_context.pix_fmt = "yuv420p"
            is_default = number == default
            track.disposition = av.stream.Disposition(int(is_default))
            tracks.append((track, Clip(height, width)))
        for number in range(5):
            for track, clip in tracks:
                frame = numbered_frame(number, clip)
                frame.pts, frame.time_base = number, Fraction(1, 25)
                output.mux(track.encode(frame))
        for track, _ in tracks:
            output.mux(track.encode(None))
    return path


@pytest.mark.parametrize(
    ("sizes", "default", "wanted", "taken"),
    [
        ([SMALL, LARGE], 1, None, LARGE),  # a preview first
        ([SMALL, LARGE], None, None, LARGE),  # no default
        ([LARGE, SMALL], 0, None, LARGE),
        ([LARGE, SMALL], 1, None, SMALL),  # what players take
        ([LARGE, SMALL], 0, 2, SMALL),
        ([SMALL, LARGE], 1, 1, SMALL),
    ],
)
def test_of_several_video_tracks_the_default_or_the_one_asked_for_is_taken(
    sizes: list[tuple[int, int]],
    default: int | None,
    wanted: int | None,
    taken: tuple[int, int],
    tmp_path: Path,
) -> None:
    clip = two_tracks(tmp_path / "a.mkv", sizes, default)
    source = FileSource(clip, video_track=wanted)
    assert (source.shape.height, source.shape.width) == taken
    assert len(list(source.frames())) == 5
    number = sizes.index(taken) + 1
    assert any(f"video track {number} of 2" in line for line in source.probe.lost)


def test_single_video_track_loses_nothing(tmp_path: Path) -> None:
    assert losses(made_clip(tmp_path / "a.mp4", Clip(sound="aac")), tmp_path / "b.mp4") == ()


def test_track_without_a_picture_names_the_way_to_another(tmp_path: Path) -> None:
    source = two_tracks(tmp_path / "a.mkv", [LARGE, SMALL], None)
    with av.open(str(source)) as file, av.open(str(tmp_path / "b.mkv"), "w") as output:
        tracks = file.streams.video
        copies = [output.add_stream_from_template(track) for track in tracks]
        for packet in file.demux(tracks[1]):
            if packet.size:
                packet.stream = copies[1]
                output.mux(packet)
    with pytest.raises(InputUnreadable, match="--video-track"):
        FileSource(tmp_path / "b.mkv")
    assert len(list(FileSource(tmp_path / "b.mkv", video_track=2).frames())) == 5


def test_video_track_that_is_not_there_is_refused(tmp_path: Path) -> None:
    clip = two_tracks(tmp_path / "a.mkv", [SMALL, LARGE], 1)
    with pytest.raises(UsageRefused, match="1 to 2"):
        FileSource(clip, video_track=3)


@pytest.mark.parametrize(
    ("clip", "target", "told"),
    [
        (Clip(codec="ffv1", pixel_format="gray16le"), "b.mkv", "12 of 16 bits"),
        (Clip(codec="libx264rgb", pixel_format="rgb24"), "b.mkv", "4:2:0 instead of RGB"),
        (Clip(codec="ffv1", pixel_format="yuv444p"), "b.avi", "h264 instead of ffv1"),
        (Clip(pixel_format="yuv422p"), "b.webm", "vp9 instead of h264"),
        (Clip(), "b.gif", "256 colours"),
    ],
)
@pytest.mark.parametrize("resume", [False, True])
def test_what_the_coding_does_not_keep_is_told(
    clip: Clip, target: str, told: str, resume: bool, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / "a.mkv", clip)
    assert any(told in line for line in losses(source, tmp_path / target, resume=resume))


def test_what_the_format_of_a_picture_does_not_keep_is_told(tmp_path: Path) -> None:
    deep = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16
    Image.fromarray(deep).save(tmp_path / "a.png")
    assert losses(tmp_path / "a.png", tmp_path / "b.jpg") == ("8 of 16 bits are kept",)
    assert losses(tmp_path / "a.png", tmp_path / "b.png") == ()


def test_losses_stand_on_the_terminal_in_one_line(tmp_path: Path) -> None:
    clip = two_tracks(tmp_path / "a.mkv", [SMALL, LARGE], 1)
    target = tmp_path / "b.avi"
    add_commands(["anonymize"])
    told = CliRunner().invoke(app, ["anonymize", str(clip), "-o", str(target), "--method", "solid"])
    assert told.exit_code == 0
    (line,) = [one for one in told.stderr.splitlines() if "not as it was" in one]
    assert line.startswith("b.avi: not as it was: video track 2 of 2")


@pytest.mark.parametrize("late", [1, 12])
def test_late_first_picture_is_late_in_avi_as_well(late: int, tmp_path: Path) -> None:
    times = tuple(512 * (late + number) for number in range(10))
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=10, times=times, options={"bf": "0"}))
    losses(clip, tmp_path / "b.avi")
    again = FileSource(tmp_path / "b.avi")
    found = [round(frame.time_s * 25) for frame in again.frames()]
    assert found == [late + number for number in range(10)]
    assert decoded(tmp_path / "b.avi").numbers == list(range(10))


def test_b_frames_of_an_avi_keep_their_times(tmp_path: Path) -> None:
    clip = Clip(frames=12, codec="mpeg4", options={"bf": "2"})
    source = made_clip(tmp_path / "a.avi", clip)
    losses(source, tmp_path / "b.avi")
    losses(source, tmp_path / "b.mp4")
    times = [frame.time_s for frame in FileSource(source).frames()]
    for name in ("b.avi", "b.mp4"):
        found = [frame.time_s for frame in FileSource(tmp_path / name).frames()]
        assert found == pytest.approx(times, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [("a.mov", "qtrle", "argb"), ("a.mov", "png", "rgba"), ("a.webm", "libvpx-vp9", "yuva420p")],
)
def test_opacity_of_a_video_is_told_to_be_left_out(
    name: str, codec: str, pixel_format: str, tmp_path: Path
) -> None:
    clip = Clip(frames=3, codec=codec, pixel_format=pixel_format)
    source = made_clip(tmp_path / name, clip)
    assert "opacity is left out" in losses(source, tmp_path / "out.mkv")


def test_opaque_video_and_gif_tell_of_no_opacity(tmp_path: Path) -> None:
    clips = {
        "a.gif": Clip(frames=3, codec="gif", pixel_format="rgb8", time_base=Fraction(1, 100)),
        "a.mov": Clip(frames=3, codec="qtrle", pixel_format="rgb24"),
    }
    for name, clip in clips.items():
        told = losses(made_clip(tmp_path / name, clip), tmp_path / f"{name}.mkv")
        assert not any("opacity" in one for one in told)


def test_recording_that_starts_late_does_not_end_early(tmp_path: Path) -> None:
    times = tuple(3_600_000 + 40 * n for n in range(10))
    clip = Clip(frames=10, times=times, time_base=Fraction(1, 1000))
    whole = made_clip(tmp_path / "a.mkv", clip)
    assert losses(whole, tmp_path / "out.mkv") == ()


LOST = range(20, 24)


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("libvpx", "a.webm"),
        ("libvpx-vp9", "a.webm"),
        ("mpeg4", "a.mp4"),
        ("mpeg2video", "a.mkv"),
    ],
)
@pytest.mark.parametrize("lost", [LOST, range(0)])
def test_packets_lost_amid_a_file_are_told_where_no_decoder_misses_them(
    codec: str, name: str, lost: range, tmp_path: Path
) -> None:
    clip = Clip(frames=60, rate=30, codec=codec, time_base=Fraction(1, 30))
    source = made_clip(tmp_path / "whole.mkv", clip)
    with av.open(str(source)) as file, av.open(str(tmp_path / name), "w") as output:
        track = file.streams.video[0]
        copy = output.add_stream_from_template(track, opaque=True)
        for number, packet in enumerate(packet for packet in file.demux(track) if packet.size):
            if number not in lost:
                packet.stream = copy
                output.mux(packet)
    told = [line for line in losses(tmp_path / name, tmp_path / "out.mkv") if "pause" in line]
    wanted = "pictures pause at 1 place; about 4 frames seem to be missing in the file"
    assert told == ([wanted] if lost else [])


def test_recording_of_changes_alone_misses_nothing(tmp_path: Path) -> None:
    times = tuple(np.cumsum([1, 1, 1, 9, 1, 30, 2, 1] * 6).tolist())
    clip = Clip(frames=len(times), codec="libvpx-vp9", times=times, time_base=Fraction(1, 25))
    source = made_clip(tmp_path / "a.webm", clip)
    assert losses(source, tmp_path / "out.webm") == ()
