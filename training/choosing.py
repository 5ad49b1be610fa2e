"""The choice among donors: people who pass for each other as rarely as can be.

A portrait at rest flatters: what the subjects' pose, expression and light do to a face makes
two of them more alike, or less. So the last choice is made among pictures painted under the
control of other people. What is made small is what a pack is measured by, the number of pairs that
a recogniser takes for one person. Choosing people as far as possible from their nearest like, as
was done before, takes the odd ones first and then, among the many who are left, hardly chooses;
and who is alike to many counts no more there than who is alike to one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.stylegan.shape import ShapeModel
from engines.swapper import Swapper
from training.measure import BATCH, RECOGNISERS, embeddings, landmark_gaps
from training.people import least
from training.sources import is_known_adult

SOFTNESS: Final = 0.04
"""Cosine about a threshold within which a pair counts in part: with few controls, whether it
passes is chance."""
SLIGHT: Final = 1e-4
"""Less gain than this is rounding."""
_AT_ONCE: Final = 60
"""Candidates; a swapper remembers the textures of so many."""

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Shown:
    """How candidates look and move under other people's control.

    Attributes:
        seen: of each recogniser float32[C, N, D], unit vectors under each of C controls.
        error: float32[N], mean distance of the landmarks to where they were wanted, as a share
            of the distance between the eyes.
    """

    seen: dict[str, Float32]
    error: Float32

    def follows(self, share: float) -> npt.NDArray[np.bool_]:
        """Which candidates are among the share that moves most truly, bool[N].

        >>> int(Shown({}, np.arange(5, dtype=np.float32)).follows(0.8).sum())
        4
        """
        return least(self.error, share)

    def mean(self) -> dict[str, Float32]:
        """Of each recogniser float32[N, D], unit vectors of the means over the controls."""
        sums = {name: each.sum(axis=0) for name, each in self.seen.items()}
        return {
            name: each / np.linalg.norm(each, axis=1, keepdims=True) for name, each in sums.items()
        }


def shown(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    data: Path,
    models: Path,
    seed: int,
    controls: int,
) -> Shown:
    """Paint candidates under the control of other people, drawn from the training crops.

    Args:
        swapper: of the pack.
        shape: of the pack.
        latents: float32[N, L, 512] of the candidates.
        data: folder of prepared crops.
        models: folder of the recognisers.
        seed: decides whose control it is.
        controls: people per candidate; more average their own looks out.
    """
    rows = np.flatnonzero(is_known_adult(data))
    drawn = np.random.default_rng(seed).integers(0, len(rows), (len(latents), controls))
    subjects = rows[drawn]
    slices = [slice(start, start + _AT_ONCE) for start in range(0, len(latents), _AT_ONCE)]
    parts = [_shown(swapper, shape, latents[at], subjects[at], data, models) for at in slices]
    return Shown(
        {name: np.concatenate([part.seen[name] for part in parts], axis=1) for name in RECOGNISERS},
        np.concatenate([part.error for part in parts]),
    )


def _shown(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    subjects: Int64,
    data: Path,
    models: Path,
) -> Shown:
    faces = np.load(data / "faces128.npy", mmap_mode="r")
    labels = np.load(data / "points.npy", mmap_mode="r")
    backend = OpenVino()
    seen: dict[str, list[Float32]] = {name: [] for name in RECOGNISERS}
    error = np.zeros(len(latents), np.float32)
    for people in subjects.T:
        crops, points = np.ascontiguousarray(faces[people][..., ::-1]), np.asarray(labels[people])
        pictures, blends = painted_small(swapper, crops, latents)
        wanted = shape.swapped(points, latents)
        error += landmark_gaps(swapper.read(pictures).points, wanted) / subjects.shape[1]
        for name, which in RECOGNISERS.items():
            seen[name].append(embeddings(backend, models, which, blends, wanted))
    return Shown({name: np.stack(each) for name, each in seen.items()}, error)


def painted_small(swapper: Swapper, crops: UInt8, latents: Float32) -> tuple[UInt8, UInt8]:
    """Paint a donor per crop, as small as the swapper can: recognisers look no closer.

    Args:
        swapper: of the pack.
        crops: uint8[N, S, S, 3] BGR.
        latents: float32[N, L, 512].

    Returns:
        The pictures, and them blended over the crops, uint8[N, s, s, 3].
    """
    size = swapper.sizes[0]
    pictures, blends = [], []
    for start in range(0, len(crops), BATCH):
        part = slice(start, start + BATCH)
        made = swapper.paint(swapper.read(crops[part]), latents[part], size)
        around = np.stack([cv2.resize(crop, (size, size)) for crop in crops[part]])
        alpha = made.alpha[..., None]
        pictures.append(made.pixels)
        blends.append(made.pixels * alpha + around * (1 - alpha))
    return (
        np.concatenate(pictures).round().astype(np.uint8),
        np.concatenate(blends).round().astype(np.uint8),
    )


def passing_pairs(seen: Mapping[str, Float32]) -> Float32:
    """How likely every pair passes for one person, summed over the recognisers: float32[N, N].

    A pair's pictures under all controls are compared with each other, softly: a logistic function
    of the cosine beyond the one at which a recogniser takes two pictures for one person, SOFTNESS
    wide.

    Args:
        seen: of each recogniser float32[C, N, D], unit vectors.

    Returns:
        Symmetric, the diagonal zero.
    """
    total: Float32 | None = None
    for name, each in seen.items():
        controls = len(each)
        for one in range(controls):
            for other in range(one, controls):
                beyond = each[one] @ each[other].T
                beyond -= np.float32(RECOGNISERS[name].threshold)
                beyond /= np.float32(-SOFTNESS)
                np.exp(beyond, out=beyond)
                beyond += 1.0
                np.reciprocal(beyond, out=beyond)
                beyond *= np.float32((1 if one == other else 2) / controls**2)
                total = beyond if total is None else np.add(total, beyond, out=total)
    if total is None:
        raise ValueError("no recogniser has seen anybody")
    total += total.T.copy()
    total *= 0.5
    np.fill_diagonal(total, 0.0)
    return total


def fewest_pairs(passing: Float32, bins: list[dict[str, str]], count: int) -> Int64:
    """Choose people among whom as few pairs pass for one person as can be found.

    Whoever passes for most of those who are left goes, until every combination of bins has its
    share; then people are exchanged, one for one within their bins, as long as that lowers the sum.

    Args:
        passing: float32[N, N], how likely each pair passes.
        bins: of the N people.
        count: wanted.

    Returns:
        Indices, ascending.

    >>> passing = np.array([[0, 1, 0], [1, 0, 0.1], [0, 0.1, 0]], np.float32)
    >>> fewest_pairs(passing, [{}, {}, {}], 2).tolist()
    [0, 2]
    """
    group = _groups(bins)
    wanted = _shares(np.bincount(group), count)
    inside = np.ones(len(bins), np.bool_)
    cost = passing.sum(axis=1)
    surplus = np.bincount(group) - wanted
    while surplus.any():
        last = int(np.argmax(np.where(inside & (surplus > 0)[group], cost, -np.inf)))
        inside[last] = False
        surplus[group[last]] -= 1
        cost -= passing[last]
    for own in range(len(wanted)):
        _exchange(passing, inside, cost, np.flatnonzero(group == own))
    return np.flatnonzero(inside)


def _exchange(
    passing: Float32, inside: npt.NDArray[np.bool_], cost: Float32, members: Int64
) -> None:
    """Exchange members of one combination of bins while the sum falls; changes `inside`, `cost`.

    Args:
        passing: float32[N, N].
        inside: bool[N], who is chosen.
        cost: float32[N], of everybody with those chosen.
        members: int64[M].
    """
    for _ in range(len(members)):
        ins, outs = members[inside[members]], members[~inside[members]]
        if not len(ins) or not len(outs):
            return
        gains = cost[ins][:, None] - cost[outs] + passing[np.ix_(ins, outs)]
        leaves, comes = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[leaves, comes] <= SLIGHT:
            return
        inside[ins[leaves]], inside[outs[comes]] = False, True
        cost += passing[outs[comes]] - passing[ins[leaves]]


def _groups(bins: list[dict[str, str]]) -> Int64:
    """Number every combination of bins, int64[N]."""
    names = [tuple(sorted(person.items())) for person in bins]
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([numbers[name] for name in names], np.int64)


def _shares(available: Int64, count: int) -> Int64:
    """Deal `count` places evenly among groups of so many people; small ones give all they have.

    >>> _shares(np.array([2, 9, 9]), 10).tolist()
    [2, 4, 4]
    """
    wanted = np.zeros_like(available)
    for _ in range(min(count, int(available.sum()))):
        room = np.where(wanted < available, wanted, np.iinfo(np.int64).max)
        wanted[int(np.argmin(room))] += 1
    return wanted
