from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Tensors
from engines.backends.fake import FakeSession
from engines.errors import EngineFault
from engines.stylegan.textures import Textures

pytestmark = pytest.mark.unit

LATENTS = np.random.default_rng(0).standard_normal((6, 4, 512)).astype(np.float32)


class CountingGenerator:
    """Textures of one colour, the latents' first value; counts the people it paints."""

    def __init__(self) -> None:
        self.painted = 0
        self.fault = ""

    def __call__(self, tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        colour = np.asarray(tensors["latents"], np.float32)[:, 0, :1, None, None]
        self.painted += len(colour)
        if self.fault == "raises":
            raise RuntimeError("planted")
        if self.fault == "nan":
            colour = colour * np.nan
        return {"texture": colour + np.zeros((1, 3, 8, 8), np.float32)}


def test_a_person_is_painted_once() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator))
    first = textures.of_latents(LATENTS[:3])
    again = textures.of_latents(LATENTS[[2, 0, 3]])
    assert generator.painted == 4
    assert np.array_equal(again[:2], first[[2, 0]])
    assert np.allclose(again[:, 0, 0, 0], LATENTS[[2, 0, 3], 0, 0])


def test_reduced_textures_are_means_of_the_whole_and_painted_with_them() -> None:
    generator = CountingGenerator()
    slopes = np.arange(8, dtype=np.float32) * np.ones((3, 8, 1), np.float32)
    textures = Textures(FakeSession(generator), lambda texture: texture + slopes, small=4)
    whole, small = textures.of_latents(LATENTS[:2]), textures.of_latents(LATENTS[:2], 4)
    assert generator.painted == 2
    assert np.allclose(small, whole.reshape(2, 3, 4, 2, 4, 2).mean(axis=(3, 5)), atol=1e-5)
    assert np.array_equal(textures.of_latents(LATENTS[:2], 8), whole)


def test_people_are_drawn_away_from_the_average_that_is_painted_once() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), lambda texture: texture + 1, strength=1.5)
    found = textures.of_latents(LATENTS[:3])
    textures.of_latents(LATENTS[3:5])
    assert generator.painted == 6
    assert np.allclose(found[:, 0, 0, 0], 1 + 1.5 * LATENTS[:3, 0, 0], atol=1e-5)


def test_people_forgotten_are_painted_again_the_same() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), kept=2)
    first = textures.of_latents(LATENTS)
    again = textures.of_latents(LATENTS[:1])
    assert generator.painted == 7
    assert np.array_equal(first[:1], again)


@pytest.mark.parametrize("fault", ["nan", "raises"])
def test_a_fault_does_not_stay_with_a_person(fault: str) -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator))
    generator.fault = fault
    with pytest.raises(EngineFault):
        textures.of_latents(LATENTS[:1])
    generator.fault = ""
    assert np.isfinite(textures.of_latents(LATENTS[:1])).all()
