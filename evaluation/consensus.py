"""True faces of a clip by consensus of two detectors that the product does not use.

What both find is a face, and so is what one of them finds where both find a face just before or
just after. What else one of them finds is disputed: it counts neither for nor against anybody,
and is shown to whoever reads the figures. Nor does a place count where a face was known just
before and is again just after: it is there, hardly seen, or somebody is before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engines.detectors.detector import overlaps_of
from engines.types import Box, Face

__all__ = ["LEAST_SCORE", "Consensus", "bridged", "consensus", "steadied"]

_SAME_FACE: Final = 0.35
"""Intersection over union from which two finds are one face."""
_SURE_SCORE: Final = 0.5
"""Score that a find needs to be disputed; one that both detectors share may score less."""
LEAST_SCORE: Final = 0.3
"""Score that a find needs which both detectors share."""
_STEADY_FRAMES: Final = 4
"""Frames before and after a disputed find in which a face at its place settles it."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """The faces of one frame.

    Attributes:
        faces: those that both detectors found.
        disputed: those that one found with a good score and the other did not.
        by_eye: boxes of those that a person took for faces, which detectors do not agree on.
        between: boxes where a face was known just before and is again just after.
    """

    faces: tuple[Face, ...]
    disputed: tuple[Face, ...]
    by_eye: tuple[Box, ...] = ()
    between: tuple[Box, ...] = ()

    @property
    def boxes(self) -> list[Box]:
        """Where faces are, or may be."""
        found = (face.box_px for face in self.faces + self.disputed)
        return [*found, *self.by_eye, *self.between]


def consensus(first: Sequence[Face], second: Sequence[Face]) -> Consensus:
    """Compares what two detectors found in one frame.

    >>> box = np.array([0, 0, 40, 40], np.float32)
    >>> here = Face(box, np.zeros((5, 2), np.float32), 0.9)
    >>> there = Face(box + 100, np.zeros((5, 2), np.float32), 0.9)
    >>> found = consensus([here, there], [here])
    >>> len(found.faces), len(found.disputed)
    (1, 1)
    """
    shared = [face for face, is_met in _marked(first, second) if is_met]
    pairs = [*_marked(first, second), *_marked(second, first)]
    alone = [face for face, is_met in pairs if not is_met]
    disputed = tuple(face for face in alone if face.score >= _SURE_SCORE)
    return Consensus(tuple(shared), disputed)


def steadied(frames: Sequence[Consensus]) -> list[Consensus]:
    """Settles disputed finds by the frames around them.

    Args:
        frames: of one clip, in order.
    """
    settled = []
    for index, frame in enumerate(frames):
        around = frames[max(0, index - _STEADY_FRAMES) : index + _STEADY_FRAMES + 1]
        known = [face for other in around for face in other.faces]
        pairs = _marked(frame.disputed, known)
        faces = frame.faces + tuple(face for face, known in pairs if known)
        settled.append(Consensus(faces, tuple(face for face, known in pairs if not known)))
    return settled


def bridged(frames: Sequence[Consensus]) -> list[Consensus]:
    """Fills in the places between two sights of a face that lie close together.

    Args:
        frames: of one clip, in order.

    >>> box = np.array([0, 0, 40, 40], np.float32)
    >>> seen, unseen = Consensus((), (), (box,)), Consensus((), ())
    >>> [len(one.between) for one in bridged([unseen, seen, unseen, seen, unseen])]
    [0, 0, 1, 0, 0]
    """
    between: list[list[Box]] = [[] for _ in frames]
    known = [frame.boxes for frame in frames]
    for first, boxes in enumerate(known):
        for box in boxes:
            steps, end = _seen_again(box, known[first + 1 : first + 1 + _STEADY_FRAMES])
            for step in range(1, steps):
                between[first + step].append(box + np.float32(step / steps) * (end - box))
    return [
        replace(frame, between=tuple(some)) for frame, some in zip(frames, between, strict=True)
    ]


def _seen_again(box: Box, later: Sequence[Sequence[Box]]) -> tuple[int, Box]:
    """After how many frames a face is seen again at its place, and where; 0 where it is not."""
    for step, boxes in enumerate(later, 1):
        others = np.array(boxes, np.float64).reshape(-1, 4)
        shared = overlaps_of(box[None].astype(np.float64), others)[0]
        if shared.max(initial=0.0) >= _SAME_FACE:
            return step, boxes[int(shared.argmax())]
    return 0, box


def _marked(faces: Sequence[Face], others: Sequence[Face]) -> list[tuple[Face, bool]]:
    """Each face, and whether it is one of the others."""
    boxes = [
        np.array([face.box_px for face in some], np.float64).reshape(-1, 4)
        for some in (faces, others)
    ]
    best = overlaps_of(*boxes).max(axis=1, initial=0.0)
    return [(face, value >= _SAME_FACE) for face, value in zip(faces, best.tolist(), strict=True)]
