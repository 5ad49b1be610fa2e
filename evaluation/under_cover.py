"""Whether a place of an anonymized frame shows one of kveil's own covers, told by its paint."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.blending.covers import DEFAULT_COVER
from engines.face.crop_regions import middle_of_box
from engines.types import Face

__all__ = ["is_under_cover"]

_NEAR: Final = 18.0
"""Grey levels that a codec may move the solid cover's paint; larger takes blue faces for covers."""
_SHARE: Final = 0.6
_MOST_UNEVEN: Final = 3.0
"""Deviation, grey levels, from a gentle dome of colour up to which a place is plain. No face in
focus is; larger takes faces out of focus for covers."""

Float32 = NDArray[np.float32]


def is_under_cover(image: NDArray[np.uint8], face: Face) -> bool:
    """Whether the central half of a face's box shows a solid or a muted cover.

    Args:
        image: H×W×3 uint8 BGR.
        face: box and landmarks, px, as found in the original.

    >>> noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    >>> unknown = np.full((5, 2), np.nan, np.float32)
    >>> face = Face(np.array([0, 0, 64, 64], np.float32), unknown, 0.9)
    >>> covered = DEFAULT_COVER.paint(noise, unknown)
    >>> is_under_cover(covered, face), is_under_cover(noise, face)
    (True, False)
    """
    rows, columns = middle_of_box(face.box_px, image.shape[0], image.shape[1])
    seen = image[rows, columns].astype(np.float32)
    return _is_solid(seen.reshape(-1, 3)) or _is_plain(seen)


def _is_solid(pixels: Float32) -> bool:
    """The paint is one colour, or the same with blue and red exchanged."""
    away = [np.linalg.norm(pixels - paint, axis=1) for paint in (_paint(), _paint()[::-1])]
    return max(float((one < _NEAR).mean()) for one in away) >= _SHARE


def _is_plain(seen: Float32) -> bool:
    """The paint is a gentle dome of colour."""
    height, width = seen.shape[:2]
    down, across = np.indices((height, width)).reshape(2, -1).astype(np.float32)
    down, across = down / height - 0.5, across / width - 0.5
    products = [down**i * across**j for i in range(3) for j in range(3 - i)]
    terms = np.stack(products, axis=1)
    pixels = seen.reshape(-1, 3)
    slope = np.linalg.lstsq(terms, pixels, rcond=None)[0]
    return float((pixels - terms @ slope).std()) <= _MOST_UNEVEN


@cache
def _paint() -> Float32:
    """The colour of the solid cover, as it paints a grey face."""
    grey, unknown = np.full((8, 8, 3), 128, np.uint8), np.full((5, 2), np.nan, np.float32)
    return np.asarray(DEFAULT_COVER.paint(grey, unknown)[4, 4], np.float32)
