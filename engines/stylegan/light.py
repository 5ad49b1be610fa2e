"""Low-frequency light: mean colours of a 4x4 grid, of the face and of its surroundings apart.

Taken apart, a red wall does not redden a cheek, and dark hair does not darken a forehead.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import brightness, hue_square, rise
from engines.stylegan.sizes import (
    CONTRAST_FLOOR,
    LIGHT_SIZE,
    LIGHT_SPREAD,
    SOFT_KERNEL,
    SOFT_SIZE,
)

Float32 = npt.NDArray[np.float32]


def _levelling() -> Float32:
    """Least-squares plane through the cells of a grid, as a matrix on them."""
    step = np.linspace(-1.0, 1.0, LIGHT_SIZE)
    y, x = np.meshgrid(step, step, indexing="ij")
    plane = np.stack([np.ones(x.size), x.ravel(), y.ravel()], axis=1)
    return np.asarray(plane @ np.linalg.pinv(plane), np.float32)


_LEVELLING: Final = _levelling()
_CHEEKS: Final = (0.10, 0.38)
"""Between which heights below the brows a face is mostly skin, shares of the crop's."""
_FOREHEAD: Final = (-0.02, 0.03)
"""Between which heights above them a forehead begins."""
_SOFT: Final = 5
"""Side of the box over which colours are compared, of 64 px of a crop: locks of hair, not lines."""
_DARKER: Final = 0.35
_HUE: Final = 0.12
"""Differences of brightness and of hue from the cheeks, in [-1, 1], at which a forehead is hardly
skin."""
_FAINT: Final = 1e-6
_SKIN: Final = np.array([108, 124, 163], np.float32)
"""Colour of faces in photographs on average, under which textures are as they are."""
_HUES: Final = (0.4, 1.0)
"""Shares of a texture's colours that are left at least and at most. More than all of them makes
cheeks bluish under cold lamps."""


def softened(oval: Float32, size: int) -> Float32:
    """Blur a face's outline: float32[64, 64] in [0, 1] -> float32[size, size].

    >>> float(softened(np.ones((64, 64), np.float32), 32).min())
    1.0
    """
    kernel = (SOFT_KERNEL, SOFT_KERNEL)
    soft = cv2.blur(oval, kernel, borderType=cv2.BORDER_REPLICATE)
    soft = cv2.blur(soft, kernel, borderType=cv2.BORDER_REPLICATE)
    shrinks = size < SOFT_SIZE
    way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(soft, (size, size), interpolation=way), np.float32)


def light_from_picture(picture: Float32, inside: Float32, bare: Float32 | None = None) -> Float32:
    """Mean colours of the face and of the rest.

    Args:
        picture: float32[S, S, C], S divisible by LIGHT_SIZE.
        inside: float32[S, S] in [0, 1], 1 on the face.
        bare: the same of the face without what covers it, see `bare_face`; all of it without.

    Returns:
        float32[2, LIGHT_SIZE, LIGHT_SIZE, C]: face, then surroundings.

    >>> flat = light_from_picture(np.ones((8, 8, 3), np.float32), np.ones((8, 8), np.float32))
    >>> flat[0].min() > 0.99
    np.True_
    """
    face = inside if bare is None else bare
    return np.stack([_cells(picture, face), _cells(picture, 1.0 - inside)])


def bare_face(picture: Float32, inside: Float32, brows: float) -> Float32:
    """A face without the hair on its forehead, or what else is darker there or of another hue.

    A fringe would count as a shadow: whoever wears it would get a dark, brown forehead.

    Args:
        picture: float32[S, S, 3] BGR in [-1, 1].
        inside: float32[S, S] in [0, 1], 1 on the face.
        brows: height of its brows, share of the picture's, counted from above.

    Returns:
        float32[S, S], no more than `inside` anywhere and the same below the brows.

    >>> picture = np.full((64, 64, 3), 0.2, np.float32)
    >>> picture[:20] = -0.6
    >>> bare = bare_face(picture, np.ones((64, 64), np.float32), 0.35)
    >>> bool(bare[10, 32] < 0.02), bool(bare[40, 32] == 1)
    (True, True)
    """
    size = len(picture)
    first, last = (max(round((brows + below) * size), 0) for below in _CHEEKS)
    cheeks = inside[first:last, :, None]
    skin = (picture[first:last] * cheeks).sum(axis=(0, 1)) / (cheeks.sum() + _FAINT)
    upper = min(max(round((brows - _FOREHEAD[0]) * size), 0), size)
    if upper == 0:
        return inside
    away = picture[:upper] - skin.astype(np.float32)
    apart = cv2.blur(away, (_SOFT, _SOFT), borderType=cv2.BORDER_REPLICATE)
    luma = brightness(apart)
    square = np.square(np.minimum(luma, 0) / np.float32(_DARKER))
    square += hue_square(apart, luma) / np.float32(_HUE**2)
    above = np.asarray(brows - (np.arange(upper) + 0.5) / size, np.float32)
    bare = inside.copy()
    bare[:upper] *= 1 - rise(above, *_FOREHEAD)[:, None] * (1 - cv2.exp(-square))
    return bare


def levelled(light: Float32) -> Float32:
    """Reduce the face's light to its mean colour and a slope: float32[..., 2, 4, 4, C].

    The cells of a face know its eye sockets, beard and brows; a slope knows the lamp. The
    surroundings' cells stay.

    >>> spot = np.zeros((2, LIGHT_SIZE, LIGHT_SIZE, 1), np.float32)
    >>> spot[:, 0, 0] = 1.0
    >>> np.round(levelled(spot)[:, 0, :, 0], 2)
    array([[0.29, 0.21, 0.14, 0.06],
           [1.  , 0.  , 0.  , 0.  ]], dtype=float32)
    """
    shape = (*light.shape[:-4], LIGHT_SIZE * LIGHT_SIZE, light.shape[-1])
    face = _LEVELLING @ light[..., 0, :, :, :].reshape(shape)
    result = light.copy()
    result[..., 0, :, :, :] = face.reshape(light[..., 0, :, :, :].shape)
    return result


def field_from_light(light: Float32, inside: Float32) -> Float32:
    """Spread light over a picture of the size of `inside`, float32[S, S, C].

    Args:
        light: float32[2, LIGHT_SIZE, LIGHT_SIZE, C] as `light_from_picture` gives it.
        inside: float32[S, S] in [0, 1].
    """
    size = (inside.shape[1], inside.shape[0])
    face = cv2.resize(light[0], size, interpolation=cv2.INTER_LINEAR)
    rest = cv2.resize(light[1], size, interpolation=cv2.INTER_LINEAR)
    share = inside[:, :, None]
    return np.asarray(face * share + rest * (1.0 - share), np.float32)


def face_field(light: Float32, shape: tuple[int, ...]) -> Float32:
    """Spread the face's light over a picture, as if it were all face: float32[H, W, C].

    What surrounds a face gives it no light of its own: a dark room would shade its sides and chin.

    Args:
        light: float32[2, LIGHT_SIZE, LIGHT_SIZE, C] as `light_from_picture` gives it.
        shape: height and width, px.
    """
    way = cv2.INTER_LINEAR
    return np.asarray(cv2.resize(light[0], (shape[1], shape[0]), interpolation=way), np.float32)


def under_light(texture: Float32, light: Float32, inside: Float32) -> Float32:
    """Brings a texture under a light: as much contrast as it has room for, and its colours.

    Args:
        texture: float32[S, S, 3] about [-1, 1], without light.
        light: float32[2, LIGHT_SIZE, LIGHT_SIZE, 3] in [-1, 1], of face and surroundings.
        inside: float32[s, s] in [0, 1], 1 on the face; S is a multiple of s.

    Returns:
        float32[S, S, 3], about [-1, 1].

    >>> grey = np.full((2, LIGHT_SIZE, LIGHT_SIZE, 3), 0.6, np.float32)
    >>> lit = under_light(np.zeros((8, 8, 3), np.float32), grey, np.ones((8, 8), np.float32))
    >>> bool(np.abs(lit - 0.6).max() < 1e-6)
    True
    """
    small, size = texture, texture.shape[1::-1]
    if small.shape[:2] != inside.shape:
        side = inside.shape[::-1]
        small = np.asarray(cv2.resize(small, side, interpolation=cv2.INTER_AREA), np.float32)
    contrast = contrast_from_field(face_field(light, inside.shape))
    missing = light - light_from_picture(small * contrast, inside)
    field = face_field(missing, texture.shape)
    room = cv2.resize(contrast, size, interpolation=cv2.INTER_LINEAR)
    # Broadcasting along a last axis of three would take several times as long.
    lit = cv2.multiply(texture, cv2.merge([room] * 3))
    return np.asarray(cv2.add(lit, field, dst=lit), np.float32)


def in_hue_of_light(texture: Float32, light: Float32) -> Float32:
    """A texture whose colours stand out no farther than in the hue of a lamp: float32[S, S, 3].

    Skin reflects a share of the light, so where a lamp gives little blue, lips and highlights
    differ little in blue from the skin around them; else they would be purple and grey.

    Args:
        texture: float32[S, S, 3] BGR, about [-1, 1], without light.
        light: float32[2, LIGHT_SIZE, LIGHT_SIZE, 3] in [-1, 1], of face and surroundings.

    >>> warm = np.zeros((2, 4, 4, 3), np.float32) + np.float32([-0.5, -0.1, 0.5])
    >>> seen = in_hue_of_light(np.ones((1, 1, 3), np.float32), warm)[0, 0]
    >>> [round(float(one), 1) for one in seen]
    [0.6, 1.0, 1.0]
    """
    lamp = light[0].mean(axis=(0, 1)) + 1
    share = lamp / max(float(lamp.mean()), _FAINT) / (_SKIN / _SKIN.mean())
    # Broadcasting along a last axis of three would take several times as long.
    return np.asarray(cv2.transform(texture, np.diag(np.clip(share, *_HUES))), np.float32)


def contrast_from_field(field: Float32) -> Float32:
    """How strong texture shows under a light, float32[S, S, 1].

    A picture has room for contrast in the middle of its range and none at its ends. The circle
    sqrt(1 - l^2) follows what photographed faces show under a light l.

    Args:
        field: float32[S, S, C] in [-1, 1].

    >>> lights = np.array([-0.6, 0.0, 0.8], np.float32).reshape(1, 3, 1)
    >>> contrast_from_field(lights).ravel().round(2)
    array([0.8, 1. , 0.6], dtype=float32)
    """
    room = 1.0 - np.square(field.mean(axis=2, keepdims=True))
    return np.asarray(np.sqrt(np.maximum(room, CONTRAST_FLOOR**2)), np.float32)


def _cells(picture: Float32, weight: Float32) -> Float32:
    pooled = _pooled(np.dstack([picture * weight[:, :, None], weight]))
    total, share = pooled[:, :, :-1], pooled[:, :, -1:]
    mean = total.sum(axis=(0, 1)) / (share.sum() + 1e-6)
    return np.asarray((total + LIGHT_SPREAD * mean) / (share + LIGHT_SPREAD), np.float32)


def _pooled(picture: Float32) -> Float32:
    cells = cv2.resize(picture, (LIGHT_SIZE, LIGHT_SIZE), interpolation=cv2.INTER_AREA)
    return np.asarray(cells, np.float32).reshape(LIGHT_SIZE, LIGHT_SIZE, *picture.shape[2:])
