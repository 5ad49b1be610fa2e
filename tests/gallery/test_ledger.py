"""The record survives crashes, says who could have caused what, and holds no biometrics."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from gallery.accounts import Release
from gallery.errors import LedgerBroken
from gallery.ledger import Ledger, check_folder, purge_folder

pytestmark = pytest.mark.unit

FULL = (1, 2, 3)


def release(person: int, candidates: tuple[int, ...] = FULL, cluster: int = 1) -> Release:
    return Release("w" * 32, person, person, cluster, person, candidates)


def lines(folder: Path) -> list[dict[str, object]]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_releases_are_on_disk_before_the_call_returns(tmp_path: Path) -> None:
    ledger = Ledger(3, "cover", tmp_path)
    assert ledger.release(release(1)) == 3
    kinds = [line["kind"] for line in lines(tmp_path)]
    assert kinds == ["window", "release"]
    assert lines(tmp_path)[1]["candidates"] == [1, 2, 3]
    ledger.close()


def test_each_release_is_flushed_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    ledger = Ledger(3, "cover", tmp_path)
    ledger.release(release(1))
    ledger.release(release(2))
    assert len(flushed) == 2
    ledger.close()


def test_face_of_no_cluster_is_on_disk_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    with Ledger(3, "swap", tmp_path) as ledger:
        ledger.lone_release("w" * 32)
        assert lines(tmp_path)[1] == {"kind": "lone", "window": "w" * 32}
        assert len(flushed) == 1
    found = check_folder(tmp_path)
    assert (found.is_ok, found.lone_releases, found.releases, found.windows) == (True, 1, 0, 1)


def test_face_of_no_cluster_breaks_the_promise_of_k(tmp_path: Path) -> None:
    with Ledger(3, "cover", tmp_path) as ledger:
        ledger.lone_release("w" * 32)
    assert "face of no cluster" in check_folder(tmp_path).violations[0]


def test_check_of_the_files_agrees_with_the_ledger(tmp_path: Path) -> None:
    with Ledger(3, "cover", tmp_path) as ledger:
        for person in (1, 2, 3, 1):
            ledger.release(release(person))
        ledger.period("w" * 32, [1, 2])
        ledger.suspect("w" * 32, 2, 3)
        mine = ledger.check()
    found = check_folder(tmp_path)
    assert found == mine
    assert found.is_ok
    assert (found.releases, found.people, found.windows) == (4, 3, 1)
    assert (found.k_real_min, found.k_joint_min, found.k_present_min) == (3, 3, 2)
    assert found.suspected == 1


def test_next_process_remembers_and_refuses_what_would_shrink(tmp_path: Path) -> None:
    with Ledger(3, "swap", tmp_path) as ledger:
        ledger.release(release(1))
    with Ledger(3, "swap", tmp_path) as ledger:
        assert ledger.release(release(1, (1, 2))) == 0
        assert ledger.release(release(1, (1, 4, 5), cluster=4)) == 0
        assert ledger.release(release(1)) == 3
    assert check_folder(tmp_path).is_ok
    assert check_folder(tmp_path).releases == 2


def test_what_two_processes_wrote_is_checked_together(tmp_path: Path) -> None:
    first, second = Ledger(3, "swap", tmp_path), Ledger(3, "swap", tmp_path)
    first.release(release(1))
    second.release(release(1, (1, 2)))
    first.close()
    second.close()
    assert "fell from 3 to 2" in check_folder(tmp_path).violations[0]


def test_presence_counts_whichever_process_wrote_first_of_a_person(tmp_path: Path) -> None:
    with Ledger(3, "swap", tmp_path) as ledger:
        for person in FULL:
            ledger.release(release(person))
        ledger.period("w" * 32, [1, 2])
    (path,) = tmp_path.glob("*.jsonl")
    record = path.read_text().splitlines(keepends=True)
    path.unlink()
    (tmp_path / "releases-0.jsonl").write_text("".join(record[-1:]))
    (tmp_path / "releases-1.jsonl").write_text("".join(record[:-1]))
    with Ledger(3, "swap", tmp_path) as again:
        assert again.check() == check_folder(tmp_path)
        assert again.check().k_present_min == 2


def test_line_cut_short_by_a_crash_is_dropped(tmp_path: Path) -> None:
    with Ledger(3, "cover", tmp_path) as ledger:
        ledger.release(release(1))
        ledger.release(release(2))
    path = next(tmp_path.glob("*.jsonl"))
    path.write_bytes(path.read_bytes()[:-20])
    found = check_folder(tmp_path)
    assert found.is_ok
    assert found.releases == 1


@pytest.mark.parametrize(
    "damage",
    [b"{not json}\n", b"[]\n", b"{}\n", b'{"kind":"release","window":"w"}\n',
     b'{"kind":"release","window":"w","person":"x","record":1,"cluster":1,"slot":1,'
     b'"candidates":[1]}\n',
     b'{"kind":"period","window":"w","people":3}\n'],
    ids=["no json", "list", "no kind", "no fields", "no number", "no list"],
)  # fmt: skip
def test_damaged_line_is_not_passed_over(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / "releases-x.jsonl").write_bytes(damage)
    with pytest.raises(LedgerBroken):
        check_folder(tmp_path)


def test_full_disk_refuses_the_release_and_leaves_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(3, "cover", tmp_path)
    ledger.release(release(1))
    write = os.write

    def half(handle: int, raw: bytes) -> int:
        return write(handle, raw[: len(raw) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(LedgerBroken, match="covered"):
        ledger.release(release(2))
    monkeypatch.setattr(os, "write", write)
    assert ledger.release(release(3)) == 3
    ledger.close()
    assert check_folder(tmp_path).releases == 2


def test_failing_disk_refuses_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(3, "cover", tmp_path)

    def broken(handle: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(LedgerBroken, match="covered"):
        ledger.release(release(1))
    assert ledger.check().releases == 0


def test_closed_ledger_records_nothing_more(tmp_path: Path) -> None:
    ledger = Ledger(3, "cover", tmp_path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerBroken):
        ledger.release(release(1))


def test_folder_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerBroken, match="cannot use"):
        Ledger(3, "cover", tmp_path / "file" / "ledger")


def test_check_of_no_folder_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(LedgerBroken, match="not a folder"):
        check_folder(tmp_path / "none")


def test_folder_without_a_record_is_no_proof_of_anything(tmp_path: Path) -> None:
    (tmp_path / "safe.mp4").write_text("")
    with pytest.raises(LedgerBroken, match=r"no releases-\*\.jsonl in .*gallery\.ledger") as told:
        check_folder(tmp_path)
    assert str(tmp_path) not in str(told.value)


def test_record_without_releases_holds_no_violation(tmp_path: Path) -> None:
    Ledger(3, "swap", tmp_path).close()
    found = check_folder(tmp_path)
    assert found.is_ok
    assert (found.people, found.k_real_min) == (0, 0)


def test_releases_of_different_settings_are_not_mixed(tmp_path: Path) -> None:
    for k in (3, 2):
        with Ledger(k, "swap", tmp_path) as ledger:
            ledger.release(Release(str(k), 1, 1, 1, 0, (1,)))
    with pytest.raises(LedgerBroken, match="mixes"):
        check_folder(tmp_path)


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    Ledger(3, "cover", tmp_path).close()
    assert next(tmp_path.glob("*.jsonl")).stat().st_mode & 0o077 == 0


def test_lines_hold_nothing_but_numbers_and_random_names(tmp_path: Path) -> None:
    with Ledger(3, "cover", tmp_path) as ledger:
        ledger.release(release(1))
        ledger.period("w" * 32, [1])
        ledger.suspect("w" * 32, 1, 2)
    names = {name for line in lines(tmp_path) for name in line}
    assert names == {
        "kind", "v", "window", "k", "below_k", "person", "record", "cluster", "slot",
        "candidates", "people", "records",
    }  # fmt: skip


def test_purge_deletes_the_record_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    Ledger(3, "cover", tmp_path).close()
    Ledger(3, "cover", tmp_path).close()
    assert purge_folder(tmp_path) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
