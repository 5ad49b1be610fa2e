"""Makes a painted face look taken by the same camera, and unlike the face that it hides.

Grain and focus say something of the camera and nothing of the person. Grain is measured
in the ring around the patch, never on the face. Focus is a matter of distance, and of movement:
what is around a face may be out of focus where it is not, as in most portraits, and sharp where it
is not. So the patch is made as soft as the strongest edges of the face that it hides, by one
number, and as those around it only where the face has no edges. It never becomes sharper than it
was painted.

A surrogate in the light of its subject may differ from it by so few grey levels that nobody can
tell from the pixels that the face was replaced, and the compositor covers it. So where a painted
face comes close to what it hides it is made lighter or darker, whichever leads away, by as little
as does: one number more, which tells how much the two look alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import crop_from_picture, identity_mask, scale_of
from engines.crop_regions import inside_of
from engines.focus import edge_width, grey_of, slopes_of
from engines.grain import grain
from engines.patches import Patch
from engines.pictures import Picture

__all__ = ["Retouch", "retouch_of", "retouched", "sized_patch"]

LEAST_SIDE: Final = 32
MOST_SIDE: Final = 256
"""Sides between which a patch is brought to the frame's own scale, px; larger costs more."""
_MOST_GRAIN: Final = 10.0
_LEAST_PIXELS: Final = 64
_SAME_FOCUS: Final = 0.3
_SAME_GRAIN: Final = 0.5
_MIDDLE: Final = ((0.2, 0.8), (0.28, 0.72))
"""Rows and columns of the kveil crop that lie on the central half of a face's box, shares."""
_APART: Final = 12.5
"""Mean difference, grey levels, that a painted face is to have from what it hides: more than the
compositor asks for, which looks at every frame."""
_LIFTS: Final = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0)
"""By how much a face may be made lighter or darker for that, grey levels."""
_TURN: Final = 12.0
"""How many grey levels less it must be the other way before a lighter face turns darker."""

Float32 = NDArray[np.float32]
# Immerkær (1996): blind to anything linear in its place, with a gain of 6 on white noise.
_NOISE_KERNEL: Final = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
_QUARTILE: Final = 0.3186
"""Lower quartile of the magnitude of a standard normal variable."""


@dataclass(frozen=True, slots=True)
class Retouch:
    """What a patch lacks to look like the picture around it.

    Attributes:
        blur: standard deviation of the blur to apply, px of the frame; NaN where neither the
            face nor its surroundings have an edge to tell their focus by.
        grain: standard deviation of the noise to add, grey levels.
        lift: how much lighter it is to be, grey levels; darker where negative.
    """

    blur: float
    grain: float
    lift: float = 0.0

    def followed_by(self, other: Retouch, share: float) -> Retouch:
        """A running mean with `share` of the new one; what is unknown changes nothing.

        A face that needs more lift than it had gets it at once.

        >>> Retouch(1.0, 2.0, 6.0).followed_by(Retouch(float("nan"), 4.0, 8.0), 0.5)
        Retouch(blur=1.0, grain=3.0, lift=8.0)
        """
        blur = other.blur if np.isnan(self.blur) else self.blur
        if not np.isnan(other.blur):
            blur += share * (other.blur - blur)
        grain = self.grain + share * (other.grain - self.grain)
        lift = self.lift + share * (other.lift - self.lift)
        if other.lift * self.lift >= 0 and abs(other.lift) > abs(self.lift):
            lift = other.lift
        return Retouch(blur, grain, lift)


def sized_patch(patch: Patch) -> Patch:
    """The same patch at about one pixel of its own per pixel of the frame.

    Args:
        patch: of any size; between 32 and 256 px afterwards.
    """
    size = patch.alpha.shape[0]
    scale = scale_of(patch.crop_from_frame)
    side = int(np.clip(round(size / max(scale, 1e-3)), LEAST_SIDE, MOST_SIDE))
    if side == size:
        return patch
    is_smaller = side < size
    how = cv2.INTER_AREA if is_smaller else cv2.INTER_CUBIC
    # In whole levels: the grain to come is larger, and enlarging is several times as quick.
    painted = np.clip(np.rint(patch.pixels), 0, 255).astype(np.uint8)
    pixels = cv2.resize(painted, (side, side), interpolation=how).astype(np.float32)
    way = cv2.INTER_AREA if is_smaller else cv2.INTER_LINEAR
    alpha = np.asarray(cv2.resize(patch.alpha, (side, side), interpolation=way), np.float32)
    alpha[identity_mask(side)] = 1.0
    place = patch.crop_from_frame * np.float32(side / size)
    return replace(patch, pixels=pixels, alpha=alpha, crop_from_frame=place)


def retouch_of(picture: Picture, patch: Patch, lift: float = 0.0) -> Retouch:
    """Compares a patch with the grain around it, and with what it hides.

    Args:
        picture: the frame as it came.
        patch: at the frame's scale, see `sized_patch`.
        lift: by how much the face was made lighter so far.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    crop = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    hidden, ring = patch.alpha >= 1, _ring(picture, patch)
    seen, painted = (grey_of(one) for one in (crop, np.clip(patch.pixels, 0, 255).astype(np.uint8)))
    slopes = slopes_of(seen)
    face, own = edge_width(slopes, hidden), edge_width(slopes_of(painted), hidden)
    wanted = edge_width(slopes, ring) if np.isnan(face) else face
    blur = float(np.sqrt(np.maximum(wanted**2 - own**2, 0.0)))  # NaN stays NaN
    grain = float(np.sqrt(max(_grain(seen, ring) ** 2 - _grain(painted, hidden) ** 2, 0.0)))
    middle = _middle(len(crop))
    shown = _softened(patch.pixels, blur)[middle]
    return Retouch(
        blur, min(grain, _MOST_GRAIN), _lift(crop[middle].astype(np.float32), shown, lift)
    )


def retouched(patch: Patch, retouch: Retouch, seed: tuple[int, int]) -> Patch:
    """Gives a patch the focus and the grain that it lacks.

    Args:
        patch: at the frame's scale, see `sized_patch`.
        retouch: how much of them.
        seed: two numbers from 0; the same ones give the same grain.

    Returns:
        A patch with the alpha and the place of the old one.
    """
    pixels = _softened(patch.pixels, retouch.blur)
    softness_px = retouch.blur if retouch.blur > _SAME_FOCUS else 0.0
    if retouch.lift:
        level = _level(pixels[_middle(len(pixels))])
        pixels = np.clip(_lifted(pixels, level, retouch.lift), 0, 255)
    if retouch.grain > _SAME_GRAIN:
        noise = grain(patch.alpha.shape, seed) * np.float32(retouch.grain)
        pixels = np.clip(pixels + noise[..., None], 0, 255)
    return replace(patch, pixels=pixels, softness_px=softness_px)


def _softened(pixels: Float32, blur: float) -> Float32:
    """Pixels under a blur, px; as they are where it is slight or unknown."""
    if not blur > _SAME_FOCUS:
        return pixels
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), blur), np.float32)


def _middle(side: int) -> tuple[slice, slice]:
    rows, columns = (slice(*(round(share * side) for share in shares)) for shares in _MIDDLE)
    return rows, columns


def _level(pixels: Float32) -> float:
    """Mean brightness, at least a grey level: lifts are shares of it."""
    return max(float(pixels.mean()), 1.0)


def _lifted(pixels: Float32, level: float, lift: float) -> Float32:
    """Pixels of that brightness made lighter or darker, as under more light or less."""
    return pixels * np.float32(1 + lift / level)


def _lift(hidden: Float32, shown: Float32, before: float) -> float:
    """The least lift that sets what is shown apart from what it hides; the best if none does."""
    level = _level(shown)

    def change(lift: float) -> float:
        return float(cv2.absdiff(_lifted(shown, level, lift), hidden).mean())

    if change(0.0) >= _APART:
        return 0.0
    reached = {lift: change(lift) for lift in (*_LIFTS, *(-one for one in _LIFTS))}
    turning = {lift: abs(lift) + _TURN * (lift * before < 0) for lift in reached}
    enough = [lift for lift in reached if reached[lift] >= _APART]
    if enough:
        return min(enough, key=lambda lift: turning[lift])
    return max(reached, key=lambda lift: reached[lift])


def _ring(picture: Picture, patch: Patch) -> NDArray[np.bool_]:
    """Pixels of the crop that the patch leaves visible and that lie inside the frame."""
    inside = inside_of(picture, patch.crop_from_frame, patch.alpha.shape[0])
    # Two pixels off the frame's edge, where the measures would see the black beyond it.
    inside = np.asarray(cv2.erode(inside, np.ones((5, 5), np.uint8)), np.uint8)
    return np.asarray((patch.alpha < 1) & (inside > 0), np.bool_)


def _grain(grey: Float32, where: NDArray[np.bool_]) -> float:
    """Deviation of the noise, grey levels."""
    if where.sum() < _LEAST_PIXELS:
        return 0.0
    rough = np.abs(cv2.filter2D(grey, -1, _NOISE_KERNEL)[where])
    return float(np.percentile(rough, 25)) / (6 * _QUARTILE)
