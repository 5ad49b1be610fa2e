"""Which portraits may become donors: one grown-up face that looks straight ahead, at rest.

Glasses, hair over the brows and hard shadows are told as a rule; paint and much else is not, and
whoever makes a pack looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import cv2
import numpy as np
import numpy.typing as npt

from engines.blending.occlusion import counted
from engines.detectors.detector import Detector
from engines.donors.looks import (
    bridge_line,
    hidden_cheeks,
    hidden_forehead,
    one_sided_light,
)
from engines.donors.making import CROP_SIZE, READ_SIZE
from engines.donors.textures import photographed
from engines.errors import EngineFault
from engines.face.alignment import (
    EYES,
    Similarity,
    crop_from_picture,
    inverse_of,
    kveil_from_landmarks,
    moved,
    similarity_from_points,
)
from engines.face.attribute_bins import AttributeReader
from engines.face.control_reading import Painter
from engines.face.embedder import FaceEmbedder
from engines.face.embedding_attributes import EmbeddingAttributes
from engines.face.face_look import eyes_of
from engines.face.swapper import DOUBT_LIMIT, Control
from engines.pictures import Picture, picture_from_bgr
from engines.stylegan.shape import ShapeModel, canonical_from_points, mouth_gap
from engines.stylegan.warp import TextureFrame
from engines.types import Embedding, Face

__all__ = ["Cause", "Portrait", "PortraitChoice"]

Cause = Literal[
    "no face",
    "several faces",
    "landmarks unsure",
    "turned",
    "something in front",
    "eyes shut",
    "mouth open",
    "glasses",
    "hair over the brows",
    "hard shadows",
    "a child",
    "like another donor",
]
"""Why a portrait is refused, in the order in which it is asked."""

_SEARCHED_PX: Final = 512
"""Side at which faces are searched: portraits fill their picture."""
_LEAST_SCORE: Final = 0.5
_MOST_DOUBT: Final = DOUBT_LIMIT / 2
"""Expected error of landmarks, crop units. Of 100 of the bundled portraits none has 0.011."""
_MOST_TURNED_DEG: Final = 12.0
"""Yaw and pitch. Larger takes more portraits, and stretches the far side of their faces."""
_LEAST_OPEN: Final = 0.6
"""Of the less open eye, 0 shut to 1 open. Of the bundled portraits the least has 0.73."""
_MOST_GAP: Final = 0.16
"""Between the lips, distances of the eyes. Of the bundled portraits the most have 0.15."""
_MOST_CHILD: Final = 0.1
"""Likelihood of a child. Of the bundled portraits the most have 0.075; larger lets in teenagers."""
_MOST_LINE: Final = 0.06
_MOST_HIDDEN: Final = 0.2
_MOST_UNLIKE: Final = 0.4
_MOST_UNEVEN: Final = 0.2
"""See `engines.donors.looks`; each is exceeded by about 2 % of the bundled portraits."""

UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Portrait:
    """A portrait that may become a donor.

    Attributes:
        crop: uint8[CROP_SIZE, CROP_SIZE, 3] BGR kveil crop.
        bins: its values by attribute.
    """

    crop: UInt8
    bins: dict[str, str]


class PortraitChoice:
    """Judges portraits one after the other; those it chose count for later ones.

    Args:
        detector: finds faces.
        painter: reads landmarks, lids and what is in front.
        shape: tells pose and lips.
        frame: the canonical face, on which glasses, hair and shadows are told.
        embedder: tells who look alike.
        attributes: reads bins.
        match: cosine from which two are one person; smaller refuses more.
    """

    def __init__(
        self,
        detector: Detector,
        painter: Painter,
        shape: ShapeModel,
        frame: TextureFrame,
        embedder: FaceEmbedder,
        attributes: EmbeddingAttributes,
        match: float,
    ) -> None:
        self._detector = detector
        self._painter = painter
        self._shape = shape
        self._frame = frame
        self._embedder = embedder
        self._attributes = attributes
        self._bins = AttributeReader(attributes)
        self._match = match
        self._chosen: list[Embedding] = []

    def judge(self, picture: UInt8) -> Portrait | Cause:
        """A portrait that may become a donor, or why it may not.

        Args:
            picture: uint8[S, S, 3] BGR.

        Raises:
            EngineFault: a network failed.
        """
        faces = self._found(picture)
        if len(faces) != 1:
            return "several faces" if faces else "no face"
        whole = picture_from_bgr(picture)
        try:
            crop = self._cropped(whole, faces[0], len(picture))
        except EngineFault:  # its eyes coincide, or lie nowhere
            return "landmarks unsure"
        small = _reduced(crop)[None]
        control = self._painter.read(small, is_lit=False)
        embedding = self._embedder.embed(small)[0]
        cause = self._unfit(crop, control) or self._worn(crop, control) or self._unwanted(embedding)
        if cause is not None:
            return cause
        self._chosen.append(embedding)
        return Portrait(crop, self._bins.values_of(embedding))

    def _found(self, picture: UInt8) -> tuple[Face, ...]:
        side = (_SEARCHED_PX, _SEARCHED_PX)
        is_larger = len(picture) > _SEARCHED_PX
        way = cv2.INTER_AREA if is_larger else cv2.INTER_CUBIC
        searched = np.asarray(cv2.resize(picture, side, interpolation=way), np.uint8)
        return self._detector.detect(searched, min_score=_LEAST_SCORE)

    def _cropped(self, picture: Picture, face: Face, side: int) -> UInt8:
        """The kveil crop of a face, with the eyes where landmarks see them."""
        landmarks = face.landmarks_px * np.float32(side / _SEARCHED_PX)
        rough = kveil_from_landmarks(landmarks, READ_SIZE)
        seen = crop_from_picture(picture, rough, READ_SIZE)
        points = self._painter.read(seen[None], is_lit=False).points[0]
        return crop_from_picture(picture, _with_eyes(points, rough), CROP_SIZE)

    def _unfit(self, crop: UInt8, control: Control) -> Cause | None:
        pose = self._shape.pose_of(control.points)
        gap = float(mouth_gap(canonical_from_points(control.points, pose))[0])
        if not control.doubt[0] <= _MOST_DOUBT:
            is_turned = not np.isfinite(control.doubt[0])
            return "turned" if is_turned else "landmarks unsure"
        if np.abs(pose.angles_deg()[0, :2]).max() > _MOST_TURNED_DEG:
            return "turned"
        if control.occlusion is not None:
            marks = counted(control.occlusion[0], control.points[0], crop)
            if marks.share or not marks.is_clear:
                return "something in front"
        if control.openness is not None and control.openness[0].min() < _LEAST_OPEN:
            return "eyes shut"
        return "mouth open" if gap > _MOST_GAP else None

    def _worn(self, crop: UInt8, control: Control) -> Cause | None:
        seen = photographed(crop, control.points[0], self._frame, READ_SIZE)
        points = self._frame.points
        if bridge_line(seen, points) > _MOST_LINE:
            return "glasses"
        if hidden_forehead(seen, points) > _MOST_HIDDEN:
            return "hair over the brows"
        unlike, uneven = hidden_cheeks(seen, points), one_sided_light(seen, points)
        return "hard shadows" if unlike > _MOST_UNLIKE or uneven > _MOST_UNEVEN else None

    def _unwanted(self, embedding: Embedding) -> Cause | None:
        age = self._attributes.shares(embedding)["age"]
        if age.get("child", 0.0) > _MOST_CHILD:
            return "a child"
        likeness = max((float(embedding @ one) for one in self._chosen), default=-1.0)
        return "like another donor" if likeness >= self._match else None


def _with_eyes(points: npt.NDArray[np.float32], crop_from_frame: Similarity) -> Similarity:
    """Map to the crop that is taken, by the points that were read in a rough one."""
    eyes = moved(inverse_of(crop_from_frame), eyes_of(points) * np.float32(READ_SIZE))
    return similarity_from_points(eyes, EYES * CROP_SIZE)


def _reduced(crop: UInt8) -> UInt8:
    side = (READ_SIZE, READ_SIZE)
    return np.asarray(cv2.resize(crop, side, interpolation=cv2.INTER_AREA), np.uint8)
