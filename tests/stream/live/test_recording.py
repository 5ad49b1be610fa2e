from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import av
import pytest

from config.service import Recording
from stream.live.encoder_choice import EncoderOptions
from stream.live.errors import AddressRefused
from stream.live.publishing import SinkCodec
from stream.live.recording import RecordingSink, recording_folder
from stream.media.marking import mark_in_bitstream
from tests.stream.live.fakes import Encoding, slate

pytestmark = pytest.mark.unit
START = datetime(2026, 1, 1, tzinfo=UTC)


class Wall:
    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def record(sink: RecordingSink, frames: int, codec: SinkCodec = "h264") -> None:
    encoding = Encoding(sink, EncoderOptions(fps=15), codec, is_marked=True)
    for number in range(frames):
        encoding.write(slate(90, 160, number * 6000))


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", "a\x00", "A", "x" * 60])
def test_name_that_could_lead_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(AddressRefused):
        recording_folder(tmp_path, name)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_files_roll_at_key_frames_and_play(tmp_path: Path, codec: SinkCodec) -> None:
    sink = RecordingSink(tmp_path, Recording(segment_s=2.0), Wall(), codec=codec)
    record(sink, 75, codec)
    sink.finish()
    files = sorted(tmp_path.iterdir())
    assert [file.suffix for file in files] == [".mp4"] * 3
    frames = 0
    for file in files:
        with av.open(str(file)) as container:
            assert "digitalSourceType" in container.metadata["comment"]
            assert container.streams.video[0].codec_context.name == codec
            frames += sum(1 for _ in container.decode(video=0))
        assert mark_in_bitstream(file.read_bytes())
    assert frames == 75


def test_unfinished_file_has_no_final_name_and_is_named_by_the_next_run(tmp_path: Path) -> None:
    sink = RecordingSink(tmp_path, wall=Wall())
    record(sink, 40)
    sink.abort()
    assert [file.suffix for file in tmp_path.iterdir()] == [".partial"]
    again = RecordingSink(tmp_path, wall=Wall())
    record(again, 5)
    assert len(list(tmp_path.glob("*.mp4"))) == 1
    again.finish()


def test_old_and_excess_files_are_deleted(tmp_path: Path) -> None:
    for day in range(4):
        file = tmp_path / f"2025120{day}.mp4"
        file.write_bytes(b"x" * 1000)
        age = (START - timedelta(days=10 - day)).timestamp()
        os.utime(file, (age, age))
    by_age = RecordingSink(tmp_path, kept=Recording(keep_hours=8.5 * 24), wall=Wall())
    assert by_age.delete_old() == 2
    by_size = RecordingSink(
        tmp_path, kept=Recording(keep_hours=87_600, keep_gb=1.5e-6), wall=Wall()
    )
    assert by_size.delete_old() == 1
    assert [file.name for file in tmp_path.iterdir()] == ["20251203.mp4"]
