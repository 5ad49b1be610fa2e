#!/usr/bin/env python3
"""Swaps the faces of every clip of a folder, judges the result, and prints one table.

    scripts/measure_swap.py CLIPS WORK [--seconds 4] [--only NAME …] [--doc docs/swap.md]

CLIPS holds original clips; the first seconds of each are cut, losslessly enough, into WORK,
which also gets the swapped clips and the reports of `kveil anonymize` and `kveil evaluate`. A
clip that has its reports is not run again. With --doc the table replaces the one between the
marks of a Markdown page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from fractions import Fraction
from itertools import islice
from pathlib import Path

import av

HEAD = """\
| clip | face-frames | covered | detected again | taken for the original · strangers \
| pose error, floor | landmark error, floor | identity variance, original | spread, original \
| warp error | flicker | trembling |
|---|---|---|---|---|---|---|---|---|---|---|---|
| wanted | | | ≥ 99 % | ≤ 0.5 % | ≤ 5° | ≤ 6 % | ≤ 0.016 | | ≤ 1.3 | | |"""
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


def main() -> int:
    """Prints the table; ends with 1 if a face is bare in some clip."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", action="append", default=[], help="name of a clip")
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    rows, is_clean = [], True
    for clip in sorted(chosen.clips.iterdir()):
        if chosen.only and clip.name not in chosen.only and clip.stem not in chosen.only:
            continue
        attack = measured(clip, chosen.work, chosen.seconds)
        rows.append(row_of(clip.name, attack))
        is_clean &= "A12" in attack and attack["A12"]["bare"]["hits"] == 0
        print(rows[-1], file=sys.stderr)
    table = "\n".join([HEAD, *rows])
    print(table)
    if chosen.doc is not None:
        write_into(chosen.doc, table)
    return 0 if is_clean else 1


def measured(clip: Path, work: Path, seconds: float) -> dict:
    """The judgement of one clip."""
    start, target = work / f"{clip.stem}.cut.mp4", work / f"{clip.stem}.swap.mp4"
    run, attack = work / f"{clip.stem}.run.json", work / f"{clip.stem}.judged.json"
    if not start.exists():
        cut(clip, start, seconds)
    if not run.exists():
        # Without the visible mark, which lies over faces too and is nobody's swap.
        command = ["kveil", "anonymize", str(start), "-o", str(target), "--overwrite"]
        command += ["--method", "swap", "--set", "privacy.label=false", "--report", str(run)]
        subprocess.run(command, check=True)
    if not attack.exists():
        command = ["kveil", "evaluate", str(start), str(target), "--report", str(attack)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return json.loads(attack.read_text())


def cut(clip: Path, target: Path, seconds: float) -> None:
    """Writes the first seconds of a clip anew, at its mean rate and nearly without loss."""
    beside = target.with_suffix(".part.mp4")
    with av.open(str(clip)) as source, av.open(str(beside), "w") as container:
        video = source.streams.video[0]
        rate = Fraction(video.average_rate or 25).limit_denominator(1001)
        stream = container.add_stream("libx264", rate=rate, options={"crf": "12"})
        stream.width, stream.height = video.width // 2 * 2, video.height // 2 * 2
        stream.pix_fmt = "yuv420p"
        frames = islice(source.decode(video=0), max(1, round(seconds * rate)))
        for index, frame in enumerate(frames):
            plain = frame.reformat(stream.width, stream.height, "yuv420p")
            plain.pts, plain.time_base = index, 1 / rate
            container.mux(stream.encode(plain))
        container.mux(stream.encode(None))
    beside.replace(target)


def row_of(name: str, judged: dict) -> str:
    """One line of the table."""
    if "A12" not in judged:
        return f"| {name} | {judged['reasons'][0]} |" + " |" * 10
    found = judged["A12"]
    quality = found["quality"]
    matched = quality["recognised"]
    if not matched or not quality["redetected"]["probes"]:
        return (
            f"| {name} | {found['face_frames']} | {quality['covered']['rate']:.1%} |" + " – |" * 9
        )
    worst = max(matched, key=lambda one: matched[one]["rate"])
    strangers = found["recognisable"][worst]["false_matches_between_originals"]
    beside = f"{strangers['rate']:.1%}" if strangers["probes"] else "–"
    same = max(quality["constancy"].values(), key=lambda one: one["variance"])
    variance = spread = "–"
    if same["tracks"]:
        variance = f"{same['variance']:.4f}, {same['original_variance']:.4f}"
        spread = f"{same['spread']:.3f}, {same['original_spread']:.3f}"
    return (
        f"| {name} | {found['face_frames']} | {quality['covered']['rate']:.1%} "
        f"| {quality['redetected']['rate']:.1%} | {matched[worst]['rate']:.1%} · {beside} "
        f"| {told(quality['pose_error_deg'], '.1f')}°, {told(quality['pose_floor_deg'], '.1f')}° "
        f"| {told(quality['landmark_error'], '.1%')}, {told(quality['landmark_floor'], '.1%')} "
        f"| {variance} | {spread} | {told(quality['warp_error_ratio'], '.2f')} "
        f"| {told(quality['flicker_ratio'], '.2f')} | {told(quality['jitter_ratio'], '.2f')} |"
    )


def told(value: float | None, form: str) -> str:
    """A figure, or a dash where none was measured."""
    return "–" if value is None else format(value, form)


def write_into(page: Path, table: str) -> None:
    """Replaces what stands between the marks of a page."""
    text = page.read_text("utf-8")
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:before]}\n{table}\n{text[after:]}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
