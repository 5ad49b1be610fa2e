"""Where the skin of the mean face looks: normals on the texture, and those of posed faces."""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.shape import EYES_APART
from engines.stylegan.sizes import UV_SIZE
from engines.stylegan.topology import MESH_POINTS

__all__ = ["facing_of", "normals_of_texture"]

_SMOOTH: Final = 1e-2
"""What the surface through the mean face's points may miss them by; less follows lips and lids."""
_GRID: Final = UV_SIZE // 2
"""Places a side at which the surface is measured: it has no finer shape."""

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]


def normals_of_texture(points: Float32, mean: Float32) -> Float32:
    """Normals of the mean face at every place of a texture, float32[UV_SIZE, UV_SIZE, 3].

    Args:
        points: float32[>= MESH_POINTS, 2] of the canonical face on the texture, crop units.
        mean: float32[MESH_POINTS, 3] of the same, canonical.

    Returns:
        Unit vectors out of the face, in canonical axes, z away from the camera. The surface is a
        thin-plate spline through the points.
    """
    step = (np.arange(_GRID) + 0.5) / _GRID
    places = np.stack(np.meshgrid(step, step), axis=-1).reshape(-1, 2)
    depth = _spline_through(points[:MESH_POINTS], EYES_APART * mean[:, 2], places)
    down, across = np.gradient(depth.reshape(_GRID, _GRID), 1 / _GRID)
    coarse = np.stack([across, down, -np.ones_like(down)], axis=-1)
    coarse /= np.linalg.norm(coarse, axis=-1, keepdims=True)
    normals = cv2.resize(coarse, (UV_SIZE, UV_SIZE), interpolation=cv2.INTER_LINEAR)
    normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.asarray(normals, np.float32)


def facing_of(normals: Float32, uv: Float32, rotation: Float32) -> Float32:
    """Where the skin of posed faces looks, float32[N, S, S, 3], in the crop's axes.

    Args:
        normals: of `normals_of_texture`.
        uv: float32[N, S, S, 2], the place of the texture that each pixel shows.
        rotation: float32[N, 3, 3] from canonical to crop axes.
    """
    seen = []
    for place in uv * np.float32(UV_SIZE) - np.float32(0.5):
        x, y = cv2.split(place)
        seen.append(cv2.remap(normals, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))
    return np.asarray(np.stack(seen) @ rotation.transpose(0, 2, 1)[:, None], np.float32)


def _spline_through(points: Float32, heights: Float32, places: Float64) -> Float64:
    """Thin-plate spline through [N, 2] points of [N] heights, at [M, 2] places (Wahba, 1990).

    As `scipy.interpolate.RBFInterpolator` does it, whose import takes a sixth of a start.
    """
    count = len(points)
    system = np.zeros((count + 3, count + 3))
    system[:count, :count] = _bending(points, points) + _SMOOTH * np.eye(count)
    system[:count, count:] = _plane(points)
    system[count:, :count] = _plane(points).T
    weights = np.linalg.solve(system, np.append(heights, np.zeros(3)))
    return np.asarray(_bending(places, points) @ weights[:count] + _plane(places) @ weights[count:])


def _bending(places: Floats, points: Floats) -> Float64:
    """r² ln r of the distances, [M, N]."""
    there, here = places.astype(np.float64), points.astype(np.float64)
    squares = (there**2).sum(axis=1)[:, None] + (here**2).sum(axis=1) - 2 * there @ here.T
    return np.asarray(0.5 * squares * np.log(np.maximum(squares, np.finfo(np.float64).tiny)))


def _plane(places: Floats) -> Float64:
    return np.column_stack([np.ones(len(places)), places])
