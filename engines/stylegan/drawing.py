"""What parts of faces are drawn with: ramps, brightness and hues, outlines and their boxes."""

import math
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

__all__ = [
    "LUMA",
    "between",
    "box_around",
    "brightness",
    "filled_around",
    "filled_hull",
    "filled_line",
    "filled_outline",
    "hue_square",
    "laid_over",
    "ramp",
    "rise",
    "spread",
    "spread_coarsely",
    "spread_near",
    "warmed",
]

LUMA: Final = np.array([0.114, 0.587, 0.299], np.float32)
"""Shares of blue, green and red in brightness (ITU-R BT.601)."""

_SHIFT: Final = 4
"""Bits of a pixel's fraction that an outline is drawn with."""
_FARTHEST_PX: Final = 4096.0
"""Outlines are cut here: what lies farther would overflow, or be drawn for minutes."""
_FARTHEST_HULL_PX: Final = 16000.0
"""The same of hulls, which are drawn on whole frames."""
_UNKNOWN: Final = 1e-6
"""Weight below which nothing near is known."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def ramp(value: float, low: float, high: float) -> float:
    """How far a value is from low to high, in [0, 1].

    >>> [ramp(value, 2.0, 4.0) for value in (1.0, 2.5, 9.0)]
    [0.0, 0.25, 1.0]
    """
    return min(max((value - low) / (high - low), 0.0), 1.0)


def rise(values: Float32, start: float, end: float) -> Float32:
    """0 before a start, 1 beyond an end, smooth between; the end may be the smaller.

    >>> rise(np.float32([0, 2, 3, 4, 5]), 4.0, 2.0).tolist()
    [1.0, 1.0, 0.5, 0.0, 0.0]
    """
    share = np.asarray((values - np.float32(start)) * np.float32(1 / (end - start)), np.float32)
    np.maximum(share, 0, out=share)
    np.minimum(share, 1, out=share)
    risen = share * share
    share *= -2
    share += 3
    risen *= share
    return np.asarray(risen, np.float32)


def between(ends: tuple[float, float], way: float) -> float:
    """The value at a share of the way between two ends.

    >>> between((2.0, 4.0), 0.25)
    2.5
    """
    return ends[0] + (ends[1] - ends[0]) * way


def brightness(picture: Float32 | UInt8) -> Float32:
    """Luma of a picture [H, W, 3] BGR: float32[H, W], in whole levels where it is uint8."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), np.float32)


def hue_square(apart: Float32, luma: Float32) -> Float32:
    """How far colours are apart in hue, whatever their brightness, squared: float32[...].

    Args:
        apart: float32[..., 3] BGR, differences of colours.
        luma: float32[...], their brightness.

    >>> float(hue_square(np.float32([3, 3, 3]), np.float32(3)))
    0.0
    """
    blue, red = apart[..., 0] - luma, apart[..., 2] - luma
    return np.asarray(blue * blue + red * red, np.float32)


def warmed(skin: Float32, warmth: float) -> Float32:
    """A grey as bright as skin float32[3], with a share of its hue; float32[3].

    >>> warmed(np.float32([80, 100, 120]), 0.5).tolist()
    [90.0, 100.0, 110.0]
    """
    return np.asarray(warmth * skin + (1 - warmth) * skin.mean(), np.float32)


def laid_over(picture: Float32, colour: Float32, weight: Float32) -> Float32:
    """A picture float32[H, W, C] with colour over it, by weight float32[H, W] of it.

    Args:
        picture: float32[H, W, C].
        colour: the same, or float32[C].
        weight: float32[H, W] in [0, 1].

    >>> laid_over(np.zeros((1, 1, 3), np.float32), np.float32([4, 8, 6]), np.float32([[0.5]]))
    array([[[2., 4., 3.]]], dtype=float32)
    """
    # Broadcasting along a last axis of three would take several times as long.
    laid = np.asarray(cv2.merge([weight] * picture.shape[2]), np.float32)
    laid *= colour - picture
    laid += picture
    return laid


def box_around(
    outline: Float32, margin: float, size: int | tuple[int, int]
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of an outline with its surroundings, within the picture.

    Args:
        outline: float32[M, 2], pixels.
        margin: pixels around it.
        size: width and height of the picture; one number of a square one.

    >>> box_around(np.array([[3.5, 8.0], [6.0, 9.5]], np.float32), 1.0, 10)
    (2, 7, 7, 10)
    >>> box_around(np.array([[3.5, 8.0], [6.0, 9.5]], np.float32), 1.0, (6, 20))
    (2, 7, 6, 11)
    """
    width, height = (size, size) if isinstance(size, int) else size
    (left, top), (right, bottom) = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
    return (
        min(max(math.floor(left - margin), 0), width),
        min(max(math.floor(top - margin), 0), height),
        min(max(math.ceil(right + margin), 0), width),
        min(max(math.ceil(bottom + margin), 0), height),
    )


def filled_outline(outline: Float32, shape: tuple[int, ...]) -> UInt8:
    """What an outline float32[M, 2], in pixels, encloses: uint8[H, W], 255 inside."""
    inside = np.zeros(shape, np.uint8)
    near = np.minimum(np.maximum(outline, -_FARTHEST_PX), _FARTHEST_PX)
    fixed = np.rint(near * (1 << _SHIFT)).astype(np.int32)
    cv2.fillPoly(inside, [fixed], 255, cv2.LINE_AA, _SHIFT)
    return inside


def filled_around(points: Float32, shape: tuple[int, ...]) -> UInt8:
    """What the convex hull of points float32[M, 2], in pixels, encloses: as `filled_outline`."""
    hull = cv2.convexHull(np.asarray(points, np.float32))[:, 0]
    return filled_outline(np.asarray(hull, np.float32), shape)


def filled_line(places: Float32, thickness: int, shape: tuple[int, ...]) -> UInt8:
    """A line through places float32[M, 2], in pixels: uint8[H, W], 255 on it."""
    drawn = np.zeros(shape, np.uint8)
    near = np.minimum(np.maximum(places, -_FARTHEST_PX), _FARTHEST_PX)
    fixed = np.rint(near * (1 << _SHIFT)).astype(np.int32)
    cv2.polylines(drawn, [fixed], False, 255, thickness, cv2.LINE_AA, _SHIFT)
    return drawn


def filled_hull(points: Float32, shape: tuple[int, int]) -> UInt8:
    """What the convex hull of points float32[K, 2] encloses: uint8[H, W], 1 inside.

    Args:
        points: in pixels, the first of which has its centre at 0.5.
        shape: height and width, px.

    >>> filled_hull(np.float32([[0.5, 0.5], [2.5, 0.5], [0.5, 2.5]]), (3, 3)).tolist()
    [[1, 1, 1], [1, 1, 0], [1, 0, 0]]
    """
    inside = np.zeros(shape, np.uint8)
    near = np.minimum(np.maximum(points, -_FARTHEST_HULL_PX), _FARTHEST_HULL_PX)
    places = np.rint(near - 0.5)
    cv2.fillConvexPoly(inside, cv2.convexHull(places.astype(np.int32)), 1)
    return inside


def spread(
    values: Float32, weight: Float32, deviations: tuple[tuple[float, float], ...]
) -> Float32:
    """Values spread over all places from where they are known (normalised convolution).

    Args:
        values: float32[S, S, C].
        weight: float32[S, S], how surely each is known, 0 to 1.
        deviations: of the blurs, shares of the side, and what each counts; small ones that count
            most let the nearest values decide.

    >>> known = np.zeros((8, 8), np.float32)
    >>> known[2, 2] = 1
    >>> bool(np.allclose(spread(7 * known[..., None].repeat(3, 2), known, ((0.5, 1.0),)), 7))
    True
    """
    # Blurs that reach across the picture: as matrices they take a third of the time.
    size, channels = len(weight), values.shape[2] + 1
    down, across = _blurs(size, deviations)
    planes = np.stack([*cv2.split(values), np.ones_like(weight)], axis=1)
    planes *= weight[:, None]
    blurred = (down @ planes.reshape(size, -1)).reshape(len(deviations), size, channels, size)
    total = blurred.transpose(2, 1, 0, 3).reshape(channels * size, -1) @ across
    *sums, share = total.reshape(channels, size, size)
    least = np.maximum(share, np.float32(_UNKNOWN))
    return np.asarray(cv2.merge([cv2.divide(one, least) for one in sums]), np.float32)


def spread_near(values: Float32, weight: Float32, deviation: float) -> Float32:
    """The same as `spread` with one blur that reaches a few pixels, which is quicker so.

    Args:
        values: float32[S, S(, C)].
        weight: float32[S, S], how surely each is known, 0 to 1.
        deviation: of the blur, px.

    >>> known = np.eye(8, dtype=np.float32)
    >>> bool(np.allclose(spread_near(7 * known, known, 2.0), 7))
    True
    """
    both = cv2.merge([*cv2.split(values), np.ones_like(weight)])
    soft = cv2.GaussianBlur(cv2.merge([weight] * both.shape[2]) * both, (0, 0), deviation)
    found = soft[..., :-1] / np.maximum(soft[..., -1:], np.float32(_UNKNOWN))
    return np.asarray(found.reshape(values.shape), np.float32)


def spread_coarsely(values: Float32, weight: Float32, width: int, deviation: float) -> Float32:
    """The same as `spread_near` at a small width, for what is smooth: float32[H, W, C].

    Args:
        values: float32[H, W, C].
        weight: float32[H, W], how surely each is known, 0 to 1.
        width: at which they are spread, px.
        deviation: of the blur, a share of that.

    >>> known = np.eye(32, dtype=np.float32)
    >>> bool(np.allclose(spread_coarsely(7 * np.ones((32, 32, 3), np.float32), known, 8, 0.3), 7))
    True
    """
    high, wide = weight.shape
    small = (width, max(1, round(width * high / wide)))
    seen, known = (
        np.asarray(cv2.resize(one, small, interpolation=cv2.INTER_AREA), np.float32)
        for one in (values, weight)
    )
    found = spread_near(seen, known, deviation * width)
    return np.asarray(cv2.resize(found, (wide, high), interpolation=cv2.INTER_LINEAR), np.float32)


@lru_cache(maxsize=8)
def _blurs(size: int, deviations: tuple[tuple[float, float], ...]) -> tuple[Float32, Float32]:
    """What blurs columns, and then rows and adds up: float32[D * size, size] each, shared.

    Blurs are `cv2.GaussianBlur`'s, pictures go on mirrored beyond their edges.

    Args:
        size: side of the pictures, px.
        deviations: D blurs as of `spread`.
    """
    down, across = [], []
    for deviation, counts in deviations:
        blur = deviation * size
        length = round(8 * blur + 1) | 1
        kernel = cv2.getGaussianKernel(length, blur, cv2.CV_64F).ravel()
        period = max(2 * (size - 1), 1)
        seen = (np.arange(size)[:, None] + np.arange(length) - length // 2) % period
        matrix = np.zeros((size, size))
        rows = np.broadcast_to(np.arange(size)[:, None], seen.shape)
        np.add.at(matrix, (rows, np.minimum(seen, period - seen)), kernel)
        down.append(counts * matrix)
        across.append(matrix.T)
    return (
        np.concatenate(down).astype(np.float32),
        np.concatenate(across).astype(np.float32),
    )
