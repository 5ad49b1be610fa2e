#!/usr/bin/env python3
"""Prints how far swapped heads are from heads of other people, beside real ones (P8).

    scripts/measure_distance.py CLIPS OUTPUTS [--network TOML …] [--every 4] [--models FOLDER]

CLIPS and OUTPUTS hold clips of the same names, as `scripts/measure_picture.py` leaves them in
WORK/again and WORK/swap. A network is a recogniser's preset or a TOML as
`evaluation/recognisers.py` describes it; `python -m training.image_features` makes one that was
trained on pictures of all kinds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from engines.backends.openvino import OpenVino
from evaluation.blind_sheet import heads_of_clips
from evaluation.head_distance import head_distance
from evaluation.recognisers import OnnxRecogniser, models_folder, recognisers_from_names
from scripts.measure_picture import yunet_finder

_PRESET: Final = "mobilefacenet_w128"


def main() -> int:
    """Prints a row per network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("outputs", type=Path)
    parser.add_argument("--network", action="append", help="a preset or TOML; may be repeated")
    parser.add_argument("--every", type=int, default=4, help="look at one frame in so many")
    parser.add_argument("--models", type=Path, help="folder of the networks")
    chosen = parser.parse_args()
    models = chosen.models or models_folder()
    names = chosen.network or [_PRESET]
    heads = heads_of_clips(chosen.clips, chosen.outputs, yunet_finder(models), chosen.every)
    print("| network | heads | people | swapped ÷ real | single deals |\n|---|---|---|---|---|")
    for network in recognisers_from_names(names, OpenVino(), models):
        assert isinstance(network, OnnxRecogniser)
        one = head_distance(heads, network, network.description.size)
        spread = f"{one.lowest:.2f}–{one.highest:.2f}"
        print(f"| {network.name} | {one.heads} | {one.people} | {one.ratio:.2f} | {spread} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
