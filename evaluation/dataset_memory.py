"""How much memory `kveil dataset` holds as it goes through ten thousand pictures.

`python -m evaluation.dataset_memory FACES` copies the pictures of FACES small and over and over,
under new people's names, anonymizes them in a process of its own and prints what that process
held as its output grew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Final

import cv2
import numpy as np
import psutil
import typer

from evaluation.errors import EvaluationError
from gallery.pictures import people_in_folder, read_picture

__all__ = ["MemorySample", "copied_pictures", "growth_table", "measure_dataset"]

_EVERY_S: Final = 2.0
_MIB: Final = 2**20
_PICTURES_EACH: Final = 2

MemorySample = tuple[int, float]
"""Pictures written so far, and resident memory then, MiB."""


def copied_pictures(faces: Path, folder: Path, count: int, side: int) -> int:
    """Writes `count` small JPEGs, two per person, each a little lighter or darker than before.

    Args:
        faces: a folder per person.
        folder: where they go.
        count: how many.
        side: longer side, px.

    Returns:
        Their people.
    """
    originals = [path for paths in people_in_folder(faces).values() for path in paths]
    shades = np.random.default_rng(1)
    for number, path in enumerate(islice(cycle(originals), count)):
        image = read_picture(path)
        scale = side / max(image.shape[:2])
        small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        shaded = np.clip(small.astype(np.int16) + shades.integers(-12, 13), 0, 255)
        place = folder / f"p{number // _PICTURES_EACH:06d}"
        place.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(place / f"{number % _PICTURES_EACH}.jpg"), shaded.astype(np.uint8))
    return -(-count // _PICTURES_EACH)


def growth_table(samples: list[MemorySample], steps: int = 10) -> list[MemorySample]:
    """The sample at each tenth of the output, and before them the last without any.

    >>> growth_table([(0, 90.0), (0, 300.0), (40, 310.0), (90, 311.0), (100, 312.0)], 2)
    [(0, 300.0), (90, 311.0), (100, 312.0)]
    """
    before = [own for own in samples if own[0] == 0][-1:]
    marks = [samples[-1][0] * step / steps for step in range(1, steps + 1)]
    return before + [next(own for own in samples if own[0] >= mark) for mark in marks]


def measure_dataset(
    faces: Annotated[Path, typer.Argument(help="Pictures to copy, one folder per person.")],
    pictures: Annotated[int, typer.Option(min=20, help="How many to anonymize.")] = 10_000,
    method: Annotated[str, typer.Option(help="As for `kveil dataset`.")] = "kveil",
    side: Annotated[int, typer.Option(help="Longer side of the copies, px.")] = 160,
) -> None:
    """Prints the resident memory of a run of `kveil dataset` as it goes."""
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "in", Path(name) / "out"
        people = copied_pictures(faces, source, pictures, side)
        typer.echo(f"{pictures} pictures of {people} people, at most {side} px, method {method}")
        samples = _watched([str(source), str(target), "--method", method], target)
    typer.echo(f"{'pictures written':>16}  {'resident, MiB':>13}")
    for written, resident in growth_table(samples):
        typer.echo(f"{written:>16}  {resident:>13.0f}")
    typer.echo(f"most, the search for faces included: {max(own[1] for own in samples):.0f} MiB")


def _watched(arguments: list[str], target: Path) -> list[MemorySample]:
    """Runs `kveil dataset` and looks at it every two seconds.

    Raises:
        EvaluationError: the run failed.
    """
    command = [sys.executable, "-m", "stream.cli.main", "dataset", *arguments]
    running = subprocess.Popen(command)  # noqa: S603 - this very program
    process = psutil.Process(running.pid)
    samples: list[MemorySample] = []
    while running.poll() is None:
        try:
            resident = process.memory_info().rss / _MIB
        except psutil.NoSuchProcess:
            break
        samples.append((sum(1 for _ in target.glob("*/*.png")), resident))
        time.sleep(_EVERY_S)
    if running.wait() != 0:
        message = f"kveil dataset ended with exit {running.returncode}; its message stands above"
        raise EvaluationError(message)
    return samples


if __name__ == "__main__":
    typer.run(measure_dataset)
