"""Whatever is wrong with a file: one line, the right exit code, and the rest is processed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from stream.errors import InputUnreadable, OutputNotWritable
from stream.media.opening import open_source
from stream.media.reading.file_source import FileSource
from tests.clips import Clip, decoded, made_clip, number_in
from tests.stream.media.test_round_trip import passed_through

pytestmark = pytest.mark.unit


def sound_only(path: Path) -> Path:
    with av.open(str(path), "w") as output:
        track = output.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(
            np.zeros((2, 1024), np.float32), format="fltp", layout="stereo"
        )
        frame.sample_rate = 48000
        output.mux(track.encode(frame))
        output.mux(track.encode(None))
    return path


def header_only(path: Path) -> Path:
    """A Matroska file that announces a video track and ends."""
    whole = made_clip(path.with_name("whole.mkv"), Clip(frames=2)).read_bytes()
    path.write_bytes(whole[: whole.index(b"\x1f\x43\xb6\x75")])
    return path


def nothing(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def noise(path: Path) -> Path:
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    return path


def headless(path: Path) -> Path:
    """The first half of an MP4 whose index is at its end."""
    whole = made_clip(path.with_name("whole.mp4"), Clip()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def pointing_at(path: Path, target: str) -> Path:
    path.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{target}\n#EXT-X-ENDLIST\n")
    return path


MAKERS: dict[str, Callable[[Path], Path]] = {
    "missing": lambda folder: folder / "none.mp4",
    "empty": lambda folder: nothing(folder / "a.mp4"),
    "no media": lambda folder: noise(folder / "a.mp4"),
    "sound only": lambda folder: sound_only(folder / "a.mp4"),
    "no frames": lambda folder: header_only(folder / "a.mkv"),
    "no index": lambda folder: headless(folder / "a.mp4"),
    "playlist over the net": lambda folder: pointing_at(
        folder / "a.m3u8", "http://127.0.0.1:9/secret.ts"
    ),
    "playlist on the disk": lambda folder: pointing_at(
        folder / "a.m3u8",
        str(made_clip(folder / "b.ts", Clip(frames=30))),
    ),
    "script of files": lambda folder: concat_script(folder),
    "folder without media": lambda folder: folder,
}


def concat_script(folder: Path) -> Path:
    clip = made_clip(folder / "b.mp4", Clip())
    script = folder / "a.ffconcat"
    script.write_text(f"ffconcat version 1.0\nfile {clip.name}\n")
    return script


@pytest.mark.parametrize("defect", MAKERS)
def test_defective_input_is_refused_in_one_line(defect: str, tmp_path: Path) -> None:
    with pytest.raises(InputUnreadable) as caught:
        open_source(MAKERS[defect](tmp_path))
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)


def test_unknown_video_codec_is_refused(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=3))
    clip.write_bytes(clip.read_bytes().replace(b"avc1", b"zzz9"))
    with pytest.raises(InputUnreadable, match="codec"):
        open_source(clip)


def test_unknown_sound_codec_is_dropped_and_told(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mkv", Clip(frames=10, sound="libopus", click_s=0.1))
    clip.write_bytes(clip.read_bytes().replace(b"A_OPUS", b"A_ZZZZ"))
    _, sink = passed_through(clip, tmp_path / "out.mp4")
    assert decoded(tmp_path / "out.mp4").numbers == list(range(10))
    assert sink.notes == ("audio dropped: its coding is unknown",)


def test_any_file_name_is_a_name_and_no_pattern(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=3))
    odd = clip.rename(tmp_path / "http: %03d?#|*ü.mp4")
    passed_through(odd, tmp_path / "out: %03d?.mp4")
    assert decoded(tmp_path / "out: %03d?.mp4").numbers == [0, 1, 2]


@pytest.mark.skipif(os.geteuid() == 0, reason="needs a user without root's rights")
def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=2))
    clip.chmod(0)
    with pytest.raises(InputUnreadable, match="permission"):
        open_source(clip)


def test_picture_above_the_limit_is_refused(tmp_path: Path) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=2))
    with pytest.raises(InputUnreadable):
        FileSource(clip, max_pixels=64 * 64)


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [
        ("a.mov", "mjpeg", "yuvj420p"),
        ("a.mp4", "libx264", "yuv420p"),
        ("a.mkv", "libx265", "yuv420p"),
        ("a.webm", "libvpx-vp9", "yuv420p"),
    ],
)
@pytest.mark.parametrize("size", [(64, 16384), (16384, 64)])
def test_pictures_of_16k_pass(
    name: str, codec: str, pixel_format: str, size: tuple[int, int], tmp_path: Path
) -> None:
    clip = Clip(height=size[0], width=size[1], frames=2, codec=codec, pixel_format=pixel_format)
    source = made_clip(tmp_path / name, clip)
    target = tmp_path / f"out{source.suffix}"
    passed_through(source, target)
    assert decoded(target).sizes == {size}


_SHORT = """
import sys
from pathlib import Path
from tests.clips import Clip, decoded, made_clip
from tests.stream.media.test_round_trip import passed_through
folder = Path(sys.argv[1])
clip = Clip(height=64, width=64, frames=int(sys.argv[2]), codec="libx265")
passed_through(made_clip(folder / "a.mkv", clip), folder / "out.mkv")
print(len(decoded(folder / "out.mkv").numbers))
"""


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_short_hevc_is_written_whatever_memory_held(frames: int, tmp_path: Path) -> None:
    """The planted fault: memory that is full of numbers, which x265 takes for times."""
    told = subprocess.run(
        [sys.executable, "-c", _SHORT, str(tmp_path), str(frames)],
        env=os.environ | {"MALLOC_PERTURB_": "90"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout.strip() == str(frames), told.stderr[-400:]


def test_pictures_that_no_encoder_of_the_container_takes_are_refused(tmp_path: Path) -> None:
    clip = Clip(height=64, width=20000, frames=2, codec="mjpeg", pixel_format="yuvj420p")
    source = made_clip(tmp_path / "a.avi", clip)
    with pytest.raises(OutputNotWritable, match="20000×64"):
        passed_through(source, tmp_path / "out.flv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.avi"]


def broken_middle(path: Path, clip: Clip, share: float = 0.15) -> Path:
    """A clip with a stretch of its coded pictures overwritten; headers stay whole."""
    made_clip(path, clip)
    with av.open(str(path)) as source:
        packets = [p for p in source.demux(video=0) if p.size and p.pos is not None]
    places = [(p.pos, p.size) for p in packets if p.pos is not None]
    first = round(len(places) * (0.5 - share / 2))
    last = round(len(places) * (0.5 + share / 2))
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(1)
    for place, size in places[first:last]:
        content[place + 4 : place + size] = rng.bytes(size - 4)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "clip"),
    [
        ("a.mp4", Clip(frames=60, options={"g": "15"})),
        ("a.mkv", Clip(frames=60, options={"g": "15"})),
        ("a.mp4", Clip(frames=40, codec="libx265", options={"g": "10"})),
        ("a.webm", Clip(frames=40, codec="libvpx-vp9", options={"g": "10"})),
        ("a.mp4", Clip(frames=40, codec="mjpeg", pixel_format="yuvj420p")),
    ],
    ids=["h264 mp4", "h264 mkv", "hevc", "vp9", "mjpeg"],
)
def test_corrupt_stretch_is_covered_and_the_rest_processed(
    name: str, clip: Clip, tmp_path: Path
) -> None:
    source = broken_middle(tmp_path / name, clip)
    target = tmp_path / f"out{source.suffix}"
    reader, _ = passed_through(source, target)
    after = decoded(target)
    assert len(after.numbers) == clip.frames
    assert after.numbers[:12] == list(range(12))
    assert after.numbers[-5:] == list(range(clip.frames))[-5:]
    assert 1 <= reader.report.damaged < clip.frames * 0.75
    assert any("damaged" in warning for warning in reader.report.warnings)


def test_frames_after_damage_are_flagged_up_to_the_next_key_frame(tmp_path: Path) -> None:
    source = broken_middle(
        tmp_path / "a.mp4", Clip(frames=60, options={"g": "20", "sc_threshold": "0"}), 0.02
    )
    frames = [(frame.index, frame.is_damaged) for frame in FileSource(source).frames()]
    flagged = [index for index, is_damaged in frames if is_damaged]
    assert flagged
    assert flagged == list(range(flagged[0], flagged[-1] + 1))
    assert (flagged[-1] + 1) % 20 == 0


@pytest.mark.parametrize("name", ["a.mkv", "a.ts", "a.h264"])
def test_truncated_file_is_processed_to_where_it_ends(name: str, tmp_path: Path) -> None:
    source = made_clip(tmp_path / name, Clip(frames=80, options={"g": "20"}))
    content = source.read_bytes()
    source.write_bytes(content[: len(content) * 6 // 10])
    target = tmp_path / "out.mkv"
    passed_through(source, target)
    after = decoded(target)
    assert 20 < len(after.numbers) < 80
    assert after.numbers[:20] == list(range(20))


def test_truncated_mp4_with_its_index_in_front_is_reported(tmp_path: Path) -> None:
    clip = Clip(frames=80, options={"g": "20"}, muxer_options={"movflags": "faststart"})
    source = made_clip(tmp_path / "a.mp4", clip)
    content = source.read_bytes()
    source.write_bytes(content[: len(content) * 7 // 10])
    reader, _ = passed_through(source, tmp_path / "out.mp4")
    assert reader.report.is_truncated
    assert any("ends early" in warning for warning in reader.report.warnings)
    numbers = decoded(tmp_path / "out.mp4").numbers
    assert numbers[:10] == list(range(10))


def test_cover_picture_is_not_taken_for_the_video(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=5))
    with_cover = tmp_path / "cover.mp4"
    with av.open(str(source)) as clip, av.open(str(with_cover), "w") as output:
        cover = output.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 32, 32, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        video = output.add_stream_from_template(clip.streams.video[0])
        picture = av.VideoFrame(32, 32, "yuvj420p")
        output.mux(cover.encode(picture))
        output.mux(cover.encode(None))
        for packet in clip.demux(video=0):
            if packet.size:
                packet.stream = video
                output.mux(packet)
    reader, _ = passed_through(with_cover, tmp_path / "out.mp4")
    assert reader.probe.codec == "h264"
    assert any("video track" in name for name in reader.probe.dropped)
    with av.open(str(tmp_path / "out.mp4")) as output:
        assert len(output.streams) == 1


def test_closing_from_outside_ends_the_frames(tmp_path: Path) -> None:
    source = FileSource(made_clip(tmp_path / "a.mp4", Clip(frames=20)))
    taken = []
    for frame in source.frames():
        taken.append(frame.index)
        if frame.index == 4:
            source.close()
            source.close()
    assert taken == [0, 1, 2, 3, 4]
    assert list(source.frames()) == []


def test_pictures_are_not_shared_with_the_decoder(tmp_path: Path) -> None:
    source = FileSource(made_clip(tmp_path / "a.mp4", Clip(frames=20, options={"bf": "0"})))
    numbers = []
    for frame in source.frames():
        numbers.append(number_in(np.asarray(frame.picture.planes[0], np.uint8)))
        frame.picture.fill((0, 0, 0))
    assert numbers == list(range(20))


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_short_transport_stream_is_read(frames: int, tmp_path: Path) -> None:
    clip = Clip(frames=frames, time_base=Fraction(1, 25))
    source = made_clip(tmp_path / "a.ts", clip)
    passed_through(source, tmp_path / "out.mp4")
    assert decoded(tmp_path / "out.mp4").numbers == list(range(frames))


def test_file_that_ends_in_its_head_is_told_without_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a.mpg"
    path.write_bytes(b"\x00\x00\x01\xba" + bytes(40))
    with pytest.raises(InputUnreadable) as refused:
        open_source(path)
    assert str(tmp_path) not in str(refused.value)
    assert "Errno" not in str(refused.value)
