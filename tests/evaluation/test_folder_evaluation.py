"""What makes a stopped run of a folder the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.exposure import FaceFinder
from evaluation.finders import PortraitFinder
from evaluation.folder_evaluation import _fingerprint
from evaluation.plan import Plan
from tests.evaluation.fakes import PORTRAIT_FACE, PixelJudge, ScriptedFinder, write_people
from tests.evaluation.test_finding_cache import Sees

pytestmark = pytest.mark.unit

FINDER = ScriptedFinder((PORTRAIT_FACE,))


def test_a_replaced_picture_of_equal_size_is_another_run(tmp_path: Path) -> None:
    picture = write_people(tmp_path, people=1, pictures=1) / "person000" / "0.png"
    people = {"person000": [picture]}
    before = _fingerprint(people, FINDER, [PixelJudge()], Plan(), "words", None)
    assert before == _fingerprint(people, FINDER, [PixelJudge()], Plan(), "words", None)
    whole = picture.read_bytes()
    picture.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert before != _fingerprint(people, FINDER, [PixelJudge()], Plan(), "words", None)


def test_another_detector_is_another_run() -> None:
    finders: list[FaceFinder] = [
        ScriptedFinder((PORTRAIT_FACE,), "one"),
        ScriptedFinder((PORTRAIT_FACE,), "two"),
        PortraitFinder(Sees(1), "net", "a"),
        PortraitFinder(Sees(1), "net", "b"),
    ]
    marks = {_fingerprint({}, finder, [], Plan(), "words", None) for finder in finders}
    assert len(marks) == len(finders)
