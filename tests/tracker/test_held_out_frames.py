"""Real clips: what a detector finds in frames that the tracker was not told about."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.detectors.scrfd import Scrfd
from engines.types import Face
from tests.tracker.scenes import covers
from tracker.poses import pose_from_face, size_px
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.data

FRAMES = 90
CLIPS = ["short_hamilton_clip.mp4", "mrsingh63_crowd.mp4", "Twitch1.mp4"]

Look = tuple[float, tuple[Face, ...], NDArray[np.uint8], tuple[int, int]]


@cache
def looked_at(data: Path, clip: str) -> tuple[Look, ...]:
    """Time, faces, thumbnail and size of each frame."""
    detector = Scrfd(OpenVino(threads=2), data / "models" / "scrfd_500m_bnkps.onnx")
    looks = []
    with av.open(str(data / "video" / clip)) as container:
        for frame in islice(container.decode(video=0), FRAMES):
            image = np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
            grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
            small = np.asarray(cv2.resize(grey, (64, 36), interpolation=cv2.INTER_AREA), np.uint8)
            faces = detector.detect(image, min_score=0.2)
            looks.append((float(frame.time), faces, small, (image.shape[0], image.shape[1])))
    return tuple(looks)


def told_every(step: int, looks: tuple[Look, ...]) -> list[FrameTracks]:
    tracker = Tracker()
    released: list[FrameTracks] = []
    for index, (time_s, faces, thumbnail, size) in enumerate(looks):
        told = faces if index % step == 0 else None
        released.extend(tracker.push(index, time_s, told, thumbnail, frame_size=size))
    return released + list(tracker.flush())


def bare_share(released: list[FrameTracks], looks: tuple[Look, ...]) -> float:
    """Share of the clear faces whose central half no box holds."""
    bare = total = 0
    for frame, (_, faces, _, _) in zip(released, looks, strict=True):
        for face in faces:
            if face.score < 0.5:
                continue
            pose = pose_from_face(face)
            place = (float(pose[0]), float(pose[1]), size_px(pose))
            total += 1
            bare += not any(covers(track, place) for track in frame.tracks)
    assert total >= FRAMES
    return bare / total


@pytest.mark.parametrize("clip", CLIPS)
def test_faces_in_frames_left_out_are_covered(shared_data: Path, clip: str) -> None:
    looks = looked_at(shared_data, clip)
    assert bare_share(told_every(1, looks), looks) == 0.0
    assert bare_share(told_every(2, looks), looks) == 0.0


@pytest.mark.parametrize("clip", CLIPS)
def test_the_same_clips_without_any_tracking_leave_faces_bare(shared_data: Path, clip: str) -> None:
    """The measure above is not blind: uncovered frames are found."""
    looks = looked_at(shared_data, clip)
    nothing = [FrameTracks(index, (), is_unknown=False) for index in range(len(looks))]
    assert bare_share(nothing, looks) == 1.0
