"""Every frame leaves under its own number, time, size and tags, whatever the format."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from engines.blending.compositor import compose, compose_unknown
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.segments import SegmentSink
from tests.clips import Clip, click_time_s, decoded, made_clip

pytestmark = pytest.mark.unit

MILLISECOND = Fraction(1, 1000)
VARIABLE = (0, 512, 1024, 3000, 3100, 5000, 9000, 9512, 10024, 20000)
LATE = tuple(pts + 1001 for pts in VARIABLE)


def passed_through(
    source: Path, target: Path, settings: EncodeSettings | None = None, rotation: int = 0
) -> tuple[FileSource, FileSink]:
    """Reads and writes a clip without touching a face."""
    reader = FileSource(source, rotation=rotation)
    writer = FileSink(target, reader.probe, settings or EncodeSettings())
    for frame in reader.frames():
        whole = compose_unknown(frame, "damaged") if frame.is_damaged else compose(frame, [], {})
        writer.write(whole)
    writer.finish()
    return reader, writer


CASES: dict[str, tuple[str, Clip]] = {
    "h264 with b-frames": ("a.mp4", Clip(frames=40, options={"bf": "3", "b-pyramid": "normal"})),
    "h264 variable rate": ("a.mp4", Clip(times=VARIABLE)),
    "h264 late start": ("a.mp4", Clip(times=LATE)),
    "h264 in mov": ("a.mov", Clip(times=VARIABLE)),
    "h264 in matroska, variable": ("a.mkv", Clip(times=VARIABLE, time_base=Fraction(1, 1000))),
    "h264 in ts": ("a.ts", Clip(time_base=Fraction(1, 90000), options={"bf": "0"})),
    "h264 10 bit": ("a.mp4", Clip(pixel_format="yuv420p10le")),
    "h264 4:2:2 10 bit": ("a.mov", Clip(pixel_format="yuv422p10le")),
    "h264 odd size": ("a.mp4", Clip(height=65, width=97, pixel_format="yuv444p")),
    "hevc 10 bit hdr": (
        "a.mp4",
        Clip(codec="libx265", pixel_format="yuv420p10le", tags=(9, 16, 9, 1)),
    ),
    "hevc 8 bit": ("a.mkv", Clip(codec="libx265", frames=12)),
    "vp9 odd size": ("a.webm", Clip(height=65, width=97, codec="libvpx-vp9")),
    "vp9 in mp4": ("a.mp4", Clip(codec="libvpx-vp9")),
    "vp8": ("a.webm", Clip(codec="libvpx")),
    "av1 10 bit, odd size": (
        "a.mp4",
        Clip(height=65, width=97, frames=8, codec="libsvtav1", pixel_format="yuv420p10le"),
    ),
    "mjpeg": ("a.avi", Clip(codec="mjpeg", pixel_format="yuvj420p", time_base=Fraction(1, 25))),
    "mjpeg 4:2:2 in mov": ("a.mov", Clip(codec="mjpeg", pixel_format="yuvj422p")),
    "gif variable rate": (
        "a.gif",
        Clip(
            codec="gif", pixel_format="rgb8", times=(0, 4, 12, 20, 50), time_base=Fraction(1, 100)
        ),
    ),
    "one pixel": ("a.mp4", Clip(height=1, width=1, frames=3, pixel_format="yuv444p")),
    "one frame": ("a.mp4", Clip(frames=1)),
    "full range": ("a.mp4", Clip(pixel_format="yuvj420p", tags=(1, 1, 1, 2))),
    "anamorphic": ("a.mp4", Clip(sample_aspect=Fraction(4, 3))),
    "bt709 tags": ("a.mp4", Clip(tags=(1, 1, 1, 1))),
}


@pytest.mark.parametrize("case", CASES)
def test_same_container_keeps_number_time_size_and_tags(case: str, tmp_path: Path) -> None:
    name, clip = CASES[case]
    source = made_clip(tmp_path / name, clip)
    target = tmp_path / f"out{source.suffix}"
    passed_through(source, target)
    before, after = decoded(source), decoded(target)
    assert after.times_s == before.times_s
    assert after.sizes == before.sizes
    if clip.height > 1:
        assert after.numbers == before.numbers == list(range(len(before.numbers)))
    tags = ("color_primaries", "color_trc", "colorspace", "color_range")
    assert [getattr(after.first, tag) for tag in tags] == [
        getattr(before.first, tag) for tag in tags
    ]
    if clip.codec != "gif":
        assert after.pixel_format == before.pixel_format


@pytest.mark.parametrize("ending", [".mkv", ".mov", ".webm", ".ts", ".avi", ".gif", ".flv"])
def test_other_container_keeps_every_frame_within_its_tick(ending: str, tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(options={"bf": "2"}))
    target = tmp_path / f"out{ending}"
    passed_through(source, target)
    before, after = decoded(source), decoded(target)
    assert after.numbers == before.numbers
    assert after.sizes == before.sizes
    if ending != ".avi":  # its readers count the decoder's delay as time
        late = max(abs(a - b) for a, b in zip(after.times_s, before.times_s, strict=True))
        assert late <= Fraction(1, 200)


@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv"])
def test_rotation_tag_is_kept_and_frames_come_upright(
    name: str, rotation: int, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / name, Clip(rotation=rotation, frames=3))
    target = tmp_path / f"out{source.suffix}"
    reader, _ = passed_through(source, target)
    before, after = decoded(source), decoded(target)
    assert after.first.rotation == before.first.rotation != 0
    assert after.sizes == before.sizes
    assert after.numbers == before.numbers
    assert (reader.shape.height, reader.shape.width) == ((96, 64) if rotation % 180 else (64, 96))


def test_container_without_rotation_tag_gets_upright_pixels(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(rotation=90, frames=30))
    target = tmp_path / "out.ts"
    passed_through(source, target)
    assert decoded(target).sizes == {(96, 64)}


@pytest.mark.parametrize("tagged", [0, 90, 270])
@pytest.mark.parametrize("further", [90, 180, 270])
def test_camera_that_hangs_turned_is_searched_upright_and_tagged_so(
    tagged: int, further: int, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(rotation=tagged, frames=3))
    passed_through(source, tmp_path / "out.mp4", rotation=further)
    plain = next(iter(FileSource(source).frames())).picture.planes[0]
    upright = next(iter(FileSource(source, rotation=further).frames())).picture.planes[0]
    assert np.array_equal(upright, np.rot90(plain, -further // 90))
    again = next(iter(FileSource(tmp_path / "out.mp4").frames())).picture.planes[0]
    assert again.shape == upright.shape
    assert np.abs(again.astype(int) - upright).mean() < 4
    assert decoded(tmp_path / "out.mp4").numbers == decoded(source).numbers


def test_camera_that_hangs_turned_comes_upright_without_a_rotation_tag(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=30))
    passed_through(source, tmp_path / "out.ts", rotation=90)
    assert decoded(tmp_path / "out.ts").sizes == {(96, 64)}


def test_sample_aspect_survives(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(sample_aspect=Fraction(4, 3), frames=3))
    passed_through(source, tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as output:
        assert output.streams.video[0].sample_aspect_ratio == Fraction(4, 3)


def test_track_ends_one_period_after_its_last_picture(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(times=VARIABLE))
    passed_through(source, tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as output:
        track = output.streams.video[0]
        assert track.duration is not None
        assert track.time_base is not None
        end_s = track.duration * track.time_base
    assert end_s > Fraction(20000, 12800)


@pytest.mark.parametrize(
    ("name", "sound", "target_name"),
    [
        ("a.mp4", "aac", "out.mp4"),
        ("a.mkv", "libopus", "out.mkv"),
        ("a.mov", "pcm_s16le", "out.mov"),
        ("a.mp4", "aac", "out.mkv"),
        ("a.mp4", "aac", "out.webm"),
        ("a.mkv", "flac", "out.ts"),
        ("a.mp4", "aac", "out.ts"),
    ],
)
def test_click_stays_within_one_audio_frame(
    name: str, sound: str, target_name: str, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / name, Clip(frames=40, sound=sound, click_s=0.7))
    target = tmp_path / target_name
    _, sink = passed_through(source, target)
    assert any("copied" in note or "transcoded" in note for note in sink.notes)
    one_frame_s = 1024 / 48000
    assert click_time_s(target) == pytest.approx(click_time_s(source), abs=one_frame_s)
    assert click_time_s(target) == pytest.approx(0.7, abs=2 * one_frame_s)


def test_sound_is_dropped_on_request(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=5, sound="aac", click_s=0.1))
    passed_through(source, tmp_path / "out.mp4", EncodeSettings(audio="drop"))
    with av.open(str(tmp_path / "out.mp4")) as output:
        assert not output.streams.audio


def two_colours(ground: tuple[int, int, int], box: tuple[int, int, int], left: int) -> Image.Image:
    pixels = np.full((48, 64, 3), ground, np.uint8)
    pixels[8:40, left : left + 20] = box
    return Image.fromarray(pixels)


def colours_of(path: Path) -> list[NDArray[np.int16]]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24").astype(np.int16) for frame in container.decode()]


@pytest.mark.parametrize("is_resumable", [False, True])
def test_colours_that_return_show_nothing_of_the_picture_between(
    is_resumable: bool, tmp_path: Path
) -> None:
    one = two_colours((200, 30, 30), (30, 30, 200), 4)
    other = two_colours((30, 200, 30), (220, 220, 30), 30)
    source, target = tmp_path / "a.gif", tmp_path / "out.gif"
    rest = [other, one, other, one]
    one.save(source, save_all=True, append_images=rest, duration=200, optimize=False, disposal=1)
    if is_resumable:
        reader = FileSource(source)
        sink = SegmentSink(target, reader.probe, EncodeSettings(), "one", segment_frames=2)
        for frame in reader.frames():
            sink.write(compose(frame, [], {}))
        sink.finish()
    else:
        passed_through(source, target)
    shown, written = colours_of(source), colours_of(target)
    assert len(written) == len(shown) == 5
    for before, after in zip(shown, written, strict=True):
        assert np.abs(before - after).max() <= 8


def test_raw_stream_without_times_gets_them_from_the_rate(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.h264", Clip(frames=30, muxer="h264"))
    reader, _ = passed_through(source, tmp_path / "out.mp4")
    after = decoded(tmp_path / "out.mp4")
    assert not reader.probe.has_timestamps
    assert after.numbers == list(range(30))
    assert after.times_s == [Fraction(number, 25) for number in range(30)]


@pytest.mark.parametrize(("name", "codec"), [("a.h264", "libx264"), ("a.h265", "libx265")])
def test_raw_stream_tells_its_rate(name: str, codec: str, tmp_path: Path) -> None:
    source = made_clip(
        tmp_path / name, Clip(frames=8, rate=50, codec=codec, time_base=Fraction(1, 50))
    )
    passed_through(source, tmp_path / "out.mp4")
    assert decoded(tmp_path / "out.mp4").times_s == [Fraction(i, 50) for i in range(8)]


def test_pictures_cut_off_by_an_edit_list_stay_cut_off(tmp_path: Path) -> None:
    clip = Clip(times=tuple(512 * i - 1536 for i in range(20)), options={"bf": "2"})
    source = made_clip(tmp_path / "a.mp4", clip)
    reader, _ = passed_through(source, tmp_path / "out.mp4")
    before, after = decoded(source), decoded(tmp_path / "out.mp4")
    assert len(before.numbers) < 20
    assert after.numbers == before.numbers
    assert after.times_s == before.times_s
    assert not reader.report.is_truncated
    assert reader.report.damaged == 0


def test_raw_stream_to_raw_stream_keeps_every_frame(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.h265", Clip(frames=12, codec="libx265", muxer="hevc"))
    passed_through(source, tmp_path / "out.h265")
    after = decoded(tmp_path / "out.h265")
    assert after.codec == "hevc"
    assert after.numbers == list(range(12))


def test_resolution_change_is_fitted_into_the_first_size(tmp_path: Path) -> None:
    small = made_clip(tmp_path / "small.h264", Clip(frames=6, muxer="h264"))
    large = made_clip(tmp_path / "large.h264", Clip(height=128, width=192, frames=6, muxer="h264"))
    source = tmp_path / "a.h264"
    source.write_bytes(small.read_bytes() + large.read_bytes())
    reader, _ = passed_through(source, tmp_path / "out.mp4")
    after = decoded(tmp_path / "out.mp4")
    assert after.numbers == [*range(6), *range(6)]
    assert after.sizes == {(64, 96)}
    assert reader.report.rescaled == 6
    assert any("another size" in warning for warning in reader.report.warnings)


PRIVATE = {"title": "Anna at home", "comment": "call me", "location": "+48.137+011.575/"}
PRIVATE |= {"creation_time": "2024-05-06T07:08:09.000000Z", "com.apple.quicktime.make": "Acme"}


@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".mov"])
def test_places_titles_and_times_are_dropped(ending: str, tmp_path: Path) -> None:
    clip = Clip(frames=3, metadata=PRIVATE, has_chapters=True)
    source = made_clip(tmp_path / f"a{ending}", clip)
    target = tmp_path / f"out{ending}"
    reader, _ = passed_through(source, target)
    content = target.read_bytes()
    for value in (b"Anna", b"call me", b"48.137", b"2024", b"Acme", b"at home"):
        assert value not in content
    assert any("title" in name.lower() for name in reader.probe.dropped)
    with av.open(str(target)) as output:
        assert not output.chapters()


def with_other_tracks(path: Path, data: str = "klv") -> Path:
    """A transport stream with telemetry, or a Matroska file with titles, beside the video."""
    source = made_clip(path.with_name(f"plain{path.suffix}"), Clip(frames=30))
    with av.open(str(source)) as clip, av.open(str(path), "w") as output:
        video = output.add_stream_from_template(clip.streams.video[0])
        if path.suffix == ".ts":
            other: av.stream.Stream = output.add_data_stream(data)
        else:
            other = output.add_mux_stream("subrip", time_base=MILLISECOND)
        for packet in clip.demux(video=0):
            if packet.size:
                if packet.is_keyframe:
                    secret = av.Packet(b"Anna is at 48.137, 11.575")
                    secret.pts = secret.dts = packet.pts
                    secret.time_base, secret.duration = packet.time_base, 1000
                    secret.stream = other
                    output.mux(secret)
                packet.stream = video
                output.mux(packet)
    return path


@pytest.mark.parametrize("name", ["a.ts", "a.mkv"])
def test_telemetry_and_text_pass_only_on_request(name: str, tmp_path: Path) -> None:
    source = with_other_tracks(tmp_path / name)
    dropped, kept = tmp_path / f"dropped{source.suffix}", tmp_path / f"kept{source.suffix}"
    reader, _ = passed_through(source, dropped)
    passed_through(source, kept, EncodeSettings(keep_metadata=True))
    assert b"48.137" in source.read_bytes()
    assert b"48.137" not in dropped.read_bytes()
    assert b"48.137" in kept.read_bytes()
    assert any(track in reader.probe.dropped for track in ("data track", "subtitle track"))


def test_metadata_is_kept_on_request(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=3, metadata=PRIVATE, has_chapters=True))
    passed_through(source, tmp_path / "out.mp4", EncodeSettings(keep_metadata=True))
    with av.open(str(tmp_path / "out.mp4")) as output:
        assert output.metadata["title"] == "Anna at home"
        assert output.metadata["com.apple.quicktime.make"] == "Acme"
        assert len(output.chapters()) == 1


def test_pictures_in_tags_pass_not_even_on_request(tmp_path: Path) -> None:
    face = "AAAAAwAAAAppbWFnZS9qcGVn" + "RkFDRQ" * 200
    tags = {"METADATA_BLOCK_PICTURE": "AAAAA", "COVERART": "BBBBB", "NOTE": face, "title": "Anna"}
    source = made_clip(tmp_path / "a.mkv", Clip(frames=3, metadata=tags))
    passed_through(source, tmp_path / "out.mkv", EncodeSettings(keep_metadata=True))
    with av.open(str(tmp_path / "out.mkv")) as output:
        assert output.metadata["title"] == "Anna"
        names = {name.upper() for name in output.metadata}
    assert not names & {"METADATA_BLOCK_PICTURE", "COVERART", "NOTE"}
    assert face.encode() in source.read_bytes()
    assert face.encode() not in (tmp_path / "out.mkv").read_bytes()


def test_data_that_may_be_pictures_passes_not_even_on_request(tmp_path: Path) -> None:
    source = with_other_tracks(tmp_path / "a.ts", "timed_id3")
    _, sink = passed_through(source, tmp_path / "out.ts", EncodeSettings(keep_metadata=True))
    assert b"48.137" in source.read_bytes()
    assert b"48.137" not in (tmp_path / "out.ts").read_bytes()
    assert "data track dropped: timed_id3 may hold pictures" in sink.notes
