"""Measures kveil, deface and the codec floor on the same clips, one after the other.

Each tool runs in a process of its own and its speed is that of its processing loop,
without start-up. Machines are noisy: only the ratios within one run mean something.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from engines.errors import EngineFault
from stream.files.report import RunReport

__all__ = ["RIVAL_COVERS", "ClipMeasure", "measure_clip", "table_of"]

RIVAL_COVERS: Final = {"swap": "blur"}
"""What deface does to faces while kveil does this; for all other methods a solid cover."""


@dataclass(frozen=True, slots=True)
class ClipMeasure:
    """Speeds on one clip, frames a second, medians over the rounds.

    Attributes:
        clip: name of the file.
        method: what kveil did; deface's own is `RIVAL_COVERS` of it.
        size: height, width px.
        frames: frames in the clip.
        kveil_fps: kveil's speed.
        kveil_faces: face-frames that kveil covered or swapped.
        deface_fps: deface's speed; None where it was left out.
        deface_faces: face-frames that deface covered.
        floor_fps: decode, convert to BGR, encode with kveil's encoder settings.
    """

    clip: str
    method: str
    size: tuple[int, int]
    frames: int
    kveil_fps: float
    kveil_faces: int
    deface_fps: float | None
    deface_faces: int
    floor_fps: float


def measure_clip(
    clip: Path, *, method: str = "solid", with_deface: bool = True, rounds: int = 1
) -> ClipMeasure:
    """Runs the tools in turn, `rounds` times.

    Raises:
        EngineFault: one of them failed; the message has its last line.
    """
    with tempfile.TemporaryDirectory(prefix="kveil-bench-") as folder:
        reports, rivals, floors = [], [], []
        for _ in range(rounds):
            reports.append(_kveil(clip, Path(folder), method))
            floors.append(_child("benchmarks.codec_floor", clip, Path(folder) / f"f-{clip.name}"))
            if with_deface:
                cover = RIVAL_COVERS.get(method, "solid")
                rivals.append(_child("benchmarks.deface_run", clip, Path(folder) / "d.mp4", cover))
    report = reports[-1]
    size = (report.output.height, report.output.width) if report.output else (0, 0)
    return ClipMeasure(
        clip=clip.name,
        method=method,
        size=size,
        frames=report.frames.written,
        kveil_fps=median(one.fps for one in reports),
        kveil_faces=report.faces.swapped + report.faces.covered,
        deface_fps=median(one["frames"] / one["seconds"] for one in rivals) if rivals else None,
        deface_faces=int(rivals[-1]["faces"]) if rivals else 0,
        floor_fps=median(one["frames"] / one["seconds"] for one in floors),
    )


def table_of(measures: Sequence[ClipMeasure]) -> str:
    """The measures as a Markdown table."""
    lines = [
        "| clip | size | frames | kveil | fps | deface | fps | kveil ÷ deface | codec floor fps "
        "| kveil ÷ floor | faces kveil · deface |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in measures:
        rival = f"{one.deface_fps:.1f}" if one.deface_fps else "–"
        ratio = f"{one.kveil_fps / one.deface_fps:.1f}" if one.deface_fps else "–"
        share = one.kveil_fps / one.floor_fps
        cells = [
            one.clip,
            f"{one.size[1]}×{one.size[0]}",
            str(one.frames),
            one.method,
            f"{one.kveil_fps:.1f}",
            RIVAL_COVERS.get(one.method, "solid"),
            rival,
            ratio,
            f"{one.floor_fps:.1f}",
            f"{share:.0%}",
            f"{one.kveil_faces} · {one.deface_faces}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _kveil(clip: Path, folder: Path, method: str) -> RunReport:
    report = folder / "report.json"
    target = folder / f"k-{clip.name}"
    command = ["-m", "stream.cli.main", "anonymize", str(clip), "-o", str(target)]
    command += ["--method", method, "--report", str(report), "--overwrite", "--quiet"]
    _run(command)
    return RunReport.model_validate_json(report.read_text(encoding="utf-8"))


def _child(module: str, clip: Path, target: Path, *words: str) -> dict[str, float]:
    output = _run(["-m", module, str(clip), str(target), *words])
    result: dict[str, float] = json.loads(output.strip().splitlines()[-1])
    return result


def _run(arguments: Sequence[str]) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise EngineFault(f"{arguments[1]} failed: {last}")
    return done.stdout
