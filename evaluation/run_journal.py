"""What an evaluation has finished so far, so that a stopped run goes on with the next method."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engines.durable import sync_handle
from evaluation.results import MethodResult, record_from_result, result_from_record

__all__ = ["RunJournal", "file_hash", "fingerprint_of"]


def fingerprint_of(parts: Sequence[str]) -> str:
    """SHA-256 of everything that makes two runs the same run.

    >>> fingerprint_of(["a", "b"]) == fingerprint_of(["ab"])
    False
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file, which tells it from another one of its name and size.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(slots=True)
class RunJournal:
    """A file of finished methods beside the report; it holds figures, no face and no vector.

    Attributes:
        path: of the file; nothing is written when None.
        finished: results by key, such as the method's name.
        seconds: that earlier parts of this run took.
    """

    path: Path | None = None
    finished: dict[str, MethodResult] = field(default_factory=dict)
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def opened(cls, path: Path, fingerprint: str) -> RunJournal:
        """Goes on where the same run stopped; begins anew after another one.

        Args:
            path: of the file.
            fingerprint: of the run.
        """
        journal = cls(path)
        lines = _whole_lines(path)
        if lines and lines[0].get("fingerprint") == fingerprint:
            for line in lines[1:]:
                journal.seconds = max(journal.seconds, float(str(line["after_s"])))
                record = line["result"]
                assert isinstance(record, dict)
                journal.finished[str(line["key"])] = result_from_record(record)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"fingerprint": fingerprint}) + "\n", "utf-8")
        return journal

    def note(self, key: str, result: MethodResult, after_s: float) -> None:
        """Remembers a finished method, and how long the run had taken by then."""
        with self._lock:
            self.finished[key] = result
            if self.path is None:
                return
            line = {"key": key, "after_s": after_s, "result": record_from_result(result)}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                sync_handle(file.fileno())

    def close(self) -> None:
        """Removes the file: the report holds everything."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _whole_lines(path: Path) -> list[dict[str, object]]:
    """Lines that were written to their end; a kill may cut the last one."""
    if not path.is_file():
        return []
    text = path.read_text("utf-8")
    lines: list[dict[str, object]] = []
    with suppress(json.JSONDecodeError):
        lines.extend(json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines())
    return lines
