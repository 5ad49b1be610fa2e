"""A scene of fine noise, where whatever is shown as it was is rough, and a striped face in it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.patches import Patch
from engines.face.alignment import EYES, identity_mask
from engines.face.face_look import crop_with_eyes
from engines.pictures import BgrImage
from engines.types import Face, Track, TrackState
from tests.engines.stylegan.faces import identities

SIDE, HEIGHT, WIDTH = 128, 400, 640
EYES_APART = 50.0


def scene(seed: int = 0) -> BgrImage:
    return np.random.default_rng(seed).integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8)


def place_at(x: float, y: float) -> NDArray[np.float32]:
    motion = np.array([x, y, EYES_APART, 0], np.float32)
    return crop_with_eyes(motion, EYES, SIDE)


def patch_at(x: float, y: float) -> Patch:
    """A striped face, opaque on the identity oval and a little beyond, eyes around (x, y)."""
    pixels = np.full((SIDE, SIDE, 3), 90, np.float32)
    pixels[::2] += 20
    away = cv2.distanceTransform(1 - identity_mask(SIDE).astype(np.uint8), cv2.DIST_L2, 3)
    alpha = np.clip(2 - away / 6, 0, 1).astype(np.float32)
    return Patch(pixels, alpha, place_at(x, y), identities(1)[0])


def track_at(x: float, y: float, number: int = 1) -> Track:
    points = np.array([[-25, 0], [25, 0], [0, 25], [-18, 48], [18, 48]], np.float32)
    box = np.array([x - 40, y - 45, x + 40, y + 75], np.float32)
    face = Face(box, (points + np.array([x, y])).astype(np.float32), 0.9)
    return Track(number, face, TrackState.DETECTED, 5)


def roughness(image: BgrImage, where: NDArray[np.bool_]) -> float:
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)
    return float(np.abs(cv2.Laplacian(grey, cv2.CV_32F))[where].mean())
