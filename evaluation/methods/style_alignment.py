"""Local style alignment: a cluster's centroid takes on its members' texture (k-SALSA, Eq. 4–7).

The paper follows gradients through its networks. Here the generator is asked once how each
direction changes its picture (`LatentDirections.change`); the slope of the loss then follows
in closed form for every cluster, and the pictures themselves decide how far a step may go: a
centroid is left only for a picture whose loss is lower. Any generator and encoder will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.directions import LatentDirections, resized
from evaluation.methods.style import (
    GRID,
    Aligned,
    aligned_styles,
    content_loss,
    content_vectors,
    local_styles,
    style_features,
    style_loss,
)

__all__ = ["Alignment", "AlignmentSettings", "StyleDomain", "align_styles"]

Float32 = NDArray[np.float32]

_STEPS = (1.0, 0.5, 0.25)
_REMATCH_EVERY = 5
_LONGER, _SHORTER = 1.4, 0.4


class StyleDomain(Protocol):
    """A kind of picture with a generator."""

    @property
    def directions(self) -> LatentDirections:
        """How codes change pictures."""

    @property
    def region(self) -> Float32:
        """(S, S) float32 0…1, S as in `directions`: where style is looked at."""

    def represented(self, codes: Float32, clusters: NDArray[np.int64]) -> Float32:
        """(N, S', S', 3) float32 pictures, 0…255, of (N, C) codes for (N,) clusters."""


@dataclass(frozen=True, slots=True)
class AlignmentSettings:
    """How far a centroid may go.

    Attributes:
        content: λ of Eq. 5, 0…1; larger keeps more of the centroid and less of the texture.
        iterations: descents; more come nearer to the optimum of the linear picture.
        rate: length of the first step, standard deviations.
        rounds: times the picture itself is looked at; each costs up to three pictures.
        grid: patches along each side; 1 compares whole pictures (the ablation).
        is_free: whether a patch may find its style elsewhere (Eq. 3).
        reach: largest length of a code, as a multiple of its members' mean length.
        directions: the first, strongest ones along which a code may move; the others change
            too little of the picture to be worth their time.
    """

    content: float = 0.5
    iterations: int = 20
    rate: float = 0.5
    rounds: int = 2
    grid: int = GRID
    is_free: bool = True
    reach: float = 1.0
    directions: int = 128


@dataclass(frozen=True, slots=True)
class Alignment:
    """What became of the centroids.

    Attributes:
        codes: (B, C) float32.
        before: (B, 2) float64 style and content loss of the centroids.
        after: (B, 2) float64 of the result; the weighted sum never rises.
    """

    codes: Float32
    before: NDArray[np.float64]
    after: NDArray[np.float64]


@dataclass(slots=True)
class _Cluster:
    """One cluster under way."""

    sources: Float32
    start: Float32
    longest: float
    code: Float32
    features: Float32
    content: Float32
    losses: tuple[float, float]


def align_styles(
    domain: StyleDomain,
    centroids: Float32,
    members: Sequence[tuple[Float32, Float32]],
    settings: AlignmentSettings | None = None,
) -> Alignment:
    """Moves every centroid towards its members' local styles.

    Args:
        domain: the generator.
        centroids: (B, C) float32 mean codes, Eq. 4.
        members: per cluster (k, S', S', 3) float32 pictures, 0…255, and (k, C) float32 codes.
        settings: λ and its company.

    Raises:
        EngineFault: the generator failed.
    """
    settings = settings or AlignmentSettings()
    side = domain.directions.picture.shape[0]
    numbers = np.arange(len(centroids))
    pictures = resized(domain.represented(centroids, numbers), side)
    clusters = [
        _begun(domain, settings, centroid, picture, resized(sources, side), codes)
        for centroid, picture, (sources, codes) in zip(centroids, pictures, members, strict=True)
    ]
    before = np.array([cluster.losses for cluster in clusters])
    change = domain.directions.change[: settings.directions]
    slopes, contents = _features(domain, change), content_vectors(change)
    for _ in range(settings.rounds):
        aims = _descended(clusters, slopes, contents, settings)
        _accept(domain, settings, clusters, aims)
    codes = np.stack([cluster.code for cluster in clusters])
    return Alignment(codes, before, np.array([cluster.losses for cluster in clusters]))


def _begun(
    domain: StyleDomain,
    settings: AlignmentSettings,
    centroid: Float32,
    picture: Float32,
    sources: Float32,
    codes: Float32,
) -> _Cluster:
    styles = local_styles(_features(domain, sources), settings.grid)
    features, content = _features(domain, picture[None])[0], content_vectors(picture[None])[0]
    longest = settings.reach * float(np.linalg.norm(codes, axis=1).mean())
    longest = max(longest, float(np.linalg.norm(centroid)))
    losses = _losses(settings, styles, content, features, content)
    return _Cluster(styles, content, longest, centroid, features, content, losses)


def _features(domain: StyleDomain, pictures: Float32) -> Float32:
    return style_features(pictures) * domain.region[..., None]


def _losses(
    settings: AlignmentSettings,
    sources: Float32,
    start: Float32,
    features: Float32,
    content: Float32,
) -> tuple[float, float]:
    matched = _matched(sources, features, settings)
    return style_loss(matched, features, settings.grid)[0], content_loss(start, content)[0]


def _weighed(settings: AlignmentSettings, losses: tuple[float, float]) -> float:
    """Eq. 5."""
    return settings.content * losses[1] + (1 - settings.content) * losses[0]


def _descended(
    clusters: list[_Cluster], slopes: Float32, contents: Float32, settings: AlignmentSettings
) -> Float32:
    """Where each code comes to rest if the picture were linear in it: (B, C).

    Steepest descent; a step that does not pay is halved, one that does is lengthened.
    """
    first = np.stack([cluster.code for cluster in clusters])
    code, trial = first.copy(), first.copy()
    losses = np.full(len(code), np.inf)
    length = np.full(len(code), settings.rate)
    downhill = np.zeros_like(code)
    matched: list[Aligned] = []
    for step in range(settings.iterations):
        if step % _REMATCH_EVERY == 0:
            matched = _matches(clusters, code - first, slopes, settings)
            losses[:] = np.inf
            trial = code.copy()
        tried, gradient = _totals(clusters, matched, trial - first, slopes, contents, settings)
        pays = tried < losses
        code[pays], losses[pays] = trial[pays], tried[pays]
        norms = np.linalg.norm(gradient[pays], axis=1, keepdims=True)
        downhill[pays] = gradient[pays] / np.maximum(norms, 1e-12)
        length = np.where(pays, length * _LONGER, length * _SHORTER)
        trial = _within(clusters, code - length[:, None].astype(np.float32) * downhill)
    return code


def _totals(
    clusters: list[_Cluster],
    matched: list[Aligned],
    moved: Float32,
    slopes: Float32,
    contents: Float32,
    settings: AlignmentSettings,
) -> tuple[NDArray[np.float64], Float32]:
    """Eq. 5 of every cluster in the linear picture, and its slope along the codes."""
    flat, free = slopes.reshape(len(slopes), -1), moved[:, : len(slopes)]
    features = (free @ flat).reshape(len(moved), *slopes.shape[1:])
    thumbs = free @ contents
    losses, style_slopes, content_slopes = [], [], []
    for cluster, pairs, seen, thumb in zip(clusters, matched, features, thumbs, strict=True):
        style, style_slope = style_loss(pairs, cluster.features + seen, settings.grid)
        content, content_slope = content_loss(cluster.start, cluster.content + thumb)
        losses.append(_weighed(settings, (style, content)))
        style_slopes.append(style_slope.reshape(-1))
        content_slopes.append(content_slope)
    gradient = np.zeros_like(moved)
    gradient[:, : len(slopes)] = (1 - settings.content) * (np.stack(style_slopes) @ flat.T)
    gradient[:, : len(slopes)] += settings.content * (np.stack(content_slopes) @ contents.T)
    return np.array(losses), gradient


def _matches(
    clusters: list[_Cluster], moved: Float32, slopes: Float32, settings: AlignmentSettings
) -> list[Aligned]:
    features = np.tensordot(moved[:, : len(slopes)], slopes, axes=1)
    return [
        _matched(cluster.sources, cluster.features + seen, settings)
        for cluster, seen in zip(clusters, features, strict=True)
    ]


def _matched(sources: Float32, features: Float32, settings: AlignmentSettings) -> Aligned:
    own = local_styles(features[None], settings.grid)[0]
    return aligned_styles(sources, own, is_free=settings.is_free)


def _within(clusters: list[_Cluster], codes: Float32) -> Float32:
    """Codes no longer than members are: beyond them the generator is not at home."""
    lengths = np.linalg.norm(codes, axis=1)
    longest = np.array([cluster.longest for cluster in clusters])
    return np.asarray(
        codes * np.minimum(1, longest / np.maximum(lengths, 1e-9))[:, None], np.float32
    )


def _accept(
    domain: StyleDomain, settings: AlignmentSettings, clusters: list[_Cluster], aims: Float32
) -> None:
    """Goes as far towards each aim as lowers the loss of the picture itself."""
    for share in _STEPS:
        waiting = [n for n, aim in enumerate(aims) if not np.isnan(aim).any()]
        if not waiting:
            return
        codes = np.stack(
            [clusters[n].code + np.float32(share) * (aims[n] - clusters[n].code) for n in waiting]
        )
        made = domain.represented(codes, np.array(waiting))
        pictures = resized(made, domain.directions.picture.shape[0])
        features, contents = _features(domain, pictures), content_vectors(pictures)
        for place, number in enumerate(waiting):
            cluster = clusters[number]
            losses = _losses(
                settings, cluster.sources, cluster.start, features[place], contents[place]
            )
            if _weighed(settings, losses) < _weighed(settings, cluster.losses):
                cluster.code, cluster.losses = codes[place], losses
                cluster.features, cluster.content = features[place], contents[place]
                aims[number] = np.nan
