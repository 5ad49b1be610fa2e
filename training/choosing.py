"""The choice among donors: people unlike each other, also when they move as others do.

A portrait at rest flatters: what the subjects' pose, expression and light do to a face makes
two of them more alike, or less. So the last choice is made among pictures painted under the
control of other people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.stylegan.shape import ShapeModel
from engines.swapper import Swapper
from training.measure import RECOGNISERS, embeddings, landmark_gaps, painted
from training.people import least
from training.sources import is_real_adult

CONTROLS: Final = 3
"""Subjects whose control every candidate is painted under; more average their own looks out."""
ROUNDS: Final = ((1536, 0.8), (1280, 0.95), (900, 0.95))
"""People left by every choice under control, and the share, of those before, of the ones that move
most truly. Each round has other controls: what is chosen by one picture flatters in it."""
_AT_ONCE: Final = 60
"""Candidates; a swapper remembers the textures of so many."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shown:
    """How candidates look and move under other people's control.

    Attributes:
        seen: of each recogniser float32[N, D], unit vectors, means over the controls.
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


def chosen_under_control(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    bins: list[dict[str, str]],
    data: Path,
    models: Path,
    seed: int,
) -> npt.NDArray[np.int64]:
    """Which people all ROUNDS leave: they move truly, and look unlike each other.

    Args:
        swapper: of the pack.
        shape: of the pack.
        latents: float32[N, L, 512] of the candidates.
        bins: of the candidates.
        data: folder of prepared crops.
        models: folder of the recognisers.
        seed: decides whose control it is.

    Returns:
        Indices of candidates, ascending.
    """
    left = np.arange(len(latents))
    for turn, (count, share) in enumerate(ROUNDS):
        found = shown(swapper, shape, latents[left], data, models, seed + turn)
        fits = found.follows(share)
        left, seen = left[fits], {name: each[fits] for name, each in found.seen.items()}
        left = left[unlike(seen, [bins[i] for i in left], count)]
    return left


def shown(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    data: Path,
    models: Path,
    seed: int,
    controls: int = CONTROLS,
) -> Shown:
    """Paint candidates under the control of other people, drawn from the training crops.

    Args:
        swapper: of the pack.
        shape: of the pack.
        latents: float32[N, L, 512] of the candidates.
        data: folder of prepared crops.
        models: folder of the recognisers.
        seed: decides whose control it is.
        controls: people per candidate.
    """
    rows = np.flatnonzero(is_real_adult(data) & ~np.load(data / "split.npy"))
    drawn = np.random.default_rng(seed).integers(0, len(rows), (len(latents), controls))
    subjects = rows[drawn]
    slices = [slice(start, start + _AT_ONCE) for start in range(0, len(latents), _AT_ONCE)]
    parts = [_shown(swapper, shape, latents[at], subjects[at], data, models) for at in slices]
    return Shown(
        {name: np.concatenate([part.seen[name] for part in parts]) for name in RECOGNISERS},
        np.concatenate([part.error for part in parts]),
    )


def _shown(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    subjects: npt.NDArray[np.int64],
    data: Path,
    models: Path,
) -> Shown:
    faces = np.load(data / "faces256.npy", mmap_mode="r")
    labels = np.load(data / "points.npy", mmap_mode="r")
    backend = OpenVino()
    sums: dict[str, Float32] = {}
    error = np.zeros(len(latents), np.float32)
    for people in subjects.T:
        crops, points = np.ascontiguousarray(faces[people][..., ::-1]), np.asarray(labels[people])
        pictures, blends = painted(swapper, crops, latents)
        wanted = shape.swapped(points, latents)
        error += landmark_gaps(swapper.read(pictures).points, wanted) / subjects.shape[1]
        for name, which in RECOGNISERS.items():
            sums[name] = sums.get(name, np.float32(0)) + embeddings(
                backend, models, which, blends, wanted
            )
    seen = {name: each / np.linalg.norm(each, axis=1, keepdims=True) for name, each in sums.items()}
    return Shown(seen, error)


def unlike(
    seen: Mapping[str, Float32], bins: list[dict[str, str]], count: int
) -> npt.NDArray[np.int64]:
    """Choose people in turn from every combination of bins, each least like those before.

    Two people are as alike as they are to the recogniser to which they are more so, measured by
    the cosine at which it takes them for one.

    Args:
        seen: of each recogniser float32[N, D], unit vectors.
        bins: of the N people.
        count: wanted.

    >>> seen = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    >>> unlike({"edgeface": seen}, [{}, {}, {}], 2).tolist()
    [0, 2]
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, person in enumerate(bins):
        groups.setdefault(tuple(sorted(person.items())), []).append(index)
    likeness = np.full(len(bins), -np.inf, np.float32)
    chosen: list[int] = []
    while len(chosen) < min(count, len(bins)):
        for members in groups.values():
            if members and len(chosen) < count:
                best = members.pop(int(np.argmin(likeness[members])))
                chosen.append(best)
                for name, each in seen.items():
                    new = each @ each[best] / np.float32(RECOGNISERS[name].threshold)
                    np.maximum(likeness, new, out=likeness)
    return np.sort(np.array(chosen, np.int64))
