"""Dense correspondence between a posed face and the canonical texture frame.

Control points are joined into triangles once, on the mean face; every pixel of a posed crop
then knows, by its triangle, which place of the canonical face it shows (a piecewise affine
warp, Cootes et al. 2001). Far triangles are drawn first, so that a turned head hides its far
side.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected
from engines.stylegan.sizes import BORDER, UV_SIZE
from engines.stylegan.topology import MESH_POINTS

_BORDER: Final[npt.NDArray[np.float32]] = np.array(BORDER, np.float32)
_CHIN: Final = 0.98
_CHIN_ENDS: Final = 1.08
_UP: Final = np.float32((_CHIN_ENDS - 1) / (_CHIN_ENDS - _CHIN))
"""From where on a chin is drawn up into a texture, and where it ends in the canonical face, crop
units; and how far up a place of it is drawn, as a share of how far down it lies. From farther up
surrogates would be more alike: from 0.87, 0.61 instead of 0.50 % of their pairs."""

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TextureFrame:
    """The canonical face that textures are stored on.

    Attributes:
        points: float32[MESH_POINTS + 16, 2], crop units of the texture; border points last.
        triangles: int32[T, 3], indices into `points`.
    """

    points: Float32
    triangles: Int32


def uv_from_points(points: Float32, frame: TextureFrame, size: int = UV_SIZE) -> Float32:
    """Say for every pixel of a posed crop which place of the texture it shows.

    Args:
        points: float32[>= MESH_POINTS, 3] of the posed face, crop units.
        frame: the canonical face.
        size: height and width of the answer, px.

    Returns:
        float32[size, size, 2], x and y in texture units, 0 to 1 inside the texture.
    """
    corners = np.concatenate([points[:MESH_POINTS, :2], _BORDER])
    depth = np.concatenate([points[:MESH_POINTS, 2], np.full(len(BORDER), 10.0, np.float32)])
    order = np.argsort(-depth[frame.triangles].mean(axis=1), kind="stable")
    seen = order[_is_seen(corners, frame)[order]]
    owner = owners(corners, frame.triangles[seen], size)
    return _mapped(corners, frame.points, frame.triangles[seen], owner)


def seen_of_texture(texture: Float32, uv: Float32) -> Float32:
    """What a posed crop shows of a texture, of the texture's size: float32[S, S, 3].

    Args:
        texture: float32[S, S, 3].
        uv: float32[s, s, 2] as from `uv_from_points`.
    """
    side = texture.shape[:2]
    places = uv if uv.shape[:2] == side else cv2.resize(uv, side, interpolation=cv2.INTER_LINEAR)
    x, y = cv2.split(places * np.float32(side[0]) - np.float32(0.5))
    way, rim = cv2.INTER_CUBIC, cv2.BORDER_REPLICATE
    return np.asarray(cv2.remap(texture, x, y, way, borderMode=rim), np.float32)


def chin_within(uv: Float32) -> Float32:
    """Places of a texture, those of the chin moved up into it.

    The canonical face's chin goes on below its texture.

    Args:
        uv: float32[..., 2] as from `uv_from_points`; it is changed.

    >>> chin_within(np.array([[0.5, 0.8], [0.5, 1.08]], np.float32)).round(3).tolist()
    [[0.5, 0.800000011920929], [0.5, 1.0]]
    """
    down = uv[..., 1]
    down -= np.maximum(down - np.float32(_CHIN), 0) * _UP
    return uv


def load_texture_frame(path: Path) -> TextureFrame:
    """Read the texture frame out of a shape model's file.

    Raises:
        ModelRejected: an array is missing, of another shape, or not finite.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            points = np.asarray(file["frame_points"], np.float32)
            triangles = np.asarray(file["triangles"], np.int32)
    except (OSError, KeyError, ValueError) as error:
        raise ModelRejected(f"{path.name} has no texture frame; restore the model pack") from error
    count = MESH_POINTS + len(BORDER)
    fits = points.shape == (count, 2) and triangles.ndim == 2 and triangles.shape[1] == 3
    if not fits or not np.isfinite(points).all() or not (0 <= triangles.min() < count):
        raise ModelRejected(f"{path.name} has damaged arrays; restore the model pack")
    if triangles.max() >= count:
        raise ModelRejected(f"{path.name} has damaged arrays; restore the model pack")
    return TextureFrame(points, triangles)


def image_place_of_texture(points: Float32, frame: TextureFrame, owner: Int32) -> Float32:
    """Say for every pixel of the texture where the posed crop shows it; the inverse.

    Args:
        points: float32[>= MESH_POINTS, 2 or 3] of the posed face, crop units.
        frame: the canonical face.
        owner: int32[S, S] from `owners(frame.points, frame.triangles, S)`.

    Returns:
        float32[S, S, 2], x and y in crop units.
    """
    corners = np.concatenate([points[:MESH_POINTS, :2], _BORDER])
    return _mapped(frame.points, corners, frame.triangles, owner)


def owners(corners: Float32, triangles: Int32, size: int) -> Int32:
    """Index of the triangle that owns each pixel, int32[size, size]; later ones lie on top."""
    drawn = np.zeros((size, size), np.int32)
    fixed = np.round((np.clip(corners, -2.0, 3.0) * size - 0.5) * 16).astype(np.int32)
    for index, polygon in enumerate(fixed[triangles]):
        cv2.fillConvexPoly(drawn, polygon, float(index), cv2.LINE_8, 4)
    return drawn


def _is_seen(corners: Float32, frame: TextureFrame) -> npt.NDArray[np.bool_]:
    """Whether each triangle faces the camera; those of the surroundings always do."""
    surrounds = (frame.triangles >= MESH_POINTS).any(axis=1)
    faces = _turn(corners[frame.triangles]) * _turn(frame.points[frame.triangles]) > 0
    return np.asarray(faces | surrounds, np.bool_)


def _turn(corners: Float32) -> Float32:
    """Twice the signed area of triangles float32[T, 3, 2]."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], np.float32)


def _mapped(source: Float32, target: Float32, triangles: Int32, owner: Int32) -> Float32:
    """Where the triangles bring each pixel, float32[S, S, 2].

    A pixel on the rim of a triangle seen edge-on lies many widths beside it; it is brought to
    within a pixel of the triangle's bounds and not to wherever its affine map leads.
    """
    size = owner.shape[0]
    across, down, offset = _affine(source[triangles], target[triangles])
    bounds, pixel = target[triangles], np.float32(1 / size)
    low, high = bounds.min(axis=1) - pixel, bounds.max(axis=1) + pixel
    step = ((np.arange(size) + 0.5) / size).astype(np.float32)
    planes = []
    # A plane at a time, and a column of the table at a time: rows of ten would be slower.
    for axis in (0, 1):
        along_x, along_y, found, least, most = [
            one[:, axis].astype(np.float32).take(owner) for one in (across, down, offset, low, high)
        ]
        found += step * along_x
        found += step[:, None] * along_y
        planes.append(np.clip(found, least, most, out=found))
    return np.asarray(cv2.merge(planes), np.float32)


def _affine(source: Float32, target: Float32) -> tuple[Float64, Float64, Float64]:
    """Affine maps between triangles float32[T, 3, 2]; the identity for those without an area.

    Returns:
        float64[T, 2] each: what a step to the right and one downwards add, and where 0 is brought.
    """
    first, own = source[:, 0].astype(np.float64), target[:, 0].astype(np.float64)
    (a, b), (c, d) = (np.moveaxis(source[:, n] - first, 1, 0)[..., None] for n in (1, 2))
    one, other = target[:, 1] - own, target[:, 2] - own
    area = a * d - b * c
    flat = np.abs(area) < 1e-7
    area = np.where(flat, 1.0, area)
    across = np.where(flat, (1.0, 0.0), (one * d - other * b) / area)
    down = np.where(flat, (0.0, 1.0), (other * a - one * c) / area)
    offset = np.where(flat, 0.0, own - across * first[:, :1] - down * first[:, 1:])
    return across, down, offset
