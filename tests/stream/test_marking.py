from __future__ import annotations

import av
import numpy as np
import pytest

from engines.compositor import compose_slate
from engines.marking import MarkStyle, mark
from stream.live.live_encoder import EncoderOptions, LiveEncoder
from stream.live.timeline import Timeline
from stream.marking import mark_in_bitstream, sei_nal

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("size", [(720, 1280), (90, 160), (33, 41), (8, 8)])
def test_badge_is_opaque_and_stays_in_its_corner(size: tuple[int, int]) -> None:
    height, width = size
    slate = compose_slate(height, width, pts=0, time_base=Timeline.TIME_BASE, index=0, cause="test")
    before = slate.picture.planes[0].copy()
    mark(slate, MarkStyle(corner="bottom-left"))
    changed = np.argwhere(slate.picture.planes[0] != before)
    assert len(changed) > 10
    assert changed[:, 0].min() >= height - max(14, round(height * 0.05) + 2)


def test_key_frames_carry_the_machine_readable_mark_and_still_decode() -> None:
    encoder = LiveEncoder(EncoderOptions(fps=15), "h264", sei_nal())
    data = b""
    for number in range(20):
        slate = compose_slate(
            90, 160, pts=number * 6000, time_base=Timeline.TIME_BASE, index=number, cause="test"
        )
        for picture in encoder.encode(slate):
            assert mark_in_bitstream(picture.data) is picture.is_key
            data += picture.data
    decoder = av.CodecContext.create("h264", "r")
    packets = decoder.parse(data) + decoder.parse(None)
    decoded = [frame for packet in packets for frame in decoder.decode(packet)]
    assert len(decoded) + len(decoder.decode(None)) == 20
