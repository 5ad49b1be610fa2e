"""StyleID 2023: Figs 3a, 5, 14 and 19 on the generator's own people, Tables 1 and 2 on faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.faces import Faces, crop_window
from evaluation.methods.attribute_control import corrected, read_values
from evaluation.methods.channels import block_size, chosen_channels, rank_blocks
from evaluation.methods.disentanglement import code_swap, layer_swap, score_swaps
from evaluation.methods.generated import GeneratedSurrogates
from evaluation.methods.looks import look_names
from evaluation.methods.method import Method
from evaluation.methods.registry import method_named
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.recognisers import Recogniser

__all__ = [
    "BlockRow",
    "DistanceRow",
    "GenderRow",
    "WindowRow",
    "block_rows",
    "correlation_rows",
    "distance_rows",
    "gender_row",
    "window_rows",
]

_SECRET: Final = b"the reproduction's secret, of no further use"


@dataclass(frozen=True, slots=True)
class WindowRow:
    """Swapping `length` consecutive layers or blocks from `start` on (Fig. 3a).

    Attributes:
        kind: `layers` of w+, or `blocks` of channels that play them.
        start: first that is swapped.
        length: how many.
        identity: mean identity distance (Eq. 1), 0…2.
        looks: mean distance of looks (Eq. 2).
        score: mean disentanglement (Eq. 3); comparable within one kind.
    """

    kind: str
    start: int
    length: int
    identity: float
    looks: float
    score: float


def window_rows(
    generator: GeneratedSurrogates, lengths: Sequence[int], pairs: int
) -> list[WindowRow]:
    """Every window of the given lengths, over w+ layers and over blocks of channels."""
    directions = generator.directions
    number = _blocks(directions.count)
    rows = []
    for kind, count in (("layers", generator.swapper.layers), ("blocks", int(number[-1]) + 1)):
        windows = [
            (start, length)
            for length in lengths
            if length <= count
            for start in range(count - length + 1)
        ]
        swaps = [
            layer_swap(range(start, start + length))
            if kind == "layers"
            else code_swap(directions, (number >= start) & (number < start + length))
            for start, length in windows
        ]
        found = score_swaps(generator, swaps, pairs)
        rows += [
            WindowRow(kind, start, length, float(moved), float(changed), float(score))
            for (start, length), moved, changed, score in zip(
                windows,
                found.identity.mean(axis=1),
                found.looks.mean(axis=1),
                found.scores,
                strict=True,
            )
        ]
    return rows


def _blocks(channels: int) -> NDArray[np.int64]:
    """(C,) number of the block in which each channel lies."""
    return np.arange(channels) // block_size(channels)


@dataclass(frozen=True, slots=True)
class BlockRow:
    """Greedy swaps with blocks of one size (Fig. 5).

    Attributes:
        size: channels per block.
        identity: mean identity distance, by the share of channels swapped.
    """

    size: int
    identity: dict[float, float]


def block_rows(
    generator: GeneratedSurrogates, sizes: Sequence[int], shares: Sequence[float], pairs: int
) -> list[BlockRow]:
    """Ranks blocks of each size and swaps the best ones together."""
    directions = generator.directions
    rows = []
    for size in sizes:
        ranking = rank_blocks(generator, size, pairs)
        swaps = [
            code_swap(directions, chosen_channels(ranking, round(share * directions.count)))
            for share in shares
        ]
        identity = score_swaps(generator, swaps, pairs).identity.mean(axis=1)
        rows.append(BlockRow(size, dict(zip(shares, identity.tolist(), strict=True))))
    return rows


def correlation_rows(
    generator: GeneratedSurrogates, start: int, length: int, pairs: int
) -> list[tuple[str, float]]:
    """Fig. 19: Pearson correlation of identity distance with each look's change, largest first."""
    directions = generator.directions
    number = _blocks(directions.count)
    window = (number >= start) & (number < start + length)
    found = score_swaps(generator, [code_swap(directions, window)], pairs)
    identity, changes = found.identity[0], found.changes[0]
    correlations = [
        float(np.corrcoef(identity, change)[0, 1]) if change.std() > 0 else 0.0
        for change in changes.T
    ]
    named = zip(look_names(generator.looks), correlations, strict=True)
    return sorted(named, key=lambda pair: -pair[1])


@dataclass(frozen=True, slots=True)
class GenderRow:
    """Fig. 14: targets' gender presentation put right.

    Attributes:
        before: share of random targets that show the source's.
        after: share after the correction.
        moved: mean length of the correction, standard deviations of the latent space.
    """

    before: float
    after: float
    moved: float


def gender_row(generator: GeneratedSurrogates, pairs: int) -> GenderRow:
    """Corrects random targets to their sources' gender presentation."""
    sources, targets = (generator.latents(np.arange(pairs) + place * pairs) for place in (0, 1))
    wanted = {"gender": read_values(generator.looks, sources)["gender"]}
    made = corrected(generator.looks, generator.directions, targets, wanted)
    first, second = (
        float((read_values(generator.looks, part)["gender"] == wanted["gender"]).mean())
        for part in (targets, made)
    )
    step = generator.directions.codes(made) - generator.directions.codes(targets)
    lengths = np.linalg.norm(step, axis=1)
    return GenderRow(first, second, float(lengths[lengths > 0].mean()) if lengths.any() else 0.0)


@dataclass(frozen=True, slots=True)
class DistanceRow:
    """Identity distance between faces and their anonymized versions (Tables 1 and 2).

    Attributes:
        method: by name; `strangers` compares different people's originals.
        distance: by judge, mean and deviation of the Euclidean distance, 0…2.
        matched: by judge, share of faces still called the same person.
        same_values: by attribute, share of faces whose read value stays.
    """

    method: str
    distance: dict[str, tuple[float, float]]
    matched: dict[str, Proportion]
    same_values: dict[str, float]


def distance_rows(
    faces: Faces,
    generator: GeneratedSurrogates,
    judges: Sequence[Recogniser],
    names: Sequence[str],
    k: int,
) -> list[DistanceRow]:
    """One row for strangers, then one per method.

    Args:
        faces: one picture per person.
        generator: of the methods.
        judges: recognisers, at their own thresholds.
        names: of methods.
        k: for those that have one.
    """
    truth = {judge.name: faces.embed(judge) for judge in judges}
    values = _values(generator, faces)
    shift = np.roll(np.arange(len(faces)), 1)
    strangers = {name: vectors[shift] for name, vectors in truth.items()}
    rows = [_distances("strangers", truth, strangers, faces, judges, {})]
    for name in names:
        method: Method = method_named(name, k, generator)
        release = method.anonymize(faces, _SECRET)
        shown = faces.showing(release.images)
        seen = {judge.name: shown.embed(judge) for judge in judges}
        after = _values(generator, shown)
        same = {key: float((values[key] == after[key]).mean()) for key in values}
        rows.append(_distances(name, truth, seen, faces, judges, same))
    return rows


def _values(generator: GeneratedSurrogates, faces: Faces) -> dict[str, NDArray[np.int64]]:
    crops = np.ascontiguousarray(faces.images[:, *crop_window()])
    return read_values(generator.looks, generator.encoded(crops))


def _distances(
    name: str,
    truth: dict[str, NDArray[np.float32]],
    seen: dict[str, NDArray[np.float32]],
    faces: Faces,
    judges: Sequence[Recogniser],
    same: dict[str, float],
) -> DistanceRow:
    distance, matched = {}, {}
    for judge in judges:
        away = np.linalg.norm(truth[judge.name] - seen[judge.name], axis=1)
        cosines = (truth[judge.name] * seen[judge.name]).sum(axis=1)
        distance[judge.name] = (float(away.mean()), float(away.std()))
        matched[judge.name] = clustered(cosines > judge.threshold, faces.persons)
    return DistanceRow(name, distance, matched, same)
