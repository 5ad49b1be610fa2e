"""Reads control off faces of frames, and makes sure that it is of the face that was meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import MOST_HIDDEN, Marks, Occlusion, counted, is_told_apart
from engines.face.alignment import (
    EYES,
    Similarity,
    crop_from_picture,
    moved,
    similarity_from_points,
)
from engines.face.face_look import (
    Look,
    crop_with_eyes,
    look_from_points,
    painted_points,
    painting_place,
    with_lids,
)
from engines.face.iris_reading import gaze_of_crop
from engines.face.swapper import DOUBT_LIMIT, LANDMARK_SIZE, Control, Rendered, light_and_contrast
from engines.face.visible_doubt import visible_doubt
from engines.pictures import Picture
from engines.stylegan.drawing import filled_hull
from engines.stylegan.gaze import with_pupils_at
from engines.stylegan.shape import EYES_APART
from engines.stylegan.topology import LIPS_OUTER_SLICE, NOSE_BRIDGE_SLICE
from engines.types import Face, Frame

__all__ = ["ControlReader", "Painter", "eyes_for_reading", "reading_eyes"]

_FARTHEST = 0.35
"""Distance between an eye of the tracker and the one that was read, in distances of the eyes,
above which they are not one face's."""
_OFF_CENTRE = 0.06
"""Distance of an eye from its place in the crop, crop units, above which the crop is cut anew."""
_LONG = 0.95
"""How far below the eyes a mouth is, in their distance, at which they lie as far apart as in the
kveil crop. Of longer faces, and turned heads, the chin would lie outside: their eyes lie closer."""
_APART = (0.5, 0.86)
"""Distance of the eyes in the crop at least and at most, in that of the kveil crop. Less shows more
of what comes before a face from below, and of the face fewer pixels."""
_BOWED = (0.77, 0.87)
"""Where a nose ends, shares of the way from the eyes to the mouth, and how much shorter its face is
than `_TALL`, in its width: what both make up from which on a head may be bowed, and is. Larger
shows faces on the crowns of heads, smaller covers people who look down."""
_UNSURE = 1.1 * DOUBT_LIMIT
"""Least doubt of what may not be as it was read: it keeps a surrogate, and begins none."""
_TALL = 1.3
_SHORT = 0.8
"""How high faces are found that look at us, in their width, and what of that is lacking counts."""
_EYES_PX = 24.0
"""Distance of the eyes in the frame below which neither shut eyes nor irises can be told."""
Crops = NDArray[np.uint8]
Float32 = NDArray[np.float32]


class Painter(Protocol):
    """What the swap needs of `engines.face.swapper.Swapper`."""

    @property
    def size(self) -> int:
        """Side of the crops, and of the largest patches, px."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sides that patches can have, px, ascending; the last is `size`."""

    def read(self, crops: Crops, *, is_lit: bool = True) -> Control:
        """Control of uint8 N×S×S×3 BGR crops, light and contrast only where asked for."""

    def paint(
        self, control: Control, latents: NDArray[np.float32], size: int | None = None
    ) -> Rendered:
        """Surrogates under that control, of one of the sizes; of the largest by default."""


class ControlReader:
    """Reads what a painter needs to know of each face.

    Args:
        painter: has the networks.
    """

    def __init__(self, painter: Painter) -> None:
        self._painter = painter

    def looks(self, wanted: Sequence[tuple[Frame, Face]], *, is_lit: bool = True) -> list[Look]:
        """Control of faces in frames; read twice where the first crop was off the face.

        Args:
            wanted: the faces.
            is_lit: whether light and contrast are read too, see `lit`, and lids of shutting eyes
                drawn together, see `with_lids`; else both are the caller's.

        Raises:
            EngineFault: the network failed.
        """
        frames = [frame for frame, _ in wanted]
        eyes = [reading_eyes(face) for _, face in wanted]
        maps = [
            similarity_from_points(face.landmarks_px[:2], there * LANDMARK_SIZE)
            for (_, face), there in zip(wanted, eyes, strict=True)
        ]
        looks = self._read(frames, maps, eyes)
        off = [
            row
            for row, (look, one) in enumerate(zip(looks, maps, strict=True))
            if _is_off(look, one, eyes[row])
        ]
        if off:
            there = [eyes[row] for row in off]
            again = [
                crop_with_eyes(looks[row].motion, one, LANDMARK_SIZE)
                for row, one in zip(off, there, strict=True)
            ]
            read = self._read([frames[row] for row in off], again, there)
            for row, look in zip(off, read, strict=True):
                looks[row] = look
        looks = [
            replace(look, doubt=_doubt_of(look, frame, face))
            if _is_of(look, face) and _bowing(look, face) <= _BOWED[1]
            else _unread(look, face)
            for look, (frame, face) in zip(looks, wanted, strict=True)
        ]
        if not is_lit:
            return looks
        lit = (self.lit(look, frame) for look, (frame, _) in zip(looks, wanted, strict=True))
        return [with_lids(look) for look in lit]

    def lit(self, look: Look, frame: Frame) -> Look:
        """The look with light and contrast of the crop that will be painted, a wider one."""
        points = painted_points(look.shape)
        place = painting_place(look.motion, points, LANDMARK_SIZE)
        crop = crop_from_picture(frame.picture, place, LANDMARK_SIZE)
        light, contrast = light_and_contrast(crop, points)
        return replace(look, light=light, contrast=contrast)

    def _read(
        self, frames: Sequence[Frame], maps: Sequence[Similarity], eyes: Sequence[Float32]
    ) -> list[Look]:
        crops = [
            crop_from_picture(frame.picture, one, LANDMARK_SIZE)
            for frame, one in zip(frames, maps, strict=True)
        ]
        control = _with_eyes(self._painter.read(np.stack(crops), is_lit=False), crops, maps)
        looks = [
            replace(
                look_from_points(
                    frame.index,
                    frame.time_s,
                    control.points[row],
                    one,
                    LANDMARK_SIZE,
                    control.light[row],
                    float(control.doubt[row])
                    * EYES_APART
                    / float(eyes[row][1, 0] - eyes[row][0, 0]),
                ),
                expression=None if control.usual is None else control.usual[row],
                inside=None if control.inside is None else control.inside[row],
                raised=0.0 if control.raised is None else float(control.raised[row]),
                openness=None if control.openness is None else control.openness[row],
            )
            for row, (frame, one) in enumerate(zip(frames, maps, strict=True))
        ]
        if control.occlusion is None:
            return looks
        return [
            _with_front(look, counted(sure, points, crop, _pictured(frame.picture, one)), one)
            for look, sure, points, crop, one, frame in zip(
                looks, control.occlusion, control.points, crops, maps, frames, strict=True
            )
        ]


def _with_eyes(control: Control, crops: Sequence[Crops], maps: Sequence[Similarity]) -> Control:
    """Control whose landmarks say where eyes look, and which eyes are shut, where pixels tell."""
    is_told = np.array([is_told_apart(one, LANDMARK_SIZE, _EYES_PX) for one in maps], np.bool_)
    points = control.points.copy()
    for row, (crop, face) in enumerate(zip(crops, control.points, strict=True)):
        if is_told[row]:
            both = np.tile(gaze_of_crop(crop, face), (1, 2, 1))
            points[row] = with_pupils_at(face[None], both)[0]
    if control.openness is None:
        return replace(control, points=points)
    openness = np.where(is_told[:, None], control.openness, np.float32(1))
    return replace(control, points=points, openness=openness.astype(np.float32))


def _pictured(picture: Picture, crop_from_frame: Similarity) -> NDArray[np.bool_] | None:
    """What of a crop lies in the picture, bool[S, S]; None for all of it."""
    width, height = picture.width, picture.height
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    seen = filled_hull(moved(crop_from_frame, corners), (LANDMARK_SIZE, LANDMARK_SIZE)) > 0
    return None if seen.all() else seen


def _with_front(look: Look, marks: Marks, crop_from_frame: Similarity) -> Look:
    """The look with what is in front of the face; not read where that is too much, or unclear.

    Landmarks are expected to be off mostly behind it, where they do not show.
    """
    if not is_told_apart(crop_from_frame, LANDMARK_SIZE):
        return look
    if marks.share > MOST_HIDDEN or marks.is_obscure:
        return replace(look, doubt=np.inf, is_hidden=marks.share > MOST_HIDDEN)
    seen = None if marks.sure is None else Occlusion(marks.sure, crop_from_frame)
    doubt, is_unsure = look.doubt * (1 - marks.share), not marks.is_clear
    return replace(look, doubt=doubt, occlusion=seen, is_unsure=is_unsure)


def reading_eyes(face: Face) -> Float32:
    """Where the eyes shall lie in the crop that is read, by the tracker's landmarks: (2, 2)."""
    return eyes_for_reading(face.landmarks_px[:2], face.landmarks_px[3:])


def eyes_for_reading(eyes: NDArray[np.floating], mouth: NDArray[np.floating]) -> Float32:
    """The same by the eyes and the corners of the mouth, (2, 2) each, in any unit."""
    apart, below = eyes[1] - eyes[0], mouth.mean(axis=0) - eyes.mean(axis=0)
    share = _LONG * float(np.hypot(*apart)) / max(float(np.hypot(*below)), 1e-3)
    middle = EYES.mean(axis=0)
    return np.asarray(middle + min(max(share, _APART[0]), _APART[1]) * (EYES - middle), np.float32)


def _is_off(look: Look, crop_from_frame: Similarity, eyes: Float32) -> bool:
    """Whether the eyes were read far from where the crop should have had them."""
    away = np.abs(moved(crop_from_frame, _eyes_px(look)) / LANDMARK_SIZE - eyes)
    return bool(np.isfinite(look.doubt) and away.max() > _OFF_CENTRE)


def _is_of(look: Look, face: Face) -> bool:
    """Whether what was read lies where the tracker has the face."""
    eyes = face.landmarks_px[:2]
    distance = float(np.linalg.norm(eyes[1] - eyes[0]))
    away = np.linalg.norm(_eyes_px(look) - eyes, axis=1)
    return bool(away.max() <= _FARTHEST * max(distance, 1.0))


def _bowing(look: Look, face: Face) -> float:
    """How far a head is seen from above, whose face is read as one that hardly nods.

    Its nose ends near the mouth, and the detector finds it short for its width.
    """
    mouth = float(look.shape[LIPS_OUTER_SLICE, 1].mean())
    nose = float(look.shape[NOSE_BRIDGE_SLICE.stop - 1, 1]) / max(mouth, 1e-3)
    width, height = (face.box_px[2:] - face.box_px[:2]).tolist()
    return float(nose + _SHORT * (_TALL - height / max(width, 1.0)))


def _doubt_of(look: Look, frame: Frame, face: Face) -> float:
    doubt = visible_doubt(look, frame.picture)
    is_unsure = look.is_unsure or _bowing(look, face) > _BOWED[0]
    return max(doubt, _UNSURE) if is_unsure else doubt


def _unread(look: Look, face: Face) -> Look:
    """A look that is not of the face: only where the tracker has its eyes is known."""
    eyes = face.landmarks_px[:2].astype(np.float32)
    motion = np.concatenate([eyes.mean(axis=0), eyes[1] - eyes[0]])
    return replace(look, motion=motion, doubt=np.inf)


def _eyes_px(look: Look) -> NDArray[np.float32]:
    middle, across = look.motion[:2], look.motion[2:]
    return np.stack([middle - across / 2, middle + across / 2])
