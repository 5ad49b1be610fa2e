"""Portraits wear surrogates by the same path as a stream's frames."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.face.alignment import EYES, identity_mask
from engines.face.swapper import Control, Rendered, Swapper
from engines.stylegan.topology import EYE_LEFT_SLICE, EYE_RIGHT_SLICE, OVAL_SLICE, POINTS
from evaluation.faces import CROP, MARGIN, PORTRAIT, Faces
from evaluation.methods.dressing import dressed
from tests.engines.stylegan.faces import facing, identities

pytestmark = pytest.mark.unit

FIVE = np.array([[0.3, 0.37], [0.7, 0.37], [0.5, 0.6], [0.36, 0.78], [0.64, 0.78]], np.float32)


class StandIn:
    """Reads one fixed face and paints each latent as stripes of its strength."""

    size = CROP

    def __init__(self, usable: bool = True) -> None:
        self.usable = usable

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        points = np.full((POINTS, 3), 0.5, np.float32)
        turn = np.linspace(0, 2 * np.pi, OVAL_SLICE.stop - OVAL_SLICE.start, endpoint=False)
        points[OVAL_SLICE, 0] = 0.5 + 0.3 * np.cos(turn)
        points[OVAL_SLICE, 1] = 0.5 + 0.4 * np.sin(turn)
        points[EYE_LEFT_SLICE, :2], points[EYE_RIGHT_SLICE, :2] = EYES.astype(np.float32)
        count = len(crops)
        light = np.zeros((count, 2, 4, 4, 3), np.float32)
        return Control(np.repeat(points[None], count, axis=0), light, np.zeros(count, np.float32))

    def paint(self, control: Control, latents: NDArray[np.float32]) -> Rendered:
        count = len(latents)
        pixels = np.full((count, CROP, CROP, 3), 100, np.float32)
        pixels[:, ::8] += latents[:, 0, 0].reshape(-1, 1, 1, 1)
        away = np.repeat(identity_mask(CROP)[None].astype(np.float32), count, axis=0)
        usable = np.full(count, self.usable)
        return Rendered(pixels, away, identities(count), usable, facing(count))


def portraits(count: int) -> Faces:
    images = np.random.default_rng(0).integers(0, 255, (count, PORTRAIT, PORTRAIT, 3))
    points = np.repeat((FIVE * CROP + MARGIN)[None], count, axis=0)
    return Faces(images.astype(np.uint8), points, np.arange(count))


def stripes(*values: float) -> NDArray[np.float32]:
    latents = np.zeros((len(values), 2, 512), np.float32)
    latents[:, 0, 0] = values
    return latents


def swapper(usable: bool = True) -> Swapper:
    return StandIn(usable)  # type: ignore[return-value]


def test_each_portrait_gets_its_own_latent_and_keeps_its_head() -> None:
    faces = portraits(10)
    values = np.linspace(10, 80, 10)
    made = dressed(swapper(), faces, stripes(*values))
    rows, columns = (slice(MARGIN + at, MARGIN + at + 16) for at in (56, 56))
    seen = made[:, rows, columns].mean(axis=(2, 3))
    assert np.corrcoef(np.ptp(seen, axis=1), values)[0, 1] > 0.95
    beside = (slice(None), slice(MARGIN + 50, MARGIN + 70), slice(MARGIN - 4, MARGIN + 6))
    assert np.array_equal(made[beside], faces.images[beside])
    assert not np.array_equal(faces.images, made), "the originals are not edited"


def test_face_that_cannot_be_followed_is_covered() -> None:
    faces = portraits(2)
    made = dressed(swapper(usable=False), faces, stripes(100, 120))
    inner = (slice(None), slice(MARGIN + 38, MARGIN + 98), slice(MARGIN + 38, MARGIN + 88))
    difference = np.abs(made[inner].astype(int) - faces.images[inner].astype(int))
    assert difference.mean() > 40
    assert np.array_equal(made[0][inner[1:]], made[1][inner[1:]]), (
        "nothing of anybody shines through"
    )


def test_failing_network_is_told() -> None:
    class Broken(StandIn):
        def paint(self, control: Control, latents: NDArray[np.float32]) -> Rendered:
            raise EngineFault("planted")

    with pytest.raises(EngineFault, match="planted"):
        dressed(Broken(), portraits(1), stripes(100))  # type: ignore[arg-type]


def test_nobody_gives_no_pictures() -> None:
    assert dressed(swapper(), portraits(0), stripes()).shape == (0, PORTRAIT, PORTRAIT, 3)
