"""StyleID's tables and figures as Markdown, theirs beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluation.faces import Faces
from evaluation.methods.generated import GeneratedSurrogates
from evaluation.methods.levels import LEVELS
from evaluation.methods.masked import AREAS
from evaluation.recognisers import Recogniser
from evaluation.reproduction.markdown import cells, head, joined, share, spread
from evaluation.reproduction.styleid_tables import (
    DistanceRow,
    WindowRow,
    block_rows,
    correlation_rows,
    distance_rows,
    gender_row,
    window_rows,
)

__all__ = ["best_window", "layer_section", "styleid_section", "third_of"]

_LENGTHS: Final = (1, 2, 3, 4)
_PAIRS: Final = 18
_BLOCK_SIZES: Final = (8, 32, 128)
_SHARES: Final = (0.1, 0.25, 0.5, 0.75)
_CORRELATED: Final = 32
_TABLE_1: Final = {
    "strangers": "1.25 ± 0.10",
    "StyleID eyes": "0.28 ± 0.08",
    "StyleID eyes+nose": "0.72 ± 0.14",
    "StyleID eyes+nose+mouth": "0.79 ± 0.14",
}
_TABLE_2: Final = {
    "strangers": "1.19 ± 0.07",
    "StyleID swapper": "1.35 ± 0.11",
    "k-Same-Pixel": "0.82 ± 0.13",
    "AnonFACES latent": "0.97 ± 0.09",
}
_OTHERS: Final = ("k-Same-Pixel", "AnonFACES latent", "StyleID layers", "StyleID channels")


def styleid_section(
    faces: Faces, generator: GeneratedSurrogates, judges: Sequence[Recogniser]
) -> str:
    """Everything of the paper that can be redone here."""
    rows = window_rows(generator, _LENGTHS, _PAIRS)
    parts = [
        layer_section(rows),
        _blocks(generator),
        _correlations(generator, best_window(rows)),
        _faces(faces, generator, judges),
    ]
    return "\n\n".join(parts)


def best_window(rows: Sequence[WindowRow]) -> WindowRow:
    """The window of blocks with the best score.

    >>> best_window([WindowRow("layers", 0, 1, 0, 0, 9), WindowRow("blocks", 3, 2, 0, 0, 1)]).start
    3
    """
    return max((one for one in rows if one.kind == "blocks"), key=lambda one: one.score)


def third_of(block: float, blocks: int) -> str:
    """Which third of the blocks one lies in: coarse, middle or fine.

    >>> third_of(0, 18), third_of(6.5, 18), third_of(17, 18)
    ('coarse', 'middle', 'fine')
    """
    return ("coarse", "middle", "fine")[int(3 * block / blocks)]


def layer_section(rows: Sequence[WindowRow]) -> str:
    """Fig. 3a: scores by first layer and by number of layers."""
    best = best_window(rows)
    singles = sorted(
        (one for one in rows if one.kind == "blocks" and one.length == 1),
        key=lambda one: -one.score,
    )
    lines = [
        "## StyleID, Figure 3a: which layers hold identity",
        f"Disentanglement score (Eq. 3, α = 1, β = 1.25) of {_PAIRS} pairs of synthetic people "
        "when consecutive layers are swapped. In the paper layers 5–7 of 18 are best (about "
        "0.25), and 5, 7 and 9 singly. This generator gives every layer the same latent, so "
        "its w+ layers are interchangeable; coarse and fine lie in the directions of that "
        "latent instead, ordered by how much they change the picture and cut into 18 blocks.",
    ]
    for kind in ("blocks", "layers"):
        own = [one for one in rows if one.kind == kind]
        lengths = sorted({one.length for one in own})
        starts = sorted({one.start for one in own})
        scores = {(one.start, one.length): one.score for one in own}
        lines += [
            f"Score by first of the {kind}, down, and number of {kind}, across:",
            head("first", *(str(length) for length in lengths)),
            *(
                cells(
                    str(start),
                    *(
                        f"{scores[start, length]:+.3f}" if (start, length) in scores else ""
                        for length in lengths
                    ),
                )
                for start in starts
            ),
        ]
    blocks = len(singles)
    looks = max(singles, key=lambda one: one.looks).start
    lines.append(
        f"Best window: blocks {best.start}–{best.start + best.length - 1} (score "
        f"{best.score:+.3f}, identity distance {best.identity:.2f}, looks {best.looks:.2f}); best "
        f"single blocks: {', '.join(str(one.start) for one in singles[:3])}. Identity is easiest "
        f"to exchange in the {third_of(best.start + (best.length - 1) / 2, blocks)} third, in the "
        f"paper in the middle one. Block {looks} changes looks most."
    )
    return joined(lines)


def _blocks(generator: GeneratedSurrogates) -> str:
    rows = block_rows(generator, _BLOCK_SIZES, _SHARES, _PAIRS)
    lines = [
        "## StyleID, Figure 5: size of the blocks that are swapped",
        "Mean identity distance when the best ranked blocks are swapped together. The paper "
        "sees small blocks rise fastest at first and blocks of 32–256 of 9,216 channels differ "
        f"little; ours has {generator.directions.count} channels.",
        head("channels per block", *(f"{part:.0%} swapped" for part in _SHARES)),
        *(cells(str(one.size), *(f"{one.identity[part]:.2f}" for part in _SHARES)) for one in rows),
    ]
    return joined(lines)


def _correlations(generator: GeneratedSurrogates, best: WindowRow) -> str:
    rows = correlation_rows(generator, best.start, best.length, _CORRELATED)
    gender = gender_row(generator, 4 * _CORRELATED)
    lines = [
        "## StyleID, Figures 19 and 14: identity and looks",
        f"Pearson correlation of identity distance with the change of each look, {_CORRELATED} "
        "pairs, best window. In the paper what tells gender leads (lipstick, male, make-up). "
        "The pack reads gender presentation and age; the rest is geometry.",
        head("look", "correlation"),
        *(cells(name, f"{value:+.2f}") for name, value in rows),
        f"Gender correction (Fig. 14): {gender.before:.0%} of random targets show their "
        f"source's gender presentation, {gender.after:.0%} after a step of {gender.moved:.1f} "
        "standard deviations on average along the reader's direction. The paper shows pictures "
        "and no figure.",
    ]
    return joined(lines)


def _faces(faces: Faces, generator: GeneratedSurrogates, judges: Sequence[Recogniser]) -> str:
    areas = [f"StyleID {area}" for area in AREAS]
    levels = [f"StyleID {level}" for level in LEVELS]
    names = [*areas, *levels, "StyleID swapper", *_OTHERS, "kveil"]
    rows = {one.method: one for one in distance_rows(faces, generator, judges, names, 5)}
    count = len(faces)
    return "\n\n".join(
        [
            _distances(
                "## StyleID, Table 1: swapping an area",
                f"Euclidean distance of recognisers' unit vectors between {count} faces of LFW "
                "and their anonymized versions, mean and deviation; the paper uses "
                "CelebAMask-HQ. Ours swaps a wider outline of each part, and the crop's light "
                "with it.",
                ["strangers", *areas],
                rows,
                _TABLE_1,
            ),
            _distances(
                "## StyleID, Section 2.4 and Table 2: levels, and other methods",
                "The paper's column is ArcFace on LFW, in whose loss ArcFace took part. The "
                "pack's embedder, by which channels are ranked and the swapper was trained, is "
                "distilled from mobilefacenet_w128: edgeface_xxs is the independent judge. `same "
                "gender`, `same age`: share of faces that still read as before; where that is "
                "low by design (high), attributes are dealt out anew.",
                ["strangers", *levels, "StyleID swapper", *_OTHERS, "kveil"],
                rows,
                _TABLE_2,
            ),
        ]
    )


def _distances(
    title: str,
    words: str,
    names: Sequence[str],
    rows: dict[str, DistanceRow],
    paper: dict[str, str],
) -> str:
    judges = list(rows["strangers"].distance)
    attributes = sorted({name for one in rows.values() for name in one.same_values})
    lines = [
        title,
        words,
        head(
            "method",
            "paper",
            *judges,
            *(f"same person by {judge}" for judge in judges),
            *(f"same {name}" for name in attributes),
        ),
    ]
    for name in names:
        one = rows[name]
        lines.append(
            cells(
                name,
                paper.get(name, "–"),
                *(spread(one.distance[judge]) for judge in judges),
                *(share(one.matched[judge]) for judge in judges),
                *(
                    f"{one.same_values[key]:.0%}" if key in one.same_values else "–"
                    for key in attributes
                ),
            )
        )
    return joined(lines)
