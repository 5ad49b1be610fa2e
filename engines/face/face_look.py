"""One face's control in the frame's pixels: the motion of the head and the shape of the face.

Landmarks are read in one crop and painted in another, wider one; between them, and from frame
to frame, they are carried as pixels of the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import Occlusion
from engines.face.alignment import Similarity, inverse_of, moved, scale_of
from engines.stylegan.contrast import UNBOUNDED
from engines.stylegan.lids import BOTH_EYES, drawn_together
from engines.stylegan.topology import EYE_LEFT_SLICE, EYE_RIGHT_SLICE, OVAL_SLICE

__all__ = [
    "PAINTED_EYES",
    "Look",
    "apart",
    "crop_with_eyes",
    "eyes_closer",
    "eyes_of",
    "look_from_points",
    "painted_points",
    "painting_place",
    "points_in_frame",
    "points_in_frames",
    "stacked",
    "with_lids",
]

PAINTED_EYES: Final = np.array([[0.335, 0.37], [0.665, 0.37]], np.float32)
"""Where the eyes lie at most apart in the crop that is painted: a fifth closer together than in the
kveil crop, so that the chin and the forehead lie inside. Those of a turned head lie closer
together, as much as it looks narrower, and so do those of a long face: by the distance of the eyes
alone its crop would end above the chin."""
_EYE_DISTANCE: Final = float(PAINTED_EYES[1, 0] - PAINTED_EYES[0, 0])
_MIDDLE: Final = PAINTED_EYES.mean(axis=0)
_REACH: Final = np.array([0.49, 0.985], np.float32)
"""How far beside its middle, and how low in it, a face ends at most."""
_CHIN: Final = (0.1, 0.23)
"""How much lower chins are than read, distances of the eyes: of heads that look at the camera, and
how much more of turned ones; see `engines.stylegan.outline`."""
_CLOSEST: Final = 0.6
"""How much closer together they lie at most."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Look:
    """What was read of one face in one frame.

    Attributes:
        index: number of the frame.
        time_s: its time, seconds.
        motion: float32[4] of the frame: place between the eyes, and the vector from one eye
            to the other, px.
        shape: float32[POINTS, 3] landmarks in distances of the eyes, around that place.
        light: float32[2, 4, 4, 3].
        doubt: expected error of the landmarks, units of a kveil crop, in which eyes are 0.4 apart;
            infinite where not to be followed.
        occlusion: what is in front of the face; None where nothing is.
        contrast: of the face, see `engines.stylegan.contrast`; `UNBOUNDED` where unknown.
        is_hidden: too much of the face is behind something for it to be followed.
        is_unsure: something may be before it that was not told, or it is not as it was read.
        expression: float32[SHOWN], see `ShapeModel.shown_by`; None where the reader tells none.
        inside: float32[INSIDE] what is between the lips, see `engines.stylegan.mouth`; None where
            the reader does not tell.
        raised: how much higher than `shape` has them both brows lie, see
            `engines.face.brow_reading`; 0 where the reader does not tell.
        openness: float32[2] how far both eyes are read open, of which `shape` knows nothing yet,
            see `with_lids`; None where it does, or the reader does not tell.
    """

    index: int
    time_s: float
    motion: Float32
    shape: Float32
    light: Float32
    doubt: float
    occlusion: Occlusion | None = None
    contrast: float = UNBOUNDED
    is_hidden: bool = False
    is_unsure: bool = False
    expression: Float32 | None = None
    inside: Float32 | None = None
    raised: float = 0.0
    openness: Float32 | None = None


def with_lids(look: Look, usual: float = 1.0) -> Look:
    """The look with lids of shutting eyes as far together as these are shut.

    Args:
        look: as it was read.
        usual: how far its eyes are read open where they do not shut. Narrow and pale ones are read
            as half shut all the time.
    """
    if look.openness is None:
        return look
    share = np.asarray(look.openness / np.float32(usual), np.float32)
    return replace(look, shape=drawn_together(look.shape[None], share[None])[0], openness=None)


def crop_with_eyes(motion: Float32, eyes: NDArray[np.floating], size: int) -> Similarity:
    """Map from the frame to a crop of side `size` px.

    Args:
        motion: float32[4], see `Look`.
        eyes: (2, 2) where the eyes shall lie, on one level, in units of the crop.
        size: side of the crop, px.
    """
    x, y, a, b = motion.tolist()
    scale = size * float(eyes[1, 0] - eyes[0, 0]) / max(a * a + b * b, 1e-6)
    (left, top), (right, bottom) = eyes.tolist()
    a, b = a * scale, b * scale
    across, down = (left + right) / 2 * size, (top + bottom) / 2 * size
    return np.array([[a, b, across - a * x - b * y], [-b, a, down + b * x - a * y]], np.float32)


def painted_points(shape: Float32, closer: float | None = None) -> Float32:
    """Landmarks in units of the painted crop, float32[POINTS, 3], of a `Look`'s shape.

    Args:
        shape: see `Look`.
        closer: how much closer together the eyes lie than at most; as the shape asks by default.
    """
    share = eyes_closer(shape) if closer is None else closer
    points = shape * np.float32(share * _EYE_DISTANCE)
    points[:, :2] += _MIDDLE
    return points


def painting_place(motion: Float32, points: Float32, size: int) -> Similarity:
    """Map from the frame to the painted crop of side `size` px.

    Args:
        motion: float32[4], see `Look`.
        points: float32[POINTS, 3] in units of that crop, see `painted_points`.
        size: side of the crop, px.
    """
    return crop_with_eyes(motion, eyes_of(points), size)


def eyes_closer(shape: Float32) -> float:
    """How much closer together the eyes of a turned head, or a long face, shall lie in its crop.

    Args:
        shape: see `Look`.

    Returns:
        A share, 1 or less.
    """
    depth = abs(float(shape[EYE_RIGHT_SLICE, 2].mean() - shape[EYE_LEFT_SLICE, 2].mean()))
    below = float(shape[OVAL_SLICE, 1].max()) + _CHIN[0] + _CHIN[1] * min(depth, 1.0)
    beside = float(np.abs(shape[OVAL_SLICE, 0]).max())
    room_beside, room_below = (_REACH - (0.0, float(_MIDDLE[1]))) / _EYE_DISTANCE
    room = min(room_below / max(below, 1.0), room_beside / max(beside, 1.0))
    return float(max(min(1 / float(np.hypot(1, depth)), room), _CLOSEST))


def look_from_points(
    index: int,
    time_s: float,
    points: Float32,
    crop_from_frame: Similarity,
    size: int,
    light: Float32,
    doubt: float,
) -> Look:
    """Carries landmarks from their crop into the frame, motion and shape apart.

    Args:
        index: number of the frame.
        time_s: its time, seconds.
        points: float32[POINTS, 3], crop units.
        crop_from_frame: map of that crop.
        size: its side, px.
        light: float32[2, 4, 4, 3].
        doubt: expected error of the points, crop units.
    """
    frame_from_crop = inverse_of(crop_from_frame)
    seen = moved(frame_from_crop, points[:, :2] * size)
    depth = points[:, 2:] * np.float32(size * scale_of(frame_from_crop))
    motion, shape = apart(np.concatenate([seen, depth], axis=1))
    return Look(index, time_s, motion, shape, light, doubt)


def apart(points: Float32) -> tuple[Float32, Float32]:
    """Takes landmarks apart into the motion of the head and the shape of the face.

    Args:
        points: float32[POINTS, 3] of the frame, px.

    Returns:
        `motion` and `shape` of a `Look`.
    """
    eyes = eyes_of(points)
    middle, across = eyes.mean(axis=0), eyes[1] - eyes[0]
    length = max(float(np.hypot(*across)), 1e-4)
    cosine, sine = across / length
    turned = (points[:, :2] - middle) @ np.array([[cosine, -sine], [sine, cosine]], np.float32)
    shape = np.concatenate([turned, points[:, 2:]], axis=1) / np.float32(length)
    return np.concatenate([middle, across]).astype(np.float32), shape.astype(np.float32)


def points_in_frame(look: Look) -> Float32:
    """Landmarks of a look, float32[POINTS, 3] px of its frame; the inverse of `apart`."""
    return np.asarray(points_in_frames([look])[0], np.float32)


def points_in_frames(looks: Sequence[Look]) -> Float32:
    """Landmarks of looks, float32[N, POINTS, 3] px, each of its frame."""
    motion = np.stack([look.motion for look in looks])
    shape = np.stack([look.shape for look in looks])
    a, b = motion[:, 2], motion[:, 3]
    turn = np.stack([a, b, -b, a], axis=1).reshape(-1, 2, 2)
    placed = shape[:, :, :2] @ turn + motion[:, None, :2]
    return np.concatenate([placed, shape[:, :, 2:] * np.hypot(a, b)[:, None, None]], axis=2)


def eyes_of(points: Float32) -> Float32:
    """Middles of both eyes, float32[2, 2], of float32[POINTS, >=2]."""
    return np.asarray(points[BOTH_EYES, :2].mean(axis=1), np.float32)


def stacked(values: Sequence[Float32 | None]) -> Float32 | None:
    """What was read of faces, in one array; None where it was not read of one of them."""
    known = [one for one in values if one is not None]
    return np.stack(known) if known and len(known) == len(values) else None
