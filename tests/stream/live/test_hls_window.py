from __future__ import annotations

import io
import itertools
import re
from datetime import UTC, datetime

import av
import pytest

from stream.live.encoder_choice import EncoderOptions
from stream.live.hls_window import HlsWindow
from stream.live.live_encoder import LiveEncoder
from stream.live.part_cutter import Fragment, PartCutter
from tests.stream.live.fakes import slate

pytestmark = pytest.mark.unit
WALL = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PART_S = 0.34


def fragments(number: int, fps: int = 25) -> tuple[bytes, list[Fragment]]:
    """So many pictures, encoded and cut, and what a player needs before them."""
    encoder, cutter = LiveEncoder(EncoderOptions(fps=fps)), PartCutter()
    cut = []
    for place in range(number):
        for picture in encoder.encode(slate(90, 160, place * 90_000 // fps)):
            cut += cutter.cut(picture)
    cutter.close()
    return cutter.initial, cut


def filled(number: int, fps: int = 25) -> HlsWindow:
    window = HlsWindow(1.0, PART_S, wall=lambda: WALL)
    window.initial, cut = fragments(number, fps)
    for fragment in cut:
        window.add(fragment)
    return window


def frames_in(data: bytes) -> int:
    with av.open(io.BytesIO(data), "r") as container:
        return len(list(container.decode(video=0)))


def test_every_picture_becomes_a_fragment_that_can_be_decoded() -> None:
    initial, cut = fragments(60)
    assert len(cut) == 59, "the last one waits for the next to tell its length"
    assert [one.is_key for one in cut[:26]] == [True, *[False] * 24, True]
    assert {one.duration for one in cut} == {3600}
    assert frames_in(initial + b"".join(one.data for one in cut)) == 59


@pytest.mark.parametrize("fps", [5, 12, 15, 25, 30])
def test_parts_are_no_longer_than_announced_and_make_up_their_segment(fps: int) -> None:
    window = filled(4 * fps, fps)
    playlist = window.playlist()
    parts = re.findall(r'EXT-X-PART:DURATION=([\d.]+),URI="(\d+)\.(\d+)\.m4s"', playlist)
    assert max(float(duration) for duration, _, _ in parts) <= PART_S + 1e-3
    assert [float(length) for length in re.findall(r"#EXTINF:([\d.]+)", playlist)] == [1.0] * 3
    for segment, places in itertools.groupby(parts, key=lambda part: part[1]):
        data = b"".join(window.part(int(segment), int(place)) or b"" for _, _, place in places)
        if segment != "3":
            assert data == window.segment(int(segment))
    assert frames_in(window.initial + (window.segment(2) or b"")) == fps


def test_playlist_says_what_a_player_may_wait_for() -> None:
    lines = filled(90).playlist().splitlines()
    assert lines[0] == "#EXTM3U"
    assert "#EXT-X-TARGETDURATION:2" in lines
    assert "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.020" in lines
    assert '#EXT-X-MAP:URI="init.mp4"' in lines
    assert "#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:04:05.000Z" in lines
    assert sum("INDEPENDENT=YES" in line for line in lines) == 4, "each segment begins with a key"
    assert lines[-1] == '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="3.1.m4s"'


def test_waiting_ends_with_the_part_or_the_segment_asked_for() -> None:
    window = filled(90)
    assert window.has(2, None)
    assert window.has(3, 0)
    assert not window.has(3, 1)
    assert not window.has(3, None)
    assert window.has(2, 99), "beyond the end of a segment the next one begins"
    assert not window.is_far_ahead(5)
    assert window.is_far_ahead(6)


def test_window_forgets_old_segments_and_never_reuses_a_number() -> None:
    window = filled(25 * 14)
    assert window.segment(4) is None
    assert window.segment(5) is not None
    assert window.part(13, 0) is not None
    window.clear()
    assert window.playlist() == ""
    for fragment in fragments(60)[1]:
        window.add(fragment)
    assert "#EXT-X-MEDIA-SEQUENCE:14" in window.playlist()


def test_nothing_is_told_before_a_segment_is_complete() -> None:
    assert filled(20).playlist() == ""
    window = HlsWindow(1.0, PART_S)
    assert not window.add(Fragment(b"no key before", 0, 3600, False))
    assert not window.has(0, 0)


def test_key_frame_that_comes_early_begins_no_segment() -> None:
    """Another output may ask for it at any time; players would get segments of one picture."""
    window = HlsWindow(1.0, PART_S, wall=lambda: WALL)
    for number in range(60):
        is_key = number % 10 == 0 or number % 10 == 3
        window.add(Fragment(b"x", number * 9000, 9000, is_key))
    lengths = [float(length) for length in re.findall(r"#EXTINF:([\d.]+)", window.playlist())]
    assert lengths == [1.0] * 5
