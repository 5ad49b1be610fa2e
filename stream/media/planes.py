"""Between the codec's frames and our pictures: one copy each way, no colour conversion.

A decoder's buffer may still be a reference for later frames, so a picture never shares it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

import av
import cv2
import numpy as np
from av.video.plane import VideoPlane
from numpy.typing import NDArray

from engines.pictures import Layout, Picture, Plane
from stream.media.reading.probe import ColourTags, matrix_from_tag

__all__ = [
    "colour_tags",
    "fitted",
    "format_of_picture",
    "frame_from_picture",
    "neutral_picture",
    "picture_format",
    "picture_from_frame",
    "turned",
]

_PLANAR: Final[tuple[tuple[Layout, str], ...]] = (
    ("yuv420", "yuv420p"),
    ("yuv422", "yuv422p"),
    ("yuv444", "yuv444p"),
    ("gray", "gray"),
)
_FORMATS: Final[dict[tuple[Layout, int], str]] = {
    (layout, depth): name if depth == 8 else f"{name}{depth}le"
    for layout, name in _PLANAR
    for depth in (8, 10, 12, 16)
} | {("bgr", 8): "bgr24", ("bgr", 16): "bgr48le"}
_YUV: Final[tuple[Layout, ...]] = ("yuv420", "yuv422", "yuv444")
_DESCRIBED: Final = {name: key for key, name in _FORMATS.items()}
_FULL_RANGE_NAMES: Final = {
    "yuvj420p": "yuv420p",
    "yuvj422p": "yuv422p",
    "yuvj444p": "yuv444p",
}
_SWS_MATRIX: Final = {"bt601": 5, "bt709": 1, "bt2020": 9}
_TURNS: Final = {
    1: cv2.ROTATE_90_COUNTERCLOCKWISE,
    2: cv2.ROTATE_180,
    3: cv2.ROTATE_90_CLOCKWISE,
}


def picture_format(pixel_format: str) -> tuple[Layout, int]:
    """The layout and bit depth in which a decoder's pixel format is handed out.

    Native planes where `Picture` has them, else the nearest that loses no resolution:
    colour formats with alpha lose it, packed and semi-planar ones become planar.

    >>> picture_format("yuv420p10le"), picture_format("nv12"), picture_format("pal8")
    (('yuv420', 10), ('yuv420', 8), ('bgr', 8))
    """
    name = _FULL_RANGE_NAMES.get(pixel_format, pixel_format)
    if name in _DESCRIBED:
        return _DESCRIBED[name]
    form = av.VideoFormat(pixel_format, 16, 16)
    deepest = max((component.bits for component in form.components), default=8)
    if form.is_rgb or form.has_palette or form.is_bayer:
        return ("bgr", 8 if deepest <= 8 else 16)
    depth = next((bits for bits in (8, 10, 12, 16) if deepest <= bits), 16)
    if len(form.components) < 3:
        return ("gray", depth)
    return (_layout_of_chroma(form.chroma_width(16), form.chroma_height(16)), depth)


def _layout_of_chroma(width: int, height: int) -> Layout:
    """Layout for chroma planes of width × height over 16 × 16 luma samples."""
    if (width, height) == (8, 8):
        return "yuv420"
    return "yuv422" if (width, height) == (8, 16) else "yuv444"


def format_of_picture(layout: Layout, bit_depth: int) -> str:
    """The codec library's name for a picture's planes.

    >>> format_of_picture("yuv422", 10)
    'yuv422p10le'
    """
    return _FORMATS[layout, bit_depth]


def colour_tags(frame: av.VideoFrame) -> ColourTags:
    """Colour tags of a decoded frame; the old full-range formats count as full range."""
    full = 2 if frame.format.name in _FULL_RANGE_NAMES else int(frame.color_range)
    return ColourTags(int(frame.color_primaries), int(frame.color_trc), int(frame.colorspace), full)


def picture_from_frame(
    frame: av.VideoFrame, layout: Layout, bit_depth: int, turns: int = 0
) -> Picture:
    """Copies a decoded frame into a picture of its own.

    Args:
        frame: the decoder's frame; not kept.
        layout: layout to hand out, from `picture_format`.
        bit_depth: bit depth to hand out.
        turns: quarter turns anticlockwise that make it upright.
    """
    tags = colour_tags(frame)
    wanted = _FORMATS[layout, bit_depth]
    if _FULL_RANGE_NAMES.get(frame.format.name, frame.format.name) != wanted:
        frame = frame.reformat(format=wanted)
    planes = [_view(plane, wanted) for plane in frame.planes]
    return Picture(
        tuple(turned(plane, turns) if turns else plane.copy() for plane in planes),
        layout,
        bit_depth,
        matrix_from_tag(tags.matrix, frame.height),
        tags.is_full_range or layout == "bgr",
    )


def frame_from_picture(
    picture: Picture, pixel_format: str, turns: int, pts: int, time_base: Fraction
) -> av.VideoFrame:
    """Copies a picture into a frame that an encoder takes.

    Args:
        picture: upright pixels; not kept.
        pixel_format: the encoder's format; converted only where the planes differ.
        turns: quarter turns anticlockwise that the picture got; undone here.
        pts: presentation time in units of `time_base`.
        time_base: seconds per unit.
    """
    planes = [turned(plane, -turns) if turns % 4 else plane for plane in picture.planes]
    height, width = planes[0].shape[:2]
    layout = picture.layout
    if layout == "gray" and picture_format(pixel_format)[0] in _YUV:
        layout = picture_format(pixel_format)[0]
        planes += _colourless(layout, picture.bit_depth, height, width)
    native = _FORMATS[layout, picture.bit_depth]
    plain = _FULL_RANGE_NAMES.get(pixel_format, pixel_format)
    is_full_name = pixel_format in _FULL_RANGE_NAMES
    is_direct = plain == native and (picture.is_full_range or not is_full_name)
    frame = av.VideoFrame(width, height, pixel_format if is_direct else native)
    for source, plane in zip(planes, frame.planes, strict=True):
        _view(plane, native)[...] = source
    frame.color_range = 2 if picture.is_full_range else 1
    if not is_direct:
        frame = _converted(frame, picture, pixel_format, is_full=is_full_name)
    frame.pts = pts
    frame.time_base = time_base
    return frame


def _colourless(layout: Layout, bit_depth: int, height: int, width: int) -> list[Plane]:
    """Chroma planes without colour.

    The scaler takes any grey for full range, so it must not make them.
    """
    shape = _chroma_shape(layout, height, width)
    grey = np.full(shape, 1 << (bit_depth - 1), np.uint16)
    return [grey.astype(np.uint8) if bit_depth == 8 else grey] * 2


def _chroma_shape(layout: Layout, height: int, width: int) -> tuple[int, int]:
    rows = (height + 1) // 2 if layout == "yuv420" else height
    return rows, width if layout == "yuv444" else (width + 1) // 2


def _converted(
    frame: av.VideoFrame, picture: Picture, pixel_format: str, *, is_full: bool
) -> av.VideoFrame:
    """Through the scaler: RGB to Y'CbCr with the picture's matrix, or other subsampling."""
    matrix = _SWS_MATRIX[picture.matrix]
    is_rgb = picture.layout == "bgr"
    keeps_range = picture.is_full_range and not is_rgb
    return frame.reformat(
        format=pixel_format,
        src_colorspace=matrix,
        dst_colorspace=matrix,
        src_color_range=2 if picture.is_full_range else 1,
        dst_color_range=2 if is_full or keeps_range else 1,
    )


def neutral_picture(
    height: int, width: int, layout: Layout, bit_depth: int, tags: ColourTags
) -> Picture:
    """A mid-grey picture, for a frame that could not be decoded at all."""
    grey = 1 << (bit_depth - 1)
    shapes: list[tuple[int, ...]] = [(height, width, 3) if layout == "bgr" else (height, width)]
    if layout in _YUV:
        shapes += [_chroma_shape(layout, height, width)] * 2
    planes = [np.full(shape, grey, np.uint16) for shape in shapes]
    is_full = tags.is_full_range or layout == "bgr"
    matrix = matrix_from_tag(tags.matrix, height)
    if bit_depth == 8:
        return Picture(tuple(p.astype(np.uint8) for p in planes), layout, 8, matrix, is_full)
    return Picture(tuple(planes), layout, bit_depth, matrix, is_full)


def fitted(picture: Picture, height: int, width: int) -> Picture:
    """The whole picture scaled into height × width, undistorted, on black bars.

    >>> import numpy as np
    >>> tall = Picture((np.full((40, 10), 200, np.uint8),), "gray")
    >>> fitted(tall, 20, 20).planes[0][10].tolist()[6:14]
    [0, 200, 200, 200, 200, 200, 0, 0]
    """
    scale = min(height / picture.height, width / picture.width)
    rows = max(1, min(height, round(picture.height * scale)))
    columns = max(1, min(width, round(picture.width * scale)))
    down, right = picture.grid
    top = (height - rows) // 2 // down * down
    left = (width - columns) // 2 // right * right
    tags = ColourTags(range=2 if picture.is_full_range else 1)
    canvas = replace(
        neutral_picture(height, width, picture.layout, picture.bit_depth, tags),
        matrix=picture.matrix,
    )
    canvas.fill((0, 0, 0))
    for index, (source, target) in enumerate(zip(picture.planes, canvas.planes, strict=True)):
        by, bx = (down, right) if index else (1, 1)
        window = target[top // by : -(-(top + rows) // by), left // bx : -(-(left + columns) // bx)]
        size = (window.shape[1], window.shape[0])
        window[...] = cv2.resize(source, size, interpolation=cv2.INTER_AREA)
    return canvas


def turned(plane: Plane, turns: int) -> Plane:
    """A new contiguous plane, turned anticlockwise by quarter turns.

    >>> turned(np.array([[1, 2]], np.uint8), 1).tolist()
    [[2], [1]]
    """
    if turns % 4 == 0:
        return plane.copy()
    rotated = cv2.rotate(plane, _TURNS[turns % 4])
    if plane.dtype == np.uint8:
        return np.asarray(rotated, np.uint8)
    return np.asarray(rotated, np.uint16)


def _view(plane: VideoPlane, pixel_format: str) -> Plane:
    """The plane's samples without the padding at the end of its rows; shares memory."""
    channels = 3 if pixel_format.startswith("bgr") else 1
    is_wide = pixel_format.endswith("le")
    item = 2 if is_wide else 1
    flat: NDArray[np.uint8] = np.frombuffer(memoryview(plane), np.uint8)
    rows = flat[: plane.line_size * plane.height].reshape(plane.height, plane.line_size)
    used = rows[:, : plane.width * channels * item]
    samples: Plane = used.view("<u2") if is_wide else used
    if channels == 1:
        return samples
    return samples.reshape(plane.height, plane.width, channels)
