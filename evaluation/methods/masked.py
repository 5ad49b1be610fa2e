"""StyleID (2023), Section 5: a chosen area of the face is exchanged, the rest stays (Eq. 4).

The paper asks a segmentation network for masks and a generator for a random face of the same
mask. Here landmarks outline the areas, and the generator paints any person under the
subject's own landmarks and light, so that the masks agree without a search or a colour match.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    OVAL_SLICE,
)
from evaluation.faces import Faces, crop_window
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.latents import targets_of
from evaluation.methods.method import Kind, Release, alone
from evaluation.methods.surrogate import worn

__all__ = ["AREAS", "Area", "MaskSwap", "area_alpha"]

Float32 = NDArray[np.float32]
Area = Literal["eyes", "eyes+nose", "eyes+nose+mouth", "face", "face+hair", "all"]
AREAS: Final[tuple[Area, ...]] = get_args(Area)
"""From the least to the most that is exchanged."""

_GROWTH: Final = 0.03
"""By which the outline of a part is widened, crop units."""
_FEATHER: Final = 0.012
_EYES: Final = (EYE_LEFT_SLICE, EYE_RIGHT_SLICE, BROW_LEFT_SLICE, BROW_RIGHT_SLICE)
_NOSE: Final = (NOSE_BRIDGE_SLICE, NOSE_BASE_SLICE)


def area_alpha(points: Float32, area: Area, size: int) -> Float32:
    """Where the random face shows: 1 − Seg of Eq. 4.

    Args:
        points: (POINTS, ≥ 2) float32 of the subject, crop units.
        area: what is exchanged.
        size: height and width of the crop, px.

    Returns:
        (size, size) float32, 0…1, feathered towards the outside.
    """
    if area == "all":
        return np.ones((size, size), np.float32)
    drawn = np.zeros((size, size), np.uint8)
    for outline in _outlines(points[:, :2], area):
        corners = np.clip(outline, -1, 2) * size - 0.5
        cv2.fillConvexPoly(drawn, cv2.convexHull(np.rint(corners).astype(np.int32)), 1)
    reach = 2 * round(_GROWTH * size) + 1
    grown = cv2.dilate(drawn, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach)))
    soft = cv2.GaussianBlur(grown.astype(np.float32), (0, 0), _FEATHER * size)
    return np.asarray(np.maximum(soft, drawn), np.float32)


def _outlines(points: Float32, area: Area) -> list[Float32]:
    if area in ("face", "face+hair"):
        face = points[OVAL_SLICE]
        if area == "face":
            return [face]
        # Hair stands above and beside the forehead: the upper half of the face, doubled.
        middle, top = face.mean(axis=0), face[:, 1] < face[:, 1].mean()
        return [face, middle + (face[top] - middle) * 2]
    eyes = [points[_EYES[0]], points[_EYES[2]]], [points[_EYES[1]], points[_EYES[3]]]
    outlines = [np.concatenate(parts) for parts in eyes]
    if area != "eyes":
        outlines.append(np.concatenate([points[part] for part in _NOSE]))
    if area == "eyes+nose+mouth":
        outlines.append(points[LIPS_OUTER_SLICE])
    return outlines


@dataclass(slots=True)
class MaskSwap:
    """The area shows a random person under the subject's control; around it nothing changes.

    Attributes:
        generator: paints.
        area: what is exchanged; a larger one hides more and keeps less.
    """

    generator: PeopleGenerator
    area: Area = "face"
    kind: Kind = "mean"
    name: str = ""

    def __post_init__(self) -> None:
        self.name = f"StyleID {self.area}"

    def fit(self, donors: Faces) -> None:
        """Learns nothing: the donors are the generator's own."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Eq. 4, with a random target for each person."""
        crops = faces.images[:, *crop_window()]
        targets = targets_of(self.generator, faces.persons, secret, "mask")
        patches, covered = self.generator.painted(crops, targets)
        points = self.generator.control(crops).points
        alphas = np.stack([area_alpha(marks, self.area, crops.shape[1]) for marks in points])
        # A face that cannot be followed is covered as far as the generator covers it.
        lost = covered.min(axis=(1, 2)) >= 1
        alphas[lost] = 1.0
        images = worn(faces.images, patches, alphas)
        return replace(alone(images), latents=targets)
