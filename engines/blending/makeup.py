"""How strongly lids, irises and lips stand out of the skin, and no more strongly for a surrogate.

A donor's make-up does not go with a child's head or a man's, nor do pale eyes with those that were
there. One number is told of each of the head that is seen, as of its brows, and nothing of shapes.
A surrogate only loses by it: nobody is made up.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import (
    box_around,
    brightness,
    filled_around,
    filled_outline,
    spread_near,
)
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    PUPIL_IMAGE_LEFT,
    PUPIL_IMAGE_RIGHT,
)

__all__ = ["NO_MAKEUP", "Makeup", "gain_to", "makeup_of", "without_makeup"]

_LEAST_PX: Final = 9.0
"""Width of an eye, and of lips, below which nothing is told of them."""
_LIDS: Final = 0.3
_LIDS_SOFT: Final = 0.12
"""How far around an eye its lids reach, and within what they end, widths of the eye."""
_ABOUT_EYE: Final = 0.7
_ABOUT_LIPS: Final = 0.25
"""How far around them the skin is looked at, widths of an eye and of the lips."""
_BROW: Final = 0.06
"""How far beyond its points a brow reaches, widths of the eye."""
_IRIS: Final = 0.2
"""Radius of an iris, widths of the eye."""
_OPEN: Final = 0.16
"""Gap of the lids, widths of the eye, up to which no iris is told."""
_LEAST_IRIS_PX: Final = 4
_EDGE_PX: Final = 0.6
_LIPS_SOFT: Final = 0.02
"""Softness of the edges of eyes, and of lips in widths of theirs; px, of lips this at least."""
_DARK, _IRISES, _MIDDLE, _MOST, _BRIGHT = 0.3, 0.25, 0.4, 0.6, 0.7
"""Quantiles that tell lids; irises, of all between lids; lips; the red of lips; and skin, which is
bright."""
_FAINT: Final = 8.0
"""Grey levels that are added, so that in the dark all are much alike."""
_FAINTLY: Final = 0.02
"""What is added to both sides of a gain, so that two faint ones are much alike."""
_LEAST: Final = (0.35, 0.4, 0.3, 0.4)
"""What is left at least of lids, irises, and of the red and the dark of lips. Less looks erased."""
_GLINT: Final = (1.25, 1.7)
"""Brightness, of that of an iris, between which a glint begins, which stays."""
_SPREAD: Final = 0.12
"""Deviation of the blur that spreads the skin over what it is about, shares of its box."""
_SMALL: Final = 48
"""Width at which places are told, px at most: an eye is then 20 px wide."""
_SAME: Final = 0.95
_SOMEWHAT: Final = 1e-3
"""Weight of what is no skin, where no skin is near."""

Float32 = NDArray[np.float32]
Bools = NDArray[np.bool_]
Box = tuple[slice, slice]
_EYES: Final = (
    (EYE_LEFT_SLICE, BROW_LEFT_SLICE, PUPIL_IMAGE_LEFT),
    (EYE_RIGHT_SLICE, BROW_RIGHT_SLICE, PUPIL_IMAGE_RIGHT),
)


@dataclass(frozen=True, slots=True)
class Makeup:
    """How strongly parts of a face stand out; NaN where that is not to be told.

    Attributes:
        lids: how much darker lids are than the skin about them, a share of it.
        irises: brightness of the irises, a share of that skin's.
        lip_red: how much redder lips are than the skin, a logarithm.
        lip_dark: how much darker they are, a share of it.
    """

    lids: float
    irises: float
    lip_red: float
    lip_dark: float

    def gains_to(self, wanted: Makeup) -> Makeup:
        """How much of each is to be left for it to be as weak as wanted, up to 1.

        >>> Makeup(0.5, 0.4, 0.3, float("nan")).gains_to(Makeup(0.24, 0.6, 0.3, 0.1))
        Makeup(lids=0.5, irises=1.0, lip_red=1.0, lip_dark=nan)
        """
        return Makeup(*map(gain_to, astuple(self), astuple(wanted), _LEAST))

    @property
    def is_felt(self) -> bool:
        """Whether, as gains, they weaken anything."""
        return any(one < _SAME for one in astuple(self))

    def followed_by(self, other: Makeup, share: float) -> Self:
        """A running mean with `share` of the new one; of what is told of one, that."""
        pairs = np.array([astuple(self), astuple(other)])
        known = np.where(np.isnan(pairs), pairs[::-1], pairs)
        return type(self)(*(known[0] + share * (known[1] - known[0])).tolist())


NO_MAKEUP: Final = Makeup(*[float("nan")] * 4)


def makeup_of(pixels: Float32 | NDArray[np.uint8], points: Float32) -> Makeup:
    """How strongly the parts of a face stand out.

    Args:
        pixels: [S, S, 3] BGR of a crop, 0 to 255.
        points: float32[POINTS, 2] of the face, shares of the side.
    """
    places = np.asarray(points * len(pixels), np.float32)
    eyes = [_eye_at(places, len(pixels), *which) for which in _EYES]
    told = np.array([_eye_told(pixels, eye) for eye in eyes])
    lids, irises = told.mean(axis=0).tolist()
    red, dark = _lips_told(pixels, _lips_at(places, len(pixels)))
    return Makeup(lids, irises, red, dark)


def without_makeup(pixels: Float32, points: Float32, gains: Makeup) -> None:
    """Weakens what stands out too strongly, in place.

    Args:
        pixels: float32[S, S, 3] BGR of a painted face, 0 to 255.
        points: float32[POINTS, 2] of it, shares of the side.
        gains: of `Makeup.gains_to`.
    """
    places = np.asarray(points * len(pixels), np.float32)
    if gains.lids < _SAME or gains.irises < _SAME:
        for which in _EYES:
            eye = _eye_at(places, len(pixels), *which)
            if eye is not None:
                _weaken_eye(pixels[eye.box], eye, gains)
    if gains.lip_red < _SAME or gains.lip_dark < _SAME:
        lips = _lips_at(places, len(pixels))
        if lips is not None and lips.can_be_told:
            _weaken_lips(pixels[lips.box], lips, gains)


def gain_to(own: float, wanted: float, least: float, faintly: float = _FAINTLY) -> float:
    """How much of what stands out is to be left for it to be as weak as wanted, up to 1.

    Args:
        own: how much it does; NaN where that is not told, as the answer is then.
        wanted: how much it is to.
        least: that is left of it.
        faintly: what is added to both, so that two faint ones are much alike.
    """
    if np.isnan(own) or np.isnan(wanted) or own <= 0:
        return float("nan") if np.isnan(own + wanted) else 1.0
    return float(np.clip((max(wanted, 0.0) + faintly) / (own + faintly), least, 1.0))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part of a face lies.

    Attributes:
        box: rows and columns of the crop around it.
        part: float32[h, w] in [0, 1] over the box, small: the lids of an eye, or lips.
        skin: bool[h, w], the skin about it.
        iris: float32[h, w] in [0, 1]; None where none is seen.
        opening: float32[h, w] in [0, 1], between the lids; None of lips.
    """

    box: Box
    part: Float32
    skin: Bools
    iris: Float32 | None = None
    opening: Float32 | None = None

    @property
    def can_be_told(self) -> bool:
        """Whether both the part and the skin about it are seen."""
        return bool(self.skin.any()) and bool((self.part > 0.5).any())

    def seen(self, view: Float32 | NDArray[np.uint8]) -> Float32:
        """A view of the box, as small as the places in it: float32[h, w, 3]."""
        high, wide = self.part.shape
        small = cv2.resize(view, (wide, high), interpolation=cv2.INTER_AREA)
        return np.asarray(small, np.float32)

    def skin_over(self, view: Float32) -> Float32:
        """The skin of `seen` spread over all of it, float32[h, w, 3]."""
        known = np.maximum(self.skin.astype(np.float32), np.float32(_SOMEWHAT))
        return spread_near(view, known, max(_SPREAD * view.shape[1], 1.0))


def _eye_at(points: Float32, size: int, lids: slice, brow: slice, pupil: int) -> _Place | None:
    """An eye of a face float32[POINTS, 2] in px; None where it is small or outside."""
    width = float(np.linalg.norm(points[lids][8] - points[lids][0]))
    box = _box_of(points[lids], width, _ABOUT_EYE, size)
    if box is None:
        return None
    points, shape, scale = _within(box, points)
    eye, width = points[lids], width * scale
    opening = filled_outline(eye, shape)
    far = np.asarray(cv2.distanceTransform(255 - opening, cv2.DIST_L2, 3), np.float32)
    hair = _wider(filled_around(points[brow], shape), _BROW * width)
    ball = _soft(opening, _EDGE_PX)
    reach = np.clip((_LIDS * width - far) / np.float32(_LIDS_SOFT * width), 0, 1)
    part = np.asarray(reach * (1 - _soft(hair, _BROW * width)) * (1 - ball), np.float32)
    skin = np.asarray((far > (_LIDS + _LIDS_SOFT / 2) * width) & (hair == 0), np.bool_)
    gap = float(np.linalg.norm(eye[9:] - eye[7:0:-1], axis=1).max())
    iris = _disc(points[pupil], width, ball) if gap > _OPEN * width else None
    return _Place(box, part, skin, iris, ball)


def _disc(pupil: Float32, width: float, ball: Float32) -> Float32 | None:
    """The iris about a pupil between the lids; None where hardly any of it is seen."""
    across, down = (np.arange(side, dtype=np.float32) for side in ball.shape[::-1])
    away = np.hypot(across - pupil[0], (down - pupil[1])[:, None])
    disc = np.asarray(np.clip(_IRIS * width - away + 0.5, 0, 1) * ball, np.float32)
    return disc if int((disc > 0.5).sum()) > _LEAST_IRIS_PX else None


def _lips_at(points: Float32, size: int) -> _Place | None:
    """The lips of a face float32[POINTS, 2] in px, without what is between them."""
    width = float(np.ptp(points[LIPS_OUTER_SLICE, 0]))
    box = _box_of(points[LIPS_OUTER_SLICE], width, _ABOUT_LIPS, size)
    if box is None:
        return None
    points, shape, scale = _within(box, points)
    soft = max(_LIPS_SOFT * width * scale, _EDGE_PX)
    full = _wider(filled_outline(points[LIPS_OUTER_SLICE], shape), soft)
    hole = filled_outline(points[LIPS_INNER_SLICE], shape)
    return _Place(box, np.asarray(_soft(full, soft) * (1 - _soft(hole, soft))), full == 0)


def _box_of(outline: Float32, width: float, margin: float, size: int) -> Box | None:
    if not width >= _LEAST_PX:
        return None
    left, top, right, bottom = box_around(outline, margin * width, size)
    if min(right - left, bottom - top) < _LEAST_PX:
        return None
    return slice(top, bottom), slice(left, right)


def _within(box: Box, points: Float32) -> tuple[Float32, tuple[int, int], float]:
    """Points, in px of a small picture of a box; its height and width; and its scale."""
    rows, columns = box
    scale = min(1.0, _SMALL / (columns.stop - columns.start))
    shape = tuple(max(1, round(scale * (side.stop - side.start))) for side in box)
    corner = np.array([columns.start, rows.start], np.float32)
    return (points - corner) * np.float32(scale), (shape[0], shape[1]), scale


def _wider(mask: NDArray[np.uint8], reach: float) -> NDArray[np.uint8]:
    times = max(1, round(reach))
    return np.asarray(cv2.dilate(mask, np.ones((3, 3), np.uint8), iterations=times), np.uint8)


def _soft(mask: NDArray[np.uint8], deviation: float) -> Float32:
    soft = cv2.GaussianBlur(mask, (0, 0), max(deviation, _EDGE_PX))
    return np.asarray(soft / np.float32(255), np.float32)


def _eye_told(pixels: Float32 | NDArray[np.uint8], eye: _Place | None) -> tuple[float, float]:
    """How dark the lids and how bright the iris of an eye are."""
    if eye is None or not eye.can_be_told:
        return float("nan"), float("nan")
    luma = brightness(eye.seen(pixels[eye.box]))
    skin = float(np.quantile(luma[eye.skin], _BRIGHT)) + _FAINT
    lids = 1 - (float(np.quantile(luma[eye.part > 0.5], _DARK)) + _FAINT) / skin
    if eye.iris is None or eye.opening is None:
        return lids, float("nan")
    # Landmarks of pupils miss irises that look far aside: what is dark between the lids is theirs.
    return lids, (float(np.quantile(luma[eye.opening > 0.5], _IRISES)) + _FAINT) / skin


def _lips_told(pixels: Float32 | NDArray[np.uint8], lips: _Place | None) -> tuple[float, float]:
    """How red and how dark lips are."""
    if lips is None or not lips.can_be_told:
        return float("nan"), float("nan")
    view, inside = lips.seen(pixels[lips.box]), lips.part > 0.5
    luma, red = brightness(view), np.log((view[..., 2] + _FAINT) / (view[..., 1] + _FAINT))
    redder = float(np.quantile(red[inside], _MOST) - np.median(red[lips.skin]))
    skin = float(np.quantile(luma[lips.skin], _MOST)) + _FAINT
    return redder, 1 - (float(np.quantile(luma[inside], _MIDDLE)) + _FAINT) / skin


def _weaken_eye(view: Float32, eye: _Place, gains: Makeup) -> None:
    """Weakens an eye in what a crop shows of its box, float32[H, W, 3], in place."""
    seen = eye.seen(view)
    if gains.lids < _SAME and eye.can_be_told:
        skin = _laid_out(eye.skin_over(seen), view)
        darker = np.minimum(view - skin, 0)
        view += darker * _weight(eye.part * np.float32(gains.lids - 1), view)
    if gains.irises < _SAME and eye.iris is not None:
        luma = brightness(seen)
        usual = float(np.median(luma[eye.iris > 0.5])) + _FAINT
        start, end = _GLINT
        plain = 1 - np.clip((luma / np.float32(usual) - start) / (end - start), 0, 1)
        view *= _weight(1 + eye.iris * plain * np.float32(gains.irises - 1), view)


def _weaken_lips(view: Float32, lips: _Place, gains: Makeup) -> None:
    """The same of lips."""
    skin = _laid_out(lips.skin_over(lips.seen(view)), view)
    bare, own = brightness(skin), brightness(view)
    if gains.lip_red < _SAME:
        hueless = skin * cv2.merge([(own + 1) / (bare + 1)] * 3)
        view += (hueless - view) * _weight(lips.part * np.float32(1 - gains.lip_red), view)
    if gains.lip_dark < _SAME:
        lighter = np.maximum(bare - own, 0) / (own + 1)
        view *= 1 + cv2.merge([lighter] * 3) * _weight(
            lips.part * np.float32(1 - gains.lip_dark), view
        )


def _laid_out(small: Float32, view: Float32) -> Float32:
    """A small picture of a box at the size of a view of it."""
    high, wide = view.shape[:2]
    return np.asarray(cv2.resize(small, (wide, high), interpolation=cv2.INTER_LINEAR), np.float32)


def _weight(small: Float32, view: Float32) -> Float32:
    """The same of one number for each place, for all three colours."""
    return np.asarray(cv2.merge([_laid_out(small, view)] * 3), np.float32)
