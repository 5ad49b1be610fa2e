from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Tensors
from engines.errors import EngineFault
from engines.stylegan.details import DETAIL_SCALE, DonorDetails
from engines.stylegan.textures import Texture, Textures
from tests.engines.backends.fake import FakeSession
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

FACE = drawn_face()[:, :2]
LATENTS = np.random.default_rng(0).standard_normal((6, 4, 512)).astype(np.float32)


class CountingGenerator:
    """Textures of one hue with a dark half, by the latents' first value; counts who it paints."""

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
        texture = colour + np.zeros((1, 3, 8, 8), np.float32)
        texture[:, 0] += 1
        texture[..., 4:] -= 0.5
        if self.fault == "blank":
            texture[:] = 0.1
        return {"texture": texture}


def firsts(textures: list[Texture]) -> npt.NDArray[np.float32]:
    """Blue of a place away from the rim."""
    return np.array([one.whole[3, 3, 0] for one in textures])


def test_a_person_is_painted_once() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), FACE)
    first = textures.of_latents(LATENTS[:3])
    again = textures.of_latents(LATENTS[[2, 0, 3]])
    assert generator.painted == 4
    assert again[0] is first[2]
    assert np.allclose(firsts(again), LATENTS[[2, 0, 3], 0, 0])


def test_textures_are_bgr() -> None:
    (made,) = Textures(FakeSession(CountingGenerator()), FACE).of_latents(LATENTS[:1])
    assert made.whole.shape == (8, 8, 3)
    assert np.allclose(made.whole[3, 3] - LATENTS[0, 0, 0], (0, 0, 1), atol=1e-5)


def details_of(latents: npt.NDArray[np.float32]) -> DonorDetails:
    """A bank that adds 0.2 to whatever is made of these donors."""
    level = np.full((8, 8, 3), round(0.2 * DETAIL_SCALE + 128), np.uint8)
    picture = cv2.imencode(".webp", level, [cv2.IMWRITE_WEBP_QUALITY, 101])[1].tobytes()
    return DonorDetails(latents[:, 0], (picture,) * len(latents), 8)


def test_reduced_textures_are_means_of_the_whole_and_painted_with_them() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), FACE, details_of(LATENTS[:1]))
    made = textures.of_latents(LATENTS[:2])
    assert generator.painted == 2
    for texture in made:
        one, other = (texture.of_size(size) for size in (8, 4))
        assert np.allclose(other, one.reshape(4, 2, 4, 2, 3).mean(axis=(1, 3)), atol=1e-5)


def test_details_are_added_to_donors_alone_and_once() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), FACE, details_of(LATENTS[:3]))
    for _ in range(2):
        added = firsts(textures.of_latents(LATENTS)) - LATENTS[:, 0, 0]
        assert np.allclose(added, [0.2] * 3 + [0.0] * 3, atol=0.01)
    assert generator.painted == len(LATENTS)


def test_people_forgotten_are_painted_again_the_same() -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), FACE, kept=2)
    first = textures.of_latents(LATENTS)
    again = textures.of_latents(LATENTS[:1])
    assert generator.painted == 7
    assert np.array_equal(first[0].whole, again[0].whole)


@pytest.mark.parametrize("fault", ["nan", "raises", "blank"])
def test_a_fault_does_not_stay_with_a_person(fault: str) -> None:
    generator = CountingGenerator()
    textures = Textures(FakeSession(generator), FACE)
    generator.fault = fault
    with pytest.raises(EngineFault):
        textures.of_latents(LATENTS[:1])
    generator.fault = ""
    assert np.isfinite(textures.of_latents(LATENTS[:1])[0].whole).all()
