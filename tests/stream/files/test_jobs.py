"""Every input gets an output of its own, and nothing is overwritten by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream.errors import InputUnreadable, OutputExists, UsageRefused
from stream.files.jobs import left_aside, plan_jobs
from stream.media.containers import video_endings
from stream.media.stills import IMAGE_ENDINGS

pytestmark = pytest.mark.unit


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.mp4", "b.MKV", "deep/c.jpg", "notes.txt"):
        (folder / name).write_bytes(b"x")
    return folder


def test_one_file_becomes_the_named_output(clips: Path, tmp_path: Path) -> None:
    (job,) = plan_jobs([clips / "a.mp4"], tmp_path / "out.mp4", overwrite=False)
    assert (job.target, job.kind) == (tmp_path / "out.mp4", "video")


def test_folder_keeps_relative_names_and_leaves_other_files(clips: Path, tmp_path: Path) -> None:
    jobs = plan_jobs([clips], tmp_path / "out", overwrite=False)
    names = [str(job.target.relative_to(tmp_path / "out")) for job in jobs]
    assert names == ["a.mp4", "b.MKV", "deep/c.jpg"]
    assert [job.kind for job in jobs] == ["video", "video", "image"]


def test_folder_goes_into_the_one_that_holds_it(clips: Path, tmp_path: Path) -> None:
    jobs = plan_jobs([clips], tmp_path, overwrite=False)
    names = [str(job.target.relative_to(tmp_path)) for job in jobs]
    assert names == ["a.mp4", "b.MKV", "deep/c.jpg"]


def test_folder_into_itself_is_refused_since_its_files_are_inputs(
    clips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clips)
    for overwrite in (False, True):
        with pytest.raises(UsageRefused, match=r"a\.mp4 is an input; choose another output"):
            plan_jobs([Path()], Path(), overwrite=overwrite)


def test_empty_folder_is_named_even_where_it_is_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputUnreadable, match=r"^\.: no video or image"):
        plan_jobs([Path()], tmp_path / "out", overwrite=False)


def test_output_folder_inside_the_input_is_not_read_again(clips: Path) -> None:
    inside = clips / "out"
    inside.mkdir()
    (inside / "a.mp4").write_bytes(b"x")
    jobs = plan_jobs([clips], inside, overwrite=True)
    assert all(inside not in job.source.parents for job in jobs)


def test_two_inputs_with_one_output_are_refused(clips: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.mp4").write_bytes(b"y")
    with pytest.raises(UsageRefused, match="both become"):
        plan_jobs([clips / "a.mp4", other / "a.mp4"], tmp_path / "out", overwrite=False)


def test_several_inputs_into_one_file_are_refused(clips: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    target.write_bytes(b"")
    with pytest.raises(UsageRefused, match="folder"):
        plan_jobs([clips / "a.mp4", clips / "b.MKV"], target, overwrite=True)


def test_output_that_is_the_input_is_refused_even_through_a_link(clips: Path) -> None:
    link = clips.parent / "link.mp4"
    link.hardlink_to(clips / "a.mp4")
    for target in (clips / "a.mp4", link):
        with pytest.raises(UsageRefused, match="is an input"):
            plan_jobs([clips / "a.mp4"], target, overwrite=True)


def test_existing_output_is_refused_without_overwrite(clips: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    target.write_bytes(b"keep me")
    with pytest.raises(OutputExists, match="--overwrite"):
        plan_jobs([clips / "a.mp4"], target, overwrite=False)
    assert plan_jobs([clips / "a.mp4"], target, overwrite=True)


def test_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputUnreadable, match=r"none\.mp4"):
        plan_jobs([tmp_path / "none.mp4"], tmp_path / "out.mp4", overwrite=False)


def test_folder_without_media_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(InputUnreadable, match="no video or image"):
        plan_jobs([tmp_path / "in"], tmp_path / "out", overwrite=False)


@pytest.mark.parametrize("name", ["._a.mp4", ".trash/b.mp4"])
def test_hidden_files_are_left_out(name: str, clips: Path, tmp_path: Path) -> None:
    (clips / name).parent.mkdir(exist_ok=True)
    (clips / name).write_bytes(b"x")
    assert len(plan_jobs([clips], tmp_path / "out", overwrite=False)) == 3


def test_every_picture_that_is_read_alone_is_read_in_a_folder(clips: Path, tmp_path: Path) -> None:
    for ending in IMAGE_ENDINGS:
        (clips / f"picture{ending}").write_bytes(b"x")
    jobs = plan_jobs([clips], tmp_path / "out", overwrite=False)
    pictures = [job.source.suffix for job in jobs if job.kind == "image"]
    assert set(pictures) == IMAGE_ENDINGS


def test_what_cannot_be_written_under_its_own_ending_gets_another(
    clips: Path, tmp_path: Path
) -> None:
    (clips / "old.MPG").write_bytes(b"x")
    jobs = plan_jobs([clips], tmp_path / "out", overwrite=False)
    assert tmp_path / "out" / "old.mkv" in [job.target for job in jobs]
    for job in jobs:
        assert job.target.suffix.lower() in IMAGE_ENDINGS | video_endings()


def test_files_that_are_no_media_are_counted(clips: Path, tmp_path: Path) -> None:
    assert left_aside([clips], tmp_path / "out") == [clips / "notes.txt"]
    assert left_aside([clips / "a.mp4"], tmp_path / "out") == []


def test_folder_with_the_name_of_a_file_is_not_made(clips: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageRefused, match="need a folder"):
        plan_jobs([clips], tmp_path / "out.mp4", overwrite=False)


@pytest.mark.parametrize("ending", [".vob", ".m2v", ".dv", ".asf", ".MPG", ".f4v", ".nut"])
def test_videos_that_are_only_read_become_another_kind(ending: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"a{ending}").write_bytes(b"x")
    assert left_aside([tmp_path / "in"], tmp_path / "out") == []
    (job,) = plan_jobs([tmp_path / "in"], tmp_path / "out", overwrite=False)
    assert job.target.name == "a.mkv"
