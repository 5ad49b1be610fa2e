"""Changes between surrogate and cover are counted, each once."""

from __future__ import annotations

from fractions import Fraction

import pytest

from engines.blending.compositor import Composite, compose
from engines.pictures import picture_from_bgr
from engines.types import Frame, Track, TrackState
from stream.pipeline.tally import Tally
from stream.swap.switches import SwitchCount
from tests.engines.blending.test_compositor import face_at, noise, patch_for

pytestmark = pytest.mark.unit


def composite(index: int, swapped: dict[int, bool], cause: str = "") -> Composite:
    """A frame with these tracks, swapped or covered for a cause."""
    tracks = [
        Track(number, face_at(40 + 60 * number, 60, 30), TrackState.DETECTED, 9, True)
        for number in swapped
    ]
    patches = {one.id: patch_for(one.face) for one in tracks if swapped[one.id]}
    frame = Frame(picture_from_bgr(noise(120, 220)), index, Fraction(1, 25), index)
    return compose(frame, tracks, patches, causes={one.id: cause for one in tracks if cause})


def counted(*frames: dict[int, bool]) -> int:
    count = SwitchCount()
    for index, swapped in enumerate(frames):
        count.add(composite(index, swapped))
    return count.by_cause.total()


def test_every_change_of_a_track_counts_once() -> None:
    assert counted({1: True}, {1: True}, {1: False}, {1: False}, {1: True}) == 2
    assert counted({1: True, 2: False}, {1: False, 2: True}) == 2


def test_who_comes_or_goes_has_not_changed() -> None:
    assert counted({1: True}, {}, {1: False}) == 0
    assert counted({1: True}, {1: True, 2: False}, {2: False}) == 0


def test_reports_tell_the_changes() -> None:
    tally = Tally()
    for index, is_swapped in enumerate([True, False, True]):
        tally.add_composite(composite(index, {1: is_swapped}), ())
    assert tally.faces().switches == 2


def test_changes_are_told_by_why_the_face_was_covered() -> None:
    tally = Tally()
    seen = [(True, ""), (False, "turned"), (True, ""), (False, "hidden"), (False, "turned")]
    for index, (is_swapped, cause) in enumerate(seen):
        tally.add_composite(composite(index, {1: is_swapped}, cause), ())
    assert tally.faces().switches_by_cause == {"turned": 2, "hidden": 1}
