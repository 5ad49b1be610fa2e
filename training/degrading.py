"""Pictures as they look from far away: out of focus, moving, of few pixels, compressed, dark."""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

__all__ = ["far_away", "streak"]

_LEAST_SIDE: Final = 14
_LEAST_QUALITY: Final = 15
_MOST_QUALITY: Final = 90
"""Of JPEG, whose blocks at few pixels look like a video's."""
_DEFOCUS: Final = (0.008, 0.08)
"""Deviation of a blurred point, shares of the side."""
_PATH: Final = (0.03, 0.22)
"""Way that a point moves while the shutter is open, shares of the side."""

Float32 = npt.NDArray[np.float32]


def far_away(random: np.random.Generator, picture: Float32) -> Float32:
    """As a small face that was enlarged, out of focus, moving, compressed or in the dark.

    Args:
        random: decides how.
        picture: float32[S, S, 3] in [0, 1], not changed.
    """
    size = picture.shape[0]
    draw = random.random()
    if draw < 0.5:
        deviation = size * np.exp(random.uniform(*np.log(_DEFOCUS)))
        picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), deviation), np.float32)
    elif draw < 0.7:
        kernel = streak(random, size * np.exp(random.uniform(*np.log(_PATH))))
        picture = np.asarray(cv2.filter2D(picture, -1, kernel), np.float32)
    side = int(np.exp(random.uniform(np.log(_LEAST_SIDE), np.log(size))))
    small = cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA)
    if random.random() < 0.5:
        small = _compressed(random, np.asarray(small, np.float32))
    seen = cv2.resize(small, (size, size), interpolation=cv2.INTER_LINEAR)
    gain = np.exp(random.uniform(-2.0, 0.3)) if random.random() < 0.3 else 1.0
    return np.asarray(seen * np.float32(gain), np.float32)


def streak(random: np.random.Generator, way: float) -> Float32:
    """A kernel of motion blur, sum 1.

    Args:
        random: decides its direction.
        way: its length, px.
    """
    length = max(int(way), 3) | 1
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1 / length
    turn = cv2.getRotationMatrix2D((length / 2 - 0.5,) * 2, random.uniform(0, 180), 1)
    turned = np.asarray(cv2.warpAffine(kernel, turn, (length, length)), np.float32)
    return np.asarray(turned / turned.sum(), np.float32)


def _compressed(random: np.random.Generator, picture: Float32) -> Float32:
    quality = int(random.integers(_LEAST_QUALITY, _MOST_QUALITY))
    grey_levels = (picture * 255).clip(0, 255).astype(np.uint8)
    _, coded = cv2.imencode(".jpg", grey_levels, [cv2.IMWRITE_JPEG_QUALITY, quality])
    decoded = cv2.imdecode(coded, cv2.IMREAD_COLOR)
    assert decoded is not None
    return np.asarray(decoded / np.float32(255), np.float32)
