#!/usr/bin/env python3
"""Anonymizes every clip of a folder and attacks the result: exposure per clip as a table.

    scripts/measure_clips.py CLIPS WORK [--method solid] [--set KEY=VALUE …]

CLIPS holds original clips. WORK gets the anonymized clips and, for each, the reports of
`kveil anonymize` and `kveil evaluate`; clips that already have both are not run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

HEAD = """\
| clip | size | frames in · out | faces found by the attacker | bare | identified (worst) \
| above the threshold (worst) | tracks | swapped · covered |
|---|---|---|---|---|---|---|---|---|"""


def main() -> int:
    """Prints the table; ends with 1 if a frame is missing or a face is bare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--method", default="solid")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    rows, is_clean = [], True
    for clip in sorted(chosen.clips.iterdir()):
        run, attack = measured(clip, chosen.work, chosen.method, chosen.settings)
        rows.append(row_of(clip.name, run, attack))
        is_clean &= attack["A12"]["bare"]["hits"] == 0
        is_clean &= run["frames"]["read"] == run["frames"]["written"]
    print("\n".join([HEAD, *rows]))
    return 0 if is_clean else 1


def measured(clip: Path, work: Path, method: str, settings: list[str]) -> tuple[dict, dict]:
    """Both reports of one clip."""
    target = work / f"{clip.stem}.mkv"
    run, attack = work / f"{clip.stem}.run.json", work / f"{clip.stem}.attack.json"
    if not run.exists():
        command = ["kveil", "anonymize", str(clip), "-o", str(target), "--overwrite"]
        command += ["--method", method, "--report", str(run)]
        for pair in settings:
            command += ["--set", pair]
        subprocess.run(command, check=True)
    if not attack.exists():
        command = ["kveil", "evaluate", str(clip), str(target), "--report", str(attack)]
        command += ["--sheet", str(work / f"{clip.stem}.exposed.png")]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return json.loads(run.read_text()), json.loads(attack.read_text())


def row_of(name: str, run: dict, attack: dict) -> str:
    """One line of the table."""
    found = attack["A12"]
    size, frames, faces = run["output"], run["frames"], run["faces"]
    identified = max(one["rate"] for one in found["identified"].values())
    own = max(one["rate"] for one in found["recognisable"].values())
    return (
        f"| {name} | {size['width']}×{size['height']} | {frames['read']} · {frames['written']} "
        f"| {found['face_frames']} | {found['bare']['hits']} | {identified:.2%} | {own:.1%} "
        f"| {faces['tracks']} | {faces['swapped']} · {faces['covered']} |"
    )


if __name__ == "__main__":
    sys.exit(main())
