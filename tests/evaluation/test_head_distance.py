"""Swapped heads beside real ones: what is like heads scores 1, planted faults score far more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.pictures import BgrImage
from evaluation.blind_sheet import Head
from evaluation.errors import TooFewPeople
from evaluation.head_distance import head_distance

pytestmark = pytest.mark.unit
PEOPLE, MOMENTS = 12, 12


class Tiles:
    """Mean colours and contrasts of 2×2 tiles, as unit rows."""

    def embed_crops(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        side = crops.shape[1] // 2
        tiles = crops.reshape(len(crops), 2, side, 2, side, 3).astype(np.float32)
        sharp = np.abs(np.diff(tiles, axis=2)).mean(axis=(2, 4))
        rows = np.stack([tiles.mean(axis=(2, 4)), 4 * sharp], axis=-1).reshape(len(crops), -1)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def heads(changed: Callable[[BgrImage], BgrImage]) -> list[Head]:
    """Textured pictures in a tone for each person, some cut by the edge of their frame."""
    random = np.random.default_rng(5)
    found = []
    for person in range(PEOPLE):
        tone = random.uniform(60, 180, 3)
        for moment in range(MOMENTS):
            noise = random.normal(0, 30, (64, 40 if moment % 4 == 0 else 64, 3))
            image = np.clip(tone + noise, 0, 255).astype(np.uint8)
            found.append(Head("a.mp4", person, moment, image, changed(image)))
    return found


def painted(image: BgrImage) -> BgrImage:
    return np.roll(image, 7, axis=0)


def blurred(image: BgrImage) -> BgrImage:
    return cv2.GaussianBlur(image, (0, 0), 3).astype(np.uint8, copy=False)


def green(image: BgrImage) -> BgrImage:
    return np.asarray(np.clip(image * np.array([0.7, 1.3, 0.7]), 0, 255).astype(np.uint8))


def test_heads_as_they_were_are_no_farther_than_heads_are() -> None:
    found = head_distance(heads(np.copy), Tiles(), 32)
    assert (found.heads, found.people) == (PEOPLE * MOMENTS, PEOPLE)
    assert found.ratio == pytest.approx(1.0)
    assert found.lowest == pytest.approx(1.0) == found.highest


def test_other_pictures_of_the_kind_stay_near() -> None:
    assert head_distance(heads(painted), Tiles(), 32).ratio < 1.2


@pytest.mark.parametrize("planted", [blurred, green])
def test_planted_fault_is_far(planted: Callable[[BgrImage], BgrImage]) -> None:
    found = head_distance(heads(planted), Tiles(), 32)
    assert found.lowest <= found.ratio <= found.highest
    assert found.ratio > 2


def test_too_few_people_are_refused() -> None:
    few = [replace(head, chain=head.chain % 3) for head in heads(np.copy)]
    with pytest.raises(TooFewPeople, match="3 people"):
        head_distance(few, Tiles(), 32)
