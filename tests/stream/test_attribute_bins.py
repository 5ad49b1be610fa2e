"""Coarse bins off a face: the sure ones, in order, or nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.pictures import picture_from_bgr
from engines.stylegan.attributes import AttributeModel
from engines.types import Face, Frame
from stream.attribute_bins import AttributeReader

pytestmark = pytest.mark.unit

POINTS = np.array([[30, 37], [70, 37], [50, 60], [36, 80], [64, 80]], np.float32)
FACE = Face(np.array([20, 10, 80, 95], np.float32), POINTS, 0.9)
FRAME = Frame(picture_from_bgr(np.full((100, 100, 3), 90, np.uint8)), 0, Fraction(1, 25), 0)


class FixedEncoder:
    """Gives a latent whose first two numbers are the evidence for age and gender."""

    def __init__(self, age: float, gender: float) -> None:
        self._evidence = (age, gender)

    def encode(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        latents = np.zeros((len(crops), 2, 512), np.float32)
        latents[:, :, :2] = self._evidence
        return latents


class FaultyEncoder:
    def encode(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        raise EngineFault("planted")


def model() -> AttributeModel:
    weights = {}
    for row, name in enumerate(("age", "gender")):
        weights[name] = np.zeros((513, 2), np.float32)
        weights[name][row] = (1.0, -1.0)
    return AttributeModel(weights, {"age": ("old", "young"), "gender": ("female", "male")})


@pytest.mark.parametrize(
    ("age", "gender", "expected"),
    [
        (5.0, 5.0, "gender=female|age=old"),
        (-5.0, 0.0, "age=young"),
        (0.0, -5.0, "gender=male"),
        (0.0, 0.0, None),
    ],
)
def test_bin_names_what_is_sure(age: float, gender: float, expected: str | None) -> None:
    reader = AttributeReader(FixedEncoder(age, gender), model(), 64)
    assert reader.bin_of(FRAME, FACE) == expected


def test_network_that_fails_leaves_the_attributes_unknown() -> None:
    assert AttributeReader(FaultyEncoder(), model(), 64).bin_of(FRAME, FACE) is None
