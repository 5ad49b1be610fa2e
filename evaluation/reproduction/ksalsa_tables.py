"""k-SALSA 2022: Tables 1–4 on textures that play the retina."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.style import aligned_styles, local_styles, style_features, style_loss
from evaluation.methods.style_alignment import AlignmentSettings, align_styles
from evaluation.methods.textures import GRADES, TextureDomain, fundus, texture_domain
from evaluation.metrics.frechet import frechet_distance
from gallery.clustering.ksalsa import KSalsaClustering
from gallery.clustering.partition import Partition

__all__ = ["AblationRow", "TextureRow", "TextureSet", "ablation_rows", "texture_rows"]

Float32 = NDArray[np.float32]
Labels = NDArray[np.int64]

_RIDGE: Final = 1.0
_AUXILIARY: Final = 100_000
_UNSEEN: Final = 200_000
ABLATIONS: Final = {
    "style loss only": AlignmentSettings(content=0.0),
    "content loss only": AlignmentSettings(content=1.0),
    "content and global style": AlignmentSettings(grid=1),
    "content and local style, no alignment": AlignmentSettings(is_free=False),
    "k-SALSA": AlignmentSettings(),
}


@dataclass(frozen=True, slots=True)
class TextureSet:
    """Pictures of three groups of people, none in two.

    Attributes:
        domain: generator and encoder, from the auxiliary people (D₀ of the paper).
        private: (N, S, S, 3) uint8 pictures to anonymize, one each.
        grades: (N,) their findings.
        unseen: (M, S, S, 3) uint8 pictures of other people, to test on.
        unseen_grades: (M,) theirs.
    """

    domain: TextureDomain
    private: NDArray[np.uint8]
    grades: Labels
    unseen: NDArray[np.uint8]
    unseen_grades: Labels

    @classmethod
    def drawn(cls, people: int, components: int = 120) -> TextureSet:
        """Draws `people` private, as many unseen, and twice as many auxiliary pictures."""
        parts = []
        for first, count in ((_AUXILIARY, 2 * people), (0, people), (_UNSEEN, people)):
            grades = np.arange(count) % GRADES
            numbers = enumerate(grades.tolist())
            parts.append((np.stack([fundus(first + n, 0, g) for n, g in numbers]), grades))
        domain = texture_domain(parts[0][0], components)
        return cls(domain, parts[1][0], parts[1][1], parts[2][0], parts[2][1])


@dataclass(frozen=True, slots=True)
class TextureRow:
    """One way of averaging at one k.

    Attributes:
        method: as the paper calls it.
        k: least people per cluster.
        frechet: distance of local styles to the private pictures' (Table 1).
        accuracy: on unseen originals, of a classifier trained on the release (Table 2).
        membership: top-k accuracy in percent of the strongest of two attackers (Table 3).
    """

    method: str
    k: int
    frechet: float
    accuracy: float
    membership: float


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One form of the loss at k = 5 (Table 4).

    Attributes:
        form: which terms it has.
        style: style loss reached, 0…1; k-SALSA's own measure.
        accuracy: as in `TextureRow`.
    """

    form: str
    style: float
    accuracy: float


def texture_rows(drawn: TextureSet, sizes: tuple[int, ...]) -> list[TextureRow]:
    """Tables 1–3: every way of averaging the same clusters."""
    rows = []
    codes = drawn.domain.encoded(drawn.private)
    for k in sizes:
        partition = KSalsaClustering().partition(codes, k, 1)
        ways = {
            "k-Same-Pixel": _pixel_means(drawn, partition),
            "k-Centroid": _centroids(drawn, codes, partition, None),
            "k-SALSA": _centroids(drawn, codes, partition, AlignmentSettings()),
        }
        rows += [_row(name, k, made, drawn, partition) for name, made in ways.items()]
        inverted = drawn.domain.represented(codes[::k], np.arange(0))
        grades = drawn.grades[::k]
        rows.append(
            TextureRow(
                "GAN-inverted, not averaged",
                k,
                _frechet(inverted, drawn.private),
                _accuracy(inverted, grades, drawn),
                float("nan"),
            )
        )
        subset = drawn.private[::k].astype(np.float32)
        own = _accuracy(subset, grades, drawn)
        rows.append(TextureRow("original", k, 0.0, own, float("nan")))
    return rows


def ablation_rows(drawn: TextureSet, k: int = 5) -> list[AblationRow]:
    """Table 4."""
    codes = drawn.domain.encoded(drawn.private)
    partition = KSalsaClustering().partition(codes, k, 1)
    grades = _majority(drawn.grades, partition)
    rows = []
    for form, settings in ABLATIONS.items():
        made = _centroids(drawn, codes, partition, settings)
        style = _style_left(drawn, partition, made)
        rows.append(AblationRow(form, style, _accuracy(made, grades, drawn)))
    return rows


def _row(name: str, k: int, made: Float32, drawn: TextureSet, partition: Partition) -> TextureRow:
    grades = _majority(drawn.grades, partition)
    return TextureRow(
        name,
        k,
        _frechet(made, drawn.private),
        _accuracy(made, grades, drawn),
        100 * _membership(made, drawn, partition),
    )


def _pixel_means(drawn: TextureSet, partition: Partition) -> Float32:
    groups = [partition.members(label) for label in range(partition.n_clusters)]
    means = [drawn.private[rows].astype(np.float32).mean(axis=0) for rows in groups]
    return np.stack(means).astype(np.float32)


def _centroids(
    drawn: TextureSet, codes: Float32, partition: Partition, settings: AlignmentSettings | None
) -> Float32:
    groups = [partition.members(label) for label in range(partition.n_clusters)]
    centres = np.stack([codes[rows].mean(axis=0) for rows in groups])
    if settings is not None:
        members = [(drawn.private[rows].astype(np.float32), codes[rows]) for rows in groups]
        centres = align_styles(drawn.domain, centres, members, settings).codes
    return drawn.domain.represented(centres, np.arange(len(centres)))


def _style_left(drawn: TextureSet, partition: Partition, made: Float32) -> float:
    """Style loss of pictures against their clusters, always by the full measure."""
    features = style_features(made)
    styles = local_styles(features)
    losses = []
    for label in range(partition.n_clusters):
        members = drawn.private[partition.members(label)].astype(np.float32)
        aligned = aligned_styles(local_styles(style_features(members)), styles[label])
        losses.append(style_loss(aligned, features[label])[0])
    return float(np.mean(losses))


def _summary(pictures: Float32) -> Float32:
    """(N, F) what a picture's local styles say of its marks: typical and strongest patches."""
    energy = np.diagonal(local_styles(style_features(pictures)), axis1=2, axis2=3)
    ordered = np.sort(np.log(energy + 1e-6), axis=1)
    count = ordered.shape[1]
    places = [count // 4, count // 2, 3 * count // 4, count - 2]
    return ordered[:, places].reshape(len(pictures), -1).astype(np.float32)


def _frechet(made: Float32, private: NDArray[np.uint8]) -> float:
    return frechet_distance(_summary(made), _summary(private.astype(np.float32)))


def _accuracy(made: Float32, grades: Labels, drawn: TextureSet) -> float:
    """A ridge classifier of grades, trained on a release, tested on unseen originals."""
    training, testing = _summary(made), _summary(drawn.unseen.astype(np.float32))
    centre, spread = training.mean(axis=0), training.std(axis=0) + 1e-3
    first, second = ((part - centre) / spread for part in (training, testing))
    bias = [np.hstack([part, np.ones((len(part), 1))]) for part in (first, second)]
    wanted = np.eye(GRADES)[grades]
    gram = bias[0].T @ bias[0] + _RIDGE * np.eye(bias[0].shape[1])
    weights = np.linalg.solve(gram, bias[0].T @ wanted)
    guessed = (bias[1] @ weights).argmax(axis=1)
    return float((guessed == drawn.unseen_grades).mean())


def _majority(grades: Labels, partition: Partition) -> Labels:
    """The most frequent grade of each cluster: the paper's aggregated label."""
    counts = [
        np.bincount(grades[partition.members(label)], minlength=GRADES)
        for label in range(partition.n_clusters)
    ]
    return np.array([int(count.argmax()) for count in counts], np.int64)


def _membership(made: Float32, drawn: TextureSet, partition: Partition) -> float:
    """Share of the attacker's first k guesses that are members; the better of two attackers.

    Both hold every private picture and as many of people who took no part. One compares
    pixels, the other the encoder's codes.
    """
    everybody = np.concatenate([drawn.private, drawn.unseen])
    rounded = np.clip(np.rint(made), 0, 255).astype(np.uint8)
    pairs = (
        (_flat(rounded), _flat(everybody)),
        (_units(drawn.domain.encoded(rounded)), _units(drawn.domain.encoded(everybody))),
    )
    hits: list[float] = []
    for release, pictures in pairs:
        order = np.argsort(-(release @ pictures.T), axis=1, kind="stable")
        found = []
        for label in range(partition.n_clusters):
            members = partition.members(label)
            found.append(np.isin(order[label, : len(members)], members).mean())
        hits.append(float(np.mean(found)))
    return max(hits)


def _flat(pictures: NDArray[np.uint8]) -> Float32:
    rows = pictures.reshape(len(pictures), -1).astype(np.float32)
    return _units(rows - rows.mean(axis=0))


def _units(rows: Float32) -> Float32:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), np.float32)
