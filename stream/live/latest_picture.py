"""The newest anonymized picture of a stream, for snapshots and the MJPEG preview."""

from __future__ import annotations

import threading

import cv2
import numpy as np

from engines.blending.compositor import Composite

__all__ = ["LatestPicture", "jpeg_from_composite"]


class LatestPicture:
    """An outlet that keeps one composite, and nothing that is not a composite."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._composite: Composite | None = None
        self._number = 0

    @property
    def composite(self) -> Composite | None:
        """The newest; None before the first."""
        return self._composite

    @property
    def number(self) -> int:
        """How many there have been."""
        return self._number

    def offer(self, composite: Composite) -> None:
        """Takes the place of the one before."""
        with self._changed:
            self._composite = composite
            self._number += 1
            self._changed.notify_all()

    def after(self, number: int, timeout_s: float) -> tuple[int, Composite | None]:
        """Waits for a picture newer than `number`; gives the newest and its number."""
        with self._changed:
            self._changed.wait_for(lambda: self._number > number, timeout_s)
            return self._number, self._composite


def jpeg_from_composite(composite: Composite, longest_px: int = 1280, quality: int = 80) -> bytes:
    """A JPEG file of the picture.

    Args:
        composite: what is shown.
        longest_px: pictures larger than this are scaled down.
        quality: 1…100.
    """
    picture = composite.picture
    scale = min(1.0, longest_px / max(picture.height, picture.width))
    height, width = max(1, round(picture.height * scale)), max(1, round(picture.width * scale))
    image = picture.resized_bgr(height, width)
    done, data = cv2.imencode(".jpg", image, [int(cv2.IMWRITE_JPEG_QUALITY), quality])
    assert done, "the picture could not be encoded"
    return np.asarray(data, np.uint8).tobytes()
