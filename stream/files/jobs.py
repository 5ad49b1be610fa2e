"""Which input becomes which output: files, folders and several inputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from stream.errors import InputUnreadable, OutputExists, UsageRefused
from stream.file_names import real_place
from stream.media.containers import video_endings
from stream.media.reading.inputs import is_pipe_or_device, not_a_file
from stream.media.stills import IMAGE_ENDINGS
from stream.media.writing.partial_file import is_same_file, refuse_pipe

__all__ = ["Job", "left_aside", "plan_jobs"]

_READ_ONLY: Final = frozenset(
    {".mpg", ".mpeg", ".mpe", ".m1v", ".m2v", ".vob", ".mod", ".tod", ".wmv", ".asf", ".wtv"}
    | {".ogv", ".ogm", ".mxf", ".y4m", ".obu", ".dv", ".rm", ".rmvb", ".nut", ".apng", ".swf"}
    | {".3g2", ".f4v", ".divx", ".m2t", ".tp", ".trp"}
)
"""Endings of videos that can be read and not written; in a folder they become the other one."""
_WRITTEN: Final = ".mkv"
_MEDIA: Final = IMAGE_ENDINGS | video_endings() | _READ_ONLY


@dataclass(frozen=True, slots=True)
class Job:
    """One input and the output it becomes.

    Attributes:
        kind: how it is read; decided by the name.
    """

    source: Path
    target: Path
    kind: Literal["video", "image"]


def plan_jobs(inputs: Sequence[Path], output: Path, *, overwrite: bool) -> list[Job]:
    """Pairs every input with its output and refuses what would lose something.

    One file goes to `output`, or into it where it is a folder. Several inputs, and
    folders, go into the folder `output` under their own relative names; hidden files, such as
    those that other systems lay beside every file, are left out.

    Raises:
        InputUnreadable: an input is missing, or a folder holds no media.
        OutputExists: an output is there and `overwrite` is not set.
        UsageRefused: an output is an input, or two inputs have one output.
    """
    refuse_pipe(output)
    is_folder = len(inputs) > 1 or output.is_dir() or any(path.is_dir() for path in inputs)
    if is_folder and not output.is_dir():
        if output.exists():
            raise UsageRefused(f"{output.name} is a file; several inputs need a folder after -o")
        if output.suffix.lower() in _MEDIA:
            raise UsageRefused(
                f"{output.name} is a file's name; several inputs need a folder after -o"
            )
    pairs = [pair for path in inputs for pair in _pairs(path, output, is_folder)]
    jobs = [Job(source, target, _kind(source)) for source, target in pairs]
    _refuse_collisions(jobs)
    if not overwrite:
        for job in jobs:
            if job.target.exists():
                raise OutputExists(f"{job.target.name} exists; add --overwrite to replace it")
    return jobs


def left_aside(inputs: Sequence[Path], output: Path) -> list[Path]:
    """The files in the folders among the inputs that are neither video nor picture."""
    folders = [path for path in inputs if path.is_dir()]
    return [child for path in folders for child in _files(path, output) if not _is_media(child)]


def _pairs(path: Path, output: Path, is_folder: bool) -> list[tuple[Path, Path]]:
    if path.name == "-" or is_pipe_or_device(path):
        raise UsageRefused(not_a_file(path.name))
    if not path.exists():
        raise InputUnreadable(f"{path.name}: no such file; check the path")
    if not path.is_dir():
        return [(path, output / _written(path).name if is_folder else output)]
    found = [child for child in _files(path, output) if _is_media(child)]
    if not found:
        raise InputUnreadable(f"{path.name or path}: no video or image in this folder")
    return [(child, output / _written(child).relative_to(path)) for child in found]


def _files(folder: Path, output: Path) -> list[Path]:
    """What lies in a folder, sorted; nothing hidden, and nothing of an output's folder in it."""
    written = real_place(output)
    is_inside = real_place(folder) in written.parents
    return sorted(
        child
        for child in folder.rglob("*")
        if child.is_file()
        and not any(part.startswith(".") for part in child.relative_to(folder).parts)
        and not (is_inside and written in child.resolve().parents)
    )


def _is_media(path: Path) -> bool:
    return path.suffix.lower() in _MEDIA


def _written(path: Path) -> Path:
    """The name under which a file of a folder is written."""
    return path.with_suffix(_WRITTEN) if path.suffix.lower() in _READ_ONLY else path


def _kind(path: Path) -> Literal["video", "image"]:
    return "image" if path.suffix.lower() in IMAGE_ENDINGS else "video"


def _refuse_collisions(jobs: Sequence[Job]) -> None:
    sources = {real_place(job.source) for job in jobs}
    targets: dict[Path, Path] = {}
    for job in jobs:
        target = real_place(job.target)
        if target in sources or is_same_file(job.source, job.target):
            raise UsageRefused(f"{job.target.name} is an input; choose another output")
        if target in targets:
            raise UsageRefused(
                f"{job.source.name} and {targets[target].name} would both become "
                f"{job.target.name}; anonymize them into different folders"
            )
        targets[target] = job.source
