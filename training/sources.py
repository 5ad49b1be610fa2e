"""What the table of prepared crops says of them, and pictures in a tar."""

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

ADULT: Final = 16
"""Years."""
FRONTAL_YAW_DEG: Final = 25.0
"""Heads turned less than this show enough of both sides to find directions on."""

_ENLARGED: Final = 3
_BORDER_PX: Final = 140
"""By how much portraits are enlarged, and framed: faces that fill a picture are not found."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def is_real_adult(data: Path) -> npt.NDArray[np.bool_]:
    """Which crops show a photographed person of at least ADULT years, bool[N].

    Children and generated people resemble each other: directions found on them make people
    who do too.
    """
    rows = json.loads((data / "names.json").read_text())
    return np.array(
        [row["source"] == "utkface" and float(row["age"] or 0) >= ADULT for row in rows], np.bool_
    )


def is_known_adult(data: Path) -> npt.NDArray[np.bool_]:
    """Which crops are real adults and not held out, bool[N]."""
    held = np.load(data / "split.npy")
    return np.asarray(is_real_adult(data) & ~held, np.bool_)


def is_sharp_adult(data: Path) -> npt.NDArray[np.bool_]:
    """Which crops the generator learns from: the sharper half of the real adults, bool[N]."""
    adults, sharpness = is_real_adult(data), sharpness_of(data)
    return np.asarray(adults & (sharpness >= np.median(sharpness[adults])), np.bool_)


def lends(data: Path, yaw_deg: Float32, limit_deg: float) -> npt.NDArray[np.bool_]:
    """Which crops people are made of, bool[N]: not held out, real adults, facing the camera.

    Args:
        data: folder of prepared crops.
        yaw_deg: float32[N].
        limit_deg: largest turn to either side.
    """
    return np.asarray(is_known_adult(data) & (np.abs(yaw_deg) < limit_deg), np.bool_)


def sharpness_of(data: Path) -> Float32:
    """Sharpness of every crop as its table states it, float32[N]."""
    rows = json.loads((data / "names.json").read_text())
    return np.array([float(row["sharpness"]) for row in rows], np.float32)


def portraits_of_people(path: Path) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    """Who is shown, and the picture uint8[H, W], of a tar of `person/number.pgm`."""
    with tarfile.open(path) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is None or not member.name.endswith(".pgm"):
                continue
            grey = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_GRAYSCALE)
            if grey is not None:
                yield member.name.split("/")[-2], np.asarray(grey, np.uint8)


def framed_portrait(
    grey: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """A small portrait uint8[H, W], enlarged and framed by its own rim, and where it is none.

    Returns:
        uint8[h, w, 3] BGR, and uint8[h, w], 1 within the portrait.
    """
    frame = (_BORDER_PX,) * 4
    small = cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR)
    sides = (_ENLARGED * small.shape[1], _ENLARGED * small.shape[0])
    image = np.asarray(cv2.resize(small, sides, interpolation=cv2.INTER_CUBIC))
    own = np.ones(image.shape[:2], np.uint8)
    known = cv2.copyMakeBorder(own, *frame, cv2.BORDER_CONSTANT)
    wide = cv2.copyMakeBorder(image, *frame, cv2.BORDER_REPLICATE)
    return np.asarray(wide, np.uint8), np.asarray(known, np.uint8)


def every_picture(archive: Path, every: int) -> Iterator[tuple[str, UInt8]]:
    """Names and pictures uint8[H, W, 3] BGR of a tar, one of so many."""
    with tarfile.open(archive) as content:
        for member in [one for one in content.getmembers() if one.isfile()][::every]:
            file = content.extractfile(member)
            assert file is not None
            picture = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_COLOR)
            assert picture is not None, f"{member.name} is no picture"
            yield member.name, np.asarray(picture, np.uint8)


def pictures_of_archive(archive: Path, count: int) -> Iterator[UInt8]:
    """So many pictures uint8[H, W, 3] BGR of a tar, evenly spread."""
    with tarfile.open(archive) as content:
        members = [member for member in content.getmembers() if member.isfile()]
        for place in np.linspace(0, len(members) - 1, count).astype(int):
            file = content.extractfile(members[place])
            assert file is not None
            rgb = np.asarray(Image.open(io.BytesIO(file.read())).convert("RGB"), np.uint8)
            yield np.ascontiguousarray(rgb[..., ::-1])
