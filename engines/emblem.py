"""Nobody's face: the relief that covers show, and where it lies on a face.

A recogniser knows faces and, far from all of them, one region for whatever is none: a blank,
stripes, noise. Faces too small or too blurred to be told apart lie in that region too, so a
patterned cover "matches" them although nothing of them is left. A sharp face that is nobody's
lies elsewhere. It works as far as the recogniser sees it upright and in place; the relief is
therefore laid where recognisers align faces, on the five landmarks.

The relief is the average of many mixtures of the bundled donors, whom nobody is like more than
anybody else; `scripts/draw_emblem.py` made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import (
    Similarity,
    scale_of,
    similarity_from_points,
    to_integer_centres,
)
from engines.errors import EngineFault, ModelMissing
from engines.types import Box, Landmarks

__all__ = ["EMBLEM_POINTS", "emblem_from_face", "placed_emblem"]

EMBLEM_POINTS: Final = np.array(
    [[0.325, 0.385], [0.675, 0.385], [0.500, 0.593], [0.355, 0.737], [0.645, 0.737]], np.float64
)
"""What of the relief goes to eyes, nose tip and corners of the mouth, fractions of its side. They
lie a seventh nearer to its middle than its own: recognisers bear a face drawn too large better
than one drawn too small."""
_TYPICAL: Final = np.array(
    [[0.30, 0.395], [0.70, 0.395], [0.50, 0.605], [0.345, 0.77], [0.655, 0.77]], np.float64
)
"""The same in a box as detectors draw it around a face seen from the front."""
_SIDES: Final = (0.9, 1.5)
"""Least and largest side of the relief over the longer side of the box."""
_INNER: Final = 0.3
"""Share of the box at each end in which the middle of the relief may not lie."""
_RELIEF: Final = Path(__file__).parent / "weights" / "nobody.png"
_MIDDLE: Final = 0.5 + 0.5j
_SMALLEST_PX: Final = 16
_FINENESS: Final = 0.75
"""Least size of the relief over its size in the picture; larger is sharper and aliases more."""
_RIM: Final = 0.75
_OVAL: Final = ((0.5, 0.52), (0.47, 0.55), 0.85)
"""Middle and half axes of the face on the relief, and the share of them from which it fades."""
_FARTHEST_PX: Final = 1e6
_LEAST_SPREAD_PX: Final = 1e-2


def emblem_from_face(box: Box, landmarks: Landmarks) -> Similarity:
    """Map from the picture to the relief (side 1) over a face.

    Follows the landmarks, within limits that the box sets: their jitter on a face seen from
    the side must not throw the relief about. Only the geometry of the detection is used.

    Args:
        box: (4,) finite x0 y0 x1 y1 px.
        landmarks: (5, 2) px; a typical face in the box is taken where they are unusable.

    >>> box = np.array([0, 0, 100, 100], np.float32)
    >>> unknown = np.full((5, 2), np.nan, np.float32)
    >>> there = emblem_from_face(box, unknown)
    >>> (np.array([50.0, 60.0]) @ there[:, :2].T + there[:, 2]).round(1).tolist()
    [0.5, 0.6]
    """
    x0, y0, x1, y1 = (float(value) for value in box)
    width, height = x1 - x0, y1 - y0
    placed = _from_landmarks(landmarks)
    if placed is None:
        typical = np.array([x0, y0]) + _TYPICAL * np.array([width, height])
        placed = similarity_from_points(EMBLEM_POINTS, typical)
    # In complex numbers, as `engines.alignment` does: z → turn·z + shift.
    (a, _, across), (b, _, down) = placed.astype(np.float64).tolist()
    turn, longest = complex(a, b), max(width, height)
    middle = turn * _MIDDLE + complex(across, down)
    turn *= min(max(abs(turn), _SIDES[0] * longest), _SIDES[1] * longest) / abs(turn)
    x = min(max(middle.real, x0 + _INNER * width), x1 - _INNER * width)
    y = min(max(middle.imag, y0 + _INNER * height), y1 - _INNER * height)
    back = 1 / turn
    home = _MIDDLE - back * complex(x, y)
    return np.array(
        [[back.real, -back.imag, home.real], [back.imag, back.real, home.imag]], np.float32
    )


def placed_emblem(
    height: int, width: int, box: Box, landmarks: Landmarks
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The relief over a face.

    Args:
        height: rows of the picture, px.
        width: columns of the picture, px.
        box: (4,) finite x0 y0 x1 y1, px of the picture; may reach outside.
        landmarks: (5, 2) px of the picture.

    Returns:
        Its depth, height×width uint8, 0 dark to 255 light; and height×width float32, 1 on the face
        that it shows and 0 beside it.

    Raises:
        ModelMissing: the relief is absent.
        EngineFault: the relief cannot be read.
    """
    emblem = emblem_from_face(box, landmarks)
    side_px = 1 / scale_of(emblem)
    levels = _levels()
    level = next((one for one in levels if one.side >= _FINENESS * side_px), levels[-1])
    level_from_picture = emblem * np.float32(level.side)
    level_from_picture[:, 2] += level.rim
    place = to_integer_centres(level_from_picture)
    flags, size = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, (width, height)
    depth = cv2.warpAffine(level.relief, place, size, flags=flags)
    oval = cv2.warpAffine(level.oval, place, size, flags=flags)
    return np.asarray(depth, np.uint8), np.asarray(oval, np.float32)


@dataclass(frozen=True, slots=True)
class _Level:
    """The relief at one size.

    Attributes:
        side: of the relief itself, px.
        rim: width of the continued edge around it, px; a cover ends within it, and warping
            a picture that is there takes a third of the time of continuing it on the way.
        relief: (side + 2·rim) squared, uint8.
        oval: the same, float32, where the face is.
    """

    side: int
    rim: int
    relief: NDArray[np.uint8]
    oval: NDArray[np.float32]


def _level_from_relief(relief: NDArray[np.uint8]) -> _Level:
    side, rim = len(relief), round(_RIM * len(relief))
    continued = cv2.copyMakeBorder(relief, rim, rim, rim, rim, cv2.BORDER_REPLICATE)
    return _Level(side, rim, np.asarray(continued, np.uint8), _oval(side, rim))


def _oval(side: int, rim: int) -> NDArray[np.float32]:
    places = (np.arange(-rim, side + rim, dtype=np.float32) + np.float32(0.5)) / np.float32(side)
    (across, down), (wide, high), full = _OVAL
    away = np.hypot((places[None] - across) / wide, (places[:, None] - down) / high)
    fade = np.clip((away - full) / (1 - full), 0, 1)
    return np.asarray(1 - fade**2 * (3 - 2 * fade), np.float32)


def _from_landmarks(landmarks: Landmarks) -> Similarity | None:
    if landmarks.shape != (5, 2) or not (np.abs(landmarks) < _FARTHEST_PX).all():
        return None
    frame_from_emblem = similarity_from_points(EMBLEM_POINTS, landmarks)
    is_spread = scale_of(frame_from_emblem) > _LEAST_SPREAD_PX
    return frame_from_emblem if is_spread else None


@cache
def _levels() -> tuple[_Level, ...]:
    """The relief at every size that faces need, smallest first: halved by averaging."""
    if not _RELIEF.is_file():
        raise ModelMissing(f"{_RELIEF.name} is absent; reinstall kveil")
    relief = cv2.imread(str(_RELIEF), cv2.IMREAD_GRAYSCALE)
    if relief is None or relief.shape[0] != relief.shape[1]:
        raise EngineFault(f"{_RELIEF.name} is damaged; reinstall kveil")
    reliefs = [np.asarray(relief, np.uint8)]
    while len(reliefs[0]) >= 2 * _SMALLEST_PX:
        half = len(reliefs[0]) // 2
        smaller = cv2.resize(reliefs[0], (half, half), interpolation=cv2.INTER_AREA)
        reliefs.insert(0, np.asarray(smaller, np.uint8))
    return tuple(_level_from_relief(one) for one in reliefs)
