"""Irises of painted faces, which look where the subject looks.

A texture is a mean of many gazes, and the irises of some are pale smears. There eyes are drawn, as
geometry alone tells them: an iris is two fifths as wide as the eye in everybody, and lids and
pupils are control points. Nothing else of the subject has a part in them. Eyes that were painted
well stay: recognisers tell people apart by them, and with eyes drawn for everybody three times as
many pairs of surrogates passed for one person.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import (
    between,
    box_around,
    filled_around,
    filled_line,
    filled_outline,
    ramp,
    spread_coarsely,
    warmed,
)
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    PUPIL_IMAGE_LEFT,
    PUPIL_IMAGE_RIGHT,
)

__all__ = ["EYE_TRAITS", "draw_eyes", "draw_shut_eyes"]

EYE_TRAITS: Final = 4
"""Numbers from 0 to 1 that say which eyes: paleness, width and shade of the irises, and width of
the pupils."""
_IRIS: Final = (0.165, 0.215)
"""Radius of an iris, as a share of the distance of the eye's corners (0.195 by anatomy)."""
_PUPIL: Final = (0.3, 0.55)
"""Radius of a pupil, as a share of the iris'."""
_SHUT, _OPEN = 0.07, 0.15
"""Gap of the lids, as a share of the eye's width: no iris up to the first, all from the second."""
_EDGE_ON, _IN_VIEW = 0.35, 0.6
"""Width that is seen, as a share of the true one: no iris up to the first, all from the second."""
_DARK_PERCENT: Final = 25.0
_IRIS_PAINTED: Final = (0.52, 0.72)
"""Brightness of the darkest quarter of what is between the lids, as a share of the skin's: an iris
was painted up to the first, none from the second."""
_MOST: Final = 0.8
"""How much of what was painted a drawn eye replaces at most; the rest tells surrogates apart."""
_BROWN: Final = np.array([0.14, 0.21, 0.31], np.float32)
_PALE: Final = np.array([0.58, 0.54, 0.47], np.float32)
"""Irises of surrogates, BGR, as a share of the white's brightness."""
_SHADE: Final = (0.75, 1.3)
_PALE_SKIN: Final = (60.0, 110.0)
"""Brightness of skin below which irises are brown, and from which they may be pale."""
_WARMTH, _WHITENESS = 0.5, 1.12
"""How much of the skin's hue the white has, and how much brighter than bright skin it is."""
_LID_MARGIN: Final = 0.6
"""How far around a shut eye its skin is looked at, widths of the eye."""
_LID_UP, _LID_DOWN, _LID_ENDS = 0.4, 0.14, 0.4
"""How far over and under the line where lids meet the middle of a shut lid reaches, likewise, and
what share of that its ends do."""
_LID_WIDE: Final = 1.1
"""Its width, widths of the eye."""
_LID_SOFT: Final = 0.07
_LID_AROUND: Final = 0.15
"""Softness of its edge, likewise, and deviation of the blur that spreads skin over it, a share of
what is looked at."""
_LID_SMALL: Final = 32
"""Width at which that is done, px; skin is smooth."""
_LID_FREE: Final = 24
"""How much of a lid or brow, of 255, may lie at a place that counts as skin."""
_LID_SHADE: Final = 0.96
"""Brightness of a lid, of the skin around it."""
_LOWERED: Final = (0.5, 0.85)
"""How far an eye is shut between which its lid is drawn: an open one is the texture's."""
_SHUT_WHOLLY: Final = (0.7, 0.95)
"""How far an eye is shut between which skin comes to lie over what is still open of it."""
_LEAST_VIEW_PX: Final = 4
_LASHES: Final = (0.3, 0.9)
"""How far an eye is shut at which its lashes meet, from the first trace on."""
_LASH_TALL, _LASH_SOFT = 0.045, 0.025
_LASH_DARK: Final = 0.5
"""Height and softness of their line, widths of the eye, and its brightness, as a share of what is
about the eye."""
_SOFT_PX: Final = 0.9
_MARGIN: Final = 0.15
_FAINT: Final = 1e-6

_LIDS_AND_BROWS: Final = (
    (EYE_LEFT_SLICE, BROW_LEFT_SLICE),
    (EYE_RIGHT_SLICE, BROW_RIGHT_SLICE),
)
_MEAN: Final = np.full((1, 3), 1 / 3, np.float32)

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def draw_eyes(pixels: Float32, points: Float32, traits: Float32) -> None:
    """Draw both irises into a painted face, in place; shut and averted eyes stay as they are.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 3] of the painted face, crop units.
        traits: float32[EYE_TRAITS] of the surrogate, 0 to 1.
    """
    size = pixels.shape[0]
    eyes = [
        _eye_in(pixels, points[lids] * size - 0.5, points[pupil] * size - 0.5)
        for lids, pupil in (
            (EYE_LEFT_SLICE, PUPIL_IMAGE_LEFT),
            (EYE_RIGHT_SLICE, PUPIL_IMAGE_RIGHT),
        )
    ]
    shown = [eye for eye in eyes if eye is not None]
    if not shown:
        return
    pale = ramp(sum(eye.darkest() for eye in shown) / len(shown), *_IRIS_PAINTED)
    if pale > 0:
        for eye in shown:
            _draw_eye(eye, _MOST * pale, traits)


def draw_shut_eyes(pixels: Float32, points: Float32, shut: Float32) -> None:
    """Draw the lids of shut eyes, and the line of lashes along which they meet, in place.

    A texture shows its lid open: folded, with lashes and shade upon it, all of which would be drawn
    wide over the eye. A shut lid is smooth skin, and nothing of the eye shines through.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 3] of the painted face, crop units.
        shut: float32[2] how far each eye is shut, in [0, 1].
    """
    size = pixels.shape[0]
    places = points[:, :2] * np.float32(size) - np.float32(0.5)
    for (lids, brow), share in zip(_LIDS_AND_BROWS, shut.tolist(), strict=True):
        strength = ramp(share, *_LASHES)
        eye = places[lids]
        width = float(np.linalg.norm(eye[8] - eye[0]))
        left, top, right, bottom = box_around(eye, max(_LID_MARGIN * width, 2.0), size)
        if strength <= 0 or min(right - left, bottom - top) < _LEAST_VIEW_PX:
            continue
        view, corner = pixels[top:bottom, left:right], np.array([left, top], np.float32)
        meet = np.concatenate([eye[:1], (eye[1:8] + eye[:8:-1]) / 2, eye[8:9]]) - corner
        _lay_lid(view, eye - corner, places[brow] - corner, width, share)
        line = filled_line(
            np.asarray(meet, np.float32), max(1, round(_LASH_TALL * width)), view.shape[:2]
        )
        seen = cv2.GaussianBlur(line, (0, 0), max(_LASH_SOFT * width, 0.5))
        dark = view.mean(axis=(0, 1)) * np.float32(_LASH_DARK)
        view += (dark - view) * (seen * np.float32(strength / 255))[..., None]


def _lay_lid(view: Float32, eye: Float32, brow: Float32, width: float, shut: float) -> None:
    """Lay smooth skin over a lid that is lowered, in place; what is open of the eye stays.

    Args:
        view: float32[H, W, 3], the part of the picture around the eye.
        eye: float32[16, 2] its lids, px of it.
        brow: float32[M, 2], the brow's points.
        width: of the eye, px.
        shut: how far the eye is shut, in [0, 1].
    """
    upper, lower = np.concatenate([eye[:1], eye[:8:-1], eye[8:9]]), eye[:9]
    arch = np.maximum(np.sin(np.linspace(0, np.pi, len(lower))), _LID_ENDS)[:, None]
    arch = arch * np.array([0, width], np.float32)
    above, below = (
        one.mean(axis=0) + _LID_WIDE * (one - one.mean(axis=0)) for one in (upper, lower)
    )
    outline = np.concatenate([above - _LID_UP * arch, (below + _LID_DOWN * arch)[::-1]])
    drawn = filled_outline(np.asarray(outline, np.float32), view.shape[:2])
    opened = filled_outline(np.asarray(eye, np.float32), view.shape[:2])
    left = np.float32(1 - ramp(shut, *_SHUT_WHOLLY)) * opened
    lid = np.asarray(np.maximum(drawn - left, 0), np.float32)
    hair = filled_around(brow, view.shape[:2])
    soft = max(_LID_SOFT * width, _SOFT_PX)
    place = cv2.GaussianBlur(lid, (0, 0), soft) * np.float32(ramp(shut, *_LOWERED) / 255)
    place *= 1 - cv2.GaussianBlur(hair, (0, 0), soft) / np.float32(255)
    around = cv2.GaussianBlur(np.maximum(drawn, hair), (0, 0), 1.5 * soft)
    known = np.asarray(around < _LID_FREE, np.float32) + np.float32(_FAINT)
    skin = spread_coarsely(view, known, _LID_SMALL, _LID_AROUND)
    view += (skin * np.float32(_LID_SHADE) - view) * place[..., None]


@dataclass(frozen=True, slots=True)
class _Eye:
    """One open eye of a painted face.

    Attributes:
        view: float32[H, W, 3], the part of the picture around it.
        lids: uint8[H, W], 255 between them.
        x: float32[H, W], pixels from the pupil's middle, as from in front of the eye.
        y: float32[H, W].
        width: of the eye, pixels.
        gap: of the lids, pixels.
        presence: how much of it is to be seen, in (0, 1].
        skin: float32[3] BGR about it.
    """

    view: Float32
    lids: UInt8
    x: Float32
    y: Float32
    width: float
    gap: float
    presence: float
    skin: Float32

    def darkest(self) -> float:
        """How bright the darkest part between the lids is, as a share of the skin."""
        inside = cv2.transform(self.view, _MEAN)[self.lids > 127]
        if not inside.size:
            return 0.0
        rank = round((len(inside) - 1) * _DARK_PERCENT / 100)
        return float(np.partition(inside, rank)[rank]) / (float(self.skin.mean()) + 1)


def _eye_in(pixels: Float32, eye: Float32, pupil: Float32) -> _Eye | None:
    """An eye by its pupil and its lids float32[16, 3], from the outer corner along the lower lid.

    Both in pixels whose first one has its middle at 0.
    """
    across = eye[8] - eye[0]
    width = float(np.linalg.norm(across)) + _FAINT
    seen = float(np.linalg.norm(across[:2])) / width
    gap = float(np.linalg.norm((eye[9:] - eye[7:0:-1])[:, :2], axis=1).max())
    presence = ramp(gap / width, _SHUT, _OPEN) * ramp(seen, _EDGE_ON, _IN_VIEW)
    left, top, right, bottom = box_around(eye[:, :2], _MARGIN * width, pixels.shape[0])
    if presence <= 0 or right - left < 4 or bottom - top < 4:
        return None
    view = pixels[top:bottom, left:right]
    lids = filled_outline(eye[:, :2] - np.array([left, top], np.float32), view.shape[:2])
    x, y = np.meshgrid(
        (np.arange(left, right, dtype=np.float32) - pupil[0]) / np.float32(seen),
        np.arange(top, bottom, dtype=np.float32) - pupil[1],
    )
    skin = np.asarray(cv2.mean(view, 255 - lids)[:3], np.float32)
    return _Eye(view, lids, x, y, width, gap, presence, skin)


def _draw_eye(eye: _Eye, strength: float, traits: Float32) -> None:
    ball = _eyeball(eye, traits)
    ball *= _shade_of_lids(eye.lids, eye.gap)[..., None]
    share = cv2.GaussianBlur(eye.lids, (0, 0), _SOFT_PX) * np.float32(eye.presence * strength / 255)
    view = eye.view
    view += (ball - view) * share[..., None]


def _eyeball(eye: _Eye, traits: Float32) -> Float32:
    """White, iris, pupil and a glint, under the light that the skin shows, float32[H, W, 3]."""
    x, y, width, skin = eye.x, eye.y, eye.width, eye.skin
    paleness, breadth, shade, dilation = traits.tolist()
    light = float(skin.mean())
    white = warmed(skin, _WARMTH) * np.float32(_WHITENESS * (235 / (light + 1)) ** 0.2)
    pale = paleness * ramp(light, *_PALE_SKIN)
    iris = white * (_BROWN + pale * (_PALE - _BROWN)) * between(_SHADE, shade)
    radius = between(_IRIS, breadth) * width
    away = cv2.magnitude(x, y) / np.float32(radius)
    steep = np.float32(radius / (2 * _SOFT_PX))
    disc = np.clip((1 - away) * steep + 0.5, 0, 1)
    dark = np.clip((between(_PUPIL, dilation) - away) * steep + 0.5, 0, 1)
    rim = np.clip(1 - np.abs(away - 0.92) * 4, 0, 1)
    glow = (1 - 0.4 * rim) * (1 + 0.25 * np.clip(y / radius, -1, 1)) * (1 - 0.8 * dark)
    spot = np.square(x + 0.3 * radius) + np.square(y + 0.4 * radius)
    glint = np.exp(spot * np.float32(-1 / (0.06 * radius * radius)))
    ball = white + disc[..., None] * (iris * glow[..., None] - white)
    ball += (0.35 * light * disc * glint)[..., None]
    return np.asarray(np.clip(ball, 0, 245), np.float32)


def _shade_of_lids(lids: UInt8, gap: float) -> Float32:
    """How much light reaches the eyeball, float32[H, W] in [0.6, 1]: less beside the lids."""
    reach = max(0.45 * gap, 1.0)
    far = cv2.distanceTransform(np.asarray(lids > 127, np.uint8), cv2.DIST_L2, 3)
    return np.asarray(0.6 + 0.4 * np.clip(far / reach, 0, 1), np.float32)
