"""What one swapped face costs, set against one search of the detector, in one run."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes import LEAST_SCORE, coded_picture, largest_face, moved_face
from config.settings import Settings
from engines.blending.compositor import compose
from engines.blending.harmony import sized_patch
from engines.blending.occlusion import Occlusion
from engines.blending.patches import Patch
from engines.blending.rim import head_rim_of, matched_at_rim, rim_match_of
from engines.face.alignment import Similarity, crop_from_picture, kveil_from_landmarks
from engines.face.control_reading import ControlReader
from engines.face.face_look import look_from_points
from engines.face.swapper import DOUBT_LIMIT, LANDMARK_SIZE, Control
from engines.face.temporal_consistency import TemporalConsistency
from engines.pictures import BgrImage, Picture, picture_from_bgr
from engines.types import Face, Frame, Track, TrackState
from stream.files.demo_clip import demo_frames
from stream.pipeline.engine_set import EngineSet, SwapEngines, open_engines
from stream.pipeline.methods import SWAP
from stream.swap.control_track import ControlTrack

__all__ = ["DETECTOR_SIZE", "FaceCost", "StepTimes", "cost_table", "measure_faces"]

DETECTOR_SIZE: Final = (448, 768)
"""Height and width at which the detector is timed."""
_RUNS: Final = 24
_SCENES: Final = ((1, 1, (720, 1280)), (4, 1, (720, 1280)), (4, 2, (1080, 1920)))
"""Faces beside each other and above each other, in frames of this height and width."""
_AHEAD: Final = 4
_RATE: Final = 30


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Median times of the steps, ms, all faces of a frame together.

    Attributes:
        detect: one search at `DETECTOR_SIZE`.
        read: crops cut, control and light read.
        steady: control kept calm over time, with frames ahead.
        first: painting people not seen before: the generator, then as `paint`.
        paint: warp, light and mask, in every frame.
        blend: patches brought to size, matched to the head, placed and blended into the frame.
        hand_steady: as `steady`, with something in front of every face.
        hand_blend: as `blend`, with that drawn again.
    """

    detect: float
    read: float
    steady: float
    first: float
    paint: float
    blend: float
    hand_steady: float
    hand_blend: float

    @property
    def swap(self) -> float:
        """Everything for the faces of one frame."""
        return self.read + self.steady + self.paint + self.blend


@dataclass(frozen=True, slots=True)
class FaceCost:
    """What so many faces in a frame cost.

    Attributes:
        faces: in the frame.
        frame: its height and width, px.
        size: side of the painted patch, px.
        clock: times by the clock.
        processor: times of all cores together; a search keeps several of them busy.
    """

    faces: int
    frame: tuple[int, int]
    size: int
    clock: StepTimes
    processor: StepTimes

    @property
    def hand_ms(self) -> float:
        """What something in front of one face costs more, by the clock."""
        one = self.clock
        return (one.hand_steady - one.steady + one.hand_blend - one.blend) / self.faces

    @property
    def face_ms(self) -> float:
        """Everything for one face, by the clock."""
        return self.clock.swap / self.faces

    @property
    def ratio(self) -> float:
        """One face over one search, by the clock."""
        return self.face_ms / self.clock.detect

    @property
    def ratio_unsmoothed(self) -> float:
        """One face over one search, by the clock, without what keeps it calm over time."""
        return (self.clock.swap - self.clock.steady) / self.faces / self.clock.detect

    @property
    def processor_ratio(self) -> float:
        """One face over one search in processor time."""
        return self.processor.swap / self.faces / self.processor.detect


def measure_faces(settings: Settings) -> list[FaceCost]:
    """Times the swap's steps on the demo clip's face, in turn with the detector.

    Args:
        settings: which detector, runtime and arithmetic.

    Raises:
        ModelMissing, ModelRejected, BackendMissing: a network or runtime is not there.
        EngineFault: one failed, or the detector finds no face in the demo clip.
    """
    with open_engines(settings.model_copy(update={"method": SWAP})) as engines:
        swap = engines.swap
        assert swap is not None
        image = next(demo_frames(0.04))
        picture = picture_from_bgr(image)
        search = picture.resized_bgr(*DETECTOR_SIZE)
        face = largest_face(engines.detector, image)
        scenes = [_scene(image, face, *wanted) for wanted in _SCENES]
        return [
            _measured(engines, swap, search, decoded, faces, size)
            for size in swap.painter.sizes
            for decoded, faces in scenes
        ]


def cost_table(costs: Sequence[FaceCost]) -> str:
    """The costs as a Markdown table."""
    height, width = DETECTOR_SIZE
    lines = [
        f"| faces | frame | patch | detector {width}×{height} ms | encoder ms | smoothing ms "
        "| painting, new people ms | painting ms | blend ms | all faces ms | one face ms "
        "| without smoothing ÷ detector | face ÷ detector | in processor time "
        "| a hand before it ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.faces} | {one.frame[1]}×{one.frame[0]} | {one.size} px "
        f"| {one.clock.detect:.1f} | {one.clock.read:.1f} | {one.clock.steady:.1f} "
        f"| {one.clock.first:.1f} | {one.clock.paint:.1f} "
        f"| {one.clock.blend:.1f} | {one.clock.swap:.1f} | {one.face_ms:.1f} "
        f"| {one.ratio_unsmoothed:.2f} | {one.ratio:.2f} | {one.processor_ratio:.2f} "
        f"| {one.hand_ms:.1f} |"
        for one in costs
    ]
    return "\n".join(lines)


def _measured(
    engines: EngineSet,
    swap: SwapEngines,
    search: NDArray[np.uint8],
    decoded: Picture,
    faces: Sequence[Face],
    size: int,
) -> FaceCost:
    painter, reader, count = swap.painter, ControlReader(swap.painter), len(faces)
    places = [kveil_from_landmarks(face.landmarks_px, size) for face in faces]
    latents = np.ascontiguousarray(swap.donors.latents[:count], np.float32)
    tracks = [Track(n, face, TrackState.DETECTED, 9, True) for n, face in enumerate(faces)]
    crops = np.stack([crop_from_picture(decoded, one, size) for one in places])
    control = painter.read(crops)
    rendered = painter.paint(control, latents, size)
    patches = {n: rendered.patch(n, places[n]) for n in range(count)}

    hidden = {n: replace(patch, occlusion=_hand(places[n], size)) for n, patch in patches.items()}

    def decoded_frame() -> Frame:
        # Planes are changed in place, and a face that is swapped already costs something else.
        return Frame(decoded.copy(), 0, Fraction(1, 25), 0, "bench")

    frame = decoded_frame()

    def blending(worn: Mapping[int, Patch]) -> None:
        fresh = decoded_frame()
        fitted = {n: _matched(fresh.picture, sized_patch(patch)) for n, patch in worn.items()}
        compose(fresh, tracks, fitted)

    strangers = iter(range(count, len(swap.donors), count))

    def painting_strangers() -> None:
        start = next(strangers)
        painter.paint(control, swap.donors.latents[start : start + count], size)

    clock, processor = _medians(
        lambda: engines.detector.detect(search, min_score=LEAST_SCORE),
        lambda: reader.looks([(frame, face) for face in faces]),
        _steadying(decoded, control, list(patches.values())),
        painting_strangers,
        lambda: painter.paint(control, latents, size),
        lambda: blending(patches),
        _steadying(decoded, control, list(hidden.values())),
        lambda: blending(hidden),
    )
    return FaceCost(count, (decoded.height, decoded.width), size, clock, processor)


def _matched(picture: Picture, patch: Patch) -> Patch:
    head = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    match = rim_match_of(head_rim_of(picture, patch, head), patch)
    return matched_at_rim(patch, head, match)


def _scene(
    image: BgrImage, face: Face, columns: int, rows: int, size: tuple[int, int]
) -> tuple[Picture, list[Face]]:
    """A picture with the same face in every cell, as decoded, and all of them.

    It is YUV, so that blending costs what it costs in a run.
    """
    height, width = size[0] // rows, size[1] // columns
    scale = max(1.0, height / image.shape[0], width / image.shape[1])
    enlarged = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
    corner = [
        min(max(round(float(middle) * scale) - side // 2, 0), whole - side)
        for middle, side, whole in zip(
            face.landmarks_px.mean(axis=0), (width, height), enlarged.shape[1::-1], strict=True
        )
    ]
    cell = enlarged[corner[1] : corner[1] + height, corner[0] : corner[0] + width]
    places = [(width * x, height * y) for y in range(rows) for x in range(columns)]
    faces = [moved_face(face, scale, shift) for shift in np.subtract(places, corner)]
    tiled = np.ascontiguousarray(np.tile(cell, (rows, columns, 1)), np.uint8)
    return coded_picture(tiled), faces


def _hand(crop_from_frame: Similarity, size: int) -> Occlusion:
    """Something before the lower part of a face, up to its mouth."""
    sure = np.zeros((LANDMARK_SIZE, LANDMARK_SIZE), np.float32)
    sure[LANDMARK_SIZE * 2 // 3 :, LANDMARK_SIZE // 4 : LANDMARK_SIZE * 3 // 4] = 1
    return Occlusion(sure, crop_from_frame * np.float32(LANDMARK_SIZE / size))


def _steadying(decoded: Picture, control: Control, patches: Sequence[Patch]) -> Callable[[], None]:
    """A step that takes one more frame of each face, and smooths the one of `_AHEAD` before."""
    rows = zip(patches, control.points, control.light, control.doubt, strict=True)
    looks = [
        replace(
            look_from_points(
                0, 0.0, points, patch.crop_from_frame, patch.alpha.shape[0], light, float(doubt)
            ),
            occlusion=patch.occlusion,
        )
        for patch, points, light, doubt in rows
    ]
    tracks = [ControlTrack(DOUBT_LIMIT) for _ in looks]
    painted = [(TemporalConsistency(), sized_patch(patch)) for patch in patches]
    frames = itertools.count()

    def steadying() -> None:
        index = next(frames)
        for track, look in zip(tracks, looks, strict=True):
            track.add(replace(look, index=index, time_s=index / _RATE), decoded)
            track.steady(index - _AHEAD, (index - _AHEAD) / _RATE)
        rows = zip(tracks, painted, control.points, strict=True)
        for track, (before, patch), points in rows:
            before.steadied(patch, points, index - _AHEAD, track.flow)

    for _ in range(3 * _AHEAD):
        steadying()
    return steadying


def _medians(*steps: Callable[[], object]) -> tuple[StepTimes, StepTimes]:
    """Median times of each step, over a few runs each, by the clock and of the processor.

    Steps are taken in turn so that other load falls on all.
    """
    for step in steps:
        step()
    spent = np.empty((_RUNS, len(steps), 2))
    for turn in spent:
        for step, into in zip(steps, turn, strict=True):
            start = time.perf_counter(), time.process_time()
            step()
            into[:] = time.perf_counter() - start[0], time.process_time() - start[1]
    clock, processor = (np.median(spent, axis=0) * 1e3).T.tolist()
    return StepTimes(*clock), StepTimes(*processor)
