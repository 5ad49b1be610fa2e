#!/usr/bin/env python3
"""What heads tell of people whose faces are swapped: `scripts/measure_heads.py FACES`.

FACES holds a folder of pictures per person. The same people are released several times, each time
with surrogates dealt anew, with their heads altered as by default and kept as they are, and looked
up among other photographs of everybody. Parts of kept heads are then made grey, to see which of
them tell. Means over the deals are told, and the least and the greatest of them: one deal is a
draw, and of three hundred people uncertain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from engines.alignment import identity_distance
from engines.backends.openvino import OpenVino
from evaluation.attacks.attack import Judge, Subjects
from evaluation.faces import CROP, MARGIN, PORTRAIT
from evaluation.finders import finder_from_models
from evaluation.methods.dressing import dressed
from evaluation.methods.generated import GeneratedSurrogates, surrogates_from_pack
from evaluation.methods.surrogate import DonorSurrogate
from evaluation.metrics.ranking import ranking_from_scores
from evaluation.metrics.verification import verification_from_scores
from evaluation.protocol import people_and_judges
from evaluation.recognisers import models_folder, recognisers_from_names
from evaluation.reproduction.markdown import with_figures

Told = tuple[float, float, float]
"""AUC, mean rank over chance, and the share recognised, of one release by one judge."""
Images = NDArray[np.uint8]
"""(N, S, S, 3) BGR portraits."""
PARTS = ("above the brows", "beside and below", "all around")
"""Of kept heads, made grey one after the other; the first in its mean colour too."""
BROWS = 0.3
RIM = 1.1
"""Height of the brows in the kveil crop, and where a face ends, in radii of the identity oval."""
K = 5


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faces", type=Path)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--deals", type=int, default=3)
    parser.add_argument("--models", type=Path, help="of the recognisers and the detector")
    parser.add_argument("--recogniser", action="append", default=[])
    parser.add_argument("--doc", type=Path, help="page whose figures are replaced")
    chosen = parser.parse_args()
    models, backend = models_folder(chosen.models), OpenVino()
    _, finder = finder_from_models(backend, models)
    recognisers = recognisers_from_names(chosen.recogniser, backend, models)
    taking_part, judges = people_and_judges(
        chosen.faces, chosen.people, finder, recognisers, _quietly
    )
    surrogates = surrogates_from_pack(backend)
    rows = [_row("as they are", [[_told(taking_part, judge, judge.probes) for judge in judges]])]

    def add(name: str, released: Iterable[Images]) -> None:
        rows.append(_row(name, [_told_by_all(taking_part, judges, one) for one in released]))
        print(rows[-1], file=sys.stderr)

    deals = range(chosen.deals)
    add("face swapped, head altered", (_dealt(surrogates, taking_part, n, True) for n in deals))
    kept = [_dealt(surrogates, taking_part, n, False) for n in deals]
    add("face swapped, head kept", kept)
    for part in PARTS:
        add(f"kept, grey {part}", (_greyed(one, part) for one in kept))
    add(f"kept, one colour {PARTS[0]}", (_in_one_colour(one, PARTS[0]) for one in kept))
    head = "".join(f" | {one.name}: AUC | mean rank ÷ chance | recognised" for one in judges)
    table = "\n".join([f"| people{head} |", f"|---{'|---' * 3 * len(judges)}|", *rows])
    print(table)
    if chosen.doc is not None:
        page = with_figures(chosen.doc.read_text("utf-8"), "heads", table)
        chosen.doc.write_text(page, "utf-8")
    return 0


def _dealt(
    surrogates: GeneratedSurrogates, taking_part: Subjects, number: int, alters_heads: bool
) -> Images:
    """One release."""
    probes = taking_part.probes
    chosen = DonorSurrogate(K, surrogates).chosen_for(probes.persons, bytes([number]) * 32)
    latents = surrogates.latents(chosen)
    return dressed(surrogates.swapper, probes, latents, alters_heads=alters_heads)


def _greyed(images: Images, part: str) -> Images:
    """Portraits with a part around the face made grey."""
    return np.where(_place_of(part)[..., None], np.uint8(127), images)


def _in_one_colour(images: Images, part: str) -> Images:
    """Portraits with a part around the face made each one's mean colour of it."""
    place = _place_of(part)
    means = images[:, place].mean(axis=1).round().astype(np.uint8)
    return np.where(place[..., None], means[:, None, None], images)


def _place_of(part: str) -> NDArray[np.bool_]:
    """Where that part of a portrait is, bool[PORTRAIT, PORTRAIT]."""
    place = np.arange(PORTRAIT, dtype=np.float32) + np.float32(0.5 - MARGIN)
    x, y = np.meshgrid(place, place)
    around = identity_distance(np.stack([x.ravel(), y.ravel()], axis=1), CROP) > RIM
    above = y < BROWS * CROP
    chosen = {PARTS[0]: above, PARTS[1]: ~above}.get(part, np.ones_like(above))
    return np.asarray(around.reshape(above.shape) & chosen, np.bool_)


def _told_by_all(taking_part: Subjects, judges: Sequence[Judge], images: Images) -> list[Told]:
    """One release, by every judge."""
    released = taking_part.probes.showing(images)
    return [_told(taking_part, judge, released.embed(judge.recogniser)) for judge in judges]


def _told(taking_part: Subjects, judge: Judge, seen: NDArray[np.float32]) -> Told:
    probes, gallery = taking_part.probes.persons, taking_part.gallery.persons
    inside = np.isin(probes, gallery)
    scores = seen[inside] @ judge.gallery.T
    ranking = ranking_from_scores(scores, probes[inside], gallery)
    checked = verification_from_scores(scores, probes[inside], gallery, judge.threshold)
    return checked.auc, ranking.mean_rank_over_chance, checked.tar.rate


def _row(name: str, deals: Sequence[Sequence[Told]]) -> str:
    cells = []
    for own in zip(*deals, strict=True):
        auc, rank, found = (list(values) for values in zip(*own, strict=True))
        spread = f" ({min(auc):.3f}–{max(auc):.3f})" if len(auc) > 1 else ""
        cells.append(f"{fmean(auc):.3f}{spread} | {fmean(rank):.3f} | {fmean(found):.2%}")
    return f"| {name} | {' | '.join(cells)} |"


def _quietly(stage: str, done: int, total: int) -> None:
    """No progress is told."""


if __name__ == "__main__":
    sys.exit(main())
