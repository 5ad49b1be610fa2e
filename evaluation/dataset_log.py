"""What a dataset run has done so far, so that it can go on after an interruption."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from evaluation.errors import EvaluationError

__all__ = ["DatasetLog", "GroupEntry"]

_NAME: Final = ".kveil-dataset.jsonl"


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """One finished group.

    Attributes:
        outputs: name relative to the output folder → SHA-256.
        people: distinct people in it.
        clusters: distinct people behind each cluster.
    """

    outputs: dict[str, str]
    people: int
    clusters: list[int]


@dataclass(slots=True)
class DatasetLog:
    """Lines in a file that only its owner reads; removed when the run is complete.

    It holds the run's secret and the landmarks, since both are needed to go on; no face and
    no embedding.

    Attributes:
        folder: output folder.
        fingerprint: of the job; another job does not go on here.
        secret: the run's randomness.
        points: landmarks by input number; None where no face was found.
        groups: finished groups by number.
    """

    folder: Path
    fingerprint: str
    secret: bytes
    points: dict[int, NDArray[np.float32] | None] = field(default_factory=dict)
    groups: dict[int, GroupEntry] = field(default_factory=dict)

    @classmethod
    def opened(cls, folder: Path, fingerprint: str, secret: bytes) -> DatasetLog:
        """Begins in an empty folder, or goes on where the same job stopped.

        Args:
            folder: made when absent.
            fingerprint: of the job.
            secret: for a new run; an interrupted one keeps its own.

        Raises:
            EvaluationError: the folder holds something else.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _NAME
        if not path.is_file():
            if any(folder.iterdir()):
                message = f"{folder} is not empty; choose a new folder"
                raise EvaluationError(message)
            log = cls(folder, fingerprint, secret)
            log._append({"fingerprint": fingerprint, "secret": secret.hex()})
            return log
        lines = [json.loads(line) for line in _whole_lines(path)]
        if not lines or lines[0].get("fingerprint") != fingerprint:
            message = f"{folder} holds another interrupted run; finish it or choose a new folder"
            raise EvaluationError(message)
        log = cls(folder, fingerprint, bytes.fromhex(lines[0]["secret"]))
        for line in lines[1:]:
            log._replay(line)
        return log

    def note_points(self, number: int, points: NDArray[np.float32] | None) -> None:
        """Remembers where the face of an input is."""
        self.points[number] = points
        self._append({"input": number, "points": None if points is None else points.tolist()})

    def note_group(self, number: int, entry: GroupEntry) -> None:
        """Remembers a finished group; its outputs are on disk by now."""
        self.groups[number] = entry
        record = {"outputs": entry.outputs, "people": entry.people, "clusters": entry.clusters}
        self._append({"group": number, **record})

    def close(self) -> None:
        """Removes the file, and with it the secret."""
        (self.folder / _NAME).unlink(missing_ok=True)

    def _append(self, record: dict[str, object]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self.folder / _NAME, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _replay(self, line: dict[str, object]) -> None:
        if "input" in line:
            points = line["points"]
            number = cast(int, line["input"])
            self.points[number] = None if points is None else np.array(points, np.float32)
        else:
            entry = GroupEntry(
                cast("dict[str, str]", line["outputs"]),
                cast(int, line["people"]),
                cast("list[int]", line["clusters"]),
            )
            self.groups[cast(int, line["group"])] = entry


def _whole_lines(path: Path) -> list[str]:
    """Lines that were written to their end; an interruption may cut the last one."""
    text = path.read_text("utf-8")
    return text[: text.rfind("\n") + 1].splitlines()
