"""When people are asked for: one in a frame of a live stream, and whoever is tried on first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engines.errors import EngineFault
from engines.pictures import picture_from_bgr
from engines.types import Embedding, Frame, Surrogate, Track
from stream.swap.fitting import TRYING_ON
from stream.swap.swapping import SwapEveryFace
from tests.stream.swap.test_swapping import (
    Lender,
    NoisePainter,
    RowEmbedder,
    ToneEmbedder,
    frame,
    track,
)

pytestmark = pytest.mark.unit

STEPS = 3
CROWD = [track(number, left=10.0 + 55 * number, side=50.0) for number in range(4)]


class TryingLender(Lender):
    """Needs a few frames to choose, and fails where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_broken = False

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        answer = super().lend(frame, track, embedding)
        if self.is_broken:
            raise EngineFault("planted")
        return TRYING_ON if self.asked.count(track.id) <= STEPS else answer


def live(lender: Lender) -> SwapEveryFace:
    return SwapEveryFace(NoisePainter(), RowEmbedder(), lender, asks_per_frame=1)


def test_live_one_of_a_crowd_is_asked_for_in_a_frame_and_each_trial_ends_before_the_next() -> None:
    lender = TryingLender()
    subject, shown = live(lender), []
    for index in range(len(CROWD) * (STEPS + 1)):
        replacement = subject.replace(frame(index), CROWD)
        assert len(lender.asked) == index + 1
        assert set(replacement.patches) | set(replacement.causes) == {one.id for one in CROWD}
        assert not set(replacement.patches) & set(replacement.causes)
        shown.append(len(replacement.patches))
    assert lender.asked == [one.id for one in CROWD for _ in range(STEPS + 1)]
    assert shown == [max(0, index) // (STEPS + 1) for index in range(1, len(shown) + 1)]


def test_file_asks_for_all_at_once() -> None:
    lender = Lender()
    subject = SwapEveryFace(NoisePainter(), RowEmbedder(), lender)
    assert len(subject.replace(frame(), CROWD).patches) == len(CROWD)


def test_person_who_waits_long_is_asked_for_before_one_who_was_refused() -> None:
    lender = Lender(cause="below_k")
    subject = live(lender)
    for index in range(3 * len(CROWD)):
        subject.replace(frame(index), CROWD)
    assert lender.asked == [one.id for one in CROWD]


def test_fault_while_somebody_is_tried_on_is_not_met_again_in_every_frame() -> None:
    lender = TryingLender()
    subject = live(lender)
    subject.replace(frame(0), CROWD[:1])
    lender.is_broken = True
    with pytest.raises(EngineFault):
        subject.replace(frame(1), CROWD[:1])
    for index in range(2, 20):
        assert dict(subject.replace(frame(index), CROWD[:1]).causes) == {0: "no_surrogate"}
    assert len(lender.asked) == 2


def test_who_takes_anothers_place_while_that_one_is_tried_on_is_tried_on_anew() -> None:
    class Endless(Lender):
        def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
            super().lend(frame, track, embedding)
            return TRYING_ON

    lender = Endless()
    subject = SwapEveryFace(NoisePainter(), ToneEmbedder(), lender, asks_per_frame=1)
    for index in range(60):
        grey = 20 if index < 30 else 230
        picture = picture_from_bgr(np.full((200, 300, 3), grey, np.uint8))
        subject.replace(replace(frame(index), picture=picture), [track(side=90.0)])
    first, *_, last = lender.asked
    assert first != last
    assert len(set(lender.asked)) == 2
