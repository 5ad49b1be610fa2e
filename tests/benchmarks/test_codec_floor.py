"""The floor codes every frame, counts time by the clock it is given, and leaves no file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.codec_floor import CodecFloor, codec_floor, main
from stream.media.writing.encoder_options import EncodeSettings
from tests.clips import Clip, made_clip

pytestmark = pytest.mark.unit


def test_floor_codes_every_frame_and_leaves_no_file(tmp_path: Path) -> None:
    ticks = iter([10.0, 12.0])
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=20))
    floor = codec_floor(clip, EncodeSettings(), clock=lambda: next(ticks))
    assert floor == CodecFloor(20, 2.0, "libx264")
    assert floor.fps == 10.0
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize(
    "clip",
    [
        Clip(pixel_format="yuv420p10le"),
        Clip(height=65, width=97, pixel_format="yuv444p"),
        Clip(rotation=90),
    ],
    ids=["10 bit", "odd", "rotated"],
)
def test_floor_takes_any_format(clip: Clip, tmp_path: Path) -> None:
    source = made_clip(tmp_path / "a.mp4", clip)
    assert codec_floor(source, EncodeSettings(), most_frames=7).frames == 7


def test_command_prints_what_a_bench_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = made_clip(tmp_path / "a.mp4", Clip(frames=5))
    monkeypatch.setattr("sys.argv", ["codec_floor", str(clip), str(tmp_path / "out.mkv")])
    main()
    printed = json.loads(capsys.readouterr().out)
    assert printed["frames"] == 5
    assert printed["seconds"] > 0
    assert not (tmp_path / "out.mkv").exists()
