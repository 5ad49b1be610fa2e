from __future__ import annotations

import sys

import av
import pytest

from stream.media.side_data import integers_beside, lost_beside

pytestmark = pytest.mark.unit


def test_frame_that_was_asked_for_side_data_goes_with_its_last_user() -> None:
    image = av.VideoFrame(64, 48, "yuv420p")
    before = sys.getrefcount(image)
    assert lost_beside(image) == set()
    assert integers_beside(image, "DISPLAYMATRIX") == []
    assert sys.getrefcount(image) == before
