"""Whether an evaluation can begin at all: said before the networks are loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from evaluation.errors import CommandMisused, FacesUnreadable, LabelsUnreadable, ReportNotWritable

__all__ = ["check_inputs"]


def check_inputs(
    source: Path,
    anonymized: Path | None,
    report: Path,
    labels: Path | None = None,
    sheet: Path | None = None,
    recognisers: Sequence[str] = (),
) -> None:
    """Refuses what cannot work, with what to do instead.

    Args:
        source: a folder of people, or an original clip.
        anonymized: the anonymized clip; None with a folder.
        report: the JSON to write.
        labels: a table of attributes, if any.
        sheet: the PNG to write, if any.
        recognisers: TOMLs, and names of presets, which are no files.

    Raises:
        FacesUnreadable: a file or folder is not there.
        CommandMisused: a clip stands alone, a folder has a clip beside it, or what is written
            would replace what is read.
        LabelsUnreadable: the table is not there.
        ReportNotWritable: the folder of report or sheet is absent or may not be written.
    """
    for path in (source, anonymized):
        if path is not None and not path.exists():
            message = f"{path}: there is no such file or folder; check the path"
            raise FacesUnreadable(message)
        if path is not None and not path.is_file() and not path.is_dir():
            message = f"{path} is no regular file, and it is read twice; save it to one first"
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
    _check_written(report, "name a JSON file with --report")
    if sheet is not None:
        _check_written(sheet, "name a PNG with --sheet")
    read = [path for path in (source, anonymized, labels, *map(Path, recognisers)) if path]
    _check_apart(read, report, sheet)


def _check_apart(read: Sequence[Path], report: Path, sheet: Path | None) -> None:
    """Refuses to write over a file that is read, or over another one that is written."""
    page = report.with_suffix(".html")
    written = [report, page] if sheet is None else [report, page, sheet]
    for place, path in enumerate(written):
        if any(_is_same(path, other) for other in written[:place]):
            message = f"{path} would be written twice: report, its page and sheet need three names"
            raise CommandMisused(message)
        if any(_is_same(path, other) or _is_picture_of(other, path) for other in read):
            message = (
                f"{path} is read by this evaluation and would be replaced: give --report, beside "
                "which the page is written as .html, and --sheet other names"
            )
            raise CommandMisused(message)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths name one file, links included."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def _is_picture_of(folder: Path, path: Path) -> bool:
    """Whether something other than an earlier report lies at a path within a folder."""
    is_report = path.suffix.lower() in (".json", ".html")
    return path.is_file() and not is_report and path.resolve().is_relative_to(folder.resolve())


def _check_written(path: Path, advice: str) -> None:
    folder = path.parent
    if path.is_dir():
        message = f"{path} is a folder: {advice}"
        raise ReportNotWritable(message)
    if path.exists() and not path.is_file():
        message = f"{path} is no regular file: {advice}"
        raise ReportNotWritable(message)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        message = f"{folder}: cannot write a report there; make the folder or choose another one"
        raise ReportNotWritable(message)
