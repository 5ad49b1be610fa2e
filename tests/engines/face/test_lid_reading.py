"""Shutting eyes are told from open ones, and lids are drawn together as far as eyes are shut."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.backends.openvino import OpenVino
from engines.detectors.loading import detector_from_model
from engines.errors import EngineFault, ModelRejected
from engines.face.alignment import crop_from_picture, kveil_from_landmarks, moved
from engines.face.control_reading import ControlReader
from engines.face.face_look import painted_points
from engines.face.lid_reading import HEIGHT, WIDTH, LidReader, eye_pictures
from engines.face.swapper import Swapper
from engines.models.catalogue import centerface_path
from engines.pictures import BgrImage, picture_from_bgr
from engines.stylegan.lids import (
    EYES,
    drawn_together,
    gap_of,
    lids_as_read,
    narrowed,
    open_shares,
    openings,
)
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.types import Face, Frame
from stream.files.demo_clip import portrait
from training.shut_eyes import shut

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SIDE = 128


class Told:
    """A network that says of eyes what it was made to."""

    precision = "fp32"

    def __init__(self, *openness: float, width: int = WIDTH) -> None:
        self.inputs = (TensorSpec("eyes", (None, 1, HEIGHT, width), np.dtype(np.float32)),)
        self.outputs = (TensorSpec("openness", (None, 1), np.dtype(np.float32)),)
        self._openness = np.array(openness, np.float32)[:, None]

    def run(self, tensors: Tensors) -> dict[str, Float32]:
        assert len(tensors["eyes"]) == len(self._openness)
        return {"openness": self._openness}

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def swapper() -> Swapper:
    return swapper_from_pack(OpenVino(threads=2))[0]


@pytest.fixture(scope="module")
def resting() -> Float32:
    """Landmarks of the mean face, float32[1, POINTS, 3]."""
    return points_at_rest(load_shape_model(bundled_pack() / "shape.npz"))


@pytest.fixture(scope="module")
def face() -> Face:
    detector = detector_from_model(OpenVino(threads=2), centerface_path())
    return max(detector.detect(portrait(), min_score=0.5), key=lambda one: one.score)


def with_shut_eyes(image: BgrImage, face: Face, swapper: Swapper, share: float) -> BgrImage:
    """A photograph whose eyes are shut to a share of their gap."""
    place = kveil_from_landmarks(face.landmarks_px, SIDE)
    crop = crop_from_picture(picture_from_bgr(image), place, SIDE)
    points, random = swapper.read(crop[None]).points[0], np.random.default_rng(0)
    back = cv2.invertAffineTransform(place.astype(np.float64)).astype(np.float32)
    for lids in EYES:
        image = shut(image, moved(back, points[lids, :2] * SIDE), share, random)
    return image


def looked_at(image: BgrImage, face: Face, swapper: Swapper) -> Float32:
    """Landmarks float32[1, POINTS, 3] as the swap reads them off a frame."""
    frame = Frame(picture_from_bgr(image), 0, Fraction(1, 25), 0, "gate")
    (look,) = ControlReader(swapper).looks([(frame, face)])
    return painted_points(look.shape)[None]


def test_shut_eyes_are_read_as_shut_and_a_surrogate_shuts_its_own(
    swapper: Swapper, face: Face
) -> None:
    """The planted fault: without reading lids, landmarks of shut eyes stay apart."""
    shares = []
    for share in (1.0, 0.0):
        points = looked_at(with_shut_eyes(portrait(), face, swapper, share), face, swapper)
        shares.append(float(open_shares(points).max()))
    assert shares[0] == 1
    assert shares[1] < 0.3


def test_small_faces_keep_their_eyes_open(swapper: Swapper, face: Face) -> None:
    image = with_shut_eyes(portrait(), face, swapper, 0.0)
    eyes_px = float(np.linalg.norm(face.landmarks_px[1] - face.landmarks_px[0]))
    scale = 16 / eyes_px
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    own = Face(face.box_px * np.float32(scale), face.landmarks_px * np.float32(scale), 1.0)
    points = looked_at(np.asarray(small, np.uint8), own, swapper)
    assert float(open_shares(points).min()) == 1


def test_open_eyes_change_nothing(resting: Float32) -> None:
    assert drawn_together(resting, np.full((1, 2), 0.96, np.float32)) is resting
    assert (open_shares(resting) == 1).all()


@pytest.mark.parametrize("side", [0, 1])
def test_one_eye_winks(resting: Float32, side: int) -> None:
    openness = np.ones((1, 2), np.float32)
    openness[0, side] = 0.0
    made = drawn_together(resting, openness)
    gaps = [float(gap_of(made[:, lids])[0]) for lids in EYES]
    assert gaps[side] < 0.01
    assert gaps[1 - side] == float(gap_of(resting[:, EYES[1 - side]])[0])
    others = np.ones(made.shape[1], bool)
    others[EYES[side]] = False
    assert np.array_equal(made[:, others], resting[:, others])


def test_lids_go_together_steadily(resting: Float32) -> None:
    """Lids that jump between two frames of a blink would flicker, and half shut ones are half."""
    openness, usual = np.linspace(1, 0, 101, dtype=np.float32), openings(resting)
    found = [
        float(open_shares(drawn_together(resting, np.full((1, 2), one, np.float32)), usual)[0][0])
        for one in openness
    ]
    steps = -np.diff(found)
    assert (steps >= -1e-6).all()
    assert steps.max() < 0.045
    assert found[0] == 1
    assert found[20] == pytest.approx(0.5, abs=0.03)
    assert found[-1] < 0.01


def test_how_wide_an_open_eye_is_tells_nothing(swapper: Swapper, resting: Float32) -> None:
    """Two people, one with narrow eyes: surrogates open theirs alike."""
    shape = load_shape_model(bundled_pack() / "shape.npz")
    latents = np.zeros((1, swapper.layers, 512), np.float32)
    narrow = resting.copy()
    for lids in EYES:
        middle = narrow[:, lids, 1].mean(axis=1, keepdims=True)
        narrow[:, lids, 1] = middle + 0.75 * (narrow[:, lids, 1] - middle)
    assert (open_shares(narrow) == 1).all()
    gaps = [float(gap_of(shape.swapped(one, latents)[:, EYES[0]])[0]) for one in (resting, narrow)]
    assert abs(gaps[0] - gaps[1]) < 0.25 * abs(
        float(gap_of(resting[:, EYES[0]])[0] - gap_of(narrow[:, EYES[0]])[0])
    )


def test_pictures_of_eyes_have_the_outer_corner_on_the_left(resting: Float32) -> None:
    crop = np.zeros((SIDE, SIDE, 3), np.uint8)
    for lids in EYES:
        x, y = resting[0, lids][0, :2] * SIDE
        cv2.circle(crop, (round(float(x)), round(float(y))), 2, (255, 255, 255), -1)
    for picture in eye_pictures(crop, resting[0]):
        row, column = np.unravel_index(int(picture.argmax()), picture.shape)
        assert column < WIDTH / 3
        assert abs(row - HEIGHT / 2) < 4


@pytest.mark.parametrize("size", [1, 8, 128])
def test_eyes_that_coincide_or_lie_far_outside_are_read(size: int, resting: Float32) -> None:
    crop, points = np.zeros((size, size, 3), np.uint8), resting[0].copy()
    for wrong in (np.zeros_like(points), points + np.float32(9), points * np.float32(1e4)):
        assert eye_pictures(crop, wrong).shape == (2, HEIGHT, WIDTH)


def test_network_that_is_no_lid_network_is_refused() -> None:
    with pytest.raises(ModelRejected, match="eyelids"):
        LidReader(Told(1.0, width=WIDTH + 1))


def test_network_that_returns_no_numbers_is_a_fault(resting: Float32) -> None:
    crop = np.zeros((1, SIDE, SIDE, 3), np.uint8)
    with pytest.raises(EngineFault, match="eyelid"):
        LidReader(Told(1.0, float("nan"))).read(crop, resting)
    assert LidReader(Told(2.0, -1.0)).read(crop, resting).tolist() == [[1.0, 0.0]]


def test_lids_are_in_the_bundled_pack() -> None:
    LidReader(OpenVino(threads=1).load(read_pack(bundled_pack()).path("lids.onnx")))


def test_blink_outlasts_smoothing(resting: Float32) -> None:
    """The planted fault: a mean over frames in which the eyes are open again."""
    shut_eyes = drawn_together(resting, np.zeros((1, 2), np.float32))
    smooth = (0.3 * shut_eyes + 0.7 * resting)[0]
    made = lids_as_read(smooth, shut_eyes[0])
    assert float(open_shares(smooth[None]).min()) == 1
    assert float(open_shares(made[None]).max()) < 0.1
    assert lids_as_read(smooth, resting[0]) is smooth


def test_eyes_that_widen_and_narrow_are_followed_whatever_they_usually_are(
    swapper: Swapper, resting: Float32
) -> None:
    """The planted fault: of one frame alone, eyes are open as the surrogate's."""
    shape = load_shape_model(bundled_pack() / "shape.npz")
    latents = np.zeros((1, swapper.layers, 512), np.float32)
    faces = {share: resting.copy() for share in (0.6, 0.8, 1.0)}
    for share, points in faces.items():
        for lids in EYES:
            points[:, lids] = narrowed(points[:, lids], np.array([share], np.float32))
    usual = shape.shown_by(faces[0.8], shape.pose_of(faces[0.8]))
    gaps = [
        [
            float(gap_of(shape.swapped(one, latents, usual=known)[:, EYES[0]])[0])
            for one in faces.values()
        ]
        for known in (None, usual)
    ]
    assert np.ptp(gaps[0]) < 0.25 * np.ptp(gaps[1])
    assert np.divide(gaps[1], gaps[1][1]) == pytest.approx([0.75, 1.0, 1.25], abs=0.08)
