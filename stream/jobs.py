"""Which input becomes which output: files, folders and several inputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stream.errors import InputUnreadable, OutputExists, UsageRefused

__all__ = ["IMAGE_SUFFIXES", "VIDEO_SUFFIXES", "Job", "plan_jobs"]

_VIDEO = (
    "mp4 m4v mov mkv webm avi ts m2ts mts mpg mpeg flv 3gp wmv gif ogv mxf "
    "h264 264 h265 265 hevc ivf obu mjpeg mjpg y4m"
)
_IMAGE = "jpg jpeg png webp tif tiff bmp"
VIDEO_SUFFIXES = frozenset(f".{name}" for name in _VIDEO.split())
IMAGE_SUFFIXES = frozenset(f".{name}" for name in _IMAGE.split())


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
    folders, go into the folder `output` under their own relative names.

    Raises:
        InputUnreadable: an input is missing, or a folder holds no media.
        OutputExists: an output is there and `overwrite` is not set.
        UsageRefused: an output is an input, or two inputs have one output.
    """
    is_folder = len(inputs) > 1 or output.is_dir() or any(path.is_dir() for path in inputs)
    if is_folder and output.exists() and not output.is_dir():
        raise UsageRefused(f"{output.name} is a file; several inputs need a folder after -o")
    pairs = [pair for path in inputs for pair in _pairs(path, output, is_folder)]
    jobs = [Job(source, target, _kind(source)) for source, target in pairs]
    _refuse_collisions(jobs)
    if not overwrite:
        for job in jobs:
            if job.target.exists():
                raise OutputExists(f"{job.target.name} exists; add --overwrite to replace it")
    return jobs


def _pairs(path: Path, output: Path, is_folder: bool) -> list[tuple[Path, Path]]:
    if not path.exists():
        raise InputUnreadable(f"{path.name}: no such file; check the path")
    if not path.is_dir():
        return [(path, output / path.name if is_folder else output)]
    inside = output.resolve()
    found = sorted(
        child
        for child in path.rglob("*")
        if child.is_file()
        and child.suffix.lower() in VIDEO_SUFFIXES | IMAGE_SUFFIXES
        and inside not in child.resolve().parents
    )
    if not found:
        raise InputUnreadable(f"{path.name}: no video or image in this folder")
    return [(child, output / child.relative_to(path)) for child in found]


def _kind(path: Path) -> Literal["video", "image"]:
    return "image" if path.suffix.lower() in IMAGE_SUFFIXES else "video"


def _refuse_collisions(jobs: Sequence[Job]) -> None:
    sources = {job.source.resolve() for job in jobs}
    targets: dict[Path, Path] = {}
    for job in jobs:
        target = job.target.resolve()
        if target in sources or _same_file(job.source, job.target):
            raise UsageRefused(f"{job.target.name} is an input; choose another output")
        if target in targets:
            raise UsageRefused(
                f"{job.source.name} and {targets[target].name} would both become "
                f"{job.target.name}; anonymize them into different folders"
            )
        targets[target] = job.source


def _same_file(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)
