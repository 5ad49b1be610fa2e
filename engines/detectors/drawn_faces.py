"""Drawn scenes that face detectors answer to: for gates and tests without photographs."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.types import Face

__all__ = ["drawn_scene"]

_SHIFT: Final = 4
_SKINS: Final = ((125, 160, 205), (70, 105, 150), (150, 180, 225), (45, 65, 100))


def drawn_scene(
    height: int, width: int, faces: int, *, side_px: float, seed: int = 0
) -> tuple[BgrImage, tuple[Face, ...]]:
    """Draws faces with light, shade and noise on an uneven background.

    Args:
        height: rows, px.
        width: columns, px.
        faces: how many to place in a row.
        side_px: width of a face, px.
        seed: of background, noise and looks.

    Returns:
        height×width×3 uint8 BGR, and the faces where they were drawn.

    >>> image, faces = drawn_scene(120, 160, 1, side_px=60)
    >>> image.shape, len(faces)
    ((120, 160, 3), 1)
    """
    rng = np.random.default_rng(seed)
    coarse = rng.integers(60, 200, (5, 7, 3)).astype(np.uint8)
    image = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    placed = []
    for number in range(faces):
        x = width * (number + 0.5) / faces
        y = height / 2 + float(rng.uniform(-0.05, 0.05)) * height
        image, face = _with_face(image, x, y, side_px, _SKINS[(number + seed) % len(_SKINS)])
        placed.append(face)
    blurred = cv2.GaussianBlur(image, (0, 0), max(0.4, side_px / 150))
    noisy = blurred + rng.normal(0, 3, image.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8), tuple(placed)


def _with_face(
    image: NDArray[np.float32], x: float, y: float, side: float, skin: tuple[int, int, int]
) -> tuple[NDArray[np.float32], Face]:
    """One upright face of width `side`, lit from above left."""
    canvas = image.copy()
    dark = tuple(value * 0.25 for value in skin)
    shade = tuple(value * 0.72 for value in skin)
    bright = tuple(min(255.0, value * 1.15) for value in skin)

    def oval(at: tuple[float, float], axes: tuple[float, float], colour: tuple[float, ...]) -> None:
        centre = _fixed(x + at[0] * side, y + at[1] * side)
        size = _fixed(axes[0] * side, axes[1] * side)
        cv2.ellipse(canvas, centre, size, 0, 0, 360, colour, -1, cv2.LINE_AA, _SHIFT)

    oval((0, -0.10), (0.58, 0.74), dark)
    oval((0, 0.55), (0.26, 0.40), shade)
    oval((0, 0.04), (0.48, 0.66), skin)
    oval((-0.10, -0.30), (0.28, 0.20), bright)
    for eye in (-0.21, 0.21):
        oval((eye, -0.13), (0.13, 0.075), shade)
        oval((eye, -0.23), (0.15, 0.030), dark)
        oval((eye, -0.12), (0.095, 0.045), (215, 220, 225))
        oval((eye, -0.12), (0.045, 0.045), (25, 25, 30))
    oval((0.03, 0.06), (0.075, 0.19), shade)
    oval((-0.005, 0.05), (0.05, 0.18), bright)
    for nostril in (-0.05, 0.05):
        oval((nostril, 0.235), (0.035, 0.018), dark)
    oval((0, 0.40), (0.19, 0.050), (70, 65, 150))
    oval((0, 0.395), (0.17, 0.010), (35, 30, 70))
    oval((0.30, 0.25), (0.12, 0.22), tuple(value * 0.9 for value in skin))
    mixed = cv2.addWeighted(image, 0.0, canvas, 1.0, 0)
    points = [(-0.21, -0.12), (0.21, -0.12), (0.0, 0.2), (-0.17, 0.4), (0.17, 0.4)]
    landmarks = np.array([[x + a * side, y + b * side] for a, b in points], np.float32)
    box = np.array([x - 0.5 * side, y - 0.55 * side, x + 0.5 * side, y + 0.7 * side], np.float32)
    return np.asarray(mixed, np.float32), Face(box, landmarks, 1.0)


def _fixed(first: float, second: float) -> tuple[int, int]:
    return round(first * (1 << _SHIFT)), round(second * (1 << _SHIFT))
