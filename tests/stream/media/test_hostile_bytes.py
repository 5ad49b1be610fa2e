"""Random damage anywhere in a file ends in a whole output or in one of our errors."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from stream.errors import InputUnreadable
from tests.clips import Clip, decoded, made_clip
from tests.stream.media.test_round_trip import passed_through

pytestmark = pytest.mark.unit

CLIPS = {
    "a.mp4": Clip(frames=20, sound="aac", click_s=0.2),
    "a.mkv": Clip(frames=20, sound="libopus", click_s=0.2),
    "a.ts": Clip(frames=20, sound="aac", click_s=0.2, time_base=Fraction(1, 90000)),
    "a.webm": Clip(frames=20, codec="libvpx-vp9"),
    "a.h265": Clip(frames=20, codec="libx265", muxer="hevc"),
    "a.gif": Clip(frames=10, codec="gif", pixel_format="rgb8", time_base=Fraction(1, 100)),
}


def harmed(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes overwritten, removed, or replaced by noise."""
    harmed = bytearray(content)
    for _ in range(int(rng.integers(1, 20))):
        place, length = int(rng.integers(0, len(harmed))), int(rng.integers(1, 100))
        kind = int(rng.integers(0, 3))
        if kind == 0:
            harmed[place : place + length] = rng.bytes(len(harmed[place : place + length]))
        elif kind == 1:
            harmed[place] = int(rng.integers(0, 256))
        else:
            del harmed[place : place + 4]
    return bytes(harmed)


@pytest.mark.parametrize("name", CLIPS)
def test_random_damage_gives_a_whole_output_or_one_of_our_errors(name: str, tmp_path: Path) -> None:
    whole = made_clip(tmp_path / name, CLIPS[name]).read_bytes()
    source, target = tmp_path / f"harmed{Path(name).suffix}", tmp_path / f"out{Path(name).suffix}"
    rng = np.random.default_rng(7)
    for _ in range(8):
        source.write_bytes(harmed(whole, rng))
        target.unlink(missing_ok=True)
        try:
            reader, _ = passed_through(source, target)
        except InputUnreadable:
            assert not target.exists()
        else:
            assert len(decoded(target).numbers) == reader.report.frames
        assert not list(tmp_path.glob("*.partial"))
