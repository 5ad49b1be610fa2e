"""A decoded picture in the planes it was coded in, and its conversions to and from BGR.

Pictures stay in the camera's own planes from decoder to encoder: pixels that no face
touches are never converted, so they leave as they came, 10-bit included, and the costly
full-frame colour conversion is replaced by one of the small region that changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["BgrImage", "Layout", "Matrix", "Picture", "Plane", "PlaneLayer", "picture_from_bgr"]

Plane = NDArray[np.uint8] | NDArray[np.uint16]
BgrImage = NDArray[np.uint8]
Matrix = Literal["bt601", "bt709", "bt2020"]
Layout = Literal["yuv420", "yuv422", "yuv444", "gray", "bgr"]

# Chroma planes are smaller than luma by these powers of two: (rows, columns).
_CHROMA_SHIFT: dict[Layout, tuple[int, int]] = {
    "yuv420": (1, 1),
    "yuv422": (0, 1),
    "yuv444": (0, 0),
    "gray": (0, 0),
    "bgr": (0, 0),
}
_BAND_PIXELS = 1 << 16
"""Pixels that are blended at a time: what is needed for them stays in the processor's cache, and
in memory that the process has."""
# Luma weights of red and blue: Rec. ITU-R BT.601, BT.709, BT.2020 (non-constant luminance).
_LUMA: dict[Matrix, tuple[float, float]] = {
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
}


@dataclass(frozen=True, slots=True)
class PlaneLayer:
    """A window's layer in the planes of a picture, so that only blending is left to do.

    Attributes:
        values: float32, for each plane what is laid, in the picture's sample units.
        weights: float32 0…1, for each plane; chroma planes share theirs.
    """

    values: tuple[NDArray[np.float32], ...]
    weights: tuple[NDArray[np.float32], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture as planes; the arrays may be written to, the description may not change.

    Attributes:
        planes: `gray`: one H×W plane. `bgr`: one H×W×3 plane, blue first. `yuv*`: luma
            H×W, then U and V, each ⌈H/2⌉×⌈W/2⌉ (420), H×⌈W/2⌉ (422) or H×W (444).
            uint8 where `bit_depth` is 8, else uint16 with the value in the low bits.
            The picture owns the buffers.
        layout: how the planes are arranged.
        bit_depth: significant bits of a sample: 8, 10, 12 or 16.
        matrix: which Y'CbCr matrix the yuv layouts use.
        is_full_range: luma spans all values of the bit depth (true), or 16…235 of 8 bits,
            shifted to it (false); `gray` and `bgr` always span all.
        height: rows of the full picture, px.
        width: columns of the full picture, px.
        grid: step (rows, columns) to which an edited region's top left corner must align.
    """

    planes: tuple[Plane, ...]
    layout: Layout
    bit_depth: int = 8
    matrix: Matrix = "bt709"
    is_full_range: bool = False
    height: int = field(init=False, repr=False, compare=False)
    width: int = field(init=False, repr=False, compare=False)
    grid: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        down, right = _CHROMA_SHIFT[self.layout]
        object.__setattr__(self, "height", int(self.planes[0].shape[0]))
        object.__setattr__(self, "width", int(self.planes[0].shape[1]))
        object.__setattr__(self, "grid", (1 << down, 1 << right))

    @property
    def nbytes(self) -> int:
        """Size of all planes in bytes."""
        return sum(plane.nbytes for plane in self.planes)

    def bgr(self) -> BgrImage:
        """The whole picture as a new H×W×3 uint8 BGR array, 0…255."""
        return self.resized_bgr(self.height, self.width)

    def resized_bgr(self, height: int, width: int) -> BgrImage:
        """The whole picture scaled to height×width, uint8 BGR; planes are scaled first."""
        area = height < self.height and width < self.width
        how = cv2.INTER_AREA if area else cv2.INTER_LINEAR
        return self._bgr_from_full_planes(
            [_resized(plane, height, width, how) for plane in self.planes]
        )

    @property
    def luma(self) -> Plane:
        """H×W samples of brightness at full depth; a view where the picture has such a plane."""
        first = self.planes[0]
        if self.layout != "bgr":
            return first
        grey = cv2.cvtColor(first, cv2.COLOR_BGR2GRAY)
        return grey.astype(np.uint8, copy=False) if self.bit_depth == 8 else grey.astype(np.uint16)

    def resized_luma(self, height: int, width: int) -> Plane:
        """`luma` scaled to height×width."""
        return _resized(self.luma, height, width)

    def region_bgr(
        self, top: int, left: int, height: int, width: int, scaled: tuple[int, int] | None = None
    ) -> BgrImage:
        """A window of the picture as a new uint8 BGR array, height×width×3 or as it is scaled.

        Args:
            top: first row of the window, on `grid`.
            left: first column of the window, on `grid`.
            height: rows of the window, which lies inside the picture.
            width: columns of the window.
            scaled: height and width of the result; planes are scaled before they are converted.
        """
        planes, size = self._windows(top, left, height, width), scaled or (height, width)
        for place, part in enumerate(planes):
            if part.shape[:2] != size:
                planes[place] = _resized(part, *size)
        return self._bgr_from_full_planes(planes)

    def region_luma(
        self, top: int, left: int, height: int, width: int, scaled: tuple[int, int] | None = None
    ) -> NDArray[np.uint8]:
        """The brightness of a window, uint8 of 0…255; arguments as of `region_bgr`."""
        if self.layout == "bgr":
            pixels = self.region_bgr(top, left, height, width, scaled)
            return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), np.uint8)
        part = _resized(self._windows(top, left, height, width)[0], *(scaled or (height, width)))
        is_narrow = self.layout.startswith("yuv") and not self.is_full_range
        step, black = (255 / 219, 16) if is_narrow else (1.0, 0)
        above = np.maximum(part, round(black * self._scale))  # or it would become bright
        gain, shift = step / self._scale, -step * black
        return np.asarray(cv2.convertScaleAbs(above, alpha=gain, beta=shift), np.uint8)

    def blend(
        self, top: int, left: int, patch: NDArray[np.float32], alpha: NDArray[np.float32]
    ) -> None:
        """Writes `patch` over a window in place: out = alpha·patch + (1 − alpha)·picture.

        A chroma sample takes the largest alpha of the pixels it covers, so a pixel whose
        luma is replaced never keeps its colour.

        Args:
            top: first row of the window, on `grid`.
            left: first column of the window, on `grid`.
            patch: h×w×3 float32 BGR, 0…255; the window lies inside the picture.
            alpha: h×w float32, 0 keeps the picture, 1 replaces it.
        """
        for band in self._bands(top, left, *alpha.shape):
            self._blend_band(top + band.start, left, patch[band], alpha[band])

    def planes_of(self, patch: NDArray[np.float32], alpha: NDArray[np.float32]) -> PlaneLayer:
        """What `blend` works out of a patch before it writes, for any place on `grid`."""
        values: list[list[NDArray[np.float32]]] = [[] for _ in self.planes]
        weights: list[list[NDArray[np.float32]]] = [[] for _ in self.planes[:2]]
        for band in self._steps(*alpha.shape):
            for place, (value, weight) in enumerate(self._layer_planes(patch[band], alpha[band])):
                values[place].append(value)
                if place < len(weights):
                    weights[place].append(weight)
        joined = [np.concatenate(some) for some in weights]
        return PlaneLayer(
            tuple(np.concatenate(some) for some in values),
            tuple(joined[min(place, 1)] for place in range(len(values))),
        )

    def lay(self, top: int, left: int, layer: PlaneLayer) -> None:
        """Blends as `blend` does, what `planes_of` gave."""
        height, width = layer.weights[0].shape
        windows = self._windows(top, left, height, width)
        largest = (1 << self.bit_depth) - 1
        for window, value, weight in zip(windows, layer.values, layer.weights, strict=True):
            step = max(1, _BAND_PIXELS // window.shape[1])
            for first in range(0, len(window), step):
                band = slice(first, first + step)
                _blend_into(window[band], value[band], weight[band], largest)

    def _bands(self, top: int, left: int, height: int, width: int) -> Iterator[slice]:
        """Rows of a window that are blended at a time."""
        self._windows(top, left, height, width)  # refuses a window that does not fit
        return self._steps(height, width)

    def _steps(self, height: int, width: int) -> Iterator[slice]:
        cells = max(1, _BAND_PIXELS // (self.grid[0] * max(width, 1)))
        step = self.grid[0] * cells
        for first in range(0, height, step):
            yield slice(first, min(first + step, height))

    def _blend_band(
        self, top: int, left: int, patch: NDArray[np.float32], alpha: NDArray[np.float32]
    ) -> None:
        windows = self._windows(top, left, *alpha.shape)
        planes = self._layer_planes(patch, alpha)
        for window, (value, weight) in zip(windows, planes, strict=True):
            _blend_into(window, value, weight, (1 << self.bit_depth) - 1)

    def _layer_planes(
        self, patch: NDArray[np.float32], alpha: NDArray[np.float32]
    ) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """For each plane what is laid, and its weight; a chroma sample takes the largest."""
        first, *rest = self._planes_from_bgr(patch)
        coarse = alpha
        if self.grid != (1, 1) and rest:
            coarse = _largest_per_cell(alpha, *self.grid)
            rest = _means_per_cell(rest, alpha, *self.grid)
        return [(first, alpha), *[(one, coarse) for one in rest]]

    def overwrite(self, top: int, left: int, patch: BgrImage) -> None:
        """Writes an opaque h×w×3 uint8 BGR patch over a window, in place.

        The window lies inside the picture and starts on `grid`; a chroma sample at its
        rim is replaced whole, so no pixel keeps its colour.
        """
        height, width = patch.shape[:2]
        windows = self._windows(top, left, height, width)
        largest = (1 << self.bit_depth) - 1
        for channel, window in zip(self._samples_from_bgr(patch), windows, strict=True):
            rows, columns = window.shape[:2]
            value: NDArray[np.integer | np.floating] = channel
            if (rows, columns) != (height, width):
                down, right = self.grid
                even = cv2.copyMakeBorder(
                    channel, 0, -height % down, 0, -width % right, cv2.BORDER_REPLICATE
                )
                value = np.asarray(cv2.resize(even, (columns, rows), interpolation=cv2.INTER_AREA))
            if value.dtype == window.dtype:
                window[...] = value
            else:
                window[...] = np.clip(np.rint(value), 0, largest).astype(window.dtype)

    def fill(self, bgr: tuple[int, int, int]) -> None:
        """Overwrites the whole picture with one colour, in place."""
        colour = np.array([[bgr]], np.float32)
        largest = (1 << self.bit_depth) - 1
        for plane, value in zip(self.planes, self._planes_from_bgr(colour), strict=True):
            # The bluest and the reddest chroma of full range round to one more than fits.
            plane[...] = np.clip(np.rint(value[0, 0]), 0, largest).astype(plane.dtype)

    def copy(self) -> Picture:
        """A picture with buffers of its own."""
        planes = tuple(plane.copy() for plane in self.planes)
        return Picture(planes, self.layout, self.bit_depth, self.matrix, self.is_full_range)

    def _windows(self, top: int, left: int, height: int, width: int) -> list[Plane]:
        down, right = self.grid
        if top % down or left % right:
            message = f"window at ({top}, {left}) is off the chroma grid {self.grid}"
            raise ValueError(message)
        if top < 0 or left < 0 or top + height > self.height or left + width > self.width:
            message = f"window {height}×{width} at ({top}, {left}) leaves the picture"
            raise ValueError(message)
        luma = self.planes[0][top : top + height, left : left + width]
        if len(self.planes) == 1:
            return [luma]
        rows = slice(top // down, -(-(top + height) // down))
        columns = slice(left // right, -(-(left + width) // right))
        return [luma, self.planes[1][rows, columns], self.planes[2][rows, columns]]

    @property
    def _scale(self) -> float:
        """Sample units of one 8-bit code value; gray and bgr samples span their whole range."""
        if self.is_full_range or not self.layout.startswith("yuv"):
            return ((1 << self.bit_depth) - 1) / 255
        return float(1 << (self.bit_depth - 8))

    def _to_8_bit(self, planes: Sequence[Plane]) -> Sequence[Plane]:
        step = 1 / self._scale
        # Chroma lies about the middle, which is a power of two whatever the range.
        shifts = [0.0, *[128 - step * (1 << (self.bit_depth - 1))] * (len(planes) - 1)]
        return [
            np.asarray(cv2.convertScaleAbs(plane, alpha=step, beta=shift), np.uint8)  # rounds
            for plane, shift in zip(planes, shifts, strict=True)
        ]

    def _bgr_from_full_planes(self, planes: Sequence[Plane]) -> BgrImage:
        if self.bit_depth != 8:
            planes = self._to_8_bit(planes)
        if self.layout == "bgr":
            whole = np.asarray(planes[0], np.uint8)
            return whole.copy() if whole.base is not None else whole
        if self.layout == "gray":
            return np.asarray(cv2.cvtColor(planes[0], cv2.COLOR_GRAY2BGR), np.uint8)
        matrix = _bgr_from_yuv(self.matrix, self.is_full_range)
        return np.asarray(cv2.transform(cv2.merge(planes), matrix), np.uint8)

    def _samples_from_bgr(
        self, patch: BgrImage
    ) -> Sequence[NDArray[np.uint8] | NDArray[np.float32]]:
        """Full-size planes of a uint8 patch: uint8 where this picture is, else float."""
        if self.bit_depth == 8 and self.layout.startswith("yuv"):
            to_yuv = _yuv_from_bgr(self.matrix, self.is_full_range)
            yuv = cv2.transform(patch, to_yuv)  # rounds and saturates
            return [np.asarray(cv2.extractChannel(yuv, i), np.uint8) for i in range(3)]
        return self._planes_from_bgr(patch.astype(np.float32))

    def _planes_from_bgr(self, bgr: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Full-size float planes in this picture's sample units."""
        scale = self._scale
        if self.layout == "bgr":
            return [bgr * np.float32(scale)]
        if self.layout == "gray":
            weights = np.array([[0.114, 0.587, 0.299]]) * scale
            return [np.asarray(cv2.transform(bgr, weights), np.float32)]
        to_yuv = _yuv_from_bgr(self.matrix, self.is_full_range) * scale
        to_yuv[1:, 3] = 1 << (self.bit_depth - 1)
        return [np.asarray(plane) for plane in cv2.split(cv2.transform(bgr, to_yuv))]


def _resized(plane: Plane, height: int, width: int, how: int | None = None) -> Plane:
    """Scales a plane; where it is not said how, averages it down, or interpolates a coarser one."""
    rows, columns = plane.shape[:2]
    if (rows, columns) == (height, width):
        return plane
    if how is None:
        how = cv2.INTER_AREA if rows > height and columns > width else cv2.INTER_LINEAR
    scaled = cv2.resize(plane, (width, height), interpolation=how)
    if plane.dtype == np.uint8:
        return scaled.astype(np.uint8, copy=False)
    return scaled.astype(np.uint16, copy=False)


def picture_from_bgr(bgr: BgrImage) -> Picture:
    """Wraps an H×W×3 uint8 BGR image without copying it.

    >>> picture_from_bgr(np.zeros((4, 6, 3), np.uint8)).width
    6
    """
    return Picture((bgr,), "bgr", 8, "bt709", True)


@cache
def _yuv_from_bgr(matrix: Matrix, is_full_range: bool) -> NDArray[np.float64]:
    """3×4 affine map from (B, G, R) in 0…255 to (Y, U, V) in 8-bit code values."""
    to_bgr = _bgr_from_yuv(matrix, is_full_range)
    linear = np.linalg.inv(to_bgr[:, :3])
    return np.hstack([linear, -linear @ to_bgr[:, 3:]])


@cache
def _bgr_from_yuv(matrix: Matrix, is_full_range: bool) -> NDArray[np.float64]:
    """3×4 affine map from (Y, U, V) in 8-bit code values to (B, G, R) in 0…255."""
    red, blue = _LUMA[matrix]
    green = 1 - red - blue
    luma_gain, chroma_gain = (1.0, 1.0) if is_full_range else (255 / 219, 255 / 224)
    black = 0.0 if is_full_range else 16.0
    linear = np.array(
        [
            [luma_gain, 2 * (1 - blue) * chroma_gain, 0],
            [
                luma_gain,
                -2 * (1 - blue) * blue / green * chroma_gain,
                -2 * (1 - red) * red / green * chroma_gain,
            ],
            [luma_gain, 0, 2 * (1 - red) * chroma_gain],
        ]
    )
    offset = -linear @ np.array([black, 128.0, 128.0])
    return np.hstack([linear, offset[:, None]])


def _even(image: NDArray[np.float32], down: int, right: int) -> NDArray[np.float32]:
    """The image with its last row and column repeated until cells of the chroma grid fit."""
    height, width = image.shape
    if height % down == 0 and width % right == 0:
        return image
    more = (-height % down, -width % right)
    return np.asarray(cv2.copyMakeBorder(image, 0, more[0], 0, more[1], cv2.BORDER_REPLICATE))


def _largest_per_cell(alpha: NDArray[np.float32], down: int, right: int) -> NDArray[np.float32]:
    even = _even(alpha, down, right)
    parts = [even[y::down, x::right] for y in range(down) for x in range(right)]
    largest = parts[0]
    for part in parts[1:]:
        largest = np.maximum(largest, part)
    return np.ascontiguousarray(largest)


def _means_per_cell(
    values: Sequence[NDArray[np.float32]], alpha: NDArray[np.float32], down: int, right: int
) -> list[NDArray[np.float32]]:
    """Means of a patch, weighted by alpha so that colour outside the patch does not bleed in."""
    weight = _even(alpha, down, right) + np.float32(1e-6)
    size = (weight.shape[1] // right, weight.shape[0] // down)
    share = cv2.resize(weight, size, interpolation=cv2.INTER_AREA)
    found = []
    for value in values:
        total = cv2.multiply(_even(value, down, right), weight)
        total = cv2.resize(total, size, interpolation=cv2.INTER_AREA)
        found.append(np.asarray(cv2.divide(total, share, dst=total), np.float32))
    return found


def _blend_into(
    window: Plane, value: NDArray[np.float32], alpha: NDArray[np.float32], largest: int
) -> None:
    weight = alpha if window.ndim == 2 else cv2.merge([alpha] * 3)
    before = window.astype(np.float32)
    mixed = cv2.subtract(value, before)
    mixed = cv2.add(cv2.multiply(mixed, weight, dst=mixed), before, dst=mixed)
    if window.dtype == np.uint8:
        window[...] = cv2.convertScaleAbs(mixed)  # rounds and saturates
        return
    np.clip(np.rint(mixed, out=mixed), 0, largest, out=mixed)
    window[...] = mixed.astype(window.dtype)
