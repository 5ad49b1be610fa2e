"""Anonymizes files one after the other and tells what was done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from config.settings import Settings
from engines.errors import KveilError
from gallery.gallery import Gallery
from stream.engine_set import EngineSet, open_engines
from stream.file_run import run_file
from stream.jobs import Job, plan_jobs
from stream.lending import gallery_from_settings
from stream.methods import method_warning
from stream.report import RunReport, save_report
from stream.resume_key import forget_key, resume_key
from stream.run_progress import RunProgress

__all__ = ["BatchReport", "run_files"]


class BatchReport(BaseModel):
    """The reports of several runs, in the order of the inputs."""

    model_config = ConfigDict(extra="forbid")

    runs: list[RunReport]


def run_files(
    inputs: Sequence[Path],
    output: Path,
    settings: Settings,
    *,
    overwrite: bool,
    resume: bool,
    report_path: Path | None,
    progress: RunProgress,
) -> list[RunReport]:
    """Anonymizes every input; one that fails does not stop the others.

    Args:
        inputs: files and folders.
        output: file, or folder for several inputs.
        settings: what was chosen.
        overwrite: replace outputs that are there.
        resume: continue interrupted outputs and skip finished ones.
        report_path: JSON file for the report: one run, or `BatchReport` for several.
        progress: told how far it is.

    Returns:
        One report per input.

    Raises:
        KveilError: the first failure, after all inputs were tried.
    """
    warning = method_warning(settings.method)
    if warning:
        progress.say(f"warning: {warning}")
    jobs = plan_jobs(inputs, output, overwrite=overwrite or resume)
    if resume and not overwrite:
        jobs = _unfinished(jobs, progress)
    reports: list[RunReport] = []
    failures: list[KveilError] = []
    with open_engines(settings, is_recorded=True) as engines, _people(settings, engines) as shared:
        for job in jobs:
            report = RunReport(warnings=[warning] if warning else [])
            reports.append(report)
            try:
                _run(job, settings, engines, shared, report, resume, progress)
            except KveilError as failure:
                failures.append(failure)
                if len(jobs) > 1:
                    progress.say(f"{job.source.name}: failed: {failure}")
            finally:
                if report_path is not None:
                    _save(reports, report_path, is_batch=len(jobs) > 1)
    if failures:
        raise failures[0]
    return reports


@contextmanager
def _people(
    settings: Settings, engines: EngineSet, run_key: bytes | None = None
) -> Iterator[Gallery | None]:
    """A gallery where faces are swapped: one for all files of a run, or one per resumable file."""
    if engines.swap is None:
        yield None
        return
    gallery = gallery_from_settings(settings, engines.swap.donors, engines.swap.thresholds, run_key)
    try:
        gallery.probe()
        yield gallery
    finally:
        gallery.close()


def _unfinished(jobs: Sequence[Job], progress: RunProgress) -> list[Job]:
    finished = [job for job in jobs if job.target.exists()]
    for job in finished:
        progress.say(f"{job.target.name}: already finished, skipped")
    return [job for job in jobs if job not in finished]


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
        with _people(settings, engines, key) as own:
            run_file(job, settings, engines, own, report, resume_key=key, progress=progress)
        forget_key(job.target)
    except KveilError as failure:
        report.error = str(failure)
        raise
    except (KeyboardInterrupt, SystemExit):
        report.status = "interrupted"
        raise


def _save(reports: list[RunReport], path: Path, *, is_batch: bool) -> None:
    save_report(BatchReport(runs=reports) if is_batch else reports[-1], path)
