"""Whether an evaluation can begin at all: said before the networks are loaded."""

from __future__ import annotations

import os
from pathlib import Path

from evaluation.errors import CommandMisused, FacesUnreadable, LabelsUnreadable, ReportNotWritable

__all__ = ["check_inputs"]


def check_inputs(
    source: Path, anonymized: Path | None, report: Path, labels: Path | None = None
) -> None:
    """Refuses what cannot work, with what to do instead.

    Args:
        source: a folder of people, or an original clip.
        anonymized: the anonymized clip; None with a folder.
        report: the JSON to write.
        labels: a table of attributes, if any.

    Raises:
        FacesUnreadable: a file or folder is not there.
        CommandMisused: a clip stands alone, or a folder has a clip beside it.
        LabelsUnreadable: the table is not there.
        ReportNotWritable: the report's folder is absent or may not be written.
    """
    for path in (source, anonymized):
        if path is not None and not path.exists():
            message = f"{path}: there is no such file or folder; check the path"
            raise FacesUnreadable(message)
    if source.is_dir() and anonymized is not None:
        message = (
            f"{source} is a folder: leave out {anonymized.name}, or give two clips; "
            "a folder is anonymized by the evaluation itself"
        )
        raise CommandMisused(message)
    if source.is_file() and anonymized is None:
        message = f"{source} is a file: name its anonymized clip as well, or give a folder of faces"
        raise CommandMisused(message)
    if anonymized is not None and anonymized.is_dir():
        message = f"{anonymized} is a folder: name the anonymized clip itself"
        raise CommandMisused(message)
    if labels is not None and not labels.is_file():
        message = f"{labels}: there is no such table; give a CSV with a column `person`"
        raise LabelsUnreadable(message)
    _check_report(report)


def _check_report(report: Path) -> None:
    folder = report.parent
    if report.is_dir():
        message = f"{report} is a folder: name a JSON file with --report"
        raise ReportNotWritable(message)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        message = f"{folder}: cannot write a report there; make the folder or choose another one"
        raise ReportNotWritable(message)
