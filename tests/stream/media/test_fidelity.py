"""What a picture says of its fields, its light and its coding passes, or its loss is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from engines.blending.compositor import compose
from stream.media.light import MasteringLight
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from tests.clips import Clip, made_clip, numbered_frame

pytestmark = pytest.mark.unit

DISPLAY = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
HDR = {"x265-params": f"log-level=none:master-display={DISPLAY}:max-cll=1000,400"}


def passed(source: Path, target: Path, settings: EncodeSettings | None = None) -> FileSink:
    reader = FileSource(source)
    writer = FileSink(target, reader.probe, settings or EncodeSettings())
    for frame in reader.frames():
        writer.write(compose(frame, [], {}))
    writer.finish()
    return writer


def first_frame(path: Path) -> tuple[av.VideoFrame, int, str]:
    """First frame, field order and coding of a file."""
    with av.open(str(path)) as source:
        track = source.streams.video[0]
        frame = next(source.decode(track))
        return frame, track.codec_context.field_order, track.codec_context.codec.canonical_name


def interlaced_clip(path: Path, fields: str) -> Path:
    """A clip of the library's own interlaced coding."""
    from av.codec.context import Flags
    from av.filter import Graph

    clip = Clip(frames=6)
    with av.open(str(path), "w") as output:
        track = output.add_stream("libx264", rate=25, options={"x264-params": f"{fields}=1"})
        context = track.codec_context
        context.width, context.height, context.pix_fmt = clip.width, clip.height, "yuv420p"
        context.flags |= Flags.interlaced_dct
        context.field_order = {"tff": 2, "bff": 3}[fields]
        graph = Graph()
        source = graph.add_buffer(
            width=clip.width,
            height=clip.height,
            format=av.VideoFormat("yuv420p"),
            time_base=Fraction(1, 25),
        )
        marked = graph.add("setfield", f"mode={fields}")
        graph.link_nodes(source, marked, graph.add("buffersink")).configure()
        for number in range(clip.frames):
            frame = numbered_frame(number, clip)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            graph.vpush(frame)
            output.mux(track.encode(graph.vpull()))
        output.mux(track.encode(None))
    return path


@pytest.mark.parametrize("fields", ["tff", "bff"])
@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".ts"])
def test_interlaced_pictures_keep_their_order_of_fields(
    fields: str, ending: str, tmp_path: Path
) -> None:
    source = interlaced_clip(tmp_path / f"a{ending}", fields)
    before, order, _ = first_frame(source)
    assert before.interlaced_frame
    assert order == {"tff": 2, "bff": 3}[fields]
    writer = passed(source, tmp_path / f"out{ending}")
    after, order_after, _ = first_frame(tmp_path / f"out{ending}")
    assert after.interlaced_frame
    assert order_after == order
    assert not any("fields" in note for note in writer.notes)


def test_progressive_pictures_stay_progressive(tmp_path: Path) -> None:
    passed(made_clip(tmp_path / "a.mp4", Clip(frames=4)), tmp_path / "out.mp4")
    assert not first_frame(tmp_path / "out.mp4")[0].interlaced_frame


def test_fields_that_an_encoder_cannot_mark_are_told(tmp_path: Path) -> None:
    source = interlaced_clip(tmp_path / "a.mp4", "tff")
    writer = passed(source, tmp_path / "out.mp4", EncodeSettings(codec="hevc"))
    assert any("--codec h264" in note for note in writer.notes)


@pytest.mark.parametrize("codec", ["same", "h264", "av1"])
@pytest.mark.parametrize("ending", [".mp4", ".mkv"])
def test_mastering_light_passes(codec: str, ending: str, tmp_path: Path) -> None:
    made = Clip(
        frames=4, codec="libx265", pixel_format="yuv420p10le", tags=(9, 16, 9, 1), options=HDR
    )
    source = made_clip(tmp_path / f"a{ending}", made)
    settings = EncodeSettings(codec=codec)  # type: ignore[arg-type]
    writer = passed(source, tmp_path / f"out{ending}", settings)
    probe = FileSource(tmp_path / f"out{ending}").probe
    assert probe.light is not None
    assert probe.light.content == (1000, 400)
    display = probe.light.display
    assert display is not None
    assert [round(float(part), 3) for part in (*display.red, *display.white)] == [
        0.68,
        0.32,
        0.313,
        0.329,
    ]
    assert [round(float(part), 3) for part in display.luminance] == [0.005, 1000.0]
    assert not any("light" in note for note in writer.notes)


def test_mastering_light_that_is_lost_is_told(tmp_path: Path) -> None:
    made = Clip(frames=3, codec="libx265", pixel_format="yuv420p10le", options=HDR)
    writer = passed(made_clip(tmp_path / "a.mkv", made), tmp_path / "out.webm")
    told = any("mastering light" in note for note in writer.notes)
    assert told == (writer.choice.name != "libsvtav1")


def test_picture_without_light_has_none(tmp_path: Path) -> None:
    assert FileSource(made_clip(tmp_path / "a.mp4", Clip(frames=2))).probe.light is None
    assert MasteringLight().parameters("libx265") == {}


@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".ts"])
def test_hevc_of_8_bits_stays_hevc(ending: str, tmp_path: Path) -> None:
    source = made_clip(tmp_path / f"a{ending}", Clip(frames=4, codec="libx265"))
    writer = passed(source, tmp_path / f"out{ending}")
    assert first_frame(tmp_path / f"out{ending}")[2] == "hevc"
    assert "--codec h264" in writer.choice.reason


def test_coding_that_is_asked_for_is_used(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=4, codec="libx265"))
    writer = passed(source, tmp_path / "out.mp4", EncodeSettings(codec="h264"))
    assert first_frame(tmp_path / "out.mp4")[2] == "h264"
    assert "asked for" in writer.choice.reason


@pytest.mark.parametrize("preset", ["slow", "ultrafast", None])
def test_named_preset_does_not_keep_vp9_from_being_written(
    preset: str | None, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / "a.webm", Clip(frames=3, codec="libvpx-vp9"))
    passed(source, tmp_path / "out.webm", EncodeSettings(preset=preset))
    assert first_frame(tmp_path / "out.webm")[2] == "vp9"
