"""Single pictures on their way out: coded as their names ask, with what must return with them."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from PIL import Image, PngImagePlugin

from engines.pictures import Picture, Plane
from stream.errors import OutputNotWritable
from stream.media.marking import XMP_MARK
from stream.media.stills import IMAGE_FORMATS, Beside

__all__ = ["encoded_still", "lost_in"]

_PNG_XMP: Final = "XML:com.adobe.xmp"
_TIFF_XMP: Final = 700
"""Where PNG and TIFF keep XMP: the keyword of a text, and the number of a tag."""
_TIFF_PROFILE: Final = 34675
_TIFF_UNDEFINED: Final = 7
"""Type of a tag whose value is bytes."""
_TRANSPARENT: Final = ("PNG", "WEBP", "TIFF", "AVIF")
_PNG_HEADER_END: Final = 33


def encoded_still(
    picture: Picture, beside: Beside, path: Path, quality: int, *, is_marked: bool = False
) -> bytes:
    """Codes a picture in the format that its new name asks for.

    Args:
        picture: the pixels to write.
        beside: what came with the original.
        path: final name; its ending chooses the format.
        quality: 1…100 for JPEG, WebP and AVIF; larger is truer and bigger.
        is_marked: tell that faces are synthetic, see `stream.media.marking`; BMP cannot.

    Raises:
        OutputNotWritable: unknown ending, or the format cannot hold the picture.
    """
    kind = IMAGE_FORMATS.get(path.suffix.lower())
    if kind is None:
        known = " ".join(sorted(IMAGE_FORMATS))
        message = f"cannot write {path.name} as a picture; use one of: {known}"
        raise OutputNotWritable(message)
    if picture.bit_depth == 16 and picture.layout == "bgr" and kind in ("PNG", "TIFF"):
        return _wide(picture, kind, beside.profile, is_marked=is_marked)
    image = _image(picture, kind)
    if beside.cut_out is not None and kind in _TRANSPARENT:
        image.putalpha(Image.fromarray(beside.cut_out.around(picture)))
    file = io.BytesIO()
    mark = _mark_options(kind) if is_marked else {}
    image.save(file, kind, **_options(kind, beside, quality), **mark)
    return file.getvalue()


def lost_in(path: Path, picture: Picture, beside: Beside) -> tuple[str, ...]:
    """What the format that a name asks for does not keep of a picture."""
    kind = IMAGE_FORMATS.get(path.suffix.lower(), "")
    lost: tuple[str, ...] = ()
    if picture.bit_depth > 8 and kind not in ("PNG", "TIFF"):
        lost += (f"8 of {picture.bit_depth} bits are kept",)
    if beside.cut_out is not None and kind not in _TRANSPARENT:
        lost += ("opacity is left out",)
    if beside.profile is not None and kind == "BMP":
        lost += ("colour profile is left out",)
    return lost


def _mark_options(kind: str) -> dict[str, object]:
    """How a format is told to carry the mark."""
    if kind == "PNG":
        chunks = PngImagePlugin.PngInfo()
        chunks.add_itxt(_PNG_XMP, XMP_MARK)
        return {"pnginfo": chunks}
    if kind == "TIFF":
        return {"tiffinfo": {_TIFF_XMP: XMP_MARK.encode()}}
    return {} if kind == "BMP" else {"xmp": XMP_MARK.encode()}


def _image(picture: Picture, kind: str) -> Image.Image:
    if picture.layout == "gray":
        values: Plane = picture.planes[0]
        if picture.bit_depth == 16 and kind in ("PNG", "TIFF"):
            return Image.fromarray(values.astype(np.uint16))
        shift = picture.bit_depth - 8
        return Image.fromarray((values >> shift).astype(np.uint8) if shift else values)
    return Image.fromarray(np.ascontiguousarray(picture.bgr()[..., ::-1]))


def _options(kind: str, beside: Beside, quality: int) -> dict[str, bytes | int | str]:
    chosen: dict[str, bytes | int | str] = {}
    if kind in ("JPEG", "WEBP", "AVIF"):
        chosen["quality"] = quality
    if kind == "JPEG":
        chosen["subsampling"] = beside.subsampling if beside.subsampling >= 0 else 0
    if kind == "WEBP" and beside.format != "WEBP" and quality >= 100:
        chosen["lossless"] = 1
    if kind == "TIFF":
        chosen["compression"] = "tiff_lzw"
    if beside.profile and kind != "BMP":
        chosen["icc_profile"] = beside.profile
    return chosen


def _wide(picture: Picture, kind: str, profile: bytes | None, *, is_marked: bool) -> bytes:
    fits, coded = cv2.imencode(".png" if kind == "PNG" else ".tiff", picture.planes[0])
    if not fits:
        raise OutputNotWritable("the 16-bit picture could not be coded; write it as PNG")
    data = coded.tobytes()
    if kind == "TIFF":
        tags = {_TIFF_PROFILE: profile} if profile is not None else {}
        return _with_tiff_tags(data, tags | ({_TIFF_XMP: XMP_MARK.encode()} if is_marked else {}))
    chunks = b""
    if profile is not None:
        chunks += _chunk(b"iCCP", b"ICC profile\x00\x00" + zlib.compress(profile))
    if is_marked:
        chunks += _chunk(b"iTXt", _PNG_XMP.encode() + b"\x00" * 5 + XMP_MARK.encode())
    return data[:_PNG_HEADER_END] + chunks + data[_PNG_HEADER_END:]


def _with_tiff_tags(data: bytes, tags: dict[int, bytes]) -> bytes:
    """A little-endian TIFF 6.0 of one page with tags of bytes added to its directory.

    The directory is written again behind all that is there, so no offset in it changes.

    Raises:
        OutputNotWritable: the file is of another kind.
    """
    if data[:4] != b"II*\0":
        raise OutputNotWritable("the 16-bit picture could not be tagged; write it as PNG")
    if not tags:
        return data
    (start,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, start)
    entries = [data[start + 2 + 12 * i :][:12] for i in range(count)]
    contents = data + b"\0" * (len(data) % 2)
    for tag, value in tags.items():
        entries.append(struct.pack("<HHII", tag, _TIFF_UNDEFINED, len(value), len(contents)))
        contents += value + b"\0" * (len(value) % 2)
    entries.sort(key=lambda entry: struct.unpack_from("<H", entry))
    directory = struct.pack("<H", len(entries)) + b"".join(entries) + bytes(4)
    return contents[:4] + struct.pack("<I", len(contents)) + contents[8:] + directory


def _chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG (ISO/IEC 15948): length, kind, content and checksum."""
    framed = kind + content
    return struct.pack(">I", len(content)) + framed + struct.pack(">I", zlib.crc32(framed))
