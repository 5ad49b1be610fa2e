"""Pieces of the pictures that the benches of faces look at."""

from __future__ import annotations

from typing import Final

import av
import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import Detector
from engines.errors import EngineFault
from engines.pictures import BgrImage, Picture
from engines.types import Face
from stream.media.planes import picture_from_frame

__all__ = ["LEAST_SCORE", "coded_picture", "largest_face", "moved_face"]

LEAST_SCORE: Final = 0.5


def largest_face(detector: Detector, image: BgrImage) -> Face:
    """The largest face in a picture of the demo's portrait.

    Raises:
        EngineFault: none is found.
    """
    faces = detector.detect(image, min_score=LEAST_SCORE)
    if not faces:
        raise EngineFault("the detector finds no face in the demo clip; run `kveil doctor`")
    return max(faces, key=lambda face: float(np.prod(face.box_px[2:] - face.box_px[:2])))


def moved_face(face: Face, scale: float, shift: NDArray[np.floating]) -> Face:
    """Where a face is in the picture enlarged by a scale, then moved by (2,) px."""
    return Face(
        (face.box_px * scale + np.tile(shift, 2)).astype(np.float32),
        (face.landmarks_px * scale + shift).astype(np.float32),
        face.score,
    )


def coded_picture(image: BgrImage) -> Picture:
    """A picture's 4:2:0 planes, as of a decoder: so blending costs what it costs in a run."""
    frame = av.VideoFrame.from_ndarray(image, format="bgr24")
    return picture_from_frame(frame.reformat(format="yuv420p"), "yuv420", 8)
