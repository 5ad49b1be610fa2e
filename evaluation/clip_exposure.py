"""What attack A12 found in one clip, as figures that can be kept and counted again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from evaluation.clip_controls import run_clip_controls
from evaluation.clips import paired
from evaluation.exposure import Exposure, FaceFinder, Keep, measure_exposure
from evaluation.recognisers import Recogniser
from evaluation.size_thresholds import SizeThreshold

__all__ = [
    "EXPOSURE_SCHEMA",
    "ClipExposure",
    "FaceFrame",
    "FalseAlarm",
    "measure_clip_exposure",
    "read_exposure",
    "read_false_alarms",
]

EXPOSURE_SCHEMA: Final = "kveil.evaluation.exposure/2"
"""Changes where face-frames are counted otherwise, so that no older figures are taken over."""
_SAME_PLACE: Final = 0.5
"""Distance between a find and a false alarm over the find's size, at most."""
_JUDGES: Final = ("identified_by", "identified_with_surroundings_by")
"""Fields of a face-frame that name recognisers."""


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A find of the evaluator's detector that a person looked at and that is no face.

    Attributes:
        clip: name of the file.
        frame: number of the frame, from 0.
        x: centre, px.
        y: centre, px.
        shows: what is there, in words.
    """

    clip: str
    frame: int
    x: float
    y: float
    shows: str


@dataclass(frozen=True, slots=True)
class FaceFrame:
    """One face in one frame; see `evaluation.exposure.Sighting`.

    Attributes:
        frame: number of the frame, from 0.
        chain: number of the chain.
        x: centre, px.
        y: centre, px.
        size: geometric mean of the box's sides, px.
        is_bare: hardly changed.
        cosines: similarity of before and after, by recogniser.
        identified_by: recognisers that match it beyond the footage's own floor.
        identified_with_surroundings_by: the same where what is left around the cover counts too.
    """

    frame: int
    chain: int
    x: float
    y: float
    size: float
    is_bare: bool
    cosines: Mapping[str, float]
    identified_by: tuple[str, ...] = ()
    identified_with_surroundings_by: tuple[str, ...] = ()

    def is_at(self, alarm: FalseAlarm) -> bool:
        """Whether this is the place that the false alarm names."""
        away = float(np.hypot(self.x - alarm.x, self.y - alarm.y))
        return self.frame == alarm.frame and away <= _SAME_PLACE * self.size


@dataclass(frozen=True, slots=True)
class ClipExposure:
    """All face-frames of one clip, and the controls beside them.

    Attributes:
        clip: name of the file.
        frames: frames compared.
        faces: every face-frame.
        strangers: matches and pairs of a face with another face's cover, by recogniser.
        blank: matches and pairs of a face with a frame of one colour, by recogniser.
        controls_hold: the planted leak was found and the blank frame was not.
        every: frames from one that was compared to the next.
    """

    clip: str
    frames: int
    faces: Sequence[FaceFrame]
    strangers: Mapping[str, tuple[int, int]]
    blank: Mapping[str, tuple[int, int]]
    controls_hold: bool
    every: int = 1

    def without(self, alarms: Sequence[FalseAlarm]) -> ClipExposure:
        """The same without the known false alarms."""
        return replace(
            self, faces=[face for face in self.faces if not self._is_alarm(face, alarms)]
        )

    def bare(self) -> list[FaceFrame]:
        """The bare face-frames."""
        return [face for face in self.faces if face.is_bare]

    def identified(self, judge: str) -> list[FaceFrame]:
        """The face-frames that a recogniser matches beyond the footage's own floor."""
        return [face for face in self.faces if judge in face.identified_by]

    def identified_with_surroundings(self, judge: str) -> list[FaceFrame]:
        """The same where what is left around the cover counts too."""
        return [face for face in self.faces if judge in face.identified_with_surroundings_by]

    def recognised(
        self, judge: str, thresholds: Sequence[SizeThreshold] | float
    ) -> list[FaceFrame]:
        """The face-frames that a recogniser matches, at one threshold or at one by size."""
        return [
            face
            for face in self.faces
            if face.cosines[judge] > _threshold_of(face.size, thresholds)
        ]

    def write(self, path: Path) -> None:
        """Writes the record as JSON, whole or not at all."""
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)))
        partial.replace(path)

    def _is_alarm(self, face: FaceFrame, alarms: Sequence[FalseAlarm]) -> bool:
        return any(alarm.clip == self.clip and face.is_at(alarm) for alarm in alarms)


def _threshold_of(size: float, thresholds: Sequence[SizeThreshold] | float) -> float:
    if isinstance(thresholds, float):
        return thresholds
    return next(one.value for one in thresholds if size < one.most_px)


def read_exposure(path: Path) -> ClipExposure:
    """The record that `ClipExposure.write` wrote."""
    values = json.loads(path.read_text("utf-8"))
    return ClipExposure(
        clip=values["clip"],
        frames=values["frames"],
        faces=[
            FaceFrame(**face | {name: tuple(face[name]) for name in _JUDGES})
            for face in values["faces"]
        ],
        strangers=_pairs(values["strangers"]),
        blank=_pairs(values["blank"]),
        controls_hold=values["controls_hold"],
        every=values.get("every", 1),
    )


def read_false_alarms(path: Path) -> list[FalseAlarm]:
    """The finds of a TOML file that a person looked at and that are no faces; none without it."""
    values = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    return [FalseAlarm(**one) for one in values.get("alarm", [])]


def _pairs(values: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, int]]:
    return {name: (int(hits), int(probes)) for name, (hits, probes) in values.items()}


def measure_clip_exposure(
    original: Path,
    anonymized: Path,
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    *,
    every: int = 1,
    keep: Keep | None = None,
) -> ClipExposure:
    """Runs A12 with its controls on one pair of clips.

    Args:
        original: the clip as recorded.
        anonymized: what was made of it.
        finder: detector for the originals.
        judges: recognisers that took no part in making the anonymized clip.
        every: frames from one that is compared to the next; 1 compares all.
        keep: gets every sighting, for contact sheets.

    Raises:
        ClipsDiffer: the clips do not match.
        FacesUnreadable: one of them is no clip.
        EngineFault: a network failed.
    """
    pairs = (pair for pair in paired(original, anonymized) if pair.index % every == 0)
    exposure = measure_exposure(pairs, finder, judges, every=every, keep=keep)
    same = paired(original, original)
    controls = run_clip_controls(same, finder, judges, floors=exposure.floors)
    return ClipExposure(
        original.name,
        exposure.frames,
        _face_frames(exposure, judges),
        {judge.name: exposure.strangers.get(judge.name, (0, 0)) for judge in judges},
        {judge.name: _counts(controls.cover, judge) for judge in judges},
        controls.hold(judges),
        every,
    )


def _counts(exposure: Exposure, judge: Recogniser) -> tuple[int, int]:
    matched = exposure.recognisable(judge.name)
    return matched.hits, matched.probes


def _face_frames(exposure: Exposure, judges: Sequence[Recogniser]) -> list[FaceFrame]:
    beyond = {judge.name: exposure.beyond_floor(judge.name) for judge in judges}
    with_surroundings = {judge.name: exposure.beyond_strangers(judge.name) for judge in judges}
    rows = []
    for place, seen in enumerate(exposure.sightings):
        x, y = (float(value) for value in (seen.face.box_px[:2] + seen.face.box_px[2:]) / 2)
        rows.append(
            FaceFrame(
                seen.frame,
                seen.chain,
                x,
                y,
                seen.size_px,
                seen.is_bare,
                seen.cosines,
                _judges_of(beyond, place),
                _judges_of(with_surroundings, place),
            )
        )
    return rows


def _judges_of(events: Mapping[str, Sequence[bool]], place: int) -> tuple[str, ...]:
    return tuple(name for name, some in events.items() if some[place])
