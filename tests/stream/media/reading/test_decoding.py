"""Pictures that containers time badly, code as fields or lose: none missing, none shown bare."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.packet import Packet
from av.stream import Stream
from av.video.frame import PictureType
from av.video.stream import VideoStream
from numpy.typing import NDArray

from stream.media.reading.decoder_bounds import MAX_PIXELS
from stream.media.reading.decoding import Decoding
from stream.media.reading.file_source import FileSource
from stream.media.reading.inspection import chosen_video, opened_input
from stream.media.reading.probe import SourceReport
from tests.clips import Clip, made_clip, number_in, numbered_frame, written_number

pytestmark = pytest.mark.unit

_CODING_ORDER = Clip(frames=50, options={"bf": "2"}, time_base=Fraction(1, 25))


def read(path: Path) -> tuple[list[int], list[Fraction], list[bool], SourceReport]:
    """Each frame's number, time and whether it is damaged, and the source's report."""
    source = FileSource(path)
    found = [
        (
            number_in(np.asarray(frame.picture.planes[0], np.uint8)),
            frame.pts * frame.time_base,
            frame.is_damaged,
        )
        for frame in source.frames()
    ]
    numbers, times, damaged = zip(*found, strict=True)
    return list(numbers), list(times), list(damaged), source.report


def decoding_of(path: Path) -> Decoding:
    """A whole run of the loop."""
    with opened_input(path) as container:
        decoding = Decoding(container, chosen_video(container, path.name), MAX_PIXELS)
        for _ in decoding.frames():
            pass
    return decoding


def noisy(content: bytes, kept: int) -> bytes:
    """A coded picture of which only the first bytes are left."""
    return content[:kept] + np.random.default_rng(1).bytes(len(content) - kept)


def changed(source: Path, target: Path, change: Callable[[int, bytes], bytes]) -> Path:
    """A copy with other bytes in its coded pictures; an empty one is left out."""
    with av.open(str(source)) as clip, av.open(str(target), "w") as output:
        track = clip.streams.video[0]
        copy = output.add_stream_from_template(track)
        for number, packet in enumerate(packet for packet in clip.demux(track) if packet.size):
            content = change(number, bytes(packet))
            if content:
                output.mux(copied(packet, content, copy))
    return target


def copied(packet: Packet[VideoStream], content: bytes, track: VideoStream) -> Packet[Stream]:
    """A packet of another track that holds other bytes at the same time."""
    other = av.Packet(content)
    other.pts, other.dts, other.duration = packet.pts, packet.dts, packet.duration
    other.time_base, other.is_keyframe = packet.time_base, packet.is_keyframe
    other.stream = track
    return other


def test_reordered_h264_without_display_times_comes_whole_and_in_order(tmp_path: Path) -> None:
    numbers, times, damaged, report = read(made_clip(tmp_path / "a.avi", _CODING_ORDER))
    assert numbers == list(range(50))
    assert times == [Fraction(number, 25) for number in range(50)]
    assert not any(damaged)
    assert report.warnings == ()


def test_frame_lost_without_display_times_is_told_and_covered(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.avi", _CODING_ORDER)
    broken = changed(
        source, tmp_path / "b.avi", lambda at, content: noisy(content, 4) if at == 20 else content
    )
    numbers, times, damaged, report = read(broken)
    assert len(numbers) == 50
    assert times == [Fraction(number, 25) for number in range(50)]
    assert report.replaced == 1
    right = [number == at for at, number in enumerate(numbers)]
    assert all(is_right or is_damaged for is_right, is_damaged in zip(right, damaged, strict=True))


@pytest.mark.parametrize("first", [11, 15, 30])
def test_picture_swallowed_in_silence_without_times_is_covered(first: int, tmp_path: Path) -> None:
    clip = Clip(frames=60, height=128, options={"g": "15", "bf": "0"}, time_base=Fraction(1, 25))
    source = made_clip(tmp_path / "a.h264", clip)
    stretch = range(first, first + 3)
    broken = tmp_path / "b.h264"
    with av.open(str(source)) as raw:
        coded = [bytes(packet) for packet in raw.demux(video=0) if packet.size]
    broken.write_bytes(
        b"".join(noisy(unit, 40) if at in stretch else unit for at, unit in enumerate(coded))
    )
    numbers, _, damaged, _ = read(broken)
    trusted = [number for number, is_bad in zip(numbers, damaged, strict=True) if not is_bad]
    assert trusted == sorted(set(trusted))
    assert set(trusted) <= set(range(60)) - set(stretch)


@pytest.mark.parametrize(
    ("name", "clip", "lost"),
    [
        ("a.webm", Clip(frames=40, codec="libvpx", options={"g": "15"}), 15),
        ("a.webm", Clip(frames=40, codec="libvpx-vp9", options={"g": "15"}), 15),
        ("a.mkv", Clip(frames=40, codec="ffv1"), 12),
        ("a.mkv", Clip(frames=40, codec="mjpeg", pixel_format="yuvj420p"), 1),
    ],
    ids=["vp8", "vp9", "ffv1", "mjpeg"],
)
def test_damaged_first_key_frame_has_its_frames_counted(
    name: str, clip: Clip, lost: int, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / name, clip)
    broken = changed(
        source, tmp_path / f"b_{name}", lambda at, content: content if at else noisy(content, 4)
    )
    assert decoding_of(broken).lost_at_start == lost
    numbers, _, damaged, report = read(broken)
    assert numbers == list(range(lost, 40))
    assert not any(damaged)
    assert f"{lost} frames at the start were lost" in report.warnings


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_frames_after_a_lost_first_key_frame_are_covered_up_to_the_next(
    codec: str, tmp_path: Path
) -> None:
    options = {"g": "15", "sc_threshold": "0"} if codec == "libx264" else {}
    if codec == "libx265":
        options = {"x265-params": "log-level=none:keyint=15:scenecut=0"}
    source = made_clip(tmp_path / "a.mkv", Clip(frames=40, codec=codec, options=options))
    broken = changed(
        source, tmp_path / "b.mkv", lambda at, content: content if at else noisy(content, 4)
    )
    assert decoding_of(broken).lost_at_start == 1
    numbers, _, damaged, _ = read(broken)
    assert damaged == [True] * 14 + [False] * 25
    assert numbers[14:] == list(range(15, 40))


def without(*lost: int) -> Callable[[int, bytes], bytes]:
    return lambda at, content: b"" if at in lost else content


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [
        ("a.mkv", "mpeg4", "yuv420p"),
        ("a.avi", "mpeg4", "yuv420p"),
        ("a.avi", "h263p", "yuv420p"),
        ("a.avi", "msmpeg4", "yuv420p"),
        ("a.flv", "flv", "yuv420p"),
        ("a.asf", "wmv2", "yuv420p"),
    ],
)
def test_file_that_begins_amid_is_covered_up_to_its_first_key_frame(
    name: str, codec: str, pixel_format: str, tmp_path: Path
) -> None:
    clip = Clip(64, 128, frames=40, codec=codec, pixel_format=pixel_format, options={"g": "15"})
    source = made_clip(tmp_path / name, clip)
    cut = changed(source, tmp_path / f"b_{name}", without(0))
    _, _, damaged, report = read(cut)
    assert damaged == [True] * 14 + [False] * 25
    assert "14 damaged frames are covered as a whole" in report.warnings
    assert not any(read(source)[2])


@pytest.mark.parametrize("codec", ["mpeg1video", "mpeg2video", "libvpx", "libvpx-vp9"])
def test_frames_that_no_decoder_shows_before_the_first_key_frame_are_told(
    codec: str, tmp_path: Path
) -> None:
    clip = Clip(frames=60, codec=codec, options={"g": "30"}, time_base=Fraction(1, 25))
    source = made_clip(tmp_path / "a.mkv", clip)
    cut = changed(source, tmp_path / "b.mkv", without(0))
    numbers, _, damaged, report = read(cut)
    assert numbers == list(range(30, 60))
    assert not any(damaged)
    assert "29 frames at the start were lost" in report.warnings


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.ts", "a.h264"])
@pytest.mark.parametrize("b_frames", ["0", "2"])
def test_reference_frame_that_is_not_in_the_file_is_told_and_what_refers_to_it_covered(
    name: str, b_frames: str, tmp_path: Path
) -> None:
    options = {"g": "20", "sc_threshold": "0", "bf": b_frames, "refs": "1"}
    source = made_clip(tmp_path / name, Clip(frames=60, options=options))
    _, _, damaged, report = read(source)
    assert not any(damaged)
    assert report.warnings == ()
    cut = changed(source, tmp_path / f"b_{name}", without(24))
    _, _, damaged, report = read(cut)
    assert "at least 1 frames are missing in the file" in report.warnings
    assert len(damaged) == 59
    assert damaged[:20] == [False] * 20
    assert damaged[25:39] == [True] * 14
    assert damaged[39:] == [False] * 20


def test_files_joined_end_to_end_lose_nothing_at_the_joints(tmp_path: Path) -> None:
    clip = Clip(frames=40, time_base=Fraction(1, 90000), options={"bf": "3", "g": "20"})
    one = made_clip(tmp_path / "a.ts", clip).read_bytes()
    (tmp_path / "b.ts").write_bytes(one * 3)
    numbers, times, damaged, report = read(tmp_path / "b.ts")
    assert numbers == [*range(40)] * 3
    steps = {after - before for before, after in itertools.pairwise(times)}
    assert steps == {Fraction(1, 25)}
    # The library calls the last packet before a joint broken, as its counter does not go on.
    assert sum(damaged) <= 2 * 8
    assert report.replaced == 0


@pytest.mark.parametrize(
    ("codec", "options", "name"),
    [
        *(("libx264", {"bf": "2"}, name) for name in ("b.mp4", "b.ts", "b.flv", "b.mkv")),
        *(("libx264", {"x264-params": "b-pyramid=0"}, name) for name in ("b.ts", "b.mkv")),
        ("libx265", {"x265-params": "log-level=none:bframes=4"}, "b.mkv"),
        *(("mpeg4", {"bf": "2"}, name) for name in ("b.mp4", "b.mkv")),
    ],
)
def test_times_of_coding_that_are_written_as_those_of_display_are_taken_as_such(
    codec: str, options: dict[str, str], name: str, tmp_path: Path
) -> None:
    clip = Clip(frames=50, codec=codec, options=options, time_base=Fraction(1, 1000))
    source = made_clip(tmp_path / "a.mp4", clip)
    with av.open(str(source)) as file, av.open(str(tmp_path / name), "w") as output:
        track = file.streams.video[0]
        copy = output.add_stream_from_template(track)
        for packet in file.demux(track):
            if packet.size and packet.dts is not None:
                packet.pts = packet.dts = packet.dts + 1000
                packet.stream = copy
                output.mux(packet)
    numbers, times, damaged, report = read(tmp_path / name)
    assert numbers == list(range(50))
    assert not any(damaged)
    assert {after - before for before, after in itertools.pairwise(times)} == {Fraction(1, 25)}
    assert report.warnings == ()


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.ts"])
def test_true_times_whose_order_differs_late_from_that_of_coding_stay_as_they_are(
    name: str, tmp_path: Path
) -> None:
    clip = Clip(frames=80)
    with av.open(str(tmp_path / name), "w") as output:
        track = output.add_stream("libx264", rate=25, options={"bf": "2", "g": "100"})
        assert isinstance(track, VideoStream)
        track.codec_context.height, track.codec_context.width = clip.height, clip.width
        track.codec_context.pix_fmt = "yuv420p"
        for number in range(clip.frames):
            frame = numbered_frame(number, clip)
            frame.pict_type = PictureType.P if number < 50 else PictureType.NONE
            frame.pts, frame.time_base = number, Fraction(1, 25)
            output.mux(track.encode(frame))
        output.mux(track.encode(None))
    numbers, times, damaged, _ = read(tmp_path / name)
    assert numbers == list(range(80))
    assert not any(damaged)
    assert {after - before for before, after in itertools.pairwise(times)} == {Fraction(1, 25)}


def test_leading_pictures_of_an_open_start_are_no_loss(tmp_path: Path) -> None:
    options = {"x265-params": "log-level=none:keyint=10:min-keyint=10:open-gop=1:scenecut=0"}
    source = made_clip(tmp_path / "a.mkv", Clip(frames=40, codec="libx265", options=options))
    with av.open(str(source)) as clip:
        is_key = [packet.is_keyframe for packet in clip.demux(video=0) if packet.size]
    start = is_key.index(True, 1)
    cut = changed(source, tmp_path / "b.ts", lambda at, content: content if at >= start else b"")
    decoding = decoding_of(cut)
    assert decoding.packets == 40 - start
    assert (decoding.lost_at_start, decoding.read_errors) == (0, 0)
    numbers, _, damaged, report = read(cut)
    assert len(numbers) < decoding.packets
    assert numbers[-25:] == list(range(15, 40))
    assert not any(damaged[-25:])
    assert report.warnings == ()


# Field-coded H.264 (PAFF), which no encoder at hand writes: raw samples (I_PCM) under the syntax
# of ITU-T H.264, 7.3.2.1.1, 7.3.2.2 and 7.3.3.

_ACROSS, _FIELD_DOWN = 6, 4
"""Macroblocks of a field."""
_FIELD_TICKS = 1800
"""Half a frame of 25 a second, in ticks of 1/90000 s."""


def ue(*numbers: int) -> str:
    """Exp-Golomb codes, as bits."""
    return "".join(f"{n + 1:b}".zfill(2 * (n + 1).bit_length() - 1) for n in numbers)


def unit(header: int, bits: str, samples: bytes = b"") -> bytes:
    """A unit behind its start code: bits up to a full byte, then bytes, none like a start code."""
    found = bytearray((0, 0, 0, 1, header))
    for value in int(bits, 2).to_bytes(len(bits) // 8) + samples:
        if value <= 3 and found[-2:] == b"\0\0":
            found.append(3)
        found.append(value)
    return bytes(found)


def full(bits: str) -> str:
    """Bits up to a full byte."""
    return bits.ljust(-(-len(bits) // 8) * 8, "0")


def parameter_sets() -> bytes:
    """Main profile, order of display as coded, 96 × 128, fields allowed, 25 frames a second."""
    sequence = f"{77:08b}{0:08b}{30:08b}" + ue(0, 0, 0, 4, 2) + "0"
    sequence += ue(_ACROSS - 1, _FIELD_DOWN - 1) + "00" + "10" + "1"
    sequence += "0000" + "1" + f"{1:032b}{50:032b}" + "1" + "0000"
    picture = ue(0, 0) + "01" + ue(0, 0, 0) + "000" + ue(0, 0, 0) + "000"
    return unit(0x67, full(sequence + "1")) + unit(0x68, full(picture + "1"))


def coded_field(frame: int, is_bottom: bool) -> bytes:
    """A field of a frame that spells its number."""
    is_first = frame == 0 and not is_bottom
    header = ue(0, 7, 0) + f"{frame % 16:04b}" + "1" + str(int(is_bottom))
    header += ue(0) if is_first else ""
    header += f"{2 * frame + is_bottom:08b}" + ("00" if is_first else "0") + ue(0)
    lines = written_number(frame, 32 * _FIELD_DOWN, 16 * _ACROSS)[int(is_bottom) :: 2]
    raw_block = int(full(ue(25)), 2).to_bytes(2)
    samples = raw_block.join(samples_of(lines)) + b"\x80"
    return unit(0x65 if is_first else 0x21, full(header + ue(25)), samples)


def samples_of(lines: NDArray[np.uint8]) -> Iterator[bytes]:
    """Samples of each macroblock of a grey field."""
    for top in range(0, lines.shape[0], 16):
        for left in range(0, lines.shape[1], 16):
            yield lines[top : top + 16, left : left + 16].tobytes() + bytes([128] * 128)


def coded_fields(frames: int = 12) -> list[bytes]:
    """Access units of one field each, the top one first."""
    delimiter = b"\0\0\0\1\x09\x10"
    fields = [coded_field(at // 2, at % 2 == 1) for at in range(2 * frames)]
    fields[0] = parameter_sets() + fields[0]
    return [delimiter + coded for coded in fields]


def field_clip(path: Path, fields: dict[int, bytes]) -> Path:
    """A file with one packet per field."""
    whole = b"".join(coded_fields())
    with (
        av.open(io.BytesIO(whole), format="h264") as template,
        av.open(str(path), "w") as output,
    ):
        track = output.add_stream_from_template(template.streams.video[0])
        for at, content in fields.items():
            packet = av.Packet(content)
            packet.pts = packet.dts = 90000 + at * _FIELD_TICKS
            packet.time_base, packet.is_keyframe = Fraction(1, 90000), at == 0
            packet.stream = track
            output.mux(packet)
    return path


@pytest.mark.parametrize("name", ["a.ts", "a.mp4", "a.mkv"])
def test_fields_in_packets_of_their_own_are_one_frame(name: str, tmp_path: Path) -> None:
    numbers, times, damaged, report = read(
        field_clip(tmp_path / name, dict(enumerate(coded_fields())))
    )
    assert numbers == list(range(12))
    assert times == [1 + Fraction(number, 25) for number in range(12)]
    assert not any(damaged)
    assert report.damaged == report.replaced == 0


def test_fields_without_times_are_one_frame(tmp_path: Path) -> None:
    path = tmp_path / "a.h264"
    path.write_bytes(b"".join(coded_fields()))
    numbers, times, damaged, report = read(path)
    assert numbers == list(range(12))
    assert times == [Fraction(number, 25) for number in range(12)]
    assert not any(damaged)
    assert report.warnings == ()


@pytest.mark.parametrize("name", ["a.ts", "a.mp4"])
@pytest.mark.parametrize("lost", [8, 9], ids=["first field", "second field"])
def test_frame_with_a_lost_field_is_covered(name: str, lost: int, tmp_path: Path) -> None:
    fields = dict(enumerate(coded_fields()))
    fields[lost] = noisy(fields[lost], 30)
    numbers, times, damaged, _ = read(field_clip(tmp_path / name, fields))
    assert len(numbers) == 12
    assert times == [1 + Fraction(number, 25) for number in range(12)]
    assert damaged == [False] * 4 + [True] * 8


def test_frame_of_which_both_fields_are_lost_is_told_and_covered(tmp_path: Path) -> None:
    fields = dict(enumerate(coded_fields()))
    fields |= {at: noisy(fields[at], 4) for at in (8, 9)}
    numbers, times, damaged, report = read(field_clip(tmp_path / "a.mp4", fields))
    assert report.replaced >= 1
    assert 1 + Fraction(4, 25) in times
    assert damaged[:4] == [False] * 4
    assert all(damaged[4:])
    assert numbers[-7:] == list(range(5, 12))


def test_lost_frame_of_interlaced_frames_is_told_and_covered(tmp_path: Path) -> None:
    options = {"x264-params": "tff=1", "bf": "0"}
    source = made_clip(tmp_path / "a.mkv", Clip(height=128, frames=24, options=options))
    broken = changed(
        source, tmp_path / "b.mkv", lambda at, content: noisy(content, 4) if at == 10 else content
    )
    numbers, _, damaged, report = read(broken)
    assert len(numbers) == 24
    assert report.replaced == 1
    assert damaged == [False] * 10 + [True] * 14
