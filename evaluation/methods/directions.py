"""Directions of a generator's latent space, ordered by how much they change the picture.

GANSpace (Härkönen et al. 2020) finds them by principal components of what a generator makes.
Here the principal components of the latents are tried one by one and turned so that the first
direction changes the picture most: coarse ones come first, as a StyleGAN's layers do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["LatentDirections", "directions_from_latents", "resized"]

Float32 = NDArray[np.float32]
Painter = Callable[[Float32], Float32]
"""(N, L, D) float32 latents to (N, S, S, 3) float32 pictures, 0…255."""

_LEAST_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class LatentDirections:
    """C directions in which people differ, in units of one standard deviation.

    A code is a latent in these coordinates; what a latent holds beside them, and differences
    between its layers, stay with the latent.

    Attributes:
        mean: (D,) float32, mean w.
        basis: (C, D) float32, what one unit of each coordinate adds to w.
        inverse: (D, C) float32, from w to coordinates.
        picture: (S, S, 3) float32 BGR of the mean, 0…255.
        change: (C, S, S, 3) float32, what one unit of each coordinate adds to the picture,
            to the first order.
    """

    mean: Float32
    basis: Float32
    inverse: Float32
    picture: Float32
    change: Float32

    @property
    def count(self) -> int:
        """C."""
        return len(self.basis)

    def codes(self, latents: Float32) -> Float32:
        """(N, C) coordinates of (N, L, D) latents."""
        return np.asarray((latents.mean(axis=1) - self.mean) @ self.inverse, np.float32)

    def latents(self, codes: Float32, layers: int) -> Float32:
        """(N, layers, D) latents of (N, C) codes, every layer the same."""
        w = self.mean + codes @ self.basis
        return np.ascontiguousarray(np.repeat(w[:, None], layers, axis=1), np.float32)

    def moved(self, latents: Float32, codes: Float32) -> Float32:
        """(N, L, D) latents with their coordinates replaced by (N, C) codes."""
        shift = (codes - self.codes(latents)) @ self.basis
        return np.asarray(latents + shift[:, None], np.float32)


def directions_from_latents(latents: Float32, paint: Painter, side: int = 64) -> LatentDirections:
    """Finds the directions of a population.

    Args:
        latents: (n, L, D) float32 of many people, n ≥ 2.
        paint: the generator under one fixed control.
        side: height and width to which pictures are reduced, px.

    >>> people = np.random.default_rng(0).normal(size=(50, 1, 3)).astype(np.float32)
    >>> people[..., 2] = 0
    >>> paint = lambda w: np.repeat(w[:, 0, None, None, :], 4, 1).repeat(4, 2) * [1, 9, 0]
    >>> found = directions_from_latents(people, paint, side=4)
    >>> found.count, np.abs(found.basis[0]).argmax()
    (2, np.int64(1))
    """
    w = latents.mean(axis=1).astype(np.float64)
    mean = w.mean(axis=0)
    _, values, axes = np.linalg.svd(w - mean, full_matrices=False)
    kept = values > _LEAST_SHARE * values[0]
    spread, axes = values[kept] / np.sqrt(len(w)), axes[kept]
    tried = mean + np.concatenate([np.zeros((1, len(mean))), spread[:, None] * axes])
    layers = np.repeat(tried[:, None], latents.shape[1], axis=1).astype(np.float32)
    pictures = resized(paint(layers), side).reshape(len(tried), -1).astype(np.float64)
    change = pictures[1:] - pictures[0]
    # Turns the coordinates so that their changes of the picture are orthogonal, largest first.
    energy, turn = np.linalg.eigh(change @ change.T)
    turn = turn[:, np.argsort(energy)[::-1]]
    turn *= np.where(turn[np.abs(turn).argmax(axis=0), np.arange(turn.shape[1])] < 0, -1, 1)
    count = len(spread)
    return LatentDirections(
        mean.astype(np.float32),
        (turn.T @ (spread[:, None] * axes)).astype(np.float32),
        ((axes.T / spread) @ turn).astype(np.float32),
        pictures[0].reshape(side, side, 3).astype(np.float32),
        (turn.T @ change).reshape(count, side, side, 3).astype(np.float32),
    )


def resized(pictures: Float32, side: int) -> Float32:
    """(N, S, S) or (N, S, S, 3) float32 pictures brought to `side` px.

    >>> resized(np.ones((1, 4, 4, 3), np.float32), 2).shape
    (1, 2, 2, 3)
    """
    if pictures.shape[1] == side:
        return np.asarray(pictures, np.float32)
    how = cv2.INTER_AREA if pictures.shape[1] > side else cv2.INTER_LINEAR
    return np.stack(
        [
            np.asarray(cv2.resize(picture, (side, side), interpolation=how), np.float32)
            for picture in pictures
        ]
    )
