#!/usr/bin/env python3
"""Swaps the faces of parts of clips, judges the result, and prints two tables.

    scripts/measure_swap.py CLIPS WORK [--seconds 1] [--only NAME …] [--doc docs/swap.md]

CLIPS holds original clips; of those that docs/swap_parts.toml names the parts are cut that it
names, losslessly enough, into WORK, which also gets the swapped parts and the reports of
`kveil anonymize` and `kveil evaluate`. Of clips that it does not name the start is cut, where they
are asked for by --only or where it names none of the folder. A part that has its reports is not
run again; they are named after the clip, its bytes and what of it was cut. The second table tells
by how far heads are turned how far faces move as their subjects do. With --doc the tables replace
those between the marks of a Markdown page. Finds that a person looked at and that are no faces are
told apart: where there are any, the share of faces without them stands in brackets.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import av

from evaluation.clip_exposure import read_false_alarms
from evaluation.movement import BANDS_DEG, MOVEMENT_HEAD, MovementBand, bands_of_faces, row_of_band
from evaluation.reproduction.markdown import put_figures
from evaluation.run_journal import file_hash

ALARMS = Path(__file__).parents[1] / "docs" / "false_alarms.toml"
PARTS = Path(__file__).parents[1] / "docs" / "swap_parts.toml"

Judged = dict[str, Any]
"""What `kveil evaluate` writes of a clip."""

HEAD = """\
| clip | face-frames | covered | detected again | taken for the original · strangers \
| pose error (floor, own face) | landmark error (floor, movement) | identity variance (original) \
| spread (original) | warp error | flicker | trembling |
|---|---|---|---|---|---|---|---|---|---|---|---|
| wanted | | | ≥ 99 % | ≤ 0.5 % | ≤ 5° | ≤ 6 % | ≤ 0.002 | | ≤ 1.3 | ≤ 1.3 | |"""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a clip.

    Attributes:
        clip: the file.
        first: number of its first frame.
        seconds: its length.
    """

    clip: Path
    first: int
    seconds: float

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.clip.name} from {self.first}" if self.first else self.clip.name

    @property
    def stem(self) -> str:
        """What its files are called."""
        return f"{self.clip.name}.{file_hash(self.clip)[:12]}.{self.first}.{self.seconds:g}s"


def main() -> int:
    """Prints the table; ends with 1 if a face is bare in some clip."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--surrogates", type=int, default=1, help="runs per clip; means are told")
    parser.add_argument("--only", action="append", default=[], help="name of a clip")
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    rows, everything, judged, is_clean = [], [], [], True
    for part in parts_of_folder(chosen.clips, chosen.only, chosen.seconds):
        attacks = [measured(part, chosen.work, turn) for turn in range(chosen.surrogates)]
        alarms = {
            one.frame - part.first
            for one in read_false_alarms(ALARMS)
            if one.clip == part.clip.name
        }
        runs = [figures_of(one["A12"], alarms) for one in attacks if "A12" in one]
        everything += runs
        judged += [one["A12"]["quality"] for one in attacks if "A12" in one]
        unjudged = [one["reasons"][0] for one in attacks if "A12" not in one]
        rows.append(
            f"| {part.name} | {unjudged[0]} |" + " |" * 10 if unjudged else row_of(part.name, runs)
        )
        is_clean &= all("A12" in one and not bare_faces(one["A12"], alarms) for one in attacks)
        print(rows[-1], file=sys.stderr)
    if everything:
        rows.append(row_of("mean of all runs", everything))
    table = "\n".join([HEAD, *rows, "", *movement_rows(judged)])
    print(table)
    if chosen.doc is not None:
        put_figures(chosen.doc, {"measured": table})
    return 0 if is_clean else 1


def parts_of_folder(clips: Path, only: Sequence[str], seconds: float) -> list[Part]:
    """The parts to measure: those that `PARTS` names, or clips from their start."""
    listed = tomllib.loads(PARTS.read_text("utf-8"))["part"]
    files = sorted(one for one in clips.iterdir() if one.is_file())
    chosen = [one for one in files if not only or {one.name, one.stem} & {*only}]
    firsts = {
        clip: [part["frame"] for part in listed if part["clip"] == clip.name] for clip in chosen
    }
    if only or not any(firsts.values()):
        firsts = {clip: found or [0] for clip, found in firsts.items()}
    return [Part(clip, first, seconds) for clip, found in firsts.items() for first in found]


def measured(part: Part, work: Path, turn: int) -> Judged:
    """The judgement of one part under its `turn`th surrogates."""
    name = f"{part.stem}.{turn}"
    start, target = work / f"{part.stem}.cut.mp4", work / f"{name}.swap.mp4"
    run, attack = work / f"{name}.run.json", work / f"{name}.judged.json"
    if not start.exists():
        cut(part.clip, start, part.seconds, part.first)
    if not (run.exists() and target.exists()):
        # Without the visible mark, which lies over faces too and is nobody's swap.
        command = ["kveil", "anonymize", str(start), "-o", str(target), "--overwrite"]
        command += ["--method", "swap", "--set", "privacy.label=false"]
        command += ["--set", "cover.look=solid", "--report", str(run)]
        subprocess.run(command, check=True)
    if not attack.exists():
        command = ["kveil", "evaluate", str(start), str(target), "--report", str(attack)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    judgement: Judged = json.loads(attack.read_text())
    return judgement


def cut(clip: Path, target: Path, seconds: float, first: int = 0) -> None:
    """Writes seconds of a clip anew, from a frame on, at its mean rate, nearly without loss."""
    beside = target.with_suffix(".part.mp4")
    with av.open(str(clip)) as source, av.open(str(beside), "w") as container:
        video = source.streams.video[0]
        rate = Fraction(video.average_rate or 25).limit_denominator(1001)
        stream = container.add_stream("libx264", rate=rate, options={"crf": "12"})
        stream.width, stream.height = video.width // 2 * 2, video.height // 2 * 2
        stream.pix_fmt = "yuv420p"
        frames = islice(source.decode(video=0), first, first + max(1, round(seconds * rate)))
        for index, frame in enumerate(frames):
            plain = frame.reformat(stream.width, stream.height, "yuv420p")
            plain.pts, plain.time_base = index, 1 / rate
            container.mux(stream.encode(plain))
        container.mux(stream.encode(None))
    beside.replace(target)


def row_of(name: str, runs: list[dict[str, float | None]]) -> str:
    """One line of the table: means over runs."""
    mean = {
        key: fmean(values)
        if (values := [value for one in runs if (value := one[key]) is not None])
        else None
        for key in runs[0]
    }

    def told(key: str, form: str, unit: str = "") -> str:
        return "–" if mean[key] is None else format(mean[key], form) + unit

    matched = told("matched", ".1%")
    if mean["matched_faces"] != mean["matched"]:
        matched += f" ({told('matched_faces', '.1%')})"
    return (
        f"| {name} | {told('face_frames', '.0f')} | {told('covered', '.1%')} "
        f"| {told('redetected', '.1%')} | {matched} · {told('strangers', '.1%')} "
        f"| {told('pose', '.1f', '°')} ({told('pose_floor', '.1f', '°')}, "
        f"{told('pose_surroundings', '.1f', '°')}) "
        f"| {told('landmark', '.1%')} ({told('landmark_floor', '.1%')}, "
        f"{told('landmark_movement', '.1%')}) "
        f"| {told('variance', '.4f')} ({told('original_variance', '.4f')}) "
        f"| {told('spread', '.3f')} ({told('original_spread', '.3f')}) "
        f"| {told('warp', '.2f')} | {told('flicker', '.2f')} | {told('jitter', '.2f')} |"
    )


def movement_rows(judged: list[Judged]) -> list[str]:
    """Lines of the second table: how far faces of all runs move as their subjects do, by yaw."""
    bands = bands_of_faces(
        [MovementBand.from_record(one) for one in run["movement"]] for run in judged
    )
    names = [f"{low} to {high}°" for low, high in BANDS_DEG]
    rows = [row_of_band(name, band) for name, band in zip(names, bands, strict=True)]
    return [MOVEMENT_HEAD, *rows, row_of_band("all", sum(bands, MovementBand()))]


def are_alarms(found: Judged, alarms: set[int]) -> list[Judged]:
    """The chains of a single find that is no face, in one of these frames."""
    return [
        chain
        for chain in found["per_chain"]
        if chain["face_frames"] == 1 and chain["first_frame"] in alarms
    ]


def bare_faces(found: Judged, alarms: set[int]) -> int:
    """How many faces are bare."""
    return int(found["bare"]["hits"] - sum(one["bare"] for one in are_alarms(found, alarms)))


def share_of_faces(found: Judged, judge: str, alarms: set[int]) -> float:
    """Share of face-frames that a recogniser takes for the original, of those that are faces."""
    rate, none = found["quality"]["recognised"][judge], are_alarms(found, alarms)
    hits = rate["hits"] - sum(one["recognisable"][judge] for one in none)
    return float(hits / max(rate["probes"] - len(none), 1))


def figures_of(found: Judged, alarms: set[int]) -> dict[str, float | None]:
    """The figures of one run, the worse recogniser's where there are several; None unmeasured."""
    quality = found["quality"]
    matched, redetected = quality["recognised"], quality["redetected"]
    same = max(quality["constancy"].values(), key=lambda one: one["variance"])
    worst = max(matched, key=lambda one: matched[one]["rate"], default=None)
    strangers = found["recognisable"][worst]["false_matches_between_originals"] if worst else None
    return {
        "face_frames": found["face_frames"],
        "covered": quality["covered"]["rate"],
        "redetected": redetected["rate"] if redetected["probes"] else None,
        "matched": matched[worst]["rate"] if worst else None,
        "matched_faces": max(share_of_faces(found, one, alarms) for one in matched)
        if worst
        else None,
        "strangers": strangers["rate"] if strangers and strangers["probes"] else None,
        "pose": quality["pose_error_deg"],
        "pose_floor": quality["pose_floor_deg"],
        "pose_surroundings": quality["pose_surroundings_deg"],
        "landmark": quality["landmark_error"],
        "landmark_floor": quality["landmark_floor"],
        "landmark_movement": quality["landmark_movement"],
        **{
            key: same[key] if same["tracks"] else None
            for key in ("variance", "original_variance", "spread", "original_spread")
        },
        "warp": quality["warp_error_ratio"],
        "flicker": quality["flicker_ratio"],
        "jitter": quality["jitter_ratio"],
    }


if __name__ == "__main__":
    sys.exit(main())
