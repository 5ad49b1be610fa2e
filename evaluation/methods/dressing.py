"""Puts surrogates on portraits the way a stream does it, one picture at a time.

The same reading, painting, colours, grain and compositor as in `stream.swap.swapping`, without
smoothing over time: a photograph has no neighbours.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.blending.compositor import compose
from engines.face.control_reading import ControlReader, Painter
from engines.face.painted_looks import (
    control_from_looks,
    head_under,
    matched_to_head,
    patch_from_look,
)
from engines.pictures import picture_from_bgr
from engines.types import Face, Frame, Track, TrackState
from evaluation.faces import Faces

__all__ = ["covered", "dressed", "face_about"]

_BATCH: Final = 8
_HEAD: Final = np.array([[-1.0, -1.1], [1.0, 1.6]], np.float32)
"""Corners of a face's box from the middle of the eyes, in distances of the eyes."""


def dressed(swapper: Painter, faces: Faces, latents: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Portraits with surrogates instead of faces, or covers where a face cannot be followed.

    Args:
        swapper: reads and paints.
        faces: N portraits.
        latents: (N, L, 512) float32, one surrogate each.

    Returns:
        (N, S, S, 3) uint8 BGR.

    Raises:
        EngineFault: a network failed.
    """
    reader = ControlReader(swapper)
    made = []
    for start in range(0, len(faces), _BATCH):
        part = range(start, min(start + _BATCH, len(faces)))
        own = latents[part.start : part.stop]
        made += _dressed(swapper, reader, faces.take(list(part)), own)
    return np.stack(made) if made else faces.images.copy()


def covered(faces: Faces) -> NDArray[np.uint8]:
    """N portraits with covers over their faces, (N, S, S, 3) uint8 BGR."""
    made = []
    for row, image in enumerate(faces.images):
        frame = Frame(picture_from_bgr(image.copy()), 0, Fraction(1, 25), row, "")
        track = Track(0, face_about(faces.points[row]), TrackState.DETECTED, 0)
        made.append(compose(frame, [track], {}).picture.bgr())
    return np.stack(made)


def _dressed(
    swapper: Painter,
    reader: ControlReader,
    faces: Faces,
    latents: NDArray[np.float32],
) -> list[NDArray[np.uint8]]:
    frames = [
        Frame(picture_from_bgr(image.copy()), 0, Fraction(1, 25), row, "")
        for row, image in enumerate(faces.images)
    ]
    found = [face_about(points) for points in faces.points]
    looks = reader.looks(list(zip(frames, found, strict=True)))
    rendered = swapper.paint(control_from_looks(looks), latents)
    made = []
    for row, (frame, face, look) in enumerate(zip(frames, found, looks, strict=True)):
        patches = {}
        if rendered.is_usable[row]:
            patch = patch_from_look(rendered, row, look, face)
            patch = replace(patch, occlusion=look.occlusion)
            head = head_under(frame.picture, patch)
            patches[0] = matched_to_head(patch, head, (0, frame.index))
        track = Track(0, face, TrackState.DETECTED, 0)
        made.append(compose(frame, [track], patches).picture.bgr())
    return made


def face_about(points: NDArray[np.float32]) -> Face:
    """A face with a box about its landmarks, (5, 2) px."""
    distance = float(np.linalg.norm(points[1] - points[0]))
    corners = points[:2].mean(axis=0) + _HEAD * distance
    return Face(corners.reshape(4).astype(np.float32), points, 1.0)
