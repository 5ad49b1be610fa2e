"""What the laboratory's commands say while they work."""

from __future__ import annotations

import pytest

from evaluation.commands import _Progress

pytestmark = pytest.mark.unit


def test_progress_writes_nothing_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with _Progress() as progress:
        progress.tell("reading", 1, 2)
    assert capsys.readouterr() == ("", "")
