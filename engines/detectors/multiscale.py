"""Searching one picture at several scales, in tiles where it is large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import Detector, overlaps_of, shares_inside
from engines.detectors.tones import Tones, shown, tones_of
from engines.pictures import BgrImage, Picture
from engines.types import Face

__all__ = ["LEAST_SIDE_PX", "DetectionPlan", "detect_picture", "merged", "sizes_searched"]

LEAST_SIDE_PX: Final = 32
"""Least long side at which a picture is searched."""
_SAME_FACE: Final = 0.45
_MOSTLY_INSIDE: Final = 0.7
_NEAR_BORDER_PX: Final = 3.0


@dataclass(frozen=True, slots=True)
class DetectionPlan:
    """At which scales a picture is searched.

    Attributes:
        long_side_px: the picture is scaled to this long side. Larger finds smaller faces
            and costs time in proportion to its square.
        also_px: further long sides; a small one finds faces that fill the frame.
        tile_px: a scaled picture longer than this is searched in square tiles of this side,
            which bounds memory. Smaller tiles cost more overlap.
        overlap_px: by how much tiles overlap; faces up to this size lie whole in a tile.
        max_upscale: the picture is never enlarged by more than this.
    """

    long_side_px: int
    also_px: tuple[int, ...] = ()
    tile_px: int = 1920
    overlap_px: int = 128
    max_upscale: float = 2.0

    def __post_init__(self) -> None:
        if min((self.long_side_px, *self.also_px)) < LEAST_SIDE_PX:
            raise ValueError(f"a picture is searched at a long side of {LEAST_SIDE_PX} px or more")
        if not 0 <= self.overlap_px < self.tile_px:
            raise ValueError("tiles must be larger than their overlap")


def detect_picture(
    detector: Detector,
    picture: Picture,
    plan: DetectionPlan,
    min_score: float,
    tones: Sequence[Tones] | None = None,
) -> tuple[Face, ...]:
    """Finds the faces of a picture at all scales of a plan, and in tones that tell them apart.

    Args:
        detector: looks at one image at its own scale.
        picture: not changed.
        plan: at which scales to look.
        min_score: faces below are left out.
        tones: further ways to look at it, as `steady_tones` gives them for the frame of a
            video; None for those of a single picture.

    Returns:
        Faces in pixels of the picture, best first; each face once.

    Raises:
        EngineFault: the detector failed on any part of the picture.
    """
    found: list[Face] = []
    cut: list[bool] = []
    ways = tones_of(picture) if tones is None else tones
    for image in _images(picture, plan, ways):
        height, width = image.shape[:2]
        scale = np.array([picture.width / width, picture.height / height], np.float32)
        for top, left, tile in _tiles(image, plan):
            for face in detector.detect(tile, min_score=min_score):
                cut.append(_is_cut(face, tile, top, left, image))
                found.append(_moved(face, top, left, scale))
    return merged(found, cut)


def _images(picture: Picture, plan: DetectionPlan, ways: Sequence[Tones]) -> Iterator[BgrImage]:
    """The picture at all scales of a plan, as it is and in other tones."""
    for size in sizes_searched(picture.height, picture.width, plan):
        yield picture.resized_bgr(*size)
        for tones in ways:
            yield shown(picture, tones, *size)


def merged(faces: Sequence[Face], is_cut: Sequence[bool]) -> tuple[Face, ...]:
    """Joins the finds of one face into one.

    Boxes that overlap well are averaged, weighted by score; the best score stays. A box cut
    by a tile's edge gives way to a whole one that holds it. No find is dropped otherwise.

    Args:
        faces: finds of all scales and tiles, in pixels of the picture.
        is_cut: whether each one touches an edge that is not the picture's.

    Returns:
        One face per group, best first.
    """
    if len(faces) < 2:
        return tuple(faces)
    order = sorted(range(len(faces)), key=lambda i: (is_cut[i], -faces[i].score))
    boxes = np.stack([faces[i].box_px for i in order])
    same = overlaps_of(boxes, boxes) >= _SAME_FACE
    held = shares_inside(boxes, boxes) >= _MOSTLY_INSIDE
    free = np.ones(len(order), np.bool_)
    result = []
    for i in range(len(order)):
        if not free[i]:
            continue
        group = np.flatnonzero(free & same[i])
        free[group] = False
        result.append(
            _fused([faces[order[j]] for j in group if is_cut[order[j]] == is_cut[order[i]]])
        )
        if not is_cut[order[i]]:
            for j in np.flatnonzero(free & held[i]):
                free[j] = not is_cut[order[j]]
    return tuple(sorted(result, key=lambda face: -face.score))


def _fused(group: Sequence[Face]) -> Face:
    """Score-weighted mean of finds of one face, with the best find's score."""
    if len(group) == 1:
        return group[0]
    weights = np.array([face.score for face in group], np.float32) ** 2 + np.float32(1e-6)
    weights /= weights.sum()
    box = sum(face.box_px * weight for face, weight in zip(group, weights, strict=True))
    points = sum(face.landmarks_px * weight for face, weight in zip(group, weights, strict=True))
    score = max(face.score for face in group)
    return Face(np.asarray(box, np.float32), np.asarray(points, np.float32), score)


def sizes_searched(height: int, width: int, plan: DetectionPlan) -> list[tuple[int, int]]:
    """Height and width of each scaled picture; scales that come out alike are one.

    >>> sizes_searched(360, 640, DetectionPlan(320, also_px=(1280,)))
    [(180, 320), (720, 1280)]
    """
    longest = max(height, width)
    sizes = []
    for side in (plan.long_side_px, *plan.also_px):
        scale = min(side / longest, plan.max_upscale)
        scaled = max(1, round(height * scale)), max(1, round(width * scale))
        if scaled not in sizes:
            sizes.append(scaled)
    return sizes


def _tiles(image: BgrImage, plan: DetectionPlan) -> Iterator[tuple[int, int, BgrImage]]:
    """Top, left and pixels of each tile; the last ones lie flush with the picture's edge."""
    height, width = image.shape[:2]
    for top in _starts(height, plan.tile_px, plan.overlap_px):
        for left in _starts(width, plan.tile_px, plan.overlap_px):
            yield top, left, image[top : top + plan.tile_px, left : left + plan.tile_px]


def _starts(length: int, tile: int, overlap: int) -> list[int]:
    """Where tiles begin along one side.

    >>> _starts(1000, 400, 100), _starts(300, 400, 100)
    ([0, 300, 600], [0])
    """
    if length <= tile:
        return [0]
    return [*range(0, length - tile, tile - overlap), length - tile]


def _is_cut(face: Face, tile: BgrImage, top: int, left: int, image: BgrImage) -> bool:
    x0, y0, x1, y1 = (float(value) for value in face.box_px)
    height, width = tile.shape[:2]
    return (
        (left > 0 and x0 < _NEAR_BORDER_PX)
        or (top > 0 and y0 < _NEAR_BORDER_PX)
        or (left + width < image.shape[1] and x1 > width - _NEAR_BORDER_PX)
        or (top + height < image.shape[0] and y1 > height - _NEAR_BORDER_PX)
    )


def _moved(face: Face, top: int, left: int, scale: NDArray[np.float32]) -> Face:
    shift = np.array([left, top], np.float32)
    points = (face.landmarks_px + shift) * scale
    box = (face.box_px + np.tile(shift, 2)) * np.tile(scale, 2)
    return Face(box.astype(np.float32), points.astype(np.float32), face.score)
