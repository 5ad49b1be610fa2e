"""File systems without locks, without syncing, with other errors: it works, or it is said why."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from stream.errors import OutputNotWritable, writing
from stream.media.writing.partial_file import PartialFile, lock, partial_name
from stream.media.writing.segment_files import Journal

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]

REAL_LOCK, REAL_SYNC = fcntl.flock, os.fsync


def published(folder: Path, name: str = "out.mp4") -> bytes:
    file = PartialFile(folder / name, folder / "in.mp4", overwrite=True)
    file.path.write_bytes(b"whole")
    file.publish()
    return (folder / name).read_bytes()


def failing(number: int, when: Callable[[int], bool]) -> Callable[..., None]:
    """A call on a handle that fails where a file system refuses it."""

    def call(handle: int, operation: int = -1) -> None:
        if when(handle):
            raise OSError(number, os.strerror(number))
        if operation >= 0:
            REAL_LOCK(handle, operation)
        else:
            REAL_SYNC(handle)

    return call


def is_folder(handle: int) -> bool:
    return stat.S_ISDIR(os.fstat(handle).st_mode)


def is_read_only(handle: int) -> bool:
    return fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY


@pytest.mark.parametrize(
    "number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO]
)
def test_output_is_written_where_there_are_no_locks(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(number, lambda _: True))
    partial_name(tmp_path / "out.mp4").write_bytes(b"left behind")
    assert published(tmp_path) == b"whole"


def test_leftover_is_cleared_where_only_writing_handles_are_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.EBADF, is_read_only))
    partial_name(tmp_path / "out.mp4").write_bytes(b"left behind")
    assert published(tmp_path) == b"whole"


def test_second_run_is_kept_out_where_only_writing_handles_are_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.EBADF, is_read_only))
    first = PartialFile(tmp_path / "out.mp4", tmp_path / "in.mp4", overwrite=True)
    with pytest.raises(OutputNotWritable, match="another run is at work"):
        PartialFile(tmp_path / "out.mp4", tmp_path / "in.mp4", overwrite=True)
    first.discard()


def test_run_that_lost_its_file_without_locks_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK, lambda _: True))
    first = PartialFile(tmp_path / "out.mp4", tmp_path / "in.mp4", overwrite=True)
    second = PartialFile(tmp_path / "out.mp4", tmp_path / "in.mp4", overwrite=True)
    second.path.write_bytes(b"half")
    with pytest.raises(OutputNotWritable, match="took its place"):
        first.publish()
    first.discard()
    assert not (tmp_path / "out.mp4").exists()
    second.path.write_bytes(b"whole")
    second.publish()
    assert (tmp_path / "out.mp4").read_bytes() == b"whole"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO])
def test_output_is_complete_where_folders_are_not_synced(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(number, is_folder))
    assert published(tmp_path) == b"whole"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_journal_is_kept_where_nothing_is_synced(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(number, lambda _: True))
    (tmp_path / "lock").touch()
    Journal.opened(tmp_path, "fingerprint")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.json", "lock"]


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EDQUOT, "quota"), (errno.ENOSPC, "disk is full"), (errno.EIO, "fail")],
)
def test_content_that_did_not_reach_the_disk_is_told_by_its_cause(
    number: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(number, lambda _: True))
    with pytest.raises(OutputNotWritable, match=said):
        published(tmp_path)
    assert not (tmp_path / "out.mp4").exists()


def test_place_where_no_file_stays_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "samestat", lambda one, other: False)
    with pytest.raises(OutputNotWritable, match="does not stay"):
        PartialFile(tmp_path / "out.mp4", tmp_path / "in.mp4", overwrite=True)


def test_lock_that_another_run_holds_is_told_as_such(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as one, (tmp_path / "a").open("w") as other:
        lock(one.fileno(), "a")
        with pytest.raises(OutputNotWritable, match="another run is at work"):
            lock(other.fileno(), "a")


@pytest.mark.parametrize(
    "number", [errno.ENAMETOOLONG, errno.ESTALE, errno.ETIMEDOUT, errno.EIO, errno.ELOOP]
)
def test_error_of_a_file_system_says_what_to_do(number: int) -> None:
    with pytest.raises(OutputNotWritable, match=r"; .*(it|one|itself|again)"), writing("out.mp4"):
        raise OSError(number, os.strerror(number))
