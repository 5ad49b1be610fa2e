#!/usr/bin/env python3
"""Anonymizes every clip of a folder and attacks the result: exposure per clip as a page.

    scripts/measure_clips.py CLIPS WORK [--only CLIP …] [--deface CLIP …] [--page FILE.md]
        [--every N [--sparse CLIP …]]

CLIPS holds original clips. WORK gets, for each clip, the anonymized one, the report of
`kveil anonymize`, what the attacker's detector found in the original, the attack's figures and
a sheet of what was exposed. Whatever is there is not made again: a stopped run goes on. Files
are named after the clip, its bytes, the tool and the method; figures also after the step, the
anonymized bytes and the attacker's networks, so that nothing of another run is taken over. The
thresholds by size come from the originals of all clips, last. `--only` measures some clips, and
without `--page` prints their figures at the nominal thresholds alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engines.backends.openvino import OpenVino
from evaluation.clip_exposure import (
    EXPOSURE_SCHEMA,
    ClipExposure,
    measure_clip_exposure,
    read_exposure,
    read_false_alarms,
)
from evaluation.clips import decoded
from evaluation.finders import FrameFinder, finder_fingerprint, finder_from_models
from evaluation.finding_cache import CachedFinder
from evaluation.recognisers import (
    OnnxRecogniser,
    models_folder,
    network_hash,
    recognisers_from_names,
)
from evaluation.reports.exposure_page import exposure_table, false_alarm_table, threshold_table
from evaluation.reproduction.markdown import put_figures
from evaluation.run_journal import file_hash, fingerprint_of
from evaluation.sheets import ContactSheet
from evaluation.size_thresholds import OriginalFaces, SizeThreshold

ALARMS = Path(__file__).parents[1] / "docs" / "false_alarms.toml"
_SHORT = 12
"""Digits of a hash in the name of a file."""


@dataclass(frozen=True, slots=True)
class Laboratory:
    """What every measurement needs.

    Attributes:
        work: folder of the results.
        finder: the attacker's detector.
        judges: the attacker's recognisers.
    """

    work: Path
    finder: FrameFinder
    judges: Sequence[OnnxRecogniser]

    def cached(self, clip: Path) -> CachedFinder:
        """The detector with what it already knows of a clip."""
        return CachedFinder(self.finder, self.work / f"{clip.name}.found.json")

    def marks(self) -> list[str]:
        """What tells this attacker from another."""
        judges = [f"{judge.name} {judge.threshold} {network_hash(judge)}" for judge in self.judges]
        return [finder_fingerprint(self.finder), *judges]

    def place_of(self, clip: Path, tool: str, method: str) -> Path:
        """Where files of one clip after one tool begin; to be given an ending."""
        made = f"{tool}.{method}" if tool == "kveil" else tool
        return self.work / f"{clip.name}.{file_hash(clip)[:_SHORT]}.{made}"


def main() -> int:
    """Prints the tables; ends with 1 if a frame is missing or a face is bare."""
    chosen = arguments()
    chosen.work.mkdir(parents=True, exist_ok=True)
    models, backend = models_folder(), OpenVino()
    judges = recognisers_from_names([], backend, models)
    lab = Laboratory(chosen.work, finder_from_models(backend, models)[0], judges)
    clips = sorted(clip for clip in chosen.clips.iterdir() if clip.is_file())
    wanted = [clip for clip in clips if not chosen.only or clip.name in chosen.only]
    ours = [(clip, measured(lab, clip, "kveil", chosen)) for clip in wanted]
    theirs = [
        (clip, measured(lab, clip, "deface", chosen))
        for clip in wanted
        if clip.name in chosen.deface
    ]
    rows = [(clip.name, figures) for clip, figures in ours]
    rows += [(f"{clip.name}, deface", figures) for clip, figures in theirs]
    nominal = {judge.name: judge.threshold for judge in judges}
    alarms = read_false_alarms(chosen.alarms)
    if chosen.only and not chosen.page:
        own = {
            name: [SizeThreshold(0, float("inf"), v, 0, 0, 0, False)] for name, v in nominal.items()
        }
        print(exposure_table(rows, nominal, own, alarms))
        return 0
    calibrated = thresholds(lab, wanted)
    parts = [exposure_table(rows, nominal, calibrated, alarms)]
    parts += [threshold_table(nominal, calibrated), false_alarm_table(alarms)]
    print("\n\n".join(parts))
    if chosen.page:
        put_figures(chosen.page, {f"table {place}": part for place, part in enumerate(parts)})
    whole = all(is_whole(lab, clip, chosen.method) for clip in wanted)
    return 0 if whole and not any(figures.without(alarms).bare() for _, figures in ours) else 1


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--method", default="muted")
    parser.add_argument("--only", action="append", default=[], help="names of clips")
    parser.add_argument("--every", type=int, default=1, help="compare one frame in so many")
    parser.add_argument(
        "--sparse", action="append", default=[], help="clips that --every is for; all without"
    )
    parser.add_argument("--deface", action="append", default=[], help="clips for deface, too")
    parser.add_argument("--alarms", type=Path, default=ALARMS, help="finds that are no faces")
    parser.add_argument("--page", type=Path, help="Markdown whose marked tables are replaced")
    return parser.parse_args()


def measured(lab: Laboratory, clip: Path, tool: str, chosen: argparse.Namespace) -> ClipExposure:
    """The exposure of one clip after one tool; from the folder where it is there."""
    place = lab.place_of(clip, tool, chosen.method)
    target = place.with_name(f"{place.name}.{'mkv' if tool == 'kveil' else 'mp4'}")
    run = place.with_name(f"{place.name}.run.json")
    if not (run.exists() and target.exists()):
        anonymize(clip, target, run, tool, chosen.method)
    every = 1 if chosen.sparse and clip.name not in chosen.sparse else chosen.every
    attacked = fingerprint_of([EXPOSURE_SCHEMA, file_hash(target), *lab.marks()])[:_SHORT]
    kept = f"{place.name}.1in{every}.{attacked}"
    figures = place.with_name(f"{kept}.exposure.json")
    if figures.exists():
        return read_exposure(figures)
    finder, sheet = lab.cached(clip), ContactSheet(most=600)
    found = measure_clip_exposure(
        clip, target, finder, lab.judges, every=every, keep=sheet.keep_exposed
    )
    finder.save()
    sheet.write(place.with_name(f"{kept}.exposed.png"))
    found.write(figures)
    return found


def anonymize(clip: Path, target: Path, run: Path, tool: str, method: str) -> None:
    """Runs one of the tools; `run` exists afterwards, kveil's with its report."""
    if tool == "kveil":
        command = ["kveil", "anonymize", str(clip), "-o", str(target), "--overwrite"]
        command += ["--method", method, "--report", str(run)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    else:
        command = ["deface", str(clip), "--output", str(target), "--keep-audio"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        run.write_text("{}")


def is_whole(lab: Laboratory, clip: Path, method: str) -> bool:
    """Whether as many frames were written as read."""
    place = lab.place_of(clip, "kveil", method)
    frames = json.loads(place.with_name(f"{place.name}.run.json").read_text())["frames"]
    return bool(frames["read"] == frames["written"])


def thresholds(lab: Laboratory, clips: Sequence[Path]) -> dict[str, list[SizeThreshold]]:
    """Thresholds by size of every recogniser, from the originals of all clips."""
    faces = OriginalFaces(lab.finder, lab.judges)
    files = [f"{clip.name} {file_hash(clip)}" for clip in clips]
    marks = fingerprint_of([*lab.marks(), str(faces.every), *files])
    kept = lab.work / "thresholds.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    if rows.get("marks") != marks:
        for number, clip in enumerate(clips):
            faces.finder = lab.cached(clip)
            faces.add_clip(number, decoded(clip))
        found = {judge.name: faces.thresholds(judge) for judge in lab.judges}
        by_judge = {name: [asdict(one) for one in some] for name, some in found.items()}
        rows = {"marks": marks, "by_judge": by_judge}
        kept.write_text(json.dumps(rows))
    return {name: [SizeThreshold(**one) for one in some] for name, some in rows["by_judge"].items()}


if __name__ == "__main__":
    sys.exit(main())
