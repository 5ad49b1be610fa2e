from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import pytest

from engines.errors import EngineFault
from stream.live.engine_trouble import EngineTrouble
from tests.stream.live.fakes import FakeClock

pytestmark = pytest.mark.unit


def test_faults_of_many_frames_are_told_while_they_last_and_logged_once(
    logged: Sequence[MutableMapping[str, Any]],
) -> None:
    clock = FakeClock()
    trouble = EngineTrouble("cam", clock)
    assert trouble.text == ""
    for _ in range(100):
        trouble.note(EngineFault("the network hangs; run `kveil doctor`"))
        clock.seconds += 0.1
        trouble.check()
        assert "the network hangs; run `kveil doctor`" in trouble.text
    clock.seconds += 5.0
    trouble.check()
    assert trouble.text == ""
    assert [one["event"] for one in logged] == ["engines_failing", "engines_back"]


def test_foreign_fault_is_told_without_its_text() -> None:
    trouble = EngineTrouble("cam", FakeClock())
    trouble.note(RuntimeError("box 1, 2, 3, 4 of rtsp://user:secret@host"))
    assert "RuntimeError" in trouble.text
    assert "secret" not in trouble.text
    assert "box" not in trouble.text
