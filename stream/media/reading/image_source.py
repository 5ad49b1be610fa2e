"""The picture of an image file, as the one frame of a recording."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

from engines.types import Frame
from stream.media.ends import StreamShape
from stream.media.reading.decoder_bounds import MAX_PIXELS
from stream.media.reading.probe import ColourTags, MediaProbe, SourceReport
from stream.media.reading.recorded_source import RecordedSource
from stream.media.stills import Beside, Still, decoded_still

__all__ = ["ImageSource"]

_TIME_BASE: Final = Fraction(1)


class ImageSource(RecordedSource):
    """Gives an image as one frame, at second 0; construction decodes it.

    Args:
        path: the image.
        max_pixels: larger pictures are refused.
        rotation: degrees clockwise by which pictures are turned besides what the file says.

    Raises:
        InputUnreadable: missing, empty or damaged.
    """

    def __init__(self, path: Path, *, max_pixels: int = MAX_PIXELS, rotation: int = 0) -> None:
        self._lock = threading.Lock()
        still = decoded_still(path, max_pixels, rotation)
        picture = still.picture
        self._still: Still | None = still
        self._beside: Beside | None = None
        self._probe = MediaProbe(
            path=path,
            kind="image",
            container=still.beside.format,
            codec=still.beside.format.lower(),
            pixel_format=picture.layout,
            layout=picture.layout,
            bit_depth=picture.bit_depth,
            shape=StreamShape(picture.height, picture.width, 1 / _TIME_BASE, _TIME_BASE, 1),
            colour=ColourTags(range=2),
            dropped=still.dropped,
        )
        self._report = SourceReport()

    def frames(self) -> Iterator[Frame]:
        """The picture, once."""
        with self._lock:
            still, self._still = self._still, None
            if still is None:
                return
            self._beside = still.beside
        self._report = SourceReport(frames=1, warnings=still.lost)
        yield Frame(still.picture, 0, _TIME_BASE, 0)

    def beside(self) -> Beside | None:
        """What must return with the picture, once, after its frame was given; else None.

        So what is written belongs to the pixels that were searched, whatever has become of the
        file. Callable from any thread.
        """
        with self._lock:
            beside, self._beside = self._beside, None
            return beside

    def close(self) -> None:
        """Stops `frames`; idempotent, callable from any thread."""
        with self._lock:
            self._still = None
