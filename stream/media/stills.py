"""Single pictures: decoded with what must be kept beside the pixels.

EXIF orientation is applied to the pixels, so a picture looks the same without its tags;
everything else of EXIF, XMP, IPTC and comments (place, time, device, embedded thumbnail)
is gone. Of colour profiles stay the colours, which would change without, see
`stream.media.metadata`. Of the opacity stays what cannot show a face, see `stream.media.opacity`.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps

from engines.pictures import Picture
from stream.errors import InputUnreadable, reading
from stream.media.metadata import bare_profile
from stream.media.opacity import CutOut, searchable
from stream.media.reading.inputs import opened_file

__all__ = ["IMAGE_ENDINGS", "IMAGE_FORMATS", "Beside", "Still", "decoded_still"]

IMAGE_FORMATS: Final = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".jpe": "JPEG",
    ".png": "PNG",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".avif": "AVIF",
}
"""Formats of single pictures that are read and written, by file name ending in lower case."""
IMAGE_ENDINGS: Final = frozenset(IMAGE_FORMATS)

_GRAY_16: Final = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
"""Modes of one channel of more than 8 bits."""
_WHITE: Final = 65535
_TURNS: Final = {
    90: Image.Transpose.ROTATE_270,
    180: Image.Transpose.ROTATE_180,
    270: Image.Transpose.ROTATE_90,
}
"""Turns by degrees clockwise, which Pillow names anticlockwise."""
_SCALED: Final = "values beyond 16 bits: scaled to 0…65535"
_DEEP: Final = ";16"
"""What the names of Pillow's raw modes of 16 bits a sample hold."""
_JPEG_END: Final = b"\xff\xd9"
_CLIP_START: Final = re.compile(rb"\0\0\0[\x08-\x80]ftyp")
"""How MP4 begins, which motion photos of phones have behind the end of the JPEG."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What must return with a picture's pixels.

    Attributes:
        format: format of the file, such as `JPEG`.
        cut_out: where the picture may stay transparent; None where it is opaque.
        profile: ICC colour profile, None where there is none.
        subsampling: chroma subsampling of a JPEG: 0 4:4:4, 1 4:2:2, 2 4:2:0, else -1.
    """

    format: str
    cut_out: CutOut | None = None
    profile: bytes | None = None
    subsampling: int = -1


@dataclass(frozen=True, slots=True)
class Still:
    """A decoded picture.

    Attributes:
        picture: upright pixels, `gray` or `bgr`, 8 or 16 bits; all that can be seen of the
            picture is seen in them.
        beside: what must return with them.
        dropped: what does not pass, in words without values.
        lost: of that what is missed in the output, since it is not about people.
    """

    picture: Picture
    beside: Beside
    dropped: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def decoded_still(path: Path, max_pixels: int, rotation: int = 0) -> Still:
    """Reads one picture.

    Args:
        path: the file.
        max_pixels: larger pictures are refused.
        rotation: degrees clockwise by which it is turned besides what the file says.

    Raises:
        InputUnreadable: missing, empty, damaged, too large, or of several pages.
    """
    with reading(path.name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with opened_file(path) as file:
            data = file.read()
        if not data:
            raise InputUnreadable(f"cannot read {path.name}: the file is empty")
        image, is_deep = _loaded(path, data, max_pixels)
        return _still(image, data, rotation, is_deep=is_deep)


def _loaded(path: Path, data: bytes, max_pixels: int) -> tuple[Image.Image, bool]:
    """The decoded picture, and whether its file holds 16 bits a sample."""
    # Size is checked here against our own limit, before any pixel is decoded.
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        Image.init()
        known = [name for name in dict.fromkeys(IMAGE_FORMATS.values()) if name in Image.OPEN]
        image: Image.Image = Image.open(io.BytesIO(data), formats=known)
        if image.width * image.height > max_pixels:
            raise InputUnreadable(
                f"cannot read {path.name}: {image.width}×{image.height} is more than "
                f"{max_pixels} pixels"
            )
        pages = getattr(image, "n_frames", 1)
        if pages > 1 and image.format != "MPO":
            raise InputUnreadable(
                f"cannot read {path.name}: it holds {pages} pictures; split it or make it a video"
            )
        is_deep = any(_DEEP in str(tile[3]) for tile in getattr(image, "tile", ()))
        image.load()
    finally:
        Image.MAX_IMAGE_PIXELS = limit
    return image, is_deep


def _still(image: Image.Image, data: bytes, rotation: int, *, is_deep: bool) -> Still:
    """The still of a loaded picture, whose file is `data`."""
    dropped = _found(image)
    lost = _lost_behind(image, data)
    whole: bytes | None = image.info.get("icc_profile")
    profile = bare_profile(whole) if whole else None
    if whole and profile is None:
        dropped += ("colour profile",)
        lost += ("colour profile is left out",)
    beside = Beside(
        "JPEG" if image.format == "MPO" else str(image.format),
        profile=profile,
        subsampling=_subsampling(image),
    )
    upright = _with_opacity(ImageOps.exif_transpose(image))
    if rotation:
        upright = upright.transpose(_TURNS[rotation])
    wide = _wide_colour(image, upright, data, rotation) if is_deep else None
    if wide is not None:
        return Still(wide, beside, dropped, lost)
    if is_deep and image.mode not in _GRAY_16:
        lost += ("8 of 16 bits are kept",)
    if upright.mode in ("CMYK", "YCCK", "LAB", "HSV"):
        beside = replace(beside, profile=None)
    picture = _picture(upright)
    if upright.mode in ("I", "F") and _is_beyond(np.array(upright)):
        dropped += (_SCALED,)
        lost += (_SCALED,)
    if upright.mode not in ("LA", "RGBA"):  # LAB has a band of this name, too
        return Still(picture, beside, dropped, lost)
    opacity = np.array(upright.getchannel("A"), np.uint8)
    cut_out = searchable(picture, opacity)
    if cut_out is None and opacity.min() < 255:
        dropped += ("opacity",)
        lost += ("opacity is laid over a colour",)
    return Still(picture, replace(beside, cut_out=cut_out), dropped, lost)


def _with_opacity(image: Image.Image) -> Image.Image:
    """The picture with its transparent colours as a channel; 16-bit grey has none."""
    if not image.has_transparency_data or image.mode in _GRAY_16:
        return image
    return image.convert("LA" if image.mode in ("1", "L", "LA", "La") else "RGBA")


def _picture(image: Image.Image) -> Picture:
    if image.mode in _GRAY_16:
        values = np.array(image)
        levels = _levels(values) if _is_beyond(values) else values.astype(np.uint16)
        return Picture((levels,), "gray", 16, "bt601", True)
    if image.mode in ("L", "LA", "1"):
        return Picture((np.array(image.convert("L"), np.uint8),), "gray", 8, "bt601", True)
    rgb = np.array(image.convert("RGB"), np.uint8)
    return Picture((np.ascontiguousarray(rgb[..., ::-1]),), "bgr", 8, "bt709", True)


def _is_beyond(values: NDArray[np.generic]) -> bool:
    """Whether values of one channel do not fit 16 bits as they are."""
    if np.issubdtype(values.dtype, np.floating):
        return True
    return bool(values.size) and bool(values.min() < 0 or values.max() > _WHITE)


def _levels(values: NDArray[np.generic]) -> NDArray[np.uint16]:
    """Values of any range, such as temperatures or light, as 0…65535; what is no number as 0."""
    known = np.isfinite(values)
    exact = np.where(known, values, 0).astype(np.float64)
    held = exact[known]
    low, high = (float(held.min()), float(held.max())) if held.size else (0.0, 0.0)
    place = (exact - low) / (high - low) if high > low else np.zeros_like(exact)
    return np.where(known, np.rint(np.clip(place, 0, 1) * _WHITE), 0).astype(np.uint16)


def _wide_colour(
    image: Image.Image, upright: Image.Image, data: bytes, rotation: int
) -> Picture | None:
    """16-bit colour, which Pillow cuts to 8 bits; None where it shows through, or is grey."""
    if image.mode in _GRAY_16:
        return None
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16 or pixels.shape[2:] not in ((3,), (4,)):
        return None
    if pixels.shape[2] == 4:
        if pixels[..., 3].min() < _WHITE:
            return None
        pixels = pixels[..., :3]
    # A TIFF is upright by now, as both decoders turn it; of a PNG neither has turned the pixels.
    turned = _turned(np.asarray(pixels, np.uint16), image.getexif().get(ExifTags.Base.Orientation))
    return _agreed(np.ascontiguousarray(np.rot90(turned, -rotation // 90)), upright)


def _turned(pixels: NDArray[np.uint16], orientation: int | None) -> NDArray[np.uint16]:
    """Pixels H×W×3 as an EXIF orientation, 1…8, wants them to be seen."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def _agreed(bgr: NDArray[np.uint16], upright: Image.Image) -> Picture | None:
    """The 16-bit picture if its high bytes are what the other decoder sees, else None.

    So it cannot lie on its side when it is searched.
    """
    rgb = np.asarray(upright.convert("RGB"), np.uint8)
    if bgr.shape != rgb.shape:
        return None
    for row, seen in zip(bgr, rgb, strict=True):
        if not np.array_equal(row >> 8, seen[:, ::-1]):
            return None
    return Picture((bgr,), "bgr", 16, "bt709", True)


def _subsampling(image: Image.Image) -> int:
    from PIL import JpegImagePlugin

    if not isinstance(image, JpegImagePlugin.JpegImageFile):
        return -1
    return int(JpegImagePlugin.get_sampling(image))


def _found(image: Image.Image) -> tuple[str, ...]:
    """Names of what the file says besides its pixels."""
    exif = image.getexif()
    found = ["EXIF"] if exif else []
    if exif.get_ifd(0x8825):
        found.append("GPS position")
    found += [name for name in ("xmp", "comment", "photoshop") if name in image.info]
    if image.format == "MPO":
        found.append("embedded pictures")
    return tuple(found)


def _lost_behind(image: Image.Image, data: bytes) -> tuple[str, ...]:
    """What a JPEG shows besides its picture: another one, such as a gain map, or a clip."""
    lost: tuple[str, ...] = ()
    if image.format == "MPO":
        lost += ("a second picture in the file, such as a gain map or another view, is left out",)
    if image.format in ("JPEG", "MPO") and _CLIP_START.search(data, data.find(_JPEG_END)):
        lost += ("a clip behind the picture (a motion photo) is left out",)
    return lost
