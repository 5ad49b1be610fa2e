"""Pictures that a publisher sends, as the stream gets them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream.live.clock import SystemClock
from stream.live.counters import Counters
from stream.live.whip import WhipEntrance
from stream.media.reading.file_source import FileSource
from tests.clips import Clip, decoded, made_clip

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p"])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_published_picture_of_a_camera_that_hangs_turned_comes_upright(
    rotation: int, pixel_format: str, tmp_path: Path
) -> None:
    path = made_clip(tmp_path / "a.mp4", Clip(frames=1, pixel_format=pixel_format))
    entrance = WhipEntrance(Counters(), 2, 10**6, SystemClock(), rotation)
    source = entrance.connect()
    entrance._keep(decoded(path).first)
    frame = next(iter(source.frames()))
    (expected,) = FileSource(path, rotation=rotation).frames()
    assert frame.picture.layout == expected.picture.layout
    for plane, same in zip(frame.picture.planes, expected.picture.planes, strict=True):
        np.testing.assert_array_equal(plane, same)
