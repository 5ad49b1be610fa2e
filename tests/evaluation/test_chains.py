"""The evaluator's own linking of detections."""

from __future__ import annotations

import pytest

from evaluation.chains import ChainLinker
from tests.evaluation.fakes import face_at

pytestmark = pytest.mark.unit


def test_a_drifting_face_keeps_its_chain() -> None:
    linker = ChainLinker()
    assert {linker.link(i, [face_at(3 * i, 0, 40)])[0] for i in range(20)} == {1}


def test_a_short_gap_is_bridged_and_a_long_one_is_not() -> None:
    linker = ChainLinker(longest_gap=2)
    linker.link(0, [face_at(0, 0, 40)])
    assert linker.link(3, [face_at(0, 0, 40)]) == [1]
    assert linker.link(7, [face_at(0, 0, 40)]) == [2]


def test_two_faces_never_share_a_chain() -> None:
    linker = ChainLinker()
    linker.link(0, [face_at(0, 0, 40)])
    assert len(set(linker.link(1, [face_at(0, 0, 40), face_at(4, 0, 40)]))) == 2
