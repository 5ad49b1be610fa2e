"""What an evaluation refuses before it begins, with what to do and the exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
    source: Path,
    anonymized: Path | None,
    report: Path,
    labels: Path | None = None,
    sheet: Path | None = None,
    recognisers: Sequence[str] = (),
) -> EvaluationError:
    with pytest.raises(EvaluationError) as refused:
        check_inputs(source, anonymized, report, labels, sheet, recognisers)
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


def test_a_sheet_needs_a_folder_to_go_to(place: Path) -> None:
    clip = place / "clip.mp4"
    for sheet in (place / "absent" / "s.png", place / "faces"):
        assert isinstance(refusal(clip, clip, place / "r.json", sheet=sheet), ReportNotWritable)


def test_nothing_that_is_read_is_written_over(place: Path) -> None:
    faces, clip, report = place / "faces", place / "clip.mp4", place / "r.json"
    other, page, table = place / "other.mkv", place / "page.html", place / "people.csv"
    for path in (other, page, table):
        path.write_bytes(b"read")
    link, picture = place / "link.json", faces / "ann" / "1.png"
    link.symlink_to(clip)
    picture.parent.mkdir()
    picture.write_bytes(b"face")
    for fault in (
        refusal(clip, other, clip),
        refusal(clip, other, place / "faces" / ".." / "other.mkv"),
        refusal(clip, other, link),
        refusal(clip, other, report, sheet=other),
        refusal(page, other, place / "page.json"),
        refusal(faces, None, table, table),
        refusal(faces, None, table, recognisers=[str(table)]),
        refusal(faces, None, picture),
    ):
        assert isinstance(fault, CommandMisused)
        assert "would be replaced" in str(fault)


def test_report_page_and_sheet_are_three_files(place: Path) -> None:
    clip = place / "clip.mp4"
    for report, sheet in (
        (place / "r.html", None),
        (place / "r.json", place / "r.json"),
        (place / "r.json", place / "r.html"),
    ):
        fault = refusal(clip, clip, report, sheet=sheet)
        assert isinstance(fault, CommandMisused)
        assert "written twice" in str(fault)


def test_an_earlier_report_among_the_faces_is_written_again(place: Path) -> None:
    report = place / "faces" / "evaluation.json"
    report.write_text("{}")
    check_inputs(place / "faces", None, report)


def test_what_can_work_is_let_through(place: Path) -> None:
    check_inputs(place / "faces", None, place / "r.json")
    check_inputs(place / "clip.mp4", place / "clip.mp4", place / "r.json")


def test_a_pipe_is_neither_read_nor_written(place: Path) -> None:
    pipe, clip = place / "pipe.mp4", place / "clip.mp4"
    os.mkfifo(pipe)
    for source, anonymized in ((pipe, clip), (clip, pipe)):
        assert "no regular file" in str(refusal(source, anonymized, place / "r.json"))
    assert "no regular file" in str(refusal(place / "faces", None, pipe))
