"""A track's embedding uses the sharpest frames that the look-ahead shows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.pictures import picture_from_bgr
from engines.types import Face, Frame
from stream.swap.track_embedding import TrackEmbedder, sharpness

pytestmark = pytest.mark.unit

SIZE = 64
SHARE = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)
FACE = Face(np.array([60, 60, 124, 130], np.float32), SHARE * 64 + np.float32(60), 0.9)
Crops = NDArray[np.uint8]


def picture(blur: float, seed: int = 0) -> NDArray[np.uint8]:
    pixels = np.random.default_rng(seed).integers(0, 255, (200, 200, 3)).astype(np.uint8)
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), blur), np.uint8) if blur else pixels


def frame(index: int, blur: float) -> Frame:
    return Frame(picture_from_bgr(picture(blur, index)), index, Fraction(1, 25), index)


class SharpnessEmbedder:
    """Gives sharp crops one direction and blurred ones another; keeps what it was asked."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def embed(self, crops: Crops) -> NDArray[np.float32]:
        self.batches.append(len(crops))
        is_sharp = np.array([sharpness(crop) > 1000 for crop in crops], np.float32)
        return np.stack([is_sharp, 1 - is_sharp], axis=1)


def embedded(
    now: float, ahead: Sequence[float], frames: int = 3
) -> tuple[NDArray[np.float32], SharpnessEmbedder]:
    network = SharpnessEmbedder()
    subject = TrackEmbedder(network, SIZE, frames)
    waiting = [(frame(n, blur), FACE) for n, blur in enumerate(ahead)]
    subject.foresee(lambda track: waiting if track == 7 else [])
    crop = picture(now)[:SIZE, :SIZE]
    return subject.embed(7, crop, subject.mean()), network


def test_blurred_first_frame_gives_way_to_sharp_ones_ahead() -> None:
    embedding, _ = embedded(8.0, [0, 8.0, 0, 8.0, 0])
    assert embedding.tolist() == [1.0, 0.0]


def test_without_frames_ahead_the_present_one_counts() -> None:
    embedding, network = embedded(8.0, [])
    assert embedding.tolist() == [0.0, 1.0]
    assert network.batches == [1]


def test_cost_of_a_track_is_bounded() -> None:
    _, network = embedded(0, [0] * 40, frames=3)
    assert network.batches == [3]


def test_single_frame_is_a_choice() -> None:
    embedding, network = embedded(8.0, [0, 0, 0], frames=1)
    assert embedding.tolist() == [0.0, 1.0]
    assert network.batches == [1]


def test_covered_track_gathers_frames_until_it_is_asked_for_again() -> None:
    network = SharpnessEmbedder()
    subject = TrackEmbedder(network, SIZE, 2)
    mean = subject.mean()
    blurred = subject.embed(7, picture(8.0)[:SIZE, :SIZE], mean)
    for seed in (1, 2):
        later = subject.embed(7, picture(0, seed)[:SIZE, :SIZE], mean)
    assert blurred.tolist() == [0.0, 1.0]
    assert later.tolist() == [1.0, 0.0]
