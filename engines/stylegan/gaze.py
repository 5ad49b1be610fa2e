"""Where eyes look: the middle of the iris beside the middle of the eye, in widths of the eye.

A texture has its irises where its donor looked. They are moved to where the subject looks by what
each place between the lids shows of the texture; lids, and the rest of the face, stay.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.lids import BOTH_EYES, EYES
from engines.stylegan.topology import MESH_POINTS, PUPIL_IMAGE_LEFT, PUPIL_IMAGE_RIGHT

__all__ = ["IRIS", "looking_at", "offsets_of_pupils", "with_pupils_at"]

IRIS: Final = 0.195
"""Radius of an iris, in widths of the eye, by anatomy."""
_FARTHEST: Final = np.array([0.28, 0.1], np.float32)
"""How far out of the middle an iris lies at most, sideways and up or down."""
_LONGEST: Final = np.array([0.4, 0.06], np.float32)
"""How far it is moved at most: up and down there is little room between the lids."""
_CORNER: Final = 0.5
_FADE: Final = 0.06
"""How far beyond the lids what moves along with an iris reaches: lashes."""
_RIM: Final = 0.02
"""How far from the lids the middle of an iris stays."""
_SKIPPED: Final = 0.06
_SKIPPED_FROM: Final = 0.18
"""How far beyond the lids what shut eyes do not show reaches, and from where the skin is drawn
towards them for it, widths of the eye."""
_PUPILS: Final = (PUPIL_IMAGE_LEFT, PUPIL_IMAGE_RIGHT)
_LIDS: Final = (np.r_[8:16, 0], np.r_[0:9])
"""Places of the upper and the lower lid in an eye's outline."""
_FAINT: Final = 1e-6

Float32 = npt.NDArray[np.float32]


def offsets_of_pupils(points: Float32) -> Float32:
    """Where eyes look, float32[N, 2, 2]: of both eyes, to the right and down in the crop.

    Args:
        points: float32[N, POINTS, 3].
    """
    middle, across, down = _axes(points[:, BOTH_EYES])
    away = points[:, _PUPILS, :2] - middle[..., :2]
    width = np.square(across).sum(axis=-1)
    right, below = (away * across).sum(axis=-1) / width, (away * down).sum(axis=-1) / width
    return np.asarray(np.stack([right, below], axis=-1), np.float32)


def with_pupils_at(points: Float32, offsets: Float32) -> Float32:
    """The points with pupils at these offsets, a new array; see `offsets_of_pupils`."""
    made = points.copy()
    middle, across, down = _axes(points[:, BOTH_EYES])
    made[:, _PUPILS] = middle
    made[:, _PUPILS, :2] += offsets[..., :1] * across + offsets[..., 1:] * down
    return made


def looking_at(uv: Float32, face: Float32, own: Float32, wanted: Float32, shut: Float32) -> Float32:
    """Places of a texture, those between the lids moved so that its irises lie where wanted.

    Eyes of some textures are open a little beyond the lids of the canonical face; where they shut,
    what lies so near to these is not shown.

    Args:
        uv: float32[S, S, 2] as from `uv_from_points`.
        face: float32[>= MESH_POINTS, 2] of the canonical face on the texture.
        own: float32[2] where the texture's eyes look.
        wanted: float32[2, 2] where each eye shall look.
        shut: float32[2] how far each is shut, in [0, 1].

    Returns:
        A new float32[S, S, 2].
    """
    made = uv.copy()
    across, down = cv2.split(uv)
    for lids, place, closed in zip(EYES, wanted, shut, strict=True):
        outline = face[:MESH_POINTS][lids]
        low, high = outline.min(axis=0), outline.max(axis=0)
        margin = max(_FADE, _SKIPPED_FROM) * float(high[0] - low[0])
        (left, top), (right, bottom) = low - margin, high + margin
        inside = (across > left) & (across < right) & (down > top) & (down < bottom)
        if inside.any():
            made[inside] = _moved(uv[inside], outline, own, place, float(closed))
    return made


def _moved(
    places: Float32, outline: Float32, own: Float32, wanted: Float32, shut: float
) -> Float32:
    """Places float32[M, 2] in and around one eye of outline float32[16, 2]; see `looking_at`."""
    middle, across, down = _axes(outline)
    to_eye = np.stack([across, down]) / np.square(across).sum()
    lids = (outline - middle) @ to_eye.T
    at = np.clip(wanted, -_FARTHEST, _FARTHEST)
    step = np.clip(own - at, -_LONGEST, _LONGEST)
    seen = (places - middle) @ to_eye.T
    x, y = seen[:, 0], seen[:, 1]
    upper, lower = _lids_at(x, lids)
    beyond = np.maximum(np.maximum(upper - y, y - lower), 0)
    share = np.clip(1 - beyond / _FADE, 0, 1) * _with_iris(x - at[0], at[0])
    along = x + share * step[0]
    top, bottom = _lids_at(along, lids)
    # Lids stay where they are: what is between each and the middle of the iris is stretched.
    centre = np.clip(at[1], upper + _RIM, np.maximum(lower - _RIM, upper + _RIM))
    found = centre + share * step[1]
    above = top + np.minimum(y - upper, 0)
    above += np.maximum(y - upper, 0) * (found - top) / (centre - upper)
    below = bottom + np.maximum(y - lower, 0)
    below -= np.maximum(lower - y, 0) * (bottom - found) / np.maximum(lower - centre, _RIM)
    skipped = np.float32(shut * _SKIPPED) * np.clip(1 - beyond / _SKIPPED_FROM, 0, 1)
    height = np.where(y < centre, above - skipped, below + skipped)
    made = np.stack([along, height], axis=1)
    return np.asarray(middle + made @ np.stack([across, down]), np.float32)


def _with_iris(away: Float32, middle: np.floating) -> Float32:
    """How far places `away` from an iris move with it, float32[M]: none do in the corners."""
    room = np.where(away > 0, _CORNER - middle, _CORNER + middle) - IRIS
    share = 1 - (np.abs(away) - IRIS) / np.maximum(room, _FAINT)
    return np.asarray(np.clip(share, 0, 1), np.float32)


def _lids_at(x: Float32, lids: Float32) -> tuple[Float32, Float32]:
    """Height of both lids at places along an eye, the upper one's first."""
    made = []
    for part in _LIDS:
        order = part[np.argsort(lids[part, 0])]
        made.append(np.interp(x, lids[order, 0], lids[order, 1]).astype(np.float32))
    return made[0], made[1]


def _axes(lids: Float32) -> tuple[Float32, Float32, Float32]:
    """Middle of the corners of eyes [..., 16, D], the way from the left one, and down: [..., 2]."""
    first, last = lids[..., 0, :], lids[..., 8, :]
    way = np.where(first[..., :1] <= last[..., :1], np.float32(1), np.float32(-1))
    across = np.asarray((last - first)[..., :2] * way, np.float32)
    down = np.stack([-across[..., 1], across[..., 0]], axis=-1)
    return np.asarray((first + last) / 2, np.float32), across, down
