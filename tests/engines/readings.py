"""A painter that reads what it is told, and what is made of its reading."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from engines.alignment import EYES
from engines.control_reading import ControlReader
from engines.face_look import Look, eyes_of
from engines.hairline import HairReader
from engines.pictures import BgrImage, picture_from_bgr
from engines.swapper import Control, Rendered
from engines.types import Face, Frame
from tests.engines.stylegan.faces import drawn_face

SIZE = 128
Float32 = NDArray[np.float32]


class Reading:
    """A painter whose network is sure of whatever it is told."""

    size = SIZE
    sizes = (SIZE,)
    hair: HairReader | None = None

    def __init__(self, sure: Float32, doubt: float = 0.0) -> None:
        self.sure = sure
        self.doubt = doubt

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        points = drawn_face()
        points[:, :2] += EYES.mean(axis=0).astype(np.float32) - eyes_of(points).mean(axis=0)
        light = np.zeros((1, 2, 4, 4, 3), np.float32)
        return Control(points[None], light, np.full(1, self.doubt, np.float32), self.sure[None])

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        raise NotImplementedError


def look_under(
    sure: Float32, eyes_px: float = 60, doubt: float = 0.0, image: BgrImage | None = None
) -> Look:
    """What is read of a face in noise, or in a picture, whose eyes lie so far apart.

    The left eye is at (120, 130) px where they are 60 px apart, nearer to the corner where less.
    """
    if image is None:
        image = np.random.default_rng(0).integers(0, 255, (300, 300, 3)).astype(np.uint8)
    frame = Frame(picture_from_bgr(image), 0, Fraction(1), 0)
    points = np.array([[120, 130], [180, 130], [150, 165], [128, 186], [172, 186]], np.float32)
    points *= np.float32(eyes_px / 60)
    face = Face(np.array([100, 90, 200, 220], np.float32), points, 0.9)
    return ControlReader(Reading(sure, doubt)).looks([(frame, face)])[0]
