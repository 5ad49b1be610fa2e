"""What is left of the faces in an anonymized clip: detection, identity, pose, steadiness.

Every figure has its noise floor: what the same networks say of the original alone. A face
under kveil's own cover is told by the cover's paint, never by what a detector fails to see,
and counted apart: the other figures are those of faces that were painted anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.face.alignment import crop_from_picture, inverse_of, kveil_from_landmarks
from engines.pictures import picture_from_bgr
from engines.types import Face
from evaluation.chains import overlap
from evaluation.clips import FramePair
from evaluation.exposure import FaceFinder, Sighting
from evaluation.face_geometry import (
    GEOMETRY_CROP,
    HEAD_CROP,
    GeometryProbe,
    head_from_landmarks,
)
from evaluation.followed_faces import (
    FollowedFace,
    Geometry,
    Steadiness,
    geometry_of,
    movement_of,
    steadiness_of,
)
from evaluation.metrics.flicker import identity_variance, template_spread
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.movement import MovementBand
from evaluation.recognisers import Recogniser
from evaluation.under_cover import is_under_cover

__all__ = ["ClipQuality", "Constancy", "QualityFigures"]

_LEAST_PX: Final = 40.0
_SAME_PLACE: Final = 0.3
_LEAST_TEMPLATES: Final = 5


@dataclass(frozen=True, slots=True)
class Constancy:
    """Whether a track shows one person, by one recogniser; means over tracks.

    Attributes:
        variance: variance of the cosine distance of a frame to the mean of its track.
        original_variance: the same of the originals: the noise floor.
        spread: 1 − length of the mean unit vector; tells slow drift as well.
        original_spread: the same of the originals.
        tracks: tracks of five looks or more.
    """

    variance: float
    original_variance: float
    spread: float
    original_spread: float
    tracks: int


@dataclass(frozen=True, slots=True)
class QualityFigures:
    """Quality of an anonymized clip.

    Attributes:
        covered: share of face-frames under kveil's cover; the rest are `painted`.
        redetected: share of painted face-frames in which a detector still sees a face.
        recognised: by recogniser, share of painted face-frames matched with the original
            of the same frame at the recogniser's own threshold.
        constancy: by recogniser.
        geometry: pose and landmarks against the original's, with their floors.
        steadiness: flicker, motion and trembling against the original's.
        movement: by how far heads are turned, how far faces move as their subjects do.
    """

    covered: Proportion
    redetected: Proportion
    recognised: Mapping[str, Proportion]
    constancy: Mapping[str, Constancy]
    geometry: Geometry
    steadiness: Steadiness
    movement: Sequence[MovementBand] = ()

    def as_dict(self) -> dict[str, object]:
        """The record for a JSON report; figures without probes are None."""
        steady, geometry = self.steadiness, self.geometry
        return {
            "covered": self.covered.as_dict(),
            "redetected": self.redetected.as_dict(),
            "recognised": {name: one.as_dict() for name, one in self.recognised.items()},
            "constancy": {
                name: {slot: getattr(one, slot) for slot in Constancy.__slots__}
                for name, one in self.constancy.items()
            },
            "flicker_ratio": _told(steady.flicker),
            "warp_error_ratio": _told(steady.warp_error),
            "jitter_ratio": _told(steady.jitter),
            "faces": steady.faces,
            "movement": [asdict(band) for band in self.movement],
            **{slot: _told(getattr(geometry, slot)) for slot in Geometry.__slots__},
        }


@dataclass(slots=True)
class ClipQuality:
    """Collects sightings; give `keep` to `measure_exposure`.

    Attributes:
        finder: detector for the anonymized frames.
        judges: recognisers that say whether a track shows one person.
        probe: networks of pose and landmarks.
        every: frames between two in which a face is searched and recognised again.
        most_faces: followed faces whose crops are kept.
        most_frames: frames kept of each.
    """

    finder: FaceFinder
    judges: Sequence[Recogniser] = ()
    probe: GeometryProbe = field(default_factory=GeometryProbe)
    every: int = 5
    most_faces: int = 8
    most_frames: int = 120
    _faces: dict[int, FollowedFace] = field(default_factory=dict)
    _covered: list[tuple[bool, int]] = field(default_factory=list)
    _seen: list[tuple[bool, int]] = field(default_factory=list)
    _matched: dict[str, list[tuple[bool, int]]] = field(default_factory=dict)
    _units: dict[tuple[str, int], list[NDArray[np.float32]]] = field(default_factory=dict)
    _searched: tuple[int, tuple[Face, ...]] = (-1, ())

    def keep(self, seen: Sighting, pair: FramePair) -> None:
        """Takes one face of one frame."""
        is_covered = is_under_cover(pair.anonymized, seen.face)
        self._covered.append((is_covered, seen.chain))
        if is_covered:
            return
        for name in seen.cosines:
            found = (name in seen.recognised_by, seen.chain)
            self._matched.setdefault(name, []).append(found)
        if pair.index % self.every == 0:
            self._search(seen, pair)
            self._recognise(seen, pair)
        if seen.size_px >= _LEAST_PX:
            self._keep_crop(seen, pair)

    def figures(self) -> QualityFigures:
        """The figures of all that was taken."""
        faces = list(self._faces.values())
        return QualityFigures(
            covered=_share(self._covered),
            redetected=_share(self._seen),
            recognised={name: _share(found) for name, found in self._matched.items()},
            constancy={judge.name: self._constancy(judge.name) for judge in self.judges},
            geometry=geometry_of(faces, self.probe),
            steadiness=steadiness_of(faces, self.probe),
            movement=movement_of(faces, self.probe),
        )

    def _search(self, seen: Sighting, pair: FramePair) -> None:
        if self._searched[0] != pair.index:
            self._searched = (pair.index, tuple(self.finder.find(pair.anonymized)))
        box = seen.face.box_px
        there = any(overlap(box, face.box_px) >= _SAME_PLACE for face in self._searched[1])
        self._seen.append((there, seen.chain))

    def _recognise(self, seen: Sighting, pair: FramePair) -> None:
        points = [seen.face.landmarks_px] * 2
        for judge in self.judges:
            both = judge.embed([pair.original, pair.anonymized], points)
            self._units.setdefault((judge.name, seen.chain), []).append(both)

    def _constancy(self, name: str) -> Constancy:
        tracks = [
            np.stack(units)
            for (judge, _), units in self._units.items()
            if judge == name and len(units) >= _LEAST_TEMPLATES
        ]
        if not tracks:
            return Constancy(0.0, 0.0, 0.0, 0.0, 0)
        rows = [
            (
                identity_variance(one[:, 1]),
                identity_variance(one[:, 0]),
                template_spread(one[:, 1]),
                template_spread(one[:, 0]),
            )
            for one in tracks
        ]
        variance, original, spread, original_spread = np.mean(rows, axis=0).tolist()
        return Constancy(variance, original, spread, original_spread, len(tracks))

    def _keep_crop(self, seen: Sighting, pair: FramePair) -> None:
        followed = self._faces.get(seen.chain)
        if followed is None:
            if len(self._faces) >= self.most_faces:
                return
            followed = self._faces.setdefault(seen.chain, FollowedFace())
        if len(followed.frames) >= self.most_frames:
            return
        try:
            # One map for a whole chain would show the motion of the head as an error, and
            # one per picture the jitter of landmarks: both pictures share the original's.
            crop_from_frame = kveil_from_landmarks(seen.face.landmarks_px, GEOMETRY_CROP)
            head_from_frame = head_from_landmarks(seen.face.landmarks_px)
            (face, head), (new_face, new_head) = (
                (
                    crop_from_picture(picture, crop_from_frame, GEOMETRY_CROP),
                    crop_from_picture(picture, head_from_frame, HEAD_CROP),
                )
                for picture in map(picture_from_bgr, (pair.original, pair.anonymized))
            )
        except EngineFault:
            return
        back = inverse_of(crop_from_frame)
        followed.add(pair.index, face, new_face, back, (head, new_head))


def _share(rows: Sequence[tuple[bool, int]]) -> Proportion:
    return clustered([hit for hit, _ in rows], [chain for _, chain in rows])


def _told(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
