#!/usr/bin/env python3
"""Makes a sheet of real and swapped heads for a blind look (P1), or scores the answers to one.

    scripts/blind_sheet.py CLIPS OUTPUTS SHEET.png KEY.csv [--heads 100] [--seed 0]
    scripts/blind_sheet.py --score ANSWERS.csv KEY.csv

CLIPS and OUTPUTS hold files of the same names, before and after. The real heads come from CLIPS,
so these should have been through the same encoder: `WORK/again` and `WORK/swap` of
`scripts/measure_picture.py` have. Further pages are SHEET.2.png and so on. Whoever answers sees
the pages alone and writes `number,answer` with `real` or `not`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2

from engines.errors import KveilError
from evaluation.blind_sheet import Head, chosen_heads, heads_of_clips, pages, scored, write_key
from evaluation.recognisers import models_folder
from scripts.measure_picture import yunet_finder


def main() -> int:
    """Makes or scores a sheet."""
    parser = argument_parser()
    chosen = parser.parse_args()
    if not chosen.score and len(chosen.paths) != 4:
        parser.error("give CLIPS OUTPUTS SHEET KEY, or --score ANSWERS KEY")
    try:
        if chosen.score:
            print(score_line(*chosen.score))
        else:
            make_sheet(chosen)
    except KveilError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def make_sheet(chosen: argparse.Namespace) -> None:
    """Writes the pages and the key."""
    clips, outputs, sheet, key = chosen.paths
    finder = yunet_finder(chosen.models or models_folder())
    found = heads_of_clips(clips, outputs, finder, chosen.every)
    heads = chosen_heads(found, chosen.heads, chosen.seed)
    write_pages(sheet, heads, chosen.page)
    write_key(key, heads)
    people, sources = {one.person for one in heads}, {one.clip for one in heads}
    print(f"{len(heads)} heads of {len(people)} people in {len(sources)} clips")
    if len(heads) < 100 or len(people) < 20 or len(sources) < 10:
        print("P1 wants 100 heads, 20 people and 10 clips at least", file=sys.stderr)


def argument_parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="CLIPS OUTPUTS SHEET KEY")
    parser.add_argument("--score", nargs=2, type=Path, metavar=("ANSWERS", "KEY"))
    parser.add_argument("--heads", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=12, help="look at one frame in so many")
    parser.add_argument("--page", type=int, default=1400, help="width and height of a page, px")
    parser.add_argument("--models", type=Path, help="folder of the detector's network")
    return parser


def write_pages(sheet: Path, heads: Sequence[Head], side_px: int) -> None:
    """Writes the pages as PNG."""
    for number, page in enumerate(pages(heads, side_px, side_px), 1):
        path = sheet if number == 1 else sheet.with_suffix(f".{number}{sheet.suffix}")
        _, encoded = cv2.imencode(".png", page)
        path.write_bytes(encoded.tobytes())


def score_line(answers: Path, key: Path) -> str:
    """The right answers with their interval."""
    scores = scored(answers, key)
    right, (low, high) = scores.right, scores.interval
    return (
        f"{right.hits} of {right.probes} right: {right.rate:.1%}, Wilson 95 % {low:.1%} to "
        f"{high:.1%} ({right.lower:.1%} to {right.upper:.1%} with {right.groups} people as the "
        f"groups); called swapped: {scores.swapped_unmasked.rate:.1%} of the swapped heads, "
        f"{scores.real_unmasked.rate:.1%} of the real ones"
    )


if __name__ == "__main__":
    sys.exit(main())
