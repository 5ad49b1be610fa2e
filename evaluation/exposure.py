"""Attack A12: on how many face-frames of a clip is the face bare or still recognisable.

A detector that kveil does not use by default looks at every original frame; the same places
of the anonymized frame are compared with what was there. A face is *bare* when its light
hardly changed and its details are the same, and *recognisable* when an independent recogniser
still matches it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from evaluation.bare import central_difference, is_bare
from evaluation.chains import LONGEST_GAP, ChainLinker, overlap
from evaluation.clips import FramePair
from evaluation.footage_floor import FootageFloor, excess
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.recognisers import Embeddings, Recogniser, refuse_equal_names
from evaluation.surroundings import Exchanged, StrangerFaces, compare_surroundings, face_vectors

__all__ = ["Exposure", "FaceFinder", "Sighting", "measure_exposure"]
__all__ += ["SIZE_EDGES_PX", "face_size_px", "size_label"]

_PLAIN_GREY = 128
SIZE_EDGES_PX = (16, 24, 32, 48, 64, 96, 160)
"""Borders of the size classes of the report, px."""


class FaceFinder(Protocol):
    """A detector that sees all faces of a frame at whatever scale that takes."""

    @property
    def name(self) -> str:
        """Shown in the report."""

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """Faces of an H×W×3 uint8 BGR image, in its pixels."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One face in one frame, before and after.

    Attributes:
        frame: number of the frame, from 0.
        chain: number of the detector's chain, from 1.
        face: where the detector saw it in the original.
        size_px: geometric mean of the box's sides.
        change: mean absolute difference on the central half of the box, grey levels.
        cosines: similarity of before and after, by recogniser.
        is_bare: see `evaluation.bare`.
        recognised_by: recognisers whose threshold the similarity exceeds.
        surroundings: by recogniser, similarity of the face to its own frame with strangers under
            covers; empty where the clip shows nobody else.

    Sizes matter: see `evaluation.footage_floor` for what a match of a small face is worth.
    """

    frame: int
    chain: int
    face: Face
    size_px: float
    change: float
    cosines: dict[str, float]
    is_bare: bool
    recognised_by: frozenset[str]
    surroundings: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Exposure:
    """What A12 saw of one pair of clips.

    Attributes:
        frames: frames looked at.
        sightings: every face in every frame.
        templates: per chain and recogniser the sums of unit vectors before and after, for
            whole-track attacks.
        floors: per recogniser, what it takes for a match among strangers and surroundings of
            this footage.
        strangers: per recogniser, (matches, pairs) between an original face and the
            anonymized place of *another* face in the same frame: the chance floor.
        originals: the same between original faces of one frame: the false match rate of
            the recogniser on this footage.
    """

    frames: int = 0
    sightings: list[Sighting] = field(default_factory=list)
    templates: dict[tuple[int, str], NDArray[np.float64]] = field(default_factory=dict)
    floors: dict[str, FootageFloor] = field(default_factory=dict)
    strangers: dict[str, tuple[int, int]] = field(default_factory=dict)
    originals: dict[str, tuple[int, int]] = field(default_factory=dict)

    def bare(self, least_px: float = 0, most_px: float = np.inf) -> Proportion:
        """Share of bare face-frames with a size in [least_px, most_px)."""
        chosen = [seen for seen in self.sightings if least_px <= seen.size_px < most_px]
        return clustered([seen.is_bare for seen in chosen], [seen.chain for seen in chosen])

    def recognisable(
        self, recogniser: str, least_px: float = 0, most_px: float = np.inf
    ) -> Proportion:
        """Share of face-frames that `recogniser` still matches, within a range of sizes."""
        chosen = [seen for seen in self.sightings if least_px <= seen.size_px < most_px]
        events = [recogniser in seen.recognised_by for seen in chosen]
        return clustered(events, [seen.chain for seen in chosen])

    def identified(
        self, recogniser: str, least_px: float = 0, most_px: float = np.inf
    ) -> Proportion:
        """Share of face-frames matched beyond what strangers and surroundings here reach."""
        return self._share(self.beyond_floor(recogniser), least_px, most_px)

    def identified_with_surroundings(self, recogniser: str) -> Proportion:
        """The same where what is left around a cover counts as well."""
        return self._share(self.beyond_strangers(recogniser), 0, np.inf)

    def beyond_floor(self, recogniser: str) -> list[bool]:
        """For each sighting, whether it matches beyond what strangers and surroundings reach."""
        floor = self.floors.get(recogniser)
        if floor is None:
            return [False] * len(self.sightings)
        edges = {size: floor.surroundings_excess(size) for size in _FLOOR_SIZES}
        return [
            is_beyond and _exceeds_surroundings(seen, recogniser, edges[_floor_size(seen)])
            for is_beyond, seen in zip(
                self.beyond_strangers(recogniser), self.sightings, strict=True
            )
        ]

    def beyond_strangers(self, recogniser: str) -> list[bool]:
        """For each sighting, whether it matches beyond what strangers and grey pictures reach."""
        floor = self.floors.get(recogniser)
        if floor is None:
            return [False] * len(self.sightings)
        edges = {size: floor.threshold(size) for size in _FLOOR_SIZES}
        return [seen.cosines[recogniser] > edges[_floor_size(seen)] for seen in self.sightings]

    def _share(self, events: Sequence[bool], least_px: float, most_px: float) -> Proportion:
        chosen = [
            (event, seen.chain)
            for event, seen in zip(events, self.sightings, strict=True)
            if least_px <= seen.size_px < most_px
        ]
        return clustered([event for event, _ in chosen], [chain for _, chain in chosen])

    def exposed_chains(self) -> Proportion:
        """Share of chains with at least one bare face-frame."""
        chains = sorted({seen.chain for seen in self.sightings})
        bare = {seen.chain for seen in self.sightings if seen.is_bare}
        return clustered([chain in bare for chain in chains], chains)


_FLOOR_SIZES = (0.0, 32.0, 64.0)
Keep = Callable[[Sighting, FramePair], None]


def _floor_size(seen: Sighting) -> float:
    """Where the size class of the floor begins, px."""
    return max(size for size in _FLOOR_SIZES if size <= seen.size_px)


def _exceeds_surroundings(seen: Sighting, recogniser: str, edge: float) -> bool:
    """Whether a sighting matches more than its surroundings alone; true where these are unknown."""
    alone = seen.surroundings.get(recogniser, ())
    return not alone or excess(seen.cosines[recogniser], alone) > edge


def face_size_px(face: Face) -> float:
    """Geometric mean of the box's sides, px."""
    width, height = np.maximum(face.box_px[2:] - face.box_px[:2], 0)
    return float(np.sqrt(width * height))


def size_label(size_px: float) -> str:
    """The size class of a face.

    >>> size_label(20), size_label(500)
    ('16-24 px', '160+ px')
    """
    for low, high in pairwise(SIZE_EDGES_PX):
        if size_px < high:
            return f"{low}-{high} px"
    return f"{SIZE_EDGES_PX[-1]}+ px"


def measure_exposure(
    pairs: Iterable[FramePair],
    finder: FaceFinder,
    recognisers: Sequence[Recogniser],
    *,
    every: int = 1,
    least_px: float = SIZE_EDGES_PX[0],
    least_score: float = 0.5,
    keep: Keep | None = None,
) -> Exposure:
    """Runs A12 over a pair of clips, holding one pair of frames at a time.

    Args:
        pairs: frames of both clips.
        finder: detector for the originals; not the one that made the anonymized clip.
        recognisers: judges; align by the original's landmarks on both pictures.
        every: from the index of one of these pairs to that of the next, so that a person is
            still one person where most frames are left out.
        least_px: smaller faces are not counted.
        least_score: detections below it are not counted; smaller counts more non-faces.
        keep: called with every sighting, for contact sheets.

    Raises:
        ClipsDiffer: the clips do not match.
        RecogniserRejected: two recognisers have one name.
        EngineFault: a network failed.
    """
    refuse_equal_names([judge.name for judge in recognisers])
    exposure, linker = Exposure(), ChainLinker(longest_gap=LONGEST_GAP * every)
    others = StrangerFaces()
    for pair in pairs:
        exposure.frames += 1
        faces = [
            face
            for face in finder.find(pair.original)
            if face.score >= least_score and face_size_px(face) >= least_px
        ]
        chains = linker.link(pair.index, faces)
        exchanged = others.exchange(pair.original, faces, chains) if recognisers else ()
        for seen in _sightings(pair, faces, chains, recognisers, exposure, exchanged):
            exposure.sightings.append(seen)
            if keep is not None:
                keep(seen, pair)
    return exposure


def _sightings(
    pair: FramePair,
    faces: Sequence[Face],
    chains: Sequence[int],
    recognisers: Sequence[Recogniser],
    exposure: Exposure,
    exchanged: Sequence[Exchanged],
) -> list[Sighting]:
    if not faces:
        return []
    cosines, surroundings = {}, {}
    for judge in recognisers:
        before = face_vectors(judge, pair.original, faces)
        cosines[judge.name] = _compare(pair, faces, chains, judge, exposure, before)
        surroundings[judge.name] = compare_surroundings(judge, faces, before, exchanged)
        for face, some in zip(faces, surroundings[judge.name], strict=True):
            exposure.floors[judge.name].add_surroundings(some, face_size_px(face))
    seen = []
    for place, (face, chain) in enumerate(zip(faces, chains, strict=True)):
        change = central_difference(pair.original, pair.anonymized, face.box_px)
        own = {name: float(values[place]) for name, values in cosines.items()}
        kept = {name: values[place] for name, values in surroundings.items()}
        judges = [judge for judge in recognisers if own[judge.name] > judge.threshold]
        matched = frozenset(judge.name for judge in judges)
        bare = is_bare(pair.original, pair.anonymized, face.box_px)
        size = face_size_px(face)
        seen.append(Sighting(pair.index, chain, face, size, change, own, bare, matched, kept))
    return seen


def _compare(
    pair: FramePair,
    faces: Sequence[Face],
    chains: Sequence[int],
    judge: Recogniser,
    exposure: Exposure,
    before: Embeddings,
) -> NDArray[np.float32]:
    """Cosines of each face with its anonymized place; also feeds templates and floors."""
    after = face_vectors(judge, pair.anonymized, faces)
    for place, chain in enumerate(chains):
        both = np.stack([before[place], after[place]]).astype(np.float64)
        key = (chain, judge.name)
        exposure.templates[key] = exposure.templates.get(key, 0.0) + both
    apart = np.array([[overlap(a.box_px, b.box_px) == 0 for b in faces] for a in faces], bool)
    np.fill_diagonal(apart, val=False)
    sizes = np.array([face_size_px(face) for face in faces])
    floor = exposure.floors.setdefault(judge.name, FootageFloor(judge))
    floor.add((before @ before.T)[apart], np.minimum(sizes[:, None], sizes[None])[apart])
    nobody = face_vectors(judge, np.full_like(pair.original, _PLAIN_GREY), faces)
    floor.add(np.asarray((before * nobody).sum(axis=1), np.float32), sizes)
    _count(exposure.strangers, judge, (before @ after.T)[apart])
    _count(exposure.originals, judge, (before @ before.T)[apart])
    return np.asarray((before * after).sum(axis=1), np.float32)


def _count(
    table: dict[str, tuple[int, int]], judge: Recogniser, scores: NDArray[np.float32]
) -> None:
    matches, pairs = table.get(judge.name, (0, 0))
    hits = int((scores > judge.threshold).sum())
    table[judge.name] = (matches + hits, pairs + scores.size)
