"""Keeps searches from piling up at a detector that hangs or starves."""

from __future__ import annotations

import threading

from engines.detectors.detector import Detector
from engines.errors import EngineFault
from engines.pictures import BgrImage
from engines.types import Face

__all__ = ["BoundedDetector"]


class BoundedDetector:
    """A detector that refuses where too many searches are under way.

    A search that nobody waits for any more cannot be called back: its thread stays until the
    runtime answers. Where that takes minutes, each fresh worker would leave one more behind.
    Beyond the bound the frame is covered in full instead.

    Args:
        detector: searches.
        most: searches under way at once; as many as may work, and a few that hang.
    """

    def __init__(self, detector: Detector, most: int) -> None:
        self._detector = detector
        self._most = most
        self._lock = threading.Lock()
        self._under_way = 0

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        """Finds faces; see `Detector.detect`.

        Raises:
            EngineFault: the network failed, or too many searches are under way.
        """
        with self._lock:
            if self._under_way >= self._most:
                raise EngineFault("too many searches for faces hang; run `kveil doctor`")
            self._under_way += 1
        try:
            return self._detector.detect(image_bgr, min_score=min_score)
        finally:
            with self._lock:
                self._under_way -= 1
