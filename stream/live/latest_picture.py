"""The newest anonymized picture of a stream, for snapshots and the MJPEG preview."""

from __future__ import annotations

import cv2
import numpy as np

from engines.blending.compositor import Composite

__all__ = ["LatestPicture", "jpeg_from_composite"]

_QUALITY = 80


class LatestPicture:
    """An outlet that keeps one composite, and nothing that is not a composite.

    Attributes:
        composite: the newest; None before the first.
        number: how many there have been.
    """

    def __init__(self) -> None:
        self.composite: Composite | None = None
        self.number = 0

    def offer(self, composite: Composite) -> None:
        """Takes the place of the one before."""
        self.composite = composite
        self.number += 1


def jpeg_from_composite(composite: Composite, longest_px: int = 1280) -> bytes:
    """A JPEG file of the picture.

    Args:
        composite: what is shown.
        longest_px: pictures larger than this are scaled down.
    """
    picture = composite.picture
    scale = min(1.0, longest_px / max(picture.height, picture.width))
    height, width = max(1, round(picture.height * scale)), max(1, round(picture.width * scale))
    image = picture.resized_bgr(height, width)
    done, data = cv2.imencode(".jpg", image, [int(cv2.IMWRITE_JPEG_QUALITY), _QUALITY])
    assert done, "the picture could not be encoded"
    return np.asarray(data, np.uint8).tobytes()
