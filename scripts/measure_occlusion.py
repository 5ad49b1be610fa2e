#!/usr/bin/env python3
"""What the marks of things in front of faces can give away: `scripts/measure_occlusion.py FACES`.

FACES holds a folder of pictures per person. Two things are told. First, of how many faces
something is marked as they are, and how many would be covered for it. Second, what recognisers make
of swapped faces over which the face itself was drawn again, as though the network had taken as much
of it as is allowed for a hand: the lower part, the upper part, one side. Each planted fault stands
beside the swap without it, and beside the originals.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.blending.occlusion import MOST_HIDDEN, counted
from engines.face.swapper import Control, Rendered, Swapper
from engines.stylegan.masks import oval_from_points
from evaluation.attacks.attack import Judge, Subjects
from evaluation.faces import Faces, crop_window
from evaluation.finders import finder_from_models
from evaluation.methods.dressing import dressed
from evaluation.methods.generated import surrogates_from_pack
from evaluation.metrics.verification import verification_from_scores
from evaluation.protocol import people_and_judges
from evaluation.recognisers import models_folder, recognisers_from_names
from evaluation.reproduction.markdown import put_figures

Float32 = NDArray[np.float32]
Depth = Callable[[Float32, Float32], Float32]
PLANTED: dict[str, Depth] = {
    "lower part": lambda _, y: y,
    "upper part": lambda _, y: -y,
    "one side": lambda x, _: x,
}
SHARES = (MOST_HIDDEN, MOST_HIDDEN / 2, MOST_HIDDEN / 4)


@dataclass(frozen=True, slots=True)
class Misread:
    """A swapper whose network takes a part of every face for something in front.

    Attributes:
        swapper: reads and paints.
        depth: grows in the direction from which the part is taken, of x and y.
        share: of the face that is taken, 0 to `MOST_HIDDEN`.
    """

    swapper: Swapper
    depth: Depth | None = None
    share: float = 0.0

    @property
    def size(self) -> int:
        """As of the swapper."""
        return self.swapper.size

    @property
    def sizes(self) -> tuple[int, ...]:
        """As of the swapper."""
        return self.swapper.sizes

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        """Control with planted marks; none where there is no depth."""
        control = self.swapper.read(crops, is_lit=is_lit)
        if control.occlusion is None or self.depth is None:
            return replace(control, occlusion=None)
        made = [self._planted(points, control.occlusion.shape[1]) for points in control.points]
        return replace(control, occlusion=np.stack(made))

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        """As the swapper paints."""
        return self.swapper.paint(control, latents, size)

    def _planted(self, points: Float32, size: int) -> Float32:
        assert self.depth is not None
        face = oval_from_points(points, size) > 0.5
        y, x = np.indices((size, size), dtype=np.float32)
        depth = self.depth(x, y)
        if not face.any():
            return np.zeros((size, size), np.float32)
        # A row less than the share, as one that is reached exactly may be passed by a pixel.
        least = np.quantile(depth[face], 1 - self.share + 0.01)
        return np.asarray(depth > least, np.float32)


def main() -> int:
    """Prints the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faces", type=Path)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--models", type=Path, help="of the recognisers and the detector")
    parser.add_argument("--recogniser", action="append", default=[])
    parser.add_argument("--doc", type=Path, help="page whose figures are replaced")
    chosen = parser.parse_args()
    models, backend = models_folder(chosen.models), OpenVino()
    _, finder = finder_from_models(backend, models)
    recognisers = recognisers_from_names(chosen.recogniser, backend, models)
    taking_part, judges = people_and_judges(chosen.faces, chosen.people, finder, recognisers, _told)
    surrogates = surrogates_from_pack(backend)
    probes = taking_part.probes
    free = free_faces(surrogates.swapper, probes.joined(taking_part.gallery))
    latents = surrogates.latents(np.arange(len(probes)) % surrogates.donors)
    rows = [_row("the original", probes, taking_part, judges)]
    faults = {"nothing": Misread(surrogates.swapper)} | {
        f"{name}, {share:.0%} of the face": Misread(surrogates.swapper, depth, share)
        for share in SHARES
        for name, depth in PLANTED.items()
    }
    for name, fault in faults.items():
        released = probes.showing(dressed(fault, probes, latents))
        rows.append(_row(name, released, taking_part, judges))
    head = "".join(f" | {judge.name}: recognised (upper bound) | AUC" for judge in judges)
    table = [f"| drawn again over the swap{head} |", f"|---{'|---' * 2 * len(judges)}|", *rows]
    told = "\n".join([free, "", *table])
    print(told)
    if chosen.doc is not None:
        put_figures(chosen.doc, {"occlusion": told})
    return 0


def free_faces(swapper: Swapper, faces: Faces) -> str:
    """How many faces are marked as they are."""
    rows, columns = crop_window()
    shares = []
    for image in faces.images[:, rows, columns]:
        control = swapper.read(image[None])
        if control.occlusion is None:
            return "this pack does not tell what is in front of faces"
        shares.append(counted(control.occlusion[0], control.points[0], image).share)
    found = np.array(shares)
    return (
        f"Of {len(found)} faces as they are something is marked on {np.mean(found > 0):.1%}, a "
        f"tenth of the face or more on {np.mean(found >= 0.1):.1%}, too much of\nit to be followed "
        f"on {np.mean(found > MOST_HIDDEN):.1%}. Each line below is one release of the same people."
    )


def _row(name: str, released: Faces, taking_part: Subjects, judges: Sequence[Judge]) -> str:
    told = f"| {name} "
    for judge in judges:
        scores = released.embed(judge.recogniser) @ judge.gallery.T
        people = (taking_part.probes.persons, taking_part.gallery.persons)
        found = verification_from_scores(scores, *people, judge.threshold)
        told += f"| {found.tar.rate:.2%} ({found.tar.upper:.2%}) | {found.auc:.3f} "
    return told + "|"


def _told(stage: str, done: int, total: int) -> None:
    if done % 100 == 0:
        print(f"{stage} {done} of {total}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
