"""Carries landmarks from frame to frame with the pixels they lie on.

Landmarks are read anew in every frame and tremble. The pixels of the face say far more exactly
how far each of them went since the frame before, though not where it is. Neighbouring frames'
landmarks that have come along with the pixels differ by their noise alone, however the head
turns, the camera shakes or the brows rise; their mean is calm and late for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import EYES, Similarity, inverse_of, luma_from_picture, moved
from engines.face.face_look import Look, crop_with_eyes
from engines.pictures import Picture

__all__ = ["FaceFlow", "flow_between"]

_SIDE: Final = 96
"""Of the crops that are compared, px; flow in larger ones costs more and tells little more."""
_STRIDE_PX: Final = 4
_DESCENTS: Final = 12
_REFINEMENTS: Final = 1
"""Smaller strides and more rounds cost more; see `kveil bench --faces` for what flow costs."""

_MIDDLE: Final = np.array(
    [(x, y) for y in np.linspace(0.2, 0.9, 24) for x in np.linspace(0.2, 0.8, 24)], np.float32
) * np.float32(_SIDE)
"""(N, 2) places in such a crop, px, that lie on any face."""

Float32 = NDArray[np.float32]
Grey = NDArray[np.uint8]


class _Search(threading.local):
    """A search of flow, with memory of its own, for each thread."""

    def __init__(self) -> None:
        self.search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        self.search.setPatchStride(_STRIDE_PX)
        self.search.setGradientDescentIterations(_DESCENTS)
        self.search.setVariationalRefinementIterations(_REFINEMENTS)


_of_this_thread: Final = _Search()


@dataclass(frozen=True, slots=True)
class _View:
    """Pixels of a face whose eyes lie in their places.

    Attributes:
        grey: uint8[_SIDE, _SIDE].
        crop_from_frame: their map.
        frame_from_crop: the map back.
    """

    grey: Grey
    crop_from_frame: Similarity
    frame_from_crop: Similarity


@dataclass(slots=True)
class FaceFlow:
    """Follows the pixels of one face through the frames that were looked at.

    Memory: a crop of 9 kB per frame, and two fields of 74 kB per pair of them.
    """

    _views: dict[int, _View] = field(default_factory=dict, repr=False)
    _flows: dict[tuple[int, int], Float32] = field(default_factory=dict, repr=False)

    def add(self, look: Look, picture: Picture) -> None:
        """Takes a look that can be followed, of any frame; `picture` has the frame's pixels."""
        one = crop_with_eyes(look.motion, EYES, _SIDE)
        grey = luma_from_picture(picture, one, _SIDE)
        self._views[look.index] = _View(grey, one, inverse_of(one))

    def keep(self, indices: Collection[int]) -> None:
        """Forgets all other frames."""
        if self._views.keys() <= set(indices):
            return
        self._views = {index: one for index, one in self._views.items() if index in indices}
        self._flows = {
            pair: flow for pair, flow in self._flows.items() if set(pair) <= self._views.keys()
        }

    def carried(self, points: Float32, source: int, target: int) -> Float32 | None:
        """Landmarks of one frame where their pixels lie in another.

        Args:
            points: float32[N, 2] px of the frame `source`.
            source: index of a frame.
            target: index of another.

        Returns:
            float32[N, 2] px of the frame `target`; None where one of both was not looked at.
        """
        found = self.gathered(points[None], [source], target)
        return None if found is None else found[0]

    def gathered(self, points: Float32, sources: Sequence[int], target: int) -> Float32 | None:
        """Landmarks of several frames where their pixels lie in one.

        Who is on the way already goes on together with those who join: a step is looked up once.

        Args:
            points: float32[K, N, 2] px of their frames.
            sources: indices of these K frames.
            target: index of the frame they are brought to.

        Returns:
            float32[K, N, 2] px of the frame `target`; None where one of all was not looked at.
        """
        if not self._views.keys() >= {*sources, target}:
            return None
        maps = np.stack([self._views[source].crop_from_frame for source in sources])
        points = np.asarray(points @ maps[:, :, :2].transpose(0, 2, 1) + maps[:, None, :, 2])
        known = sorted(self._views)
        before = [index for index in known if min(sources) <= index <= target]
        after = [index for index in known if target <= index <= max(sources)]
        rows: dict[int, list[int]] = {}
        for row, source in enumerate(sources):
            rows.setdefault(source, []).append(row)
        for way in (before, after[::-1]):
            on_the_way: list[int] = []
            for here, there in pairwise(way):
                on_the_way += rows.get(here, ())
                if (here, there) not in self._flows:
                    start, end = self._views[here], self._views[there]
                    self._flows[here, there] = flow_between(start.grey, end.grey)
                points[on_the_way] += _sampled(self._flows[here, there], points[on_the_way])
        return moved(self._views[target].frame_from_crop, points)

    def changed(self, here: Float32, index: int, there: Float32, other: int) -> Float32:
        """How much brighter places of one frame are than the same places in another.

        Args:
            here: float32[N, 2] px of the frame `index`.
            index: of a frame that was looked at.
            there: float32[N, 2] px of the frame `other`, where they lie there.
            other: of another.

        Returns:
            float32[N], grey levels; 0 where both look alike.
        """
        return self._grey_at(here, index) - self._grey_at(there, other)

    def likeness(self, source: int, target: int) -> float:
        """How alike the middle of the face looks in two frames where its pixels come along.

        Args:
            source: index of a frame.
            target: index of another.

        Returns:
            Correlation of grey levels, -1 to 1: near 1 where nothing came before the face; 0 where
            one of both was not looked at.
        """
        if not self._views.keys() >= {source, target}:
            return 0.0
        here = moved(inverse_of(self._views[source].crop_from_frame), _MIDDLE[None])[0]
        there = self.gathered(here[None], [source], target)
        assert there is not None, "both frames were looked at"
        both = self._grey_at(here, source), self._grey_at(there[0], target)
        one, other = (grey - grey.mean() for grey in both)
        return float(one @ other) / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-6)

    def _grey_at(self, points: Float32, index: int) -> Float32:
        view = self._views[index]
        return np.asarray(_sampled(view.grey, moved(view.crop_from_frame, points[None]))[0])


def _sampled(crop: Grey | Float32, places: Float32) -> Float32:
    """A crop [S, S] or [S, S, C] at places float32[K, N, 2] px of it: float32[K, N(, C)]."""
    # OpenCV counts from a pixel's centre, a map from its corner.
    x, y = cv2.split(places - np.float32(0.5))
    found = cv2.remap(crop, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(found, np.float32)


def flow_between(before: Grey, after: Grey) -> Float32:
    """Where every pixel went: dense inverse search (Kroeger et al. 2016), float32[S, S, 2] px.

    Args:
        before: uint8[S, S].
        after: uint8[S, S] of another frame, the face in about the same place.
    """
    flow = np.zeros((*before.shape, 2), np.float32)  # where the search begins
    return np.asarray(_of_this_thread.search.calc(before, after, flow), np.float32)
