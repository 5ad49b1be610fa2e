"""Names of any bytes and of any length, and places that are no regular files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stream.digests import file_digest
from stream.errors import UsageRefused
from stream.file_names import name_beside, shown, text_of
from stream.files.jobs import Job, plan_jobs
from stream.files.report import FileIdentity, RunReport, save_report
from stream.files.resume_key import forget_key, resume_key
from stream.files.run_reports import RunReports
from stream.media.reading.inspection import opened_input
from stream.media.stills import decoded_still
from stream.media.writing.partial_file import PartialFile, checked_place, partial_name
from stream.media.writing.segments import resume_folder

pytestmark = pytest.mark.unit

LATIN = os.fsdecode(b"caf\xe9.mp4")


@pytest.mark.parametrize("size", [243, 247, 250, 255])
@pytest.mark.parametrize("sign", ["x", "é", "顔"])
def test_long_name_gets_a_partial_name_that_fits(size: int, sign: str, tmp_path: Path) -> None:
    width = len(sign.encode())
    final = tmp_path / (sign * ((size - 4) // width) + ".mp4")
    file = PartialFile(final, tmp_path / "in.mp4", overwrite=False)
    file.path.write_bytes(b"whole")
    file.publish()
    resume_folder(final).mkdir()
    resume_key(final)
    forget_key(final)
    assert final.read_bytes() == b"whole"


def test_two_long_names_do_not_share_a_partial_name() -> None:
    one, other = Path("x" * 249 + "a.mp4"), Path("x" * 249 + "b.mp4")
    assert partial_name(one) != partial_name(other)
    assert partial_name(one) == partial_name(one)


def test_short_name_is_kept_whole_beside_itself() -> None:
    assert name_beside(Path("a/é.mp4"), ".partial") == Path("a/é.mp4.partial")


def test_name_of_any_bytes_becomes_text() -> None:
    assert text_of(LATIN) == "caf\\xe9.mp4"
    assert text_of("\ud800") == "\\xed\\xa0\\x80"
    assert text_of("é顔") == "é顔"


def test_name_cannot_steer_the_terminal() -> None:
    assert shown("a\x1b]0;b\x07\r\n\u202ec") == "a\\x1b]0;b\\x07\\r\\n\\u202ec"


def test_report_takes_a_name_of_any_bytes(tmp_path: Path) -> None:
    report = RunReport(error=f"cannot read {LATIN}", warnings=[LATIN], settings={"a": [LATIN]})
    report.input = FileIdentity(name=LATIN, sha256="", size_bytes=1, height=1, width=1)
    save_report(report, tmp_path / "report.json")
    told = RunReport.model_validate_json((tmp_path / "report.json").read_bytes())
    assert told.input is not None
    assert told.input.name == "caf\\xe9.mp4"
    assert told.warnings == ["caf\\xe9.mp4"]
    assert told.error == "cannot read caf\\xe9.mp4"


def test_earlier_report_of_a_name_of_any_bytes_is_found_again(tmp_path: Path) -> None:
    target = tmp_path / LATIN
    target.write_bytes(b"done")
    job = Job(tmp_path / "in.mp4", target, "video")
    report = RunReport(status="complete")
    report.output = FileIdentity(
        name=LATIN, sha256=file_digest(target), size_bytes=4, height=1, width=1
    )
    save_report(report, tmp_path / "report.json")
    assert RunReports([job], tmp_path / "report.json").before(job).status == "complete"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that nobody writes to or reads from."""
    path = tmp_path / "pipe.mp4"
    os.mkfifo(path)
    return path


@pytest.mark.timeout(20)
def test_pipe_as_input_is_refused_at_once(pipe: Path) -> None:
    for read in (opened_input, file_digest, lambda path: decoded_still(path, 100)):
        with pytest.raises(UsageRefused, match="no regular file"):
            read(pipe)
    with pytest.raises(UsageRefused, match="no regular file"):
        plan_jobs([pipe], pipe.with_name("out.mp4"), overwrite=False)


@pytest.mark.parametrize("place", ["-", "/dev/null", "/dev/zero"])
def test_what_is_no_file_is_refused_as_input_and_output(place: str, tmp_path: Path) -> None:
    source = tmp_path / "in.mp4"
    source.write_bytes(b"x")
    with pytest.raises(UsageRefused, match="no regular file"):
        plan_jobs([Path(place)], tmp_path / "out.mp4", overwrite=True)
    with pytest.raises(UsageRefused, match="never pipes or devices"):
        plan_jobs([source], Path(place), overwrite=True)
    with pytest.raises(UsageRefused, match="never pipes or devices"):
        checked_place(Path(place))
    job = Job(source, tmp_path / "out.mp4", "video")
    with pytest.raises(UsageRefused, match="never pipes or devices"):
        RunReports([job], Path(place))


@pytest.mark.timeout(20)
def test_pipe_as_output_is_refused_and_kept(pipe: Path) -> None:
    with pytest.raises(UsageRefused, match="never pipes or devices"):
        PartialFile(pipe, pipe.with_name("in.mp4"), overwrite=True)
    assert pipe.is_fifo()


def test_output_behind_a_link_replaces_what_the_link_leads_to(tmp_path: Path) -> None:
    clear = tmp_path / "there" / "clear.mp4"
    clear.parent.mkdir()
    clear.write_bytes(b"clear original")
    link = tmp_path / "out.mp4"
    link.symlink_to(clear)
    file = PartialFile(link, tmp_path / "in.mp4", overwrite=True)
    file.path.write_bytes(b"covered")
    file.publish()
    assert link.is_symlink()
    assert clear.read_bytes() == b"covered"
    assert [path.name for path in clear.parent.iterdir()] == ["clear.mp4"]


def test_report_behind_a_link_replaces_what_the_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "link.json").symlink_to("old.json")
    save_report(RunReport(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert "schema_version" in (tmp_path / "old.json").read_text()
