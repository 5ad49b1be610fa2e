"""The reports of one run over several files, saved as they come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from stream.digests import file_digest
from stream.errors import UsageRefused
from stream.file_names import real_place, text_of
from stream.files.jobs import Job
from stream.files.report import RunReport, save_report
from stream.media.writing.partial_file import (
    checked_place,
    is_same_file,
    place_behind_links,
    refuse_pipe,
)

__all__ = ["BatchReport", "RunReports"]


class BatchReport(BaseModel):
    """The reports of several runs, in the order of the inputs."""

    model_config = ConfigDict(extra="forbid")

    runs: list[RunReport]


class RunReports:
    """The reports of a run, saved as they come.

    Args:
        jobs: all that the run was asked for.
        path: of the JSON file; None for none.

    Raises:
        UsageRefused: the report would replace an input or an output.
        OutputNotWritable: it cannot be written.
    """

    def __init__(self, jobs: Sequence[Job], path: Path | None) -> None:
        self._reports: dict[Job, RunReport] = {}
        self._jobs = jobs
        self._path = path
        if path is None:
            return
        for other in (one for job in jobs for one in (job.source, job.target)):
            if real_place(path) == real_place(other) or is_same_file(path, other):
                raise UsageRefused(
                    f"the report would replace {other.name}; name another file after --report"
                )
        refuse_pipe(path)
        place_behind_links(path)
        if path.absolute().parent not in {job.target.absolute().parent for job in jobs}:
            checked_place(path)

    def add(self, job: Job, report: RunReport) -> RunReport:
        """Takes in the report of a job, which may grow yet; the same report."""
        self._reports[job] = report
        return report

    def in_order(self) -> list[RunReport]:
        """The reports so far, in the order of the jobs."""
        return [self._reports[job] for job in self._jobs if job in self._reports]

    def before(self, job: Job) -> RunReport:
        """What an earlier run told of an output, if it is as that run left it."""
        digest = file_digest(job.target)
        for report in self._earlier:
            told = report.output
            if told is not None and (told.name, told.sha256) == (text_of(job.target.name), digest):
                return report
        return RunReport(status="skipped")

    def save(self) -> None:
        """Writes what there is.

        Raises:
            OutputNotWritable: the disk refused.
        """
        if self._path is not None and self._reports:
            runs = self.in_order()
            save_report(BatchReport(runs=runs) if len(self._jobs) > 1 else runs[0], self._path)

    @cached_property
    def _earlier(self) -> list[RunReport]:
        if self._path is None or not self._path.is_file():
            return []
        text = self._path.read_bytes()
        with suppress(ValidationError):
            return BatchReport.model_validate_json(text).runs
        with suppress(ValidationError):
            return [RunReport.model_validate_json(text)]
        return []
