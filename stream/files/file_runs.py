"""Anonymizes files one after the other and tells what was done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from config.settings import Settings
from engines.errors import KveilError
from gallery.gallery import Gallery
from stream.digests import file_digest
from stream.errors import DEBUG, Defect, UsageRefused
from stream.files.file_run import run_file
from stream.files.jobs import Job, left_aside, plan_jobs
from stream.files.report import RunReport
from stream.files.resume_key import forget_key, resume_key
from stream.files.run_progress import UNWATCHED, RunProgress
from stream.files.run_reports import RunReports
from stream.pipeline.engine_set import EngineSet, open_engines
from stream.pipeline.methods import method_warning
from stream.swap.swap_setup import shared_gallery

__all__ = ["run_files"]

_MOST_NAMES: Final = 5
"""Files that a message names one by one."""
_FINISHED: Final = "already finished, skipped"
_SKIPPED: Final = (
    "there already, skipped; no report tells that kveil made it, --overwrite does again"
)


def run_files(
    inputs: Sequence[Path | str],
    output: Path | str,
    settings: Settings | None = None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    report_path: Path | None = None,
    progress: RunProgress = UNWATCHED,
) -> list[RunReport]:
    """Anonymizes every input; one that fails does not stop the others.

    Args:
        inputs: files and folders.
        output: file, or folder for several inputs.
        settings: what was chosen, see `load_settings`; the defaults otherwise.
        overwrite: replace outputs that are there.
        resume: continue interrupted outputs and skip finished ones.
        report_path: JSON file for the report: one run, or `BatchReport` for several.
        progress: told how far it is.

    Returns:
        One report per input.

    Raises:
        KveilError: the first failure, after all inputs were tried.
    """
    if isinstance(inputs, (str, Path)):  # a text is a sequence of letters, too
        raise UsageRefused(f"{Path(inputs).name} is one path; give a list of paths")
    sources, output = [Path(one) for one in inputs], Path(output)
    settings = Settings() if settings is None else settings
    warning = method_warning(settings.method)
    if warning:
        progress.say(f"warning: {warning}")
    jobs = plan_jobs(sources, output, overwrite=overwrite or resume)
    told = RunReports(jobs, report_path)
    others = left_aside(sources, output)
    if others:
        progress.say(_said_of(others))
    wanted = jobs
    if resume and not overwrite:
        wanted = _unfinished(jobs, told, progress)
    if not wanted:
        return told.in_order()
    failures: list[KveilError] = []
    with (
        open_engines(settings, is_recorded=True) as engines,
        shared_gallery(settings, engines) as shared,
    ):
        for job in wanted:
            report = told.add(job, RunReport(warnings=[warning] if warning else []))
            try:
                _run(job, settings, engines, shared, report, resume, progress)
            except KveilError as failure:
                failures.append(failure)
                if len(jobs) > 1:
                    progress.say(f"{job.source.name}: failed: {failure}")
            finally:
                told.save()
    if failures:
        raise failures[0]
    return told.in_order()


def _unfinished(jobs: Sequence[Job], told: RunReports, progress: RunProgress) -> list[Job]:
    """The jobs whose output no earlier run finished; a copy of the input is no output."""
    finished = [job for job in jobs if job.target.exists() and not _is_copy(job)]
    for job in finished:
        before = told.add(job, told.before(job))
        progress.say(f"{job.target.name}: {_SKIPPED if before.status == 'skipped' else _FINISHED}")
    told.save()
    return [job for job in jobs if job not in finished]


def _said_of(others: Sequence[Path]) -> str:
    """One line that names files which are no media, the first ones of many."""
    names = ", ".join(path.name for path in others[:_MOST_NAMES])
    more = f" and {len(others) - _MOST_NAMES} more" if len(others) > _MOST_NAMES else ""
    what = "is neither video nor picture" if len(others) == 1 else "are neither video nor picture"
    return f"{names}{more} {what}; left aside"


def _is_copy(job: Job) -> bool:
    is_as_large = job.source.stat().st_size == job.target.stat().st_size
    return is_as_large and file_digest(job.source) == file_digest(job.target)


def _run(
    job: Job,
    settings: Settings,
    engines: EngineSet,
    shared: Gallery | None,
    report: RunReport,
    resume: bool,
    progress: RunProgress,
) -> None:
    try:
        if not resume:
            run_file(job, settings, engines, shared, report, resume_key=None, progress=progress)
            return
        key = resume_key(job.target)
        with shared_gallery(settings, engines, key) as own:
            run_file(job, settings, engines, own, report, resume_key=key, progress=progress)
        forget_key(job.target)
    except KveilError as failure:
        report.error = str(failure)
        raise
    except Exception as defect:
        if os.environ.get(DEBUG):
            raise
        kind = type(defect).__name__  # its words can hold paths and values of people
        report.error = f"internal error ({kind}); set {DEBUG}=1 to see where"
        raise Defect(report.error) from defect
    except (KeyboardInterrupt, SystemExit):
        report.status = "interrupted"
        raise
