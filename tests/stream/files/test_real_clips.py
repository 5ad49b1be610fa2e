"""Real recordings pass with every frame, time, size and tag as they were."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from pathlib import Path

import av
import pytest

from engines.blending.compositor import compose
from stream.media.reading.file_source import FileSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink

pytestmark = pytest.mark.data

FAST = EncodeSettings(preset="ultrafast", encoder="software")


def times(path: Path, most: int | None = None) -> tuple[list[Fraction], set[tuple[int, int]]]:
    with av.open(str(path)) as source:
        track = source.streams.video[0]
        track.thread_type = "AUTO"
        base = track.time_base or Fraction(1, 25)
        found = [(f.pts, (f.height, f.width)) for f in islice(source.decode(track), most)]
    starts = [
        Fraction(number, 25) if pts is None else pts * base for number, (pts, _) in enumerate(found)
    ]
    return starts, {size for _, size in found}


def first_sound_s(path: Path) -> float | None:
    with av.open(str(path)) as source:
        if not source.streams.audio:
            return None
        frame = next(source.decode(audio=0))
        return None if frame.pts is None else float(frame.pts * (frame.time_base or 1))


@pytest.mark.parametrize("most", [100, pytest.param(None, marks=pytest.mark.slow)])
def test_every_clip_keeps_frames_times_and_sound(
    shared_data: Path, tmp_path: Path, most: int | None
) -> None:
    clips = sorted((shared_data / "video").iterdir())
    assert clips
    for clip in clips:
        source = FileSource(clip)
        ending = ".mp4" if clip.suffix == ".h265" else clip.suffix
        target = tmp_path / f"{clip.stem}{ending}"
        sink = FileSink(target, source.probe, FAST)
        for frame in islice(source.frames(), most):
            assert not frame.is_damaged
            sink.write(compose(frame, [], {}))
        source.close()
        sink.finish()
        assert times(target) == times(clip, most), clip.name
        before_s, after_s = first_sound_s(clip), first_sound_s(target)
        assert (before_s is None) == (after_s is None)
        if before_s is not None:
            assert after_s == pytest.approx(before_s, abs=1024 / 44100), clip.name


def test_untouched_pictures_stay_close(shared_data: Path, tmp_path: Path) -> None:
    clip = shared_data / "video" / "s13.mp4"
    source = FileSource(clip)
    sink = FileSink(tmp_path / "out.mp4", source.probe, EncodeSettings(encoder="software"))
    for frame in islice(source.frames(), 10):
        sink.write(compose(frame, [], {}))
    source.close()
    sink.finish()
    for before, after in zip(
        islice(FileSource(clip).frames(), 10),
        FileSource(tmp_path / "out.mp4").frames(),
        strict=True,
    ):
        error = before.picture.planes[0].astype(int) - after.picture.planes[0].astype(int)
        assert abs(error).mean() < 2.0
