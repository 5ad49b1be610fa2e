"""360° and 3D recordings stay such, or are told not to."""

from __future__ import annotations

import struct
from pathlib import Path

import av
import pytest

from engines.blending.compositor import compose
from stream.media.opening import open_sink
from stream.media.projection import Projection, Sphere, projection_of
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.segments import SegmentSink
from tests.clips import Clip, decoded, made_clip

pytestmark = pytest.mark.unit

DEGREE = 1 << 16
POSE = (10 * DEGREE, -3 * DEGREE, DEGREE // 2)
HALF = Sphere(2, POSE, (1 << 30, 0, (1 << 30) - 1, 0))
FLAT = bytes(4)


def boxed(path: Path, inner: bytes) -> Path:
    """Puts a box into the sample entry of an MP4 whose index lies behind its media."""
    data = path.read_bytes()
    at = 0
    for name, head in (
        *((b"moov", 0), (b"trak", 0), (b"mdia", 0), (b"minf", 0), (b"stbl", 0)),
        *((b"stsd", 8), (b"avc1", 78)),
    ):
        while data[at + 4 : at + 8] != name:
            at += struct.unpack_from(">I", data, at)[0]
        size = struct.unpack_from(">I", data, at)[0]
        data = data[:at] + struct.pack(">I", size + len(inner)) + data[at + 4 :]
        end, at = at + size, at + 8 + head
    path.write_bytes(data[:end] + inner + data[end:])
    return path


def box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + name + content


def tags(projection: Projection) -> bytes:
    """The boxes `st3d` and `sv3d` of Google's specification, version 2."""
    layouts = {None: 0, (2, False): 1, (1, False): 2}
    st3d = box(b"st3d", FLAT + bytes([layouts[projection.stereo]]))
    sphere = projection.sphere
    if sphere is None:
        return st3d
    left, top, right, bottom = sphere.bounds
    cells = {
        1: box(b"cbmp", FLAT + struct.pack(">2I", 0, sphere.padding)),
        2: box(b"equi", FLAT + struct.pack(">4I", top, bottom, left, right)),
    }
    kind = cells.get(sphere.kind, box(b"equi", bytes(20)))
    pose = box(b"prhd", FLAT + struct.pack(">3i", *sphere.pose))
    return st3d + box(b"sv3d", box(b"svhd", FLAT + b"a\0") + box(b"proj", pose + kind))


def passed(source: Path, target: Path, *, resume: bool = False) -> list[str]:
    """Writes the recording again and returns what is told of it."""
    reader = FileSource(source)
    sink = open_sink(target, reader, EncodeSettings(), resume="words" if resume else None)
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    sink.finish()
    assert isinstance(sink, FileSink | SegmentSink)
    return [*reader.report.warnings, *sink.losses]


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["b.mp4", "b.mkv", "b.webm"])
@pytest.mark.parametrize(
    "projection",
    [
        Projection(Sphere(0, POSE)),
        Projection(Sphere(0), (2, False)),
        Projection(Sphere(1, POSE, padding=8)),
        Projection(HALF, (1, False)),
        Projection(stereo=(1, False)),
    ],
)
def test_projection_is_kept(
    projection: Projection, name: str, resume: bool, tmp_path: Path
) -> None:
    clip = boxed(made_clip(tmp_path / "a.mp4", Clip(frames=5)), tags(projection))
    assert FileSource(clip).probe.projection == projection
    told = passed(clip, tmp_path / name, resume=resume)
    assert [one for one in told if "coded as" not in one] == []
    again = decoded(tmp_path / name)
    assert projection_of(again.first) == projection
    assert again.numbers == list(range(5))
    assert again.times_s == decoded(clip).times_s


@pytest.mark.parametrize("name", ["b.mov", "b.ts", "b.avi"])
def test_projection_that_a_file_cannot_tell_is_told_to_be_left_out(
    name: str, tmp_path: Path
) -> None:
    projection = Projection(HALF, (1, False))
    clip = boxed(made_clip(tmp_path / "a.mp4", Clip(frames=5)), tags(projection))
    told = passed(clip, tmp_path / name)
    assert "360° projection left out" in told
    assert "stereo layout left out" in told
    assert projection_of(decoded(tmp_path / name).first) is None


def test_layout_of_two_eyes_that_mp4_does_not_know_is_told_to_be_left_out(tmp_path: Path) -> None:
    packing = {"x264-params": "frame-packing=2"}  # by rows
    clip = made_clip(tmp_path / "a.mkv", Clip(frames=5, options=packing))
    assert projection_of(decoded(clip).first) == Projection(stereo=(6, False))
    assert "stereo layout left out" in passed(clip, tmp_path / "b.mp4")
    assert passed(clip, tmp_path / "b.mkv") == []
    assert projection_of(decoded(tmp_path / "b.mkv").first) == Projection(stereo=(6, False))


def test_turned_360_degree_recording_keeps_both_tags(tmp_path: Path) -> None:
    clip = boxed(made_clip(tmp_path / "a.mp4", Clip(frames=5, rotation=90)), tags(Projection(HALF)))
    assert passed(clip, tmp_path / "b.mp4") == []
    again = decoded(tmp_path / "b.mp4").first
    assert projection_of(again) == Projection(HALF)
    assert again.rotation == decoded(clip).first.rotation != 0


def test_flat_recording_has_no_projection(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=3))
    assert FileSource(clip).probe.projection is None
    assert passed(clip, tmp_path / "b.mp4") == []
    data = (tmp_path / "b.mp4").read_bytes()
    assert not any(name in data for name in (b"sv3d", b"st3d", b"vexu"))


def test_codec_of_the_output_may_be_another(tmp_path: Path) -> None:
    projection = Projection(Sphere(0, POSE))
    clip = boxed(made_clip(tmp_path / "a.mp4", Clip(frames=5)), tags(projection))
    reader = FileSource(clip)
    sink = open_sink(tmp_path / "b.mp4", reader, EncodeSettings(codec="av1"))
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    sink.finish()
    with av.open(str(tmp_path / "b.mp4")) as again:
        assert again.streams.video[0].codec_context.codec.canonical_name == "av1"
        assert projection_of(next(again.decode(video=0))) == projection
