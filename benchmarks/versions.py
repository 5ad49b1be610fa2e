#!/usr/bin/env python3
"""Measures kveil at another commit, kveil as it lies here and deface on the same clips, in turn.

    python -m benchmarks.versions REF CLIP… [--method solid] [--rounds 3] [--no-deface]

REF is any git ref; it is checked out into a worktree of its own for as long as this runs. Every
round runs REF, this tree and deface one after the other, each in a process of its own. Prints
medians: frames a second of the loop; the same relative to deface (blur where kveil swaps, else
solid); seconds of processor time, start included; seconds from the process's start to its first
frame at the encoder; largest resident size. Only ratios within one run mean something. A run before
the first round fills the caches of both trees.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
CHILD = """
import json, sys, time
import psutil
import stream.media.writing.file_sink as sinks
PLACE = sys.argv[1]
write, first = sinks.FileSink.write, []
def timed(self, composite):
    write(self, composite)
    if not first:
        first.append(time.time() - psutil.Process().create_time())
        first.append(time.process_time())
        open(PLACE, "w").write(json.dumps(first))
sinks.FileSink.write = timed
from stream.cli.main import main
sys.argv = ["kveil", *sys.argv[2:]]
main()
"""
"""Notes when the first frame was given to the encoder, and is the command `kveil` otherwise."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one tool.

    Attributes:
        fps: frames a second of its loop.
        cpu_s: processor time of the process.
        first_s: from its start to its first frame at the encoder; NaN where it is not known.
        first_cpu_s: processor time until then.
        resident_mb: its largest resident size.
        faces: face-frames that were covered or swapped.
    """

    fps: float
    cpu_s: float
    first_s: float
    first_cpu_s: float
    resident_mb: float
    faces: float


def main() -> None:
    """Prints the table, clip by clip."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ref")
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--method", default="solid")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-deface", action="store_true")
    chosen = parser.parse_args()
    print(
        "| clip | code | fps | ÷ deface | processor s | first frame s (processor) "
        "| resident MB | faces |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="kveil-refs-") as folder, tree(chosen.ref) as before:
        trees = {chosen.ref: before, "this tree": ROOT}
        for clip in chosen.clips:
            measure(clip.resolve(), trees, chosen, Path(folder))


def measure(clip: Path, trees: dict[str, Path], chosen: argparse.Namespace, folder: Path) -> None:
    """Runs the tools on one clip and prints their rows."""
    for place in trees.values():
        kveil(place, clip, chosen.method, folder)
    runs: dict[str, list[Run]] = {}
    for _ in range(chosen.rounds):
        for name, place in trees.items():
            runs.setdefault(name, []).append(kveil(place, clip, chosen.method, folder))
        if not chosen.no_deface:
            runs.setdefault("deface", []).append(deface(clip, chosen.method, folder))
    middle = {name: of_all(some) for name, some in runs.items()}
    rival = middle["deface"].fps if "deface" in middle else float("nan")
    for name, run in middle.items():
        print(
            f"| {clip.name}, {chosen.method} | {name} | {run.fps:.1f} | {run.fps / rival:.1f} "
            f"| {run.cpu_s:.1f} | {run.first_s:.2f} ({run.first_cpu_s:.2f}) "
            f"| {run.resident_mb:.0f} | {run.faces:.0f} |",
            flush=True,
        )


def of_all(runs: Sequence[Run]) -> Run:
    """The medians."""
    return Run(*(median(getattr(run, field.name) for run in runs) for field in fields(Run)))


@contextmanager
def tree(ref: str) -> Iterator[Path]:
    """The code at a ref, in a worktree for the time being."""
    with tempfile.TemporaryDirectory(prefix="kveil-ref-") as folder:
        place = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(place), ref)
        try:
            yield place
        finally:
            git("worktree", "remove", "--force", str(place))


def git(*words: str) -> None:
    """Runs git in this repository."""
    subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True)


def kveil(place: Path, clip: Path, method: str, folder: Path) -> Run:
    """Runs the code in `place`."""
    report, first = folder / "report.json", folder / "first.json"
    words = ["-c", CHILD, str(first), "anonymize", str(clip), "-o", str(folder / f"k-{clip.name}")]
    words += ["--method", method, "--report", str(report), "--overwrite", "--quiet"]
    _, cpu_s, resident_mb = finished(words, place)
    told = json.loads(report.read_text())
    faces = told["faces"]["swapped"] + told["faces"]["covered"]
    first_s, first_cpu_s = json.loads(first.read_text())
    return Run(told["fps"], cpu_s, first_s, first_cpu_s, resident_mb, faces)


def deface(clip: Path, method: str, folder: Path) -> Run:
    """Runs deface: blur where kveil swaps, a solid cover else."""
    cover = "blur" if method == "swap" else "solid"
    words = ["-m", "benchmarks.deface_run", str(clip), str(folder / "d.mp4"), cover]
    output, cpu_s, resident_mb = finished(words, ROOT)
    told = json.loads(output.strip().splitlines()[-1])
    fps = told["frames"] / told["seconds"]
    return Run(fps, cpu_s, float("nan"), float("nan"), resident_mb, told["faces"])


def finished(words: Sequence[str], place: Path) -> tuple[str, float, float]:
    """What a process printed, its processor time in s, and its largest resident size in MB."""
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(
            [sys.executable, *words],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": ""},
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"a run in {place.name} ended with {child.returncode}")
        output.seek(0)
        return output.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
