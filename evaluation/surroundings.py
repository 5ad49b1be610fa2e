"""What the untouched surroundings of a covered face tell a recogniser, without the face.

A cover keeps the scene around a head on purpose, and light and blur with it. In the dark, or out
of focus, recognisers match these alone. The control exchanges every face of an original frame for
a stranger's, as bright as the face was, lays a muted cover over it as kveil would, and leaves the
surroundings as they are: what still matches the original is not the face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import cv2
import numpy as np

from engines.blending.covering import cover_faces
from engines.blending.covers import DEFAULT_MARGIN, cover_named
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Box, Face, Track, TrackState
from evaluation.recognisers import Embeddings, Recogniser

__all__ = ["MOST_STRANGERS", "Exchanged", "StrangerFaces", "compare_surroundings", "face_vectors"]

MOST_STRANGERS: Final = 4
"""Strangers whose faces stand in for one face of one frame; more cost as much time each as the
comparison itself, fewer leave short chains without a floor of their own."""
_MOST_KEPT: Final = 16
"""Chains whose last face is kept from frame to frame."""
_COVER: Final = cover_named("muted")
_SHIFT: Final = 0.03
_GROWTH: Final = 0.07
"""How differently two detectors box a face: standard deviation of the middle over the box's side,
and of the sides' logarithm. On 169 faces of five clips CenterFace, kveil's, and SCRFD, the
attacker's, differed by 0.030 and 0.070."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A frame with covers over strangers' faces.

    Attributes:
        image: H×W×3 uint8 BGR, all faces covered.
        places: indices of the faces under whose covers lies a stranger's.
    """

    image: BgrImage
    places: tuple[int, ...]


@dataclass(slots=True)
class StrangerFaces:
    """The last seen face of each chain of a clip, held in memory alone.

    Another chain may be the same person, lost and found again: no matter, since only the mean of
    a face enters a muted cover.
    """

    _faces: dict[int, BgrImage] = field(default_factory=dict)
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def exchange(
        self, image: BgrImage, faces: Sequence[Face], chains: Sequence[int]
    ) -> list[Exchanged]:
        """The frame with other chains' faces under muted covers, at most four times.

        Strangers of the same frame come first, since the same light falls on them, then those
        seen last. Covers lie where another detector could have seen the faces: the anonymizing
        tool's is not the attacker's, and recognisers notice.

        Args:
            image: H×W×3 uint8 BGR, the original; not changed.
            faces: all faces of the frame.
            chains: the number of each face's chain.
        """
        for face, chain in zip(faces, chains, strict=True):
            self._faces.pop(chain, None)
            if pixels := _pixels(image, face.box_px):
                self._faces[chain] = image[pixels].copy()
        strangers = [self._strangers(chains, place) for place in range(len(faces))]
        self._faces = dict(list(self._faces.items())[-_MOST_KEPT:])
        rounds = max((len(some) for some in strangers), default=0)
        return [
            _exchange(image, faces, [self._seen_again(face) for face in faces], strangers, number)
            for number in range(rounds)
        ]

    def _seen_again(self, face: Face) -> Face:
        """The face as another detector would box it."""
        middle, sides = (face.box_px[:2] + face.box_px[2:]) / 2, face.box_px[2:] - face.box_px[:2]
        middle = middle + sides * self._random.normal(0, _SHIFT, 2)
        half = sides / 2 * np.exp(self._random.normal(0, _GROWTH, 2))
        box = np.concatenate([middle - half, middle + half])
        return replace(face, box_px=box.astype(np.float32))

    def _strangers(self, chains: Sequence[int], place: int) -> list[BgrImage]:
        """Faces of other chains, the nearest in time first."""
        here = [*chains[place + 1 :], *chains[:place]]
        before = [chain for chain in reversed(self._faces) if chain not in chains]
        known = [self._faces[chain] for chain in [*here, *before] if chain in self._faces]
        return known[:MOST_STRANGERS]


def compare_surroundings(
    judge: Recogniser, faces: Sequence[Face], before: Embeddings, exchanged: Sequence[Exchanged]
) -> list[tuple[float, ...]]:
    """For each face of a frame, the cosines of its original with what `exchange` made of it.

    Args:
        judge: the recogniser.
        faces: all faces of the frame.
        before: their vectors in the original.
        exchanged: the frame with strangers under covers.
    """
    found: list[list[float]] = [[] for _ in faces]
    for one in exchanged:
        after = face_vectors(judge, one.image, [faces[place] for place in one.places])
        for place, vector in zip(one.places, after, strict=True):
            found[place].append(float(before[place] @ vector))
    return [tuple(cosines) for cosines in found]


def face_vectors(judge: Recogniser, image: BgrImage, faces: Sequence[Face]) -> Embeddings:
    """Vectors of the faces of one picture."""
    return judge.embed([image] * len(faces), [face.landmarks_px for face in faces])


def _exchange(
    image: BgrImage,
    faces: Sequence[Face],
    covered: Sequence[Face],
    strangers: Sequence[Sequence[BgrImage]],
    number: int,
) -> Exchanged:
    """The frame in which each face was exchanged for that stranger's of its own row."""
    shown, places = image.copy(), []
    for place, (face, own) in enumerate(zip(faces, strangers, strict=True)):
        pixels = _pixels(image, face.box_px)
        if pixels and number < len(own):
            shown[pixels] = _with_stranger(shown[pixels], own[number])
            places.append(place)
    tracks = [Track(place, face, TrackState.DETECTED, 0) for place, face in enumerate(covered, 1)]
    cover_faces(picture_from_bgr(shown), tracks, _COVER, DEFAULT_MARGIN)
    return Exchanged(shown, tuple(places))


def _with_stranger(face: BgrImage, stranger: BgrImage) -> BgrImage:
    """A face's box with a stranger's in the oval that covers hide.

    The stranger's is as bright as the face: light is the scene's.
    """
    height, width = face.shape[:2]
    resized = cv2.resize(stranger, (width, height), interpolation=cv2.INTER_AREA)
    gain = max(float(face.mean()), 1.0) / max(float(resized.mean()), 1.0)
    down, right = (np.linspace(-1, 1, 2 * size + 1)[1::2] for size in (height, width))
    is_inside = np.hypot(down[:, None], right[None]) < 1
    return np.where(is_inside[..., None], cv2.convertScaleAbs(resized, alpha=gain), face)


def _pixels(image: BgrImage, box: Box) -> tuple[slice, slice] | None:
    """The window of a box; None where none of it is in the image."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = (round(float(value)) for value in box)
    x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
    return np.s_[y0:y1, x0:x1] if x0 < x1 and y0 < y1 else None
