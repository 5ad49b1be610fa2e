"""Frames of a clip above those of its anonymized version, as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import av
import cv2
import numpy as np

from engines.pictures import BgrImage
from stream.errors import reading

__all__ = ["save_before_after"]

_COLUMNS = 3
_WIDTH_PX = 480
_GAP_PX = 8


def save_before_after(before: Path, after: Path, picture: Path) -> None:
    """Writes evenly spaced frames of both clips, the originals in the upper row.

    The picture shows original faces: it is for one's own eyes, or for material that is
    free to show.

    Args:
        before: the original.
        after: its anonymized version, with as many frames.
        picture: PNG to write.

    Raises:
        InputUnreadable: a clip cannot be read.
    """
    rows = [_sampled(clip) for clip in (before, after)]
    sheet = np.concatenate([_joined(row) for row in rows if row])
    cv2.imwrite(str(picture), sheet)


def _sampled(clip: Path) -> list[BgrImage]:
    with reading(clip.name), av.open(str(clip)) as container:
        stream = container.streams.video[0]
        total = stream.frames or sum(1 for _ in container.decode(video=0))
        container.seek(0)
        wanted = {round((column + 0.5) * total / _COLUMNS) for column in range(_COLUMNS)}
        return [
            _shrunk(np.asarray(frame.to_ndarray(format="bgr24"), np.uint8))
            for number, frame in enumerate(container.decode(video=0))
            if number in wanted
        ]


def _shrunk(image: BgrImage) -> BgrImage:
    height = round(image.shape[0] * _WIDTH_PX / image.shape[1])
    small = cv2.resize(image, (_WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    return np.asarray(
        cv2.copyMakeBorder(
            small, 0, _GAP_PX, 0, _GAP_PX, cv2.BORDER_CONSTANT, value=(255, 255, 255)
        ),
        np.uint8,
    )


def _joined(images: Sequence[BgrImage]) -> BgrImage:
    return np.concatenate(images, axis=1)
