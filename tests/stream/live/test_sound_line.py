from __future__ import annotations

import asyncio

import pytest
from aiortc.mediastreams import MediaStreamError
from hypothesis import given
from hypothesis import strategies as st

from stream.live.sound import FRAME_BYTES, RATE, Sound, SoundLine, SoundShelf
from stream.live.whep import HeardTrack

pytestmark = pytest.mark.unit


def sound(time_s: float, length_s: float = 0.02) -> Sound:
    return Sound(b"\x01\x00\x01\x00" * round(length_s * RATE), time_s)


@given(
    st.lists(
        st.tuples(st.floats(0, 3), st.floats(0.001, 0.5), st.floats(0, 1)), min_size=1, max_size=40
    )
)
def test_whatever_comes_the_line_has_neither_gap_nor_overlap(
    steps: list[tuple[float, float, float]],
) -> None:
    line, expected, until_s = SoundLine(), None, 0.0
    for time_s, length_s, step_s in steps:
        until_s += step_s
        for pcm, place in line.laid((sound(until_s - 1 + time_s, length_s),), until_s):
            assert expected is None or place == expected
            expected = place + len(pcm) // FRAME_BYTES
    assert expected is None or expected >= round(until_s * RATE) - RATE // 10 - 1


def test_silence_of_the_source_becomes_silence_up_to_the_picture() -> None:
    line = SoundLine()
    first = list(line.laid((sound(1.0),), 1.02))
    later = list(line.laid((), 2.0))
    assert first[0][1] == RATE
    assert sum(len(pcm) for pcm, _ in later) // FRAME_BYTES == round(0.88 * RATE)
    assert not any(any(pcm) for pcm, _ in later)


def test_small_wandering_of_the_clock_is_left_alone() -> None:
    line = SoundLine()
    laid = [
        piece
        for number in range(50)
        for piece in line.laid((sound(number * 0.02 + 0.01 * (number % 2)),), number * 0.02)
    ]
    assert all(len(pcm) == 960 * FRAME_BYTES for pcm, _ in laid)


def test_sound_that_nobody_takes_is_bounded() -> None:
    shelf = SoundShelf()
    for number in range(2000):
        shelf.put(sound(number * 0.02))
    waiting = shelf.take(1e9)
    assert waiting[-1].time_s - waiting[0].time_s <= 10.0
    assert shelf.take(1e9) == ()


def test_sound_leaves_with_the_picture_of_its_time() -> None:
    shelf = SoundShelf()
    for number in range(10):
        shelf.put(sound(number * 0.02))
    assert [one.time_s for one in shelf.take(0.05)] == [0.0, 0.02, 0.04]
    assert len(shelf.take(1.0)) == 7


def test_viewer_that_does_not_fetch_loses_the_oldest_sound() -> None:
    async def check() -> None:
        track = HeardTrack(asyncio.get_running_loop())
        for number in range(100):
            track.hear((sound(number * 0.05, 0.05),), number * 0.05)
        frame = await track.recv()
        assert frame.samples == RATE // 50
        assert frame.pts == pytest.approx(4 * RATE, abs=RATE // 5)
        track.stop()
        with pytest.raises(MediaStreamError):
            await track.recv()

    asyncio.run(check())
