"""What an evaluation refuses before it begins, with what to do and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.errors import (
    CommandMisused,
    EvaluationError,
    FacesUnreadable,
    LabelsUnreadable,
    ReportNotWritable,
)
from evaluation.inputs import check_inputs

pytestmark = pytest.mark.unit


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "faces").mkdir()
    (tmp_path / "clip.mp4").write_bytes(b"clip")
    return tmp_path


def refusal(
    source: Path, anonymized: Path | None, report: Path, labels: Path | None = None
) -> EvaluationError:
    with pytest.raises(EvaluationError) as refused:
        check_inputs(source, anonymized, report, labels)
    assert "\n" not in str(refused.value)
    return refused.value


def test_a_missing_source_or_clip_is_told(place: Path) -> None:
    report = place / "r.json"
    for source, anonymized in ((place / "nothing", None), (place / "clip.mp4", place / "nothing")):
        fault = refusal(source, anonymized, report)
        assert isinstance(fault, FacesUnreadable)
        assert fault.exit_code == 3
        assert "check the path" in str(fault)


def test_clips_and_folders_do_not_mix(place: Path) -> None:
    report, clip, faces = place / "r.json", place / "clip.mp4", place / "faces"
    for source, anonymized in ((clip, None), (faces, clip), (clip, faces)):
        fault = refusal(source, anonymized, report)
        assert isinstance(fault, CommandMisused)
        assert fault.exit_code == 2


def test_a_report_needs_a_folder_to_go_to(place: Path) -> None:
    for report in (place / "absent" / "r.json", place / "faces"):
        fault = refusal(place / "faces", None, report)
        assert isinstance(fault, ReportNotWritable)
        assert fault.exit_code == 4


def test_a_missing_table_is_told(place: Path) -> None:
    fault = refusal(place / "faces", None, place / "r.json", place / "no.csv")
    assert isinstance(fault, LabelsUnreadable)
    assert fault.exit_code == 3


def test_what_can_work_is_let_through(place: Path) -> None:
    check_inputs(place / "faces", None, place / "r.json")
    check_inputs(place / "clip.mp4", place / "clip.mp4", place / "r.json")
