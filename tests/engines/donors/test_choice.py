"""Only a grown-up face that looks straight ahead, at rest, becomes a donor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.openvino import OpenVino
from engines.detectors.loading import detector_from_model
from engines.donors.choice import Cause, Portrait, PortraitChoice
from engines.donors.making import CROP_SIZE
from engines.face.control_reading import Painter
from engines.face.embedder import embedder_from_pack
from engines.face.embedding_attributes import EmbeddingAttributes, attributes_from_pack
from engines.face.face_look import eyes_of
from engines.face.swapper import Control, Rendered, Swapper
from engines.models.catalogue import centerface_path
from engines.stylegan.pack import bundled_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.topology import LIPS_INNER_SLICE
from engines.stylegan.warp import load_texture_frame
from tests.engines.donors.painted import portraits

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


class Altered:
    """A painter that reads something else than there is."""

    def __init__(self, swapper: Swapper, **read: Float32) -> None:
        self._swapper = swapper
        self._read = read
        self.size, self.sizes = swapper.size, swapper.sizes

    def read(self, crops: UInt8, *, is_lit: bool = True) -> Control:
        control = self._swapper.read(crops, is_lit=is_lit)
        return replace(control, **self._read)

    def paint(self, control: Control, latents: Float32, size: int | None = None) -> Rendered:
        return self._swapper.paint(control, latents, size)


@pytest.fixture(scope="module")
def swapper() -> Swapper:
    return swapper_from_pack(OpenVino(threads=1))[0]


def choice(painter: Painter, attributes: EmbeddingAttributes | None = None) -> PortraitChoice:
    backend = OpenVino(threads=1)
    embedder, thresholds = embedder_from_pack(backend)
    return PortraitChoice(
        detector_from_model(backend, centerface_path()),
        painter,
        load_shape_model(bundled_pack() / "shape.npz"),
        load_texture_frame(bundled_pack() / "shape.npz"),
        embedder,
        attributes or attributes_from_pack(),
        thresholds.match,
    )


def test_portrait_is_taken_with_its_eyes_in_place_and_not_twice(swapper: Swapper) -> None:
    chooser, picture = choice(swapper), portraits(20)[0]
    taken = chooser.judge(picture)
    assert isinstance(taken, Portrait)
    assert taken.crop.shape == (CROP_SIZE, CROP_SIZE, 3)
    assert sorted(taken.bins) == ["age", "gender", "tone"]
    eyes = eyes_of(swapper.read(taken.crop[None], is_lit=False).points[0])
    assert np.abs(eyes - [[0.30, 0.37], [0.70, 0.37]]).max() < 0.02
    assert chooser.judge(picture) == "like another donor"


def test_pictures_of_none_or_several_are_refused(swapper: Swapper) -> None:
    chooser, portrait = choice(swapper), portraits(20)[0]
    assert chooser.judge(np.full((64, 64, 3), 90, np.uint8)) == "no face"
    both = np.hstack([portrait, portrait])
    two = np.vstack([both, np.full_like(both, 128)])
    assert chooser.judge(two) == "several faces"


def points_of(swapper: Swapper) -> Float32:
    return swapper.read(portraits(20)[0][64:320, 64:320][None], is_lit=False).points


def turned(points: Float32, degrees: float) -> Float32:
    angle = np.radians(degrees)
    turn = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    middle = points.mean(axis=1, keepdims=True)
    return np.asarray((points - middle) @ np.array(turn).T + middle, np.float32)


def gaping(points: Float32) -> Float32:
    opened = points.copy()
    below = slice(LIPS_INNER_SLICE.start + 1, LIPS_INNER_SLICE.start + 10)
    opened[:, below, 1] += 0.12
    return opened


@pytest.mark.parametrize("degrees", [-20.0, 20.0])
def test_turned_heads_are_refused(swapper: Swapper, degrees: float) -> None:
    painter = Altered(swapper, points=turned(points_of(swapper), degrees))
    assert choice(painter).judge(portraits(20)[0]) == "turned"


def in_front() -> Float32:
    hand = np.zeros((1, 128, 128), np.float32)
    hand[:, 64:, :70] = 1
    return hand


@pytest.mark.parametrize(
    ("read", "cause"),
    [
        ({"doubt": np.array([0.02], np.float32)}, "landmarks unsure"),
        ({"doubt": np.array([np.nan], np.float32)}, "turned"),
        ({"doubt": np.array([np.inf], np.float32)}, "turned"),
        ({"occlusion": in_front()}, "something in front"),
        ({"openness": np.array([[1.0, 0.2]], np.float32)}, "eyes shut"),
    ],
)
def test_planted_fault_is_told(swapper: Swapper, read: dict[str, Float32], cause: Cause) -> None:
    assert choice(Altered(swapper, **read)).judge(portraits(20)[0]) == cause


def test_gaping_mouth_is_told(swapper: Swapper) -> None:
    painter = Altered(swapper, points=gaping(points_of(swapper)))
    assert choice(painter).judge(portraits(20)[0]) == "mouth open"


def test_children_are_refused(swapper: Swapper) -> None:
    known = attributes_from_pack()
    weights = {**known.weights, "age": known.weights["age"].copy()}
    child = known.values["age"].index("child")
    weights["age"][-1, child] += 100
    painter = choice(swapper, replace(known, weights=weights))
    assert painter.judge(portraits(20)[0]) == "a child"


def with_glasses(picture: UInt8) -> UInt8:
    """Rims around the eyes at (141, 159) and (243, 159), and a bridge."""
    worn = picture.copy()
    for x in (141, 243):
        cv2.ellipse(worn, (x, 162), (40, 32), 0, 0, 360, (30, 25, 20), 5)
    cv2.line(worn, (181, 157), (203, 157), (30, 25, 20), 6)
    return worn


def with_fringe(picture: UInt8) -> UInt8:
    worn = picture.copy()
    worn[64:126, 90:294] = worn[64:126, 90:294] * 0.35
    return worn


def with_shadow(picture: UInt8) -> UInt8:
    """On the right, the darker the lower."""
    left = np.ones_like(picture, np.float32)
    left[:, 220:] = np.interp(np.arange(384), [130, 200], [1.0, 0.25])[:, None, None]
    return np.asarray(picture * cv2.GaussianBlur(left, (0, 0), 4), np.uint8)


@pytest.mark.parametrize(
    ("altered", "cause"),
    [
        (with_glasses, "glasses"),
        (with_fringe, "hair over the brows"),
        (with_shadow, "hard shadows"),
    ],
)
def test_what_would_be_on_everybody_is_refused(
    swapper: Swapper, altered: Callable[[UInt8], UInt8], cause: Cause
) -> None:
    found = [choice(swapper).judge(altered(portraits(20)[row])) for row in (4, 8)]
    assert found == [cause, cause]
