"""How fast eight faces are swapped in 1080p, by one process and by several, in one run.

All of it but decoding and encoding: frames are searched, faces followed, drawn and laid.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import cv2
import numpy as np

from benchmarks.scenes import coded_picture, largest_face, moved_face
from config.settings import Settings
from engines.blending.compositor import compose
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face, Frame, Track, TrackState
from stream.files.demo_clip import portrait
from stream.files.track_run import recording_anonymizer
from stream.media.ends import StreamShape
from stream.pipeline.engine_set import EngineSet, SwapEngines, open_engines
from stream.pipeline.methods import SWAP
from stream.pipeline.stage_clock import StageClock
from stream.swap.lending import GalleryLender, gallery_from_settings
from stream.swap.swap_setup import swap_by

__all__ = ["CrowdCost", "crowd_table", "measure_crowd"]

_COLUMNS: Final = 4
_ROWS: Final = 2
_HEIGHT: Final = 1080
_WIDTH: Final = 1920
_RATE: Final = 30
_FRAMES: Final = 120
_UNTIMED: Final = 30
"""Frames in which processes start, networks are made ready and new people are asked for."""
_SWAY: Final = 12.0
"""How far heads move to either side, px; they nod and come nearer too."""
_TURN_DEG: Final = 4.0
_NEARER: Final = 0.03
_PERIOD: Final = 45
_FACES_PX: Final = (108, 216)
"""Heights of faces in the picture, a tenth and a fifth of its own."""


@dataclass(frozen=True, slots=True)
class CrowdCost:
    """What a crowd costs.

    Attributes:
        face_px: height of a face.
        processes: that drew faces; 1 for the one that did everything else too.
        frame_ms: mean time per frame.
        swapped: share of the faces that got a surrogate.
    """

    face_px: int
    processes: int
    frame_ms: float
    swapped: float


def measure_crowd(settings: Settings) -> list[CrowdCost]:
    """Swaps crowds in one process, then in as many as the settings give.

    Raises:
        ModelMissing, ModelRejected, BackendMissing: a network or runtime is not there.
        EngineFault: one failed, or the detector finds no face in the portrait.
    """
    settings = settings.model_copy(update={"method": SWAP})
    costs, crowds = [], dict[int, list[Frame]]()
    for wanted in (1, settings.limits.drawing_processes):
        limits = settings.limits.model_copy(update={"drawing_processes": wanted})
        chosen = settings.model_copy(update={"limits": limits})
        with open_engines(chosen, is_recorded=True) as engines:
            for face_px in _FACES_PX:
                if face_px not in crowds:
                    crowds[face_px] = list(_crowd(engines, face_px))
                costs.append(_measured(chosen, engines, crowds[face_px], face_px))
    return costs


def crowd_table(costs: Sequence[CrowdCost]) -> str:
    """The costs as a Markdown table."""
    lines = [
        f"{_COLUMNS * _ROWS} faces in {_WIDTH}×{_HEIGHT}, without decoding and encoding:",
        "",
        "| faces' height | processes that draw | a frame, ms | frames a second | faces swapped |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.face_px} px | {one.processes} | {one.frame_ms:.1f} "
        f"| {1e3 / one.frame_ms:.1f} | {one.swapped:.1%} |"
        for one in sorted(costs, key=lambda one: one.face_px)
    ]
    return "\n".join(lines)


def _measured(
    settings: Settings, engines: EngineSet, frames: Sequence[Frame], face_px: int
) -> CrowdCost:
    swap = engines.swap
    assert swap is not None
    with ExitStack() as ends:
        gallery = gallery_from_settings(settings, swap.donors, swap.thresholds)
        ends.callback(gallery.close)
        replacer = swap_by(swap, GalleryLender(gallery, "crowd"), settings)
        shape = StreamShape(_HEIGHT, _WIDTH, Fraction(_RATE), Fraction(1, _RATE), _FRAMES)
        subject = recording_anonymizer(settings, engines, replacer, shape, StageClock())
        ends.callback(subject.close)
        done, started_s = 0, time.perf_counter()
        for frame in frames:
            # Planes are changed in place.
            done += len(subject.push(replace(frame, picture=frame.picture.copy())))
            if done < _UNTIMED:
                first, started_s = done, time.perf_counter()
        done += len(subject.flush())
        spent_s = time.perf_counter() - started_s
        faces = subject.tally.faces()
    processes = 1 if swap.crew is None else swap.crew.size
    share = faces.swapped / max(faces.swapped + faces.covered, 1)
    return CrowdCost(face_px, processes, 1e3 * spent_s / (done - first), share)


def _crowd(engines: EngineSet, face_px: int) -> Iterator[Frame]:
    """Frames in which eight people move their heads."""
    people = _people(engines, face_px)
    height, width = _HEIGHT // _ROWS, _WIDTH // _COLUMNS
    for number in range(_FRAMES):
        cells = [
            _moved(person, 2 * math.pi * (number / _PERIOD + place / len(people)), height, width)
            for place, person in enumerate(people)
        ]
        rows = [np.hstack(cells[row * _COLUMNS :][:_COLUMNS]) for row in range(_ROWS)]
        picture = coded_picture(np.vstack(rows))
        yield Frame(picture, number, Fraction(1, _RATE), number, "crowd")


def _moved(person: BgrImage, phase: float, height: int, width: int) -> BgrImage:
    """A person in a cell of the picture, at one moment of the movement."""
    middle = (width / 2, height / 2)
    scale = 1 + _NEARER * math.sin(2 * phase)
    turn = cv2.getRotationMatrix2D(middle, _TURN_DEG * math.sin(phase), scale)
    turn[0, 2] += _SWAY * math.cos(phase)
    turn[1, 2] += _SWAY / 2 * math.sin(2 * phase)
    ends = cv2.BORDER_REPLICATE
    moved = cv2.warpAffine(person, turn, (width, height), borderMode=ends)
    return np.asarray(moved, np.uint8)


def _people(engines: EngineSet, face_px: int) -> list[BgrImage]:
    """Pictures of different people of a cell's size: a portrait that wears donors' faces."""
    swap = engines.swap
    assert swap is not None
    height, width = _HEIGHT // _ROWS, _WIDTH // _COLUMNS
    photo = portrait()
    face = largest_face(engines.detector, photo)
    x, y = face.landmarks_px.mean(axis=0).tolist()
    scale = face_px / float(face.box_px[3] - face.box_px[1])
    cut = np.array(
        [[scale, 0, width / 2 - scale * x], [0, scale, height / 2 - scale * y]], np.float32
    )
    cell = cv2.warpAffine(photo, cut, (width, height), borderMode=cv2.BORDER_REPLICATE)
    there = moved_face(face, scale, cut[:, 2])
    return [
        _wearing(np.asarray(cell, np.uint8), there, swap, donor)
        for donor in range(_ROWS * _COLUMNS)
    ]


def _wearing(image: BgrImage, face: Face, swap: SwapEngines, donor: int) -> BgrImage:
    """The picture with one donor's face."""
    painter = swap.painter
    picture = picture_from_bgr(image.copy())
    place = kveil_from_landmarks(face.landmarks_px, painter.size)
    control = painter.read(crop_from_picture(picture, place, painter.size)[None])
    made = painter.paint(control, swap.donors.latents[donor : donor + 1])
    patch = made.patch(0, place)
    track = Track(1, face, TrackState.DETECTED, 9, True)
    return compose(Frame(picture, 0, Fraction(1, _RATE), 0), [track], {1: patch}).picture.bgr()
