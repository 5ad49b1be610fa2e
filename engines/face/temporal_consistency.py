"""Keeps what was painted on a face in place between frames: it moves as the face's pixels do.

Landmarks say where a painted brow or lip goes to within a fraction of a pixel, and at strong
edges that fraction shows. What was painted in the frame before is therefore moved along with
the original's optical flow, and where it differs from what is painted now by no more than such
a fraction explains, most of it stays (after Bonneel et al. 2015, blind video temporal
consistency, with the flow of the original). Light, blinks and opening lips differ by more and
are followed at once. Where the original's pixels look as they did, but for their motion, nothing
blinked or opened, and more is taken for trembling: in a frame that is shown twice, nothing moves.
Only painted pixels are mixed with painted pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.patches import Patch
from engines.face.alignment import scale_of
from engines.face.face_flow import FaceFlow
from engines.face.motion_grid import GRID, grid_in_frame, sampling_map
from engines.stylegan.drawing import box_around, rise
from engines.stylegan.gaze import offsets_of_pupils
from engines.stylegan.lids import EYES, gap_of

__all__ = ["TemporalConsistency"]

_KEPT: Final = 0.9
"""Share of the frame before where both agree; larger is calmer and follows creeping changes
later."""
_AGREEING: Final = 45.0
_UNCHANGED: Final = 140.0
_CHANGED: Final = 8.0
"""Difference, grey levels, at which half of that is kept; where the original is unchanged; and
where it did something: soft lips that open differ from shut ones by less than trembling lines."""
_CHANGE: Final = 3.0
_DONE: Final = 6.0
_CHANGE_SPREAD: Final = 1.5
"""How much the original changes, grey levels, where it hardly counts as unchanged any more, and
where it did something; and the deviation of the blur through which that is seen, cells of the grid:
noise is no change."""
_SAME_EYES: Final = np.array([0.05, 0.05, 0.08], np.float32)
"""How far irises move, to the right and down, and lids apart, widths of the eye, where an eye is
hardly what it was any more."""
_EYE_REACH: Final = 0.8
"""How far from its middle what an eye does is to be seen, widths of the eye."""
_LIGHT: Final = 0.12
"""Deviation of the blur that parts light from lines, a share of the patch's side: the light is
that of now."""
_FINE_NOW: Final = 0.6
_FINE_PX: Final = (5, 5)
"""Share of the finest lines, narrower than this, that is that of now. Less makes brows smears,
since hairs that are a fraction of a pixel off are averaged; more lets them glitter."""
_NEAR: Final = 0.016
"""Deviation of the blur over which differences are judged, a share of the patch's side."""
_COARSE_SIDE: Final = 64
"""Of the patch in which differences are blurred, px."""
_ASTRAY: Final = 0.009
"""Distance, a share of the patch's side, from which a pixel's way there and back misses it: a
hand passed before the face, or it turned away."""

_MEAN: Final = np.full((1, 3), 1 / 3, np.float32)
"""Weights of a mean over colours."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Before:
    """What was painted last, where it lies now.

    Attributes:
        pixels: float32[S, S, 3] BGR.
        trust: float32[S, S], how far each may be trusted, 0 to 1.
        agreeing: float32[_COARSE_SIDE, _COARSE_SIDE], differences at which half is kept.
    """

    pixels: Float32
    trust: Float32
    agreeing: Float32


@dataclass(slots=True)
class TemporalConsistency:
    """What was painted last on one face."""

    _last: Patch | None = field(default=None, repr=False)
    _eyes: Float32 | None = field(default=None, repr=False)
    _index: int = -1

    def steadied(self, patch: Patch, points: Float32, index: int, flow: FaceFlow) -> Patch:
        """The patch, with what was painted last in the same places of the face.

        Args:
            patch: at the frame's scale, see `engines.blending.harmony.sized_patch`.
            points: float32[POINTS, 3] that it was painted by, in shares of its side. Eyes that shut
                or look elsewhere are those of now.
            index: of its frame; rises from call to call.
            flow: knows where pixels of this frame were in the last one. Where it does not, as
                after a cover, the patch stays as it is.
        """
        before, eyes = self._moved_to(patch, index, flow), _eyes_of(points)
        if before is not None and self._eyes is not None:
            _distrust_eyes(before.trust, points, eyes - self._eyes)
            patch = replace(patch, pixels=_mixed(patch.pixels, before))
        self._last, self._eyes, self._index = patch, eyes, index
        return patch

    def _moved_to(self, patch: Patch, index: int, flow: FaceFlow) -> _Before | None:
        """What was painted last, where it lies now."""
        if self._last is None:
            return None
        size, old = patch.alpha.shape[0], self._last.alpha.shape[0]
        here = grid_in_frame(patch.crop_from_frame, size)
        there = flow.carried(here, index, self._index)
        back = None if there is None else flow.carried(there, self._index, index)
        if there is None or back is None:
            return None
        missed = np.linalg.norm(back - here, axis=1) * scale_of(patch.crop_from_frame)
        trust = np.asarray(np.clip(2 - missed / (_ASTRAY * size), 0, 1), np.float32)
        x, y = sampling_map(self._last.crop_from_frame, there, size)
        way = cv2.INTER_CUBIC  # a linear one, frame after frame, would blur
        pixels = cv2.remap(self._last.pixels, x, y, way, borderMode=cv2.BORDER_REPLICATE)
        change = flow.changed(here, index, there, self._index).reshape(GRID, GRID)
        agreeing = _sized(_agreeing(change), _COARSE_SIDE)
        trusted = _sized(trust.reshape(GRID, GRID), size)
        if not (min(x.min(), y.min()) >= 0 and max(x.max(), y.max()) <= old - 1):
            trusted *= (x >= 0) & (y >= 0) & (x <= old - 1) & (y <= old - 1)
        return _Before(np.asarray(pixels, np.float32), trusted, agreeing)


def _eyes_of(points: Float32) -> Float32:
    """Where both eyes look, and how far they are open: float32[2, 3]."""
    gaps = gap_of(np.stack([points[lids] for lids in EYES]))
    return np.concatenate([offsets_of_pupils(points[None])[0], gaps[:, None]], axis=1)


def _distrust_eyes(trust: Float32, points: Float32, change: Float32) -> None:
    """Trust float32[S, S] less about eyes that did something, in place.

    Args:
        trust: of the pixels of a patch.
        points: float32[POINTS, 3], shares of its side.
        change: float32[2, 3], of `_eyes_of`.
    """
    size = trust.shape[0]
    for lids, moved in zip(EYES, change, strict=True):
        lost = 1 - float(np.exp(-np.square(moved / _SAME_EYES).sum()))
        corners = points[lids][[0, 8], :2] * size
        reach = _EYE_REACH * float(np.linalg.norm(corners[1] - corners[0]))
        middle = corners.mean(axis=0)
        left, top, right, bottom = box_around(middle[None], reach, size)
        x = np.arange(left, right, dtype=np.float32) - middle[0]
        y = np.arange(top, bottom, dtype=np.float32)[:, None] - middle[1]
        away = np.hypot(x, y) / np.float32(max(reach, 1.0))
        trust[top:bottom, left:right] *= 1 - np.float32(lost) * rise(away, 1.0, 0.7)


def _agreeing(change: Float32) -> Float32:
    """Differences at which half is kept, float32[GRID, GRID], of changes of the original."""
    square = np.square(cv2.GaussianBlur(change, (0, 0), _CHANGE_SPREAD))
    unchanged, quiet = [np.exp(-square / np.float32(one**2)) for one in (_CHANGE, _DONE)]
    found = _CHANGED + (_AGREEING - _CHANGED) * quiet + (_UNCHANGED - _AGREEING) * unchanged
    return np.asarray(found, np.float32)


def _mixed(now: Float32, before: _Before) -> Float32:
    """What is painted now, its lines mixed with those of before where they agree."""
    size = now.shape[0]
    lines = before.pixels - now
    lines -= _sized(_blurred(_sized(lines, _COARSE_SIDE), _LIGHT), size)
    coarse = cv2.blur(lines, _FINE_PX)
    cv2.addWeighted(lines, 1 - _FINE_NOW, coarse, _FINE_NOW, 0, dst=lines)
    square = np.asarray(cv2.transform(cv2.multiply(lines, lines), _MEAN), np.float32)
    square = _sized(square, _COARSE_SIDE)
    differs = np.asarray(_blurred(square, _NEAR) / np.square(before.agreeing), np.float32)
    kept = np.float32(_KEPT) / (1 + differs)
    share = _sized(kept, size)
    share *= before.trust
    # Broadcasting along a last axis of three would take several times as long.
    cv2.multiply(lines, cv2.merge([share] * 3), dst=lines)
    cv2.add(lines, now, dst=lines)
    return np.clip(lines, 0, 255, out=lines)


def _blurred(values: Float32, share: float) -> Float32:
    deviation = share * values.shape[0]
    return np.asarray(cv2.GaussianBlur(values, (0, 0), deviation), np.float32)


def _sized(values: Float32, side: int) -> Float32:
    way = cv2.INTER_AREA if side < values.shape[0] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(values, (side, side), interpolation=way), np.float32)
