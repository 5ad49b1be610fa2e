"""The record of releases: append-only, without biometrics, and checkable by anyone.

Each process writes its own file, `releases-<random>.jsonl`, one JSON object a line, flushed to the
disk before the release it tells of is shown. `check_folder` reads the files of all processes and
recomputes every candidate set from the lines alone; it shares no state with the code that made the
releases. A last line cut short by a crash is dropped: its release was never shown.

Lines hold random window ids and record numbers, which mean nothing once the window is gone from the
store: no embedding, latent, picture, stream name, track number or time of day.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from engines.durable import sync_folder, sync_handle
from engines.json_reading import value_from_json
from gallery.accounts import Accounts, Release
from gallery.errors import LedgerBroken
from gallery.settings import BelowK

__all__ = ["Ledger", "LedgerCheck", "check_folder", "purge_folder"]

_VERSION = 1
_FILES = "releases-*.jsonl"
_RELEASE_FIELDS = tuple(field.name for field in fields(Release))


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What a check of the record found. Numbers of people are 0 where there are none.

    Attributes:
        violations: broken promises, in words; empty if the guarantee holds.
        releases: releases recorded.
        lone_releases: faces lent that belong to no cluster, to tracks whose person is in doubt.
        people: people released, per window.
        windows: windows with releases.
        k: people that a full cluster holds.
        below_k: the policy while there are fewer.
        k_real_min, k_real_median: candidates per person over all releases.
        k_joint_min, k_joint_median: the same for an observer who reasons jointly.
        k_present_min, k_present_median: the same for one who knows who was in view.
        people_below_k: people with k_real < k.
        suspected: people counted twice in one cluster, or released from two clusters, as the
            recogniser found out too late; k_real does not deduct them.
    """

    violations: tuple[str, ...]
    releases: int
    lone_releases: int
    people: int
    windows: int
    k: int
    below_k: BelowK
    k_real_min: int
    k_real_median: float
    k_joint_min: int
    k_joint_median: float
    k_present_min: int
    k_present_median: float
    people_below_k: int
    suspected: int

    @property
    def is_ok(self) -> bool:
        """No promise was broken."""
        return not self.violations


class Ledger:
    """Writes one process's record and keeps its accounts.

    Args:
        k: people that a full cluster holds.
        below_k: the policy, for the record.
        folder: where the files are; None keeps accounts without a file. Earlier releases
            found there are taken into account.
        is_durable: flush each release to the disk itself, not just to the system: survives a
            power cut, costs a disk write per track.

    Raises:
        LedgerBroken: the folder cannot be used, or holds a damaged file.
    """

    def __init__(
        self, k: int, below_k: BelowK, folder: Path | None = None, is_durable: bool = True
    ) -> None:
        self.accounts = Accounts(k, below_k)
        self.suspected = 0
        self._size = 0
        self._is_durable = is_durable
        self._handle: int | None = None
        self._window = ""
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = list(_lines(folder))
            _take_all(lines, self.accounts)
            self.suspected = _suspected(lines)
            path = folder / f"releases-{os.urandom(8).hex()}.jsonl"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._handle = os.open(path, flags, 0o600)
            if is_durable:
                sync_folder(folder)
        except OSError as error:
            raise LedgerBroken(f"cannot use the ledger folder {folder}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def release(self, release: Release) -> int:
        """Record a release before it is shown; candidates that the person keeps.

        Returns:
            0 where the release would break a promise: it is not recorded and must not be shown.

        Raises:
            LedgerBroken: it cannot be written; it must not be shown.
        """
        if not self.accounts.prospect(release):
            return 0
        self._enter(release.window)
        line = {name: getattr(release, name) for name in _RELEASE_FIELDS}
        self._write({"kind": "release", **line}, is_synced=True)
        return self.accounts.add(release)

    def lone_release(self, window: str) -> None:
        """Record, before it is shown, that a track gets a face that belongs to no cluster.

        Raises:
            LedgerBroken: it cannot be written; it must not be shown.
        """
        self._enter(window)
        self._write({"kind": "lone", "window": window}, is_synced=True)
        self.accounts.add_lone(window)

    def period(self, window: str, people: Iterable[int]) -> None:
        """Record who of one cluster was shown before one camera in one period.

        Raises:
            LedgerBroken: it cannot be written.
        """
        together = sorted(people)
        self._write({"kind": "period", "window": window, "people": together})
        self.accounts.add_period(window, together)

    def suspect(self, window: str, record: int, other: int) -> None:
        """Record that two released records turned out to be one person, too late to merge.

        Raises:
            LedgerBroken: it cannot be written.
        """
        self._write({"kind": "suspect", "window": window, "records": [record, other]})
        self.suspected += 1

    def check(self) -> LedgerCheck:
        """Whether every promise held, and how many candidates people have."""
        return _checked(self.accounts, self.suspected)

    def close(self) -> None:
        """Flush and close the file; further releases cannot be recorded."""
        if self._handle is not None:
            handle, self._handle = self._handle, -1
            if handle >= 0:
                if self._is_durable:
                    sync_handle(handle)
                os.close(handle)

    def _enter(self, window: str) -> None:
        """Tell the settings at the beginning of what is written of a window."""
        if window == self._window:
            return
        head = {"kind": "window", "v": _VERSION, "window": window}
        self._write({**head, "k": self.accounts.k, "below_k": self.accounts.below_k})
        self._window = window
        self.accounts.fold(but=window)

    def _write(self, line: dict[str, object], is_synced: bool = False) -> None:
        if self._handle is None:
            return
        raw = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            self._put(raw)
            if is_synced and self._is_durable:
                sync_handle(self._handle, is_data_only=True)
        except OSError as error:
            raise LedgerBroken(
                f"a release cannot be recorded, so its face is covered: {error}"
            ) from error

    def _put(self, raw: bytes) -> None:
        """Append a whole line or nothing."""
        handle = self._handle if self._handle is not None else -1
        try:
            if os.write(handle, raw) != len(raw):
                raise OSError(errno.ENOSPC, "the disk took part of a line")
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, self._size)
            raise
        self._size += len(raw)


def check_folder(folder: Path) -> LedgerCheck:
    """Recompute every promise from the files of all processes.

    Raises:
        LedgerBroken: no folder, no record in it, a damaged line, or windows that disagree about
            k or the policy.
    """
    if not folder.is_dir():
        raise LedgerBroken(f"{folder} is not a folder; give the one the gallery writes to")
    if not any(folder.glob(_FILES)):
        name = folder.resolve().name
        raise LedgerBroken(f"no {_FILES} in {name}; give the folder of gallery.ledger")
    lines = list(_lines(folder))
    kinds = {_policy(line) for line in lines if line["kind"] == "window"}
    if len(kinds) > 1:
        shown = ", ".join(sorted(f"k={k} {below_k}" for k, below_k in kinds))
        raise LedgerBroken(
            f"the folder mixes releases made with {shown}; keep a folder per setting, check each"
        )
    accounts = Accounts(*next(iter(kinds), (0, "swap")))
    _take_all(lines, accounts)
    return _checked(accounts, _suspected(lines))


def purge_folder(folder: Path) -> int:
    """Delete the files of all processes; how many there were.

    Raises:
        LedgerBroken: a file cannot be deleted.
    """
    try:
        files = sorted(folder.glob(_FILES))
        for path in files:
            path.unlink()
    except OSError as error:
        raise LedgerBroken(f"cannot purge the ledger: {error}") from error
    return len(files)


def _lines(folder: Path) -> Iterator[dict[str, object]]:
    """Lines of all files, file by file; drops a last line that a crash cut short."""
    for path in sorted(folder.glob(_FILES)):
        raw = path.read_bytes()
        for number, line in enumerate(raw[: raw.rfind(b"\n") + 1].splitlines(), 1):
            try:
                value = value_from_json(line)
                if not isinstance(value, dict) or not isinstance(value["kind"], str):
                    raise ValueError("not a ledger line")
            except (ValueError, KeyError) as error:
                raise LedgerBroken(
                    f"{path.name} line {number} is damaged ({error}): the record cannot be trusted"
                ) from None
            yield value


def _take_all(lines: Iterable[dict[str, object]], accounts: Accounts) -> None:
    """Bring accounts to where the lines of all processes leave them.

    Presence counts for people already released, whichever process wrote of them first.
    """
    for line in sorted(lines, key=lambda line: line["kind"] != "release"):
        _take(line, accounts)


def _suspected(lines: Iterable[dict[str, object]]) -> int:
    return sum(line["kind"] == "suspect" for line in lines)


def _take(line: dict[str, object], accounts: Accounts) -> None:
    """Bring accounts to where a line leaves them."""
    try:
        window = str(line["window"])
        if line["kind"] == "release":
            names = ("person", "record", "cluster", "slot")
            person, record, cluster, slot = (_int(line[name]) for name in names)
            candidates = tuple(_ints(line["candidates"]))
            accounts.add(Release(window, person, record, cluster, slot, candidates))
        elif line["kind"] == "lone":
            accounts.add_lone(window)
        elif line["kind"] == "period":
            accounts.add_period(window, _ints(line["people"]))
    except (KeyError, TypeError) as error:
        raise LedgerBroken(f"a ledger line lacks what it must hold: {error}") from None


def _policy(line: dict[str, object]) -> tuple[int, BelowK]:
    """The k that was promised by the window of a line, and what happens below it."""
    try:
        k, below_k = _int(line["k"]), line["below_k"]
        if below_k not in ("swap", "cover"):
            raise TypeError("no policy that is known")
    except (KeyError, TypeError) as error:
        raise LedgerBroken(f"a ledger line lacks what it must hold: {error}") from None
    return k, "cover" if below_k == "cover" else "swap"


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a number")
    return value


def _ints(value: object) -> list[int]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return [_int(item) for item in value]


def _checked(accounts: Accounts, suspected: int) -> LedgerCheck:
    real, joint, present = accounts.k_real(), accounts.k_joint(), accounts.k_present()
    return LedgerCheck(
        violations=tuple(accounts.violations),
        releases=accounts.releases,
        lone_releases=accounts.lone_releases,
        people=len(real),
        windows=len(accounts.windows),
        k=accounts.k,
        below_k=accounts.below_k,
        k_real_min=min(real, default=0),
        k_real_median=statistics.median(real) if real else 0.0,
        k_joint_min=min(joint, default=0),
        k_joint_median=statistics.median(joint) if joint else 0.0,
        k_present_min=min(present, default=0),
        k_present_median=statistics.median(present) if present else 0.0,
        people_below_k=sum(n < accounts.k for n in real),
        suspected=suspected,
    )
