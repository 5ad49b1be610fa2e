"""A surrogate's pixels on their way into the frame: checks, warp, and full opacity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import Occlusion
from engines.face.alignment import (
    IDENTITY_AXES,
    Similarity,
    identity_mask,
    inverse_of,
    moved,
    near_identity,
    scale_of,
    shifted,
    sized_region,
    to_integer_centres,
)
from engines.pictures import Picture, PlaneLayer
from engines.stylegan.drawing import filled_hull
from engines.types import Face

__all__ = [
    "Patch",
    "Placed",
    "PlacedPlanes",
    "defect_of",
    "hides",
    "identity_mask_of",
    "is_finite",
    "placed_patch",
    "reaching",
    "warped_patch",
]

_LEAST_VARIATION: Final = 1.0
"""Standard deviation in grey levels below which a rendered face counts as blank."""
_OPAQUE: Final = 1 - 1e-3
_LEAST_CORNERS: Final = 3
_FINE: Final = 1.4
"""Pixels of a patch per pixel of the frame from which they are averaged before it is warped."""
_LEAST_HIDDEN: Final = 0.7
"""Share of the central half of the box that must be opaque. Larger covers more turned heads
that could be swapped; smaller swaps where a part of the face may lie beside the patch."""
_MOST_BESIDE: Final = 0.06
"""How far beside the identity outline a landmark may lie for the patch to be drawn out to it, as a
share of the side."""
_NOISE_PX: Final = 5.0
"""The same in pixels of the frame, where that is farther: a small face's landmarks are found no
more exactly. Larger: small faces flip less; more of what is beside them is painted over."""
_ROOM: Final = 0.012
"""How far beyond it the patch then reaches."""
_BETWEEN: Final = np.array(
    [
        (1 - way) * np.eye(5)[one] + way * np.eye(5)[other]
        for one, other in combinations(range(5), 2)
        for way in np.linspace(0.0, 1.0, 5)
    ]
)
"""Weights (50, 5) of the five landmarks that give them and places on the lines between them."""
_CENTRAL: Final = np.stack(
    np.meshgrid(np.linspace(0.25, 0.75, 11), np.linspace(0.25, 0.75, 11)), -1
).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Patch:
    """A rendered surrogate in the kveil crop.

    Attributes:
        pixels: S×S×3 float32 BGR, 0…255.
        alpha: S×S float32, 1 on all of the identity outline, falling to 0 outside it.
        crop_from_frame: (2, 3) float32 similarity that aligned the crop.
        identity: (K, 2) float32, points whose convex hull must be opaque, shares of the crop's
            side: brows, eyes, nose, mouth, cheeks and chin of this face. None for the identity
            oval of an average face.
        occlusion: what is in front of the face and is drawn again, see
            `engines.blending.foreground`.
        normals: float32[M, M, 3], where the skin faces over all of the crop, see
            `engines.blending.shading`; None where it is not known.
        points: float32[2, POINTS, 2] of the subject's face, and of the surrogate's, shares of the
            crop's side; None where they are not known.
    """

    pixels: NDArray[np.float32]
    alpha: NDArray[np.float32]
    crop_from_frame: Similarity
    identity: NDArray[np.float32] | None = None
    occlusion: Occlusion | None = None
    normals: NDArray[np.float32] | None = None
    points: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A patch warped into a window of the frame, ready to blend.

    Attributes:
        top: first row, on the picture's grid.
        left: first column, on the picture's grid.
        pixels: h×w×3 float32 BGR, 0…255.
        alpha: h×w float32, exactly 1 on every pixel that touches the identity outline.
    """

    top: int
    left: int
    pixels: NDArray[np.float32]
    alpha: NDArray[np.float32]

    def lay(self, picture: Picture) -> None:
        """Blends it into a picture of the grid that it was placed on."""
        picture.blend(self.top, self.left, self.pixels, self.alpha)


@dataclass(frozen=True, slots=True)
class PlacedPlanes:
    """As `Placed`, in the picture's planes.

    Attributes:
        top: first row, on the picture's grid.
        left: first column, on the picture's grid.
        layer: values and weights by plane.
    """

    top: int
    left: int
    layer: PlaneLayer

    def lay(self, picture: Picture) -> None:
        """Blends it into a picture with such planes."""
        picture.lay(self.top, self.left, self.layer)


def defect_of(patch: Patch) -> str:
    """What is wrong with a patch, or an empty string.

    >>> flat = Patch(np.full((8, 8, 3), 9, np.float32), np.ones((8, 8), np.float32),
    ...              np.eye(2, 3, dtype=np.float32))
    >>> defect_of(flat)
    'patch is blank'
    """
    pixels, alpha, crop_from_frame = patch.pixels, patch.alpha, patch.crop_from_frame
    size = pixels.shape[0] if pixels.ndim == 3 else 0
    if size < 2 or pixels.shape != (size, size, 3) or alpha.shape != (size, size):
        return "patch has the wrong shape"
    if crop_from_frame.shape != (2, 3):
        return "patch has the wrong shape"
    if not (is_finite(pixels) and is_finite(alpha)):
        return "patch is not finite"
    if not np.isfinite(crop_from_frame).all() or _not_similar(crop_from_frame):
        return "patch is not placed by a similarity"
    if patch.identity is not None and not _is_outline(patch.identity):
        return "patch has no proper identity outline"
    inside = identity_mask_of(patch, size).view(np.uint8)
    left, top, width, height = cv2.boundingRect(inside)
    part = np.s_[top : top + height, left : left + width]
    varies = cv2.meanStdDev(np.clip(pixels[part], 0, 255), mask=inside[part])[1]
    if float(varies.max()) < _LEAST_VARIATION:
        return "patch is blank"
    if cv2.minMaxLoc(alpha, inside)[0] < _OPAQUE:
        return "patch is not opaque over the face"
    return ""


def is_finite(values: NDArray[np.float32]) -> bool:
    """Whether float32[S, S(, 3)] are all finite: what is not outlasts any sum, in doubles.

    >>> [is_finite(np.float32([[3e38, one], [3e38, 3e38]])) for one in (3e38, np.nan, np.inf)]
    [True, False, False]
    """
    return bool(np.isfinite(cv2.sumElems(values)).all())


def placed_patch(picture: Picture, face: Face, patch: Patch) -> Placed | str:
    """Warps a sound patch into the frame, or says why it does not hide this face.

    Every pixel that touches the identity outline gets alpha 1 exactly, computed from the outline
    itself and not from the interpolated mask, so no original pixel shines through its rim.

    Args:
        picture: the frame's pixels; not changed.
        face: the face to hide, in frame pixels.
        patch: without defect, see `defect_of`.

    Returns:
        The warped patch, or the reason in words.
    """
    if not hides(face, patch):
        return "patch does not lie over the face"
    placed = warped_patch(picture, patch)
    if placed is None:
        return "face is outside the frame"
    placed.alpha[_identity_in(placed, patch)] = 1
    return placed


def identity_mask_of(patch: Patch, size: int) -> NDArray[np.bool_]:
    """Where a patch must be opaque, bool[size, size], at any size of its crop.

    >>> flat = Patch(np.full((8, 8, 3), 9, np.float32), np.ones((8, 8), np.float32),
    ...              np.eye(2, 3, dtype=np.float32), np.float32([[0, 0], [1, 0], [0.5, 1]]))
    >>> mask = identity_mask_of(flat, 8)
    >>> bool(mask[1, 4]), bool(mask[7, 0])
    (True, False)
    """
    if patch.identity is None:
        return identity_mask(size)
    return _hull_mask(np.ascontiguousarray(patch.identity, np.float32).tobytes(), size)


@lru_cache(maxsize=32)
def _hull_mask(outline: bytes, size: int) -> NDArray[np.bool_]:
    """Where the hull of float32[K, 2] lies: bool[size, size], shared, cannot be written."""
    points = np.frombuffer(outline, np.float32).reshape(-1, 2)
    mask = filled_hull(points * np.float32(size), (size, size)) > 0
    mask.flags.writeable = False
    return mask


def _identity_in(placed: Placed, patch: Patch) -> NDArray[np.bool_]:
    """Which pixels of the window touch the patch's identity outline."""
    size, (height, width) = patch.alpha.shape[0], placed.alpha.shape
    local = shifted(patch.crop_from_frame, placed.left, placed.top)
    if patch.identity is None:
        # Half a pixel's diagonal, in the oval's units: a pixel the rim only touches counts.
        reach = 0.71 * scale_of(local) / (size * min(IDENTITY_AXES))
        return near_identity(local, size, height, width, 1 + reach)
    drawn = filled_hull(moved(inverse_of(local), patch.identity * size), (height, width))
    return np.asarray(cv2.dilate(drawn, np.ones((3, 3), np.uint8)) > 0, np.bool_)


def warped_patch(picture: Picture, patch: Patch) -> Placed | None:
    """The patch in the window of the frame that it falls on; None where that is outside.

    Args:
        picture: gives size and grid; not changed.
        patch: of any alpha, placed by a similarity.
    """
    x, y, wide, high = _shown_part(patch.alpha)
    corners = np.array([[x, y], [x + wide, y], [x, y + high], [x + wide, y + high]], np.float64)
    seen = moved(inverse_of(patch.crop_from_frame), corners)
    region = sized_region(np.concatenate([seen.min(0), seen.max(0)]), picture)
    if region is None:
        return None
    top, left, height, width = region
    local = shifted(patch.crop_from_frame, left, top) - np.array([[0, 0, x], [0, 0, y]], np.float32)
    part = np.s_[y : y + high, x : x + wide]
    pixels, alpha = patch.pixels[part], patch.alpha[part]
    scale = scale_of(local)
    if scale > _FINE:
        small = max(round(high / scale), 1), max(round(wide / scale), 1)
        pixels, alpha = _averaged(pixels, *small), _averaged(alpha, *small)
        local *= np.array([[small[1] / wide], [small[0] / high]], np.float32)
    return Placed(top, left, *_warped(pixels, alpha, local, (width, height)))


def _shown_part(alpha: NDArray[np.float32]) -> tuple[int, int, int, int]:
    """Left, top, width and height of what a patch shows, with a rim of alpha 0 where it has one."""
    size = alpha.shape[0]
    x, y, wide, high = cv2.boundingRect(np.asarray(alpha > 0, np.uint8))
    if not wide:
        return 0, 0, size, size
    left, top = max(x - 1, 0), max(y - 1, 0)
    return left, top, min(x + wide + 1, size) - left, min(y + high + 1, size) - top


def _warped(
    pixels: NDArray[np.float32],
    alpha: NDArray[np.float32],
    local: Similarity,
    size: tuple[int, int],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """BGR and alpha in a window of that width and height; alpha is 0 beyond the patch."""
    source, flags = to_integer_centres(local), cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    painted = cv2.warpAffine(pixels, source, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    weight = cv2.warpAffine(alpha, source, size, flags=flags, borderMode=cv2.BORDER_CONSTANT)
    np.clip(painted, 0, 255, out=painted)
    np.clip(weight, 0, 1, out=weight)
    return np.asarray(painted, np.float32), np.asarray(weight, np.float32)


def _averaged(image: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    reduced = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(reduced, np.float32)


def reaching(face: Face, patch: Patch) -> Patch:
    """The patch, drawn out to landmarks of the tracker that lie a little beside it.

    On a turned head the far corner of the mouth is seen before its background, and may be found
    beyond the outline. Landmarks farther off stay outside, and the face is covered.

    Args:
        face: in frame pixels.
        patch: with an identity outline, placed by a similarity.
    """
    if patch.identity is None or not _is_outline(patch.identity):
        return patch
    if not np.isfinite(face.landmarks_px).all():
        return patch
    size = patch.alpha.shape[0]
    points = moved(patch.crop_from_frame, face.landmarks_px)
    hull = cv2.convexHull(np.ascontiguousarray(patch.identity * size, np.float32))
    outside = [-cv2.pointPolygonTest(hull, (float(x), float(y)), True) / size for x, y in points]
    most = max(_MOST_BESIDE, _NOISE_PX * scale_of(patch.crop_from_frame) / size)
    if not -_ROOM < max(outside) <= most:
        return patch
    middle = hull.mean(axis=(0, 1))
    away = points - middle
    length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6)
    reached = (points + away / length * np.float32(_ROOM * size)) / np.float32(size)
    identity = np.concatenate([patch.identity, reached.astype(np.float32)])
    drawn = filled_hull(identity * size, (size, size)).astype(np.float32)
    soft = cv2.GaussianBlur(drawn, (0, 0), _ROOM * size)
    alpha = np.maximum(patch.alpha, np.where(drawn > 0, np.float32(1), soft))
    return replace(patch, alpha=alpha.astype(np.float32), identity=identity)


def hides(face: Face, patch: Patch) -> bool:
    """Whether the patch lies over this face and is opaque where it must be.

    Args:
        face: in frame pixels.
        patch: without defect, see `defect_of`.

    All five landmarks, all that lies between them, and at least `_LEAST_HIDDEN` of the central
    half of the box are under full alpha. The rest of that half may be hair or background: on a
    turned head the box is not centred on the face.
    """
    if not (np.isfinite(face.box_px).all() and np.isfinite(face.landmarks_px).all()):
        return False
    x0, y0, x1, y1 = face.box_px.tolist()
    if x1 <= x0 or y1 <= y0:
        return False
    centre = _CENTRAL * (x1 - x0, y1 - y0) + (x0, y0)
    between = _BETWEEN @ face.landmarks_px.astype(np.float64)
    is_hidden = _is_opaque_at(np.concatenate([between, centre]), patch)
    if not is_hidden[: len(between)].all():
        return False
    return float(is_hidden[len(between) :].mean()) >= _LEAST_HIDDEN


def _is_opaque_at(points_px: NDArray[np.floating], patch: Patch) -> NDArray[np.bool_]:
    """For each of (N, 2) points of the frame, whether the patch hides it wholly."""
    size = patch.alpha.shape[0]
    columns, rows = np.floor(moved(patch.crop_from_frame, points_px)).astype(np.int64).T
    inside = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
    rows, columns = rows.clip(0, size - 1), columns.clip(0, size - 1)
    return np.asarray(inside & (patch.alpha[rows, columns] >= _OPAQUE), np.bool_)


def _is_outline(outline: NDArray[np.float32]) -> bool:
    if outline.ndim != 2 or outline.shape[1] != 2 or len(outline) < _LEAST_CORNERS:
        return False
    return bool(np.isfinite(outline).all())


def _not_similar(similarity: Similarity) -> bool:
    linear = similarity[:, :2].astype(np.float64)
    scale = scale_of(similarity)
    if not 1e-4 < scale < 1e4:
        return True
    turned = np.array([[linear[0, 0], -linear[1, 0]], [linear[1, 0], linear[0, 0]]])
    return bool(np.abs(linear - turned).max() > 1e-3 * scale)
