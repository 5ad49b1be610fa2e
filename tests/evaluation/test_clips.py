"""Pairing frames of two clips."""

from __future__ import annotations

import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from evaluation.clips import paired
from evaluation.errors import ClipsDiffer, FacesUnreadable

pytestmark = pytest.mark.unit


def write_clip(path: Path, frames: int, size: tuple[int, int] = (64, 48), late: int = -1) -> Path:
    """A small clip at 25 fps whose frame `late` comes 20 ms later than it should."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height = size
        stream.codec_context.time_base = Fraction(1, 100)
        stream.time_base = Fraction(1, 100)
        for index in range(frames):
            image = np.full((size[1], size[0], 3), 20 + 5 * index, np.uint8)
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = 4 * index + 2 * (index == late), Fraction(1, 100)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_equal_clips_pair_every_frame_in_order(tmp_path: Path) -> None:
    first, second = write_clip(tmp_path / "a.mp4", 5), write_clip(tmp_path / "b.mp4", 5)
    pairs = list(paired(first, second))
    assert [pair.index for pair in pairs] == [0, 1, 2, 3, 4]
    assert pairs[4].time_s == pytest.approx(0.16, abs=1e-6)


def test_a_missing_frame_is_a_failure(tmp_path: Path) -> None:
    first, second = write_clip(tmp_path / "a.mp4", 5), write_clip(tmp_path / "b.mp4", 4)
    with pytest.raises(ClipsDiffer, match=r"b\.mp4 ends at frame 4"):
        list(paired(first, second))


def test_a_late_frame_is_a_failure(tmp_path: Path) -> None:
    first, second = write_clip(tmp_path / "a.mp4", 5), write_clip(tmp_path / "b.mp4", 5, late=3)
    with pytest.raises(ClipsDiffer, match="frame 3: times differ"):
        list(paired(first, second))


def test_another_size_is_a_failure(tmp_path: Path) -> None:
    first = write_clip(tmp_path / "a.mp4", 2)
    second = write_clip(tmp_path / "b.mp4", 2, size=(80, 48))
    with pytest.raises(ClipsDiffer, match="sizes"):
        list(paired(first, second))


def test_a_text_file_is_no_clip(tmp_path: Path) -> None:
    text = tmp_path / "a.mp4"
    text.write_text("not a clip")
    with pytest.raises(FacesUnreadable, match="give a readable clip"):
        list(paired(text, text))


def test_a_file_with_sound_alone_is_told_to_hold_no_video(tmp_path: Path) -> None:
    silence = tmp_path / "silence.wav"
    with wave.open(str(silence), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(1600))
    with pytest.raises(FacesUnreadable, match="it holds no video"):
        list(paired(silence, silence))
