"""Where a face ends: its outline by all of its landmarks.

The landmark network learnt from crops that end a little below the chin, labelled by a network that
saw no more of them. So it draws chins too high: by a tenth of the distance of the eyes on faces
that look at the camera, by a third on turned ones. What it reads of eyes, nose and mouth does not
suffer, and surrogates are painted by the same custom; but a patch must reach as far as the subject
does. How far outlines are off follows from pose, proportions and the opening of the mouth, that is,
from the landmarks themselves: a linear map on their principal components, fitted on whole heads
(`training.outline`).

A turned head ends where its far cheek does, which is none of the landmarks: the far ones lie on its
other side by then. Cheeks are told from the landmarks, each as a mean of them with weights that may
be negative, which is true of a head however it is turned; and an outline is drawn out as far as
they are seen beyond it. Drawn up to its landmarks alone, a head looks farther turned than it is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected
from engines.stylegan.topology import (
    CHEEKS,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    MESH_POINTS,
    OVAL_SLICE,
    POINTS,
)

__all__ = ["AS_READ", "OutlineModel", "levelled_points", "load_outline"]

_LENGTH: Final = POINTS * 3
_CORNERS: Final = OVAL_SLICE.stop - OVAL_SLICE.start
_FAINT: Final = 1e-9
_TOO_FAR: Final = 0.03
"""How much farther out than it is seen a face's hull with cheeks lies, shares of its radius."""
_FARTHEST: Final = 1.5
"""Deviations beyond which a component of the landmarks counts no more: farther out the map knows
nobody."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class OutlineModel:
    """How far outlines are off.

    Attributes:
        mean: float32[POINTS * 3], of landmarks as of `levelled_points`.
        components: float32[K, POINTS * 3], each one deviation long.
        offset: float32[M * 2], how far outlines of M points are off on average.
        slope: float32[K, M * 2], and how much more with each component.
        cheeks: float32[C, MESH_POINTS], weights of landmarks, sum 1, that make points of cheeks.
    """

    mean: Float32
    components: Float32
    offset: Float32
    slope: Float32
    cheeks: Float32

    def of_points(self, points: Float32) -> Float32:
        """Where faces end: outlines float32[N, M, 2] of float32[N, POINTS, 3], in their units."""
        return self.with_cheeks(points, self.corrected(points))

    def corrected(self, points: Float32) -> Float32:
        """The landmarks' outlines where they are, float32[N, M, 2], without cheeks beyond them."""
        read = points[:, OVAL_SLICE, :2]
        level, turn = levelled_points(points)
        away = level.reshape(-1, _LENGTH) - self.mean
        size = np.square(self.components).sum(axis=1)
        told = np.clip(away @ self.components.T / size, -_FARTHEST, _FARTHEST)
        off = (self.offset + told @ self.slope).reshape(-1, _CORNERS, 2)
        return np.asarray(read + off @ turn, np.float32)

    def with_cheeks(self, points: Float32, outlines: Float32) -> Float32:
        """Outlines float32[N, M, 2] of faces of these landmarks, drawn out to cheeks beyond them.

        Args:
            points: float32[N, POINTS, 3].
            outlines: float32[N, M, 2], in the same units.
        """
        if not len(self.cheeks):
            return outlines
        cheeks = self.cheeks @ points[:, :MESH_POINTS, :2]
        drawn = [_drawn_out(one, own) for one, own in zip(outlines, cheeks, strict=True)]
        return np.stack(drawn).astype(np.float32)


AS_READ: Final = OutlineModel(
    np.zeros(_LENGTH, np.float32),
    np.zeros((0, _LENGTH), np.float32),
    np.zeros(_CORNERS * 2, np.float32),
    np.zeros((0, _CORNERS * 2), np.float32),
    np.zeros((0, MESH_POINTS), np.float32),
)
"""Of packs that do not know better."""


def _drawn_out(outline: Float32, cheeks: Float32) -> Float32:
    """An outline float32[M, 2], as much larger as cheeks float32[C, 2] make its convex hull.

    >>> square = np.float32([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    >>> _drawn_out(square, np.float32([[0.5, 0], [-0.9, 0]])).tolist() == square.tolist()
    True
    >>> wedge = np.float32([[-1, -1], [1, -1], [1, 0], [1, 1], [-1, 1]])
    >>> [round(float(value), 2) for value in _drawn_out(wedge, np.float32([[3, 0]]))[2]]
    [2.97, 0.0]
    """
    middle = (outline.min(axis=0) + outline.max(axis=0)) / 2
    away = outline - middle
    reach = np.maximum(np.hypot(away[:, 0], away[:, 1]), 1e-6)
    ways = away / reach[:, None]
    beyond = _hull_radii(np.concatenate([away, cheeks - middle]), ways)
    more = np.maximum(beyond - _hull_radii(away, ways) - np.float32(_TOO_FAR) * reach, 0)
    return np.asarray(outline + ways * more[:, None], np.float32)


def _hull_radii(points: Float32, ways: Float32) -> Float32:
    """How far the convex hull of points float32[N, 2] around 0 lies in directions float32[M, 2]."""
    hull = cv2.convexHull(points.astype(np.float32))[:, 0]
    step = np.roll(hull, -1, axis=0) - hull
    normals = np.stack([step[:, 1], -step[:, 0]], axis=1)
    away = (normals * hull).sum(axis=1)
    normals *= np.sign(away)[:, None]
    towards = ways @ normals.T
    radii = np.abs(away) / np.where(towards > _FAINT, towards, _FAINT)
    return np.asarray(radii.min(axis=1), np.float32)


def levelled_points(points: Float32) -> tuple[Float32, Float32]:
    """Landmarks with the eyes on one level, in distances of the eyes.

    Args:
        points: float32[N, POINTS, 3].

    Returns:
        float32[N, POINTS, 3] around the point between the eyes, and float32[N, 2, 2], which brings
        vectors back: `vectors @ turn`. The distance is that in space, so that a turned head's is no
        less.

    >>> points = np.zeros((1, POINTS, 3), np.float32)
    >>> points[:, EYE_LEFT_SLICE, 0], points[:, EYE_RIGHT_SLICE, 0] = 0.3, 0.7
    >>> level, turn = levelled_points(points)
    >>> level[0, EYE_RIGHT_SLICE][0].round(3).tolist(), (np.ones(2) @ turn[0]).round(3).tolist()
    ([0.5, 0.0, 0.0], [0.4, 0.4])
    """
    eyes = [points[:, part].mean(axis=1) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    middle, across = (eyes[0] + eyes[1]) / 2, eyes[1] - eyes[0]
    length = np.maximum(np.linalg.norm(across, axis=1), 1e-6)[:, None, None]
    cosine, sine = (across[:, :2] / np.maximum(np.hypot(*across[:, :2].T), 1e-6)[:, None]).T
    turn = np.stack([np.stack([cosine, sine], 1), np.stack([-sine, cosine], 1)], 1)
    away = points - middle[:, None]
    level = np.concatenate([away[..., :2] @ turn.transpose(0, 2, 1), away[..., 2:]], axis=2)
    return (level / length).astype(np.float32), (turn * length).astype(np.float32)


def load_outline(path: Path) -> OutlineModel:
    """Read an outline model.

    Raises:
        ModelRejected: an array is missing, has another shape or is not finite.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            names = ("mean", "components", "offset", "slope", "cheeks")
            parts = [np.asarray(file[name], np.float32) for name in names]
    except (OSError, KeyError, ValueError) as error:
        raise ModelRejected(f"{path.name} is damaged; restore the model pack") from error
    count = len(parts[1])
    shapes = [(_LENGTH,), (count, _LENGTH), (_CORNERS * 2,), (count, _CORNERS * 2)]
    shapes.append((len(CHEEKS), MESH_POINTS))
    fits = [part.shape for part in parts] == shapes and count > 0
    if not fits or not all(np.isfinite(part).all() for part in parts):
        raise ModelRejected(f"{path.name} has damaged arrays; restore the model pack")
    return OutlineModel(*parts)
