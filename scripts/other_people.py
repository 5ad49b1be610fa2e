#!/usr/bin/env python3
"""Links the people of a folder whom an evaluation of N people would not test.

    scripts/other_people.py FACES OUT --skip 300

For checking on fresh people what was chosen by looking at N: `kveil evaluate OUT` then tests
none of them. OUT gets one link per person and must not exist.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evaluation.folder import cast_people
from gallery.pictures import people_in_folder


def main() -> int:
    """Makes the links and tells how many."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faces", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--skip", type=int, default=300, help="people of the first evaluation")
    chosen = parser.parse_args()
    people = people_in_folder(chosen.faces)
    seen = set(cast_people(people, chosen.skip).tested)
    chosen.out.mkdir(parents=True)
    for name in people.keys() - seen:
        (chosen.out / name).symlink_to((chosen.faces / name).resolve())
    print(f"{len(people) - len(seen)} people in {chosen.out}, {len(seen)} left out")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
