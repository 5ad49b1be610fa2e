"""Times of a file's frames grow as its clock did, also where that was set back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream.file_source import FileSource, _Clock
from tests.clips import Clip, made_clip

pytestmark = pytest.mark.unit

TICKS_A_MS = 90
PERIOD_MS = 40


@pytest.fixture
def clock(tmp_path: Path) -> _Clock:
    """Of a transport stream, 25 frames a second."""
    source = FileSource(made_clip(tmp_path / "a.ts", Clip(frames=9)))
    source.close()
    return _Clock(source.probe)


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
    times_ms: list[int | None], steps_ms: list[int], clock: _Clock
) -> None:
    found = [clock.pts_of(None if at is None else at * TICKS_A_MS) for at in times_ms]
    assert np.diff(found).min() >= 1
    assert (np.diff(found) / TICKS_A_MS).round().astype(int).tolist() == steps_ms


def test_a_clock_set_back_again_and_again_keeps_every_step(clock: _Clock) -> None:
    found = [clock.pts_of(PERIOD_MS * TICKS_A_MS * (at % 30)) for at in range(300)]
    assert set(np.diff(found).tolist()) == {PERIOD_MS * TICKS_A_MS}
