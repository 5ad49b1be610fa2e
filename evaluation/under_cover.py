"""Whether a place of an anonymized frame shows one of kveil's own covers, told by its paint."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.covers import DEFAULT_COVER
from engines.crop_regions import middle_of_box
from engines.emblem import placed_emblem
from engines.types import Face

__all__ = ["is_under_cover"]

_NEAR: Final = 18.0
"""Grey levels that a codec may move the solid cover's paint; larger takes blue faces for covers."""
_SHARE: Final = 0.6
_MOST_COLOUR: Final = 0.06
"""Deviation of colour over deviation of brightness; of surrogates in eight clips 0.078 and more."""
_LEAST_LIKE: Final = 0.5
"""Correlation with the relief. With both, no synthetic face of those clips is told for a cover, nor
are all muted covers told: of a crowd 62 %, 25 % of heads that overlap (tries that no command
repeats), ground without a face never. Where figures of swapped faces matter, cover the others in
the solid look."""

Float32 = NDArray[np.float32]


def is_under_cover(image: NDArray[np.uint8], face: Face) -> bool:
    """Whether the central half of a face's box shows a solid or a muted cover.

    Args:
        image: H×W×3 uint8 BGR.
        face: box and landmarks, px, as found in the original.

    >>> grey, unknown = np.full((64, 64, 3), 90, np.uint8), np.full((5, 2), np.nan, np.float32)
    >>> face = Face(np.array([0, 0, 64, 64], np.float32), unknown, 0.9)
    >>> covered = DEFAULT_COVER.paint(grey, unknown)
    >>> is_under_cover(covered, face), is_under_cover(grey, face)
    (True, False)
    """
    rows, columns = middle_of_box(face.box_px, image.shape[0], image.shape[1])
    seen = image[rows, columns]
    pixels = seen.reshape(-1, 3).astype(np.float32)
    if _is_solid(pixels):
        return True
    corner = np.array([columns.start, rows.start], np.float32)
    box, points = face.box_px - np.tile(corner, 2), face.landmarks_px - corner
    depth, _ = placed_emblem(seen.shape[0], seen.shape[1], box, points)
    return _is_muted(pixels, depth.ravel().astype(np.float32))


def _is_solid(pixels: Float32) -> bool:
    """The paint is one ramp of colours, or the same with blue and red exchanged."""
    return max(_share_of_ramp(pixels), _share_of_ramp(pixels[:, ::-1])) >= _SHARE


def _is_muted(pixels: Float32, relief: Float32) -> bool:
    """The paint is one colour, lighter or darker as the relief says."""
    away = pixels - pixels.mean(axis=0)
    brightness = away.mean(axis=1)
    deviation = float(brightness.std())
    if deviation == 0 or relief.std() == 0:
        return False
    colour = float(np.sqrt(np.mean((away - brightness[:, None]) ** 2)))
    alike = float(np.corrcoef(brightness, relief)[0, 1])
    return colour <= _MOST_COLOUR * deviation and alike >= _LEAST_LIKE


def _share_of_ramp(pixels: Float32) -> float:
    dark, light = _ramp()
    along = light - dark
    place = np.clip((pixels - dark) @ along / float(along @ along), 0, 1)
    away = np.linalg.norm(pixels - dark - place[:, None] * along, axis=1)
    return float((away < _NEAR).mean())


@cache
def _ramp() -> tuple[Float32, Float32]:
    """The darkest and the lightest colour of the solid cover, as it paints a grey face."""
    grey = np.full((64, 64, 3), 128, np.uint8)
    painted = DEFAULT_COVER.paint(grey, np.full((5, 2), np.nan, np.float32)).reshape(-1, 3)
    order = painted.sum(axis=1).argsort()
    return painted[order[0]].astype(np.float32), painted[order[-1]].astype(np.float32)
