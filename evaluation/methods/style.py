"""Local style, its alignment and its losses: k-SALSA (Jeon et al. 2022), Eq. 1–3, 6 and 7.

The paper takes the second layer of VGG19. A first layer of such a network holds small
oriented edges and colour contrasts; here they stand as a fixed bank of filters, which needs
no foreign weights, works on any kind of picture and is linear in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Aligned",
    "aligned_styles",
    "content_loss",
    "content_vectors",
    "local_styles",
    "style_features",
    "style_loss",
]

Float32 = NDArray[np.float32]
Pictures = NDArray[np.float32]
"""(N, S, S, 3) float32 BGR, 0…255."""

GRID: Final = 8
"""Patches along each side."""
_THUMBNAIL: Final = 16


def _cosines() -> list[Float32]:
    """The eight 3×3 cosine patterns that sum to zero."""
    place = np.arange(3) + 0.5
    waves = [np.cos(np.pi * place * order / 3) for order in range(3)]
    units = [wave / np.linalg.norm(wave) for wave in waves]
    return [np.outer(a, b).astype(np.float32) for a in units for b in units][1:]


_EDGES: Final = _cosines()


def style_features(pictures: Pictures) -> Float32:
    """What the filters see: (N, S, S, 12) float32.

    Eight 3×3 patterns of the luminance, two wide edges, two colour contrasts. Linear in the
    picture, without the mean: brightness is no style.
    """
    return np.stack([_features(picture) for picture in np.asarray(pictures, np.float32)])


def _features(picture: Float32) -> Float32:
    blue, green, red = (picture[..., channel] / 255 for channel in range(3))
    luminance = 0.114 * blue + 0.587 * green + 0.299 * red
    planes = [cv2.filter2D(luminance, -1, edge) for edge in _EDGES]
    soft = cv2.blur(luminance, (5, 5))
    planes += [cv2.Sobel(soft, -1, 1, 0) / 4, cv2.Sobel(soft, -1, 0, 1) / 4]
    for contrast in (red - green, blue - (red + green) / 2):
        planes.append(contrast - cv2.blur(contrast, (9, 9)))
    return np.asarray(np.stack(planes, axis=-1), np.float32)


def local_styles(features: Float32, grid: int = GRID) -> Float32:
    """Correlations of the features within each patch, Eq. 1 and 2.

    Args:
        features: (N, S, S, C) float32; S is a multiple of `grid`.
        grid: patches along each side.

    Returns:
        (N, grid², C, C) float32, divided by the pixels of a patch.

    >>> local_styles(np.ones((1, 8, 8, 2), np.float32), 2)[0, 0].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    cut = _patches(features, grid)
    return np.asarray(np.swapaxes(cut, 2, 3) @ cut / cut.shape[2], np.float32)


def _patches(features: Float32, grid: int) -> Float32:
    """(N, grid², pixels, C) of (N, S, S, C)."""
    count, side, _, channels = features.shape
    size = side // grid
    cut = features.reshape(count, grid, size, grid, size, channels).transpose(0, 1, 3, 2, 4, 5)
    return np.ascontiguousarray(cut).reshape(count, grid * grid, size * size, channels)


@dataclass(frozen=True, slots=True)
class Aligned:
    """The sources' styles as the target must match them.

    Attributes:
        weight: (P,) float32 share of source patches that chose each target patch.
        total: (P, C, C) float32 sum of those patches' styles, by the same share.
        energy: mean squared norm of the sources' styles.
    """

    weight: Float32
    total: Float32
    energy: float


def aligned_styles(sources: Float32, target: Float32, *, is_free: bool = True) -> Aligned:
    """Each source patch chooses the target patch of the most alike style, Eq. 3.

    Args:
        sources: (k, P, C, C) float32 styles of the members.
        target: (P, C, C) float32 styles of the representative.
        is_free: false matches each patch with the one at its own place (the ablation).

    Raises:
        ValueError: the numbers of patches differ.
    """
    count, patches = len(sources), len(target)
    flat = sources.reshape(count * patches, -1)
    if is_free:
        chosen = (_units(flat) @ _units(target.reshape(patches, -1)).T).argmax(axis=1)
    else:
        chosen = np.tile(np.arange(patches), count)
    share = np.float32(1 / len(flat))
    weight = np.bincount(chosen, minlength=patches).astype(np.float32) * share
    total = np.zeros_like(target)
    np.add.at(total, chosen, sources.reshape(-1, *target.shape[1:]) * share)
    return Aligned(weight, total, float((flat.astype(np.float64) ** 2).sum(axis=1).mean()) + 1e-12)


def _units(rows: Float32) -> Float32:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), np.float32)


def style_loss(aligned: Aligned, features: Float32, grid: int = GRID) -> tuple[float, Float32]:
    """Eq. 7, relative to the sources' energy, and its slope.

    Args:
        aligned: the sources, aligned with a target near this one.
        features: (S, S, C) float32 of the target.
        grid: patches along each side.

    Returns:
        The mean squared distance of aligned styles ÷ the mean squared norm of the sources':
        0 where every style is met, 1 for a blank. And its slope, (S, S, C) float32.
    """
    cut = _patches(features[None], grid)[0]
    styles = np.swapaxes(cut, 1, 2) @ cut / cut.shape[1]
    weight = aligned.weight[:, None, None]
    # Σ w‖S − Sᵢ‖² = Σ w‖S‖² − 2⟨S, Σ w Sᵢ⟩ + energy, with the shares adding up to one.
    own = float((weight * styles**2).sum())
    loss = (own - 2 * float((styles * aligned.total).sum())) / aligned.energy + 1
    pull = 2 * (weight * styles - aligned.total) / aligned.energy
    slope = 2 * cut @ pull / cut.shape[1]
    side, _, channels = features.shape
    size = side // grid
    ordered = slope.reshape(grid, grid, size, size, channels).transpose(0, 2, 1, 3, 4)
    return max(loss, 0.0), np.ascontiguousarray(ordered).reshape(features.shape).astype(np.float32)


def content_vectors(pictures: Pictures) -> Float32:
    """F of Eq. 6 before it is scaled to length one: small pictures, (N, 768) float32."""
    side = (_THUMBNAIL, _THUMBNAIL)
    small = [cv2.resize(picture, side, interpolation=cv2.INTER_AREA) for picture in pictures]
    return np.stack(small).reshape(len(pictures), -1).astype(np.float32) / np.float32(255)


def content_loss(start: Float32, vector: Float32) -> tuple[float, Float32]:
    """Eq. 6: one minus the cosine with where the representative began, and its slope.

    Args:
        start: (D,) float32 content of the centroid.
        vector: (D,) float32 content now.

    >>> round(content_loss(np.array([1, 0], np.float32), np.array([2, 0], np.float32))[0], 6)
    0.0
    """
    length = max(float(np.linalg.norm(vector)), 1e-9)
    wanted, unit = start / max(float(np.linalg.norm(start)), 1e-9), vector / length
    cosine = float(wanted @ unit)
    return 1 - cosine, np.asarray((cosine * unit - wanted) / length, np.float32)
