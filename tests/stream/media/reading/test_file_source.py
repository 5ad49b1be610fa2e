"""Times of a file's frames grow as its clock did, also where that was set back."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from stream.media.frame_clock import FrameClock
from stream.media.reading.file_source import FileSource
from stream.media.reading.inspection import opened_input
from tests.clips import Clip, made_clip, number_in

pytestmark = pytest.mark.unit

TICKS_A_MS = 90
PERIOD_MS = 40


@pytest.fixture
def clock(tmp_path: Path) -> FrameClock:
    """Of a transport stream, 25 frames a second."""
    source = FileSource(made_clip(tmp_path / "a.ts", Clip(frames=9)))
    source.close()
    return FrameClock(source.probe)


def joined(part: Path) -> list[float]:
    """Times of a recording's frames that was put end to end with itself, s."""
    whole = part.with_name("whole.ts")
    whole.write_bytes(part.read_bytes() * 2)
    return [frame.time_s for frame in FileSource(whole).frames()]


def test_joined_recordings_go_on_where_the_first_one_ended(tmp_path: Path) -> None:
    plain = Clip(frames=50, codec="mpeg4")
    times_s = joined(made_clip(tmp_path / "part.ts", plain))
    assert len(times_s) >= 95
    assert set(np.diff(times_s).round(4).tolist()) == {PERIOD_MS / 1000}


def test_joined_recordings_with_frames_out_of_order_keep_their_length(tmp_path: Path) -> None:
    times_s = joined(made_clip(tmp_path / "part.ts", Clip(frames=50)))
    assert len(times_s) >= 95
    assert times_s[-1] - times_s[0] == pytest.approx(4.0, abs=0.5)


@pytest.mark.parametrize(
    ("times_ms", "steps_ms"),
    [
        ([0, 40, 80, 120], [40, 40, 40]),
        ([9000, 9040, 0, 40, 80], [40, 40, 40, 40]),
        ([0, 40, 9000, 80, 120], [40, 8960, 40, 40]),
        ([0, 40, 30, 80, 120], [40, 0, 40, 40]),
        ([0] * 8, [0, 0, 0, 0, 40, 40, 40]),
        ([0, None, 80, 120], [40, 40, 40]),
        ([9000, 0, None, 80, 70], [40, 40, 40, 0]),
        ([8960, 9000, 0, 9040, 40, 80], [40, 40, 0, 40, 40]),
    ],
)
def test_a_clock_set_back_goes_on_and_a_small_error_stays_small(
    times_ms: list[int | None], steps_ms: list[int], clock: FrameClock
) -> None:
    found = [clock.pts_of(None if at is None else at * TICKS_A_MS) for at in times_ms]
    assert np.diff(found).min() >= 1
    assert (np.diff(found) / TICKS_A_MS).round().astype(int).tolist() == steps_ms


@pytest.mark.parametrize("change", ["grows", "stays"])
def test_file_that_changes_while_it_is_read_is_told(change: str, tmp_path: Path) -> None:
    path = made_clip(tmp_path / "a.ts", Clip(frames=60))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    source = FileSource(path)
    frames = source.frames()
    next(frames)
    if change == "grows":
        path.write_bytes(data)
    for _ in frames:
        pass
    told = any("changed while it was read" in line for line in source.report.warnings)
    assert told == (change != "stays")


def sound_packets(path: Path) -> int:
    with opened_input(path) as container:
        return sum(packet.size > 0 for packet in container.demux(audio=0))


@pytest.mark.parametrize("codec", ["libx264", "mpeg4", "mjpeg"])
@pytest.mark.parametrize("name", ["a.avi", "a, b: c.avi"])
def test_avi_with_a_wrong_index_is_read_to_its_end(codec: str, name: str, tmp_path: Path) -> None:
    form = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    clip = Clip(frames=40, codec=codec, pixel_format=form, sound="libmp3lame")
    path = made_clip(tmp_path / name, clip)
    whole = [frame.time_s for frame in FileSource(path).frames()]
    heard = sound_packets(path)
    data = bytearray(path.read_bytes())
    start = data.rindex(b"idx1") + 8
    for at in range(start, len(data) - 15, 16):
        data[at + 8 : at + 12] = struct.pack("<I", 4)
    path.write_bytes(data)
    source = FileSource(path)
    frames = list(source.frames())
    assert [number_in(np.asarray(frame.picture.planes[0])) for frame in frames] == list(range(40))
    assert [frame.time_s for frame in frames] == whole
    assert not any(frame.is_damaged for frame in frames)
    assert source.report.warnings == ()
    assert sound_packets(path) == heard


def test_a_clock_set_back_again_and_again_keeps_every_step(clock: FrameClock) -> None:
    found = [clock.pts_of(PERIOD_MS * TICKS_A_MS * (at % 30)) for at in range(300)]
    assert set(np.diff(found).tolist()) == {PERIOD_MS * TICKS_A_MS}
