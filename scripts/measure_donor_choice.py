"""How `kveil models donors` judges portraits that an eye has judged.

`python scripts/measure_donor_choice.py PORTRAITS` takes the folder of the portraits that the
bundled donors were chosen from, and prints what becomes of those that were chosen
(`training/donor_portraits.csv`) and of the others of the same sources. None counts as like another
one here: who was chosen does not depend on the order.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.detectors.loading import detector_from_model
from engines.donors.choice import Portrait, PortraitChoice
from engines.face.embedder import embedder_from_pack
from engines.face.embedding_attributes import attributes_from_pack
from engines.models.catalogue import centerface_path
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame
from training.portrait_donors import LIST
from training.sources import every_picture

_SOURCES = ("omi", "sfhq", "sfhq-t2i")
_NOBODY_ALIKE = 2.0


def pictures(folder: Path, every: int) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    """Names and pictures uint8[S, S, 3] BGR of each source's portraits, one of so many."""
    for source in _SOURCES:
        for member, picture in every_picture(folder / f"{source}.tar", every):
            yield Path(member).name, picture


def bundled_choice() -> PortraitChoice:
    """Judges by the bundled networks; nobody is like another one."""
    backend, geometry = OpenVino(), read_pack(bundled_pack()).path("shape.npz")
    return PortraitChoice(
        detector_from_model(backend, centerface_path()),
        swapper_from_pack(backend)[0],
        load_shape_model(geometry),
        load_texture_frame(geometry),
        embedder_from_pack(backend)[0],
        attributes_from_pack(),
        _NOBODY_ALIKE,
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("portraits", type=Path)
    parser.add_argument("--every", type=int, default=4, help="Take one portrait of so many.")
    args = parser.parse_args()
    with LIST.open(encoding="utf-8") as file:
        chosen = {row["name"] for row in csv.DictReader(file)}
    choice = bundled_choice()
    told = {True: Counter[str](), False: Counter[str]()}
    for name, picture in pictures(args.portraits, args.every):
        judged = choice.judge(picture)
        told[name in chosen]["taken" if isinstance(judged, Portrait) else judged] += 1
    print("| by the eye | portraits | taken | refused |\n|---|---|---|---|")
    for is_chosen, words in ((True, "chosen"), (False, "left out")):
        found = told[is_chosen]
        causes = ", ".join(f"{k} {n}" for k, n in found.most_common() if k != "taken")
        print(f"| {words} | {found.total()} | {found['taken']} | {causes} |")


if __name__ == "__main__":
    main()
