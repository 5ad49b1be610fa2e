"""Outlines reach as far as faces do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.openvino import OpenVino
from engines.errors import ModelRejected
from engines.face.control_reading import ControlReader
from engines.face.face_look import Look, painted_points, points_in_frame
from engines.face.swapper import Control, Swapper
from engines.pictures import picture_from_bgr
from engines.stylegan.outline import AS_READ, OutlineModel, levelled_points, load_outline
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from engines.stylegan.shape import EYES_APART, load_shape_model, points_at_rest
from engines.stylegan.topology import CHEEKS, MESH_POINTS, OVAL_SLICE, POINTS
from engines.types import Face, Frame
from stream.files.demo_clip import portrait

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
CORNERS = OVAL_SLICE.stop - OVAL_SLICE.start
PLACES = np.array([[204, 108], [240, 107], [221, 131], [208, 150], [241, 149]], np.float32)
"""Eyes, nose and mouth in the portrait."""
CHIN_PX = 177.0
LONGER = 1.25
"""Where its chin ends, and by how much it is drawn out to make a long face."""


def points(count: int = 3) -> Float32:
    random = np.random.default_rng(5)
    return random.uniform(0.2, 0.8, (count, POINTS, 3)).astype(np.float32)


def lower(by: float) -> OutlineModel:
    """A model by which all outlines are read too high."""
    offset = np.tile(np.array([0, by], np.float32), CORNERS)
    return OutlineModel(
        np.zeros(POINTS * 3, np.float32),
        np.eye(1, POINTS * 3, dtype=np.float32),
        offset,
        np.zeros((1, CORNERS * 2), np.float32),
        np.zeros((0, MESH_POINTS), np.float32),
    )


def turned_face(yaw_deg: float) -> Float32:
    """The mean face, turned aside: float32[1, POINTS, 3]."""
    rest = points_at_rest(load_shape_model(bundled_pack() / "shape.npz"))
    yaw = np.radians(yaw_deg)
    turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    middle = rest.mean(axis=1, keepdims=True)
    return np.asarray(middle + (rest - middle) @ turn.T, np.float32)


def long_face(swapper: Swapper) -> Look:
    """A photograph's face, drawn out, as it is read."""
    image = portrait()
    sides = (image.shape[1], round(LONGER * image.shape[0]))
    tall = np.asarray(cv2.resize(image, sides, interpolation=cv2.INTER_CUBIC), np.uint8)
    places = PLACES * np.array([1, LONGER], np.float32)
    box = np.concatenate([places.min(axis=0) - 30, places.max(axis=0) + 30]).astype(np.float32)
    frame = Frame(picture_from_bgr(tall), 0, Fraction(1, 25), 0, "")
    (look,) = ControlReader(swapper).looks([(frame, Face(box, places, 1.0))])
    return look


def test_without_a_model_outlines_are_as_they_are_read() -> None:
    assert np.array_equal(AS_READ.of_points(points()), points()[:, OVAL_SLICE, :2])


def test_what_is_off_turns_and_grows_with_the_face() -> None:
    read = points(1)
    _, turn = levelled_points(read)
    moved_by = lower(0.2).of_points(read) - read[:, OVAL_SLICE, :2]
    assert np.allclose(moved_by, (np.array([0, 0.2], np.float32) @ turn)[:, None], atol=1e-6)
    larger = lower(0.2).of_points(3 * read) - 3 * read[:, OVAL_SLICE, :2]
    assert np.allclose(larger, 3 * moved_by, atol=1e-5)


@pytest.mark.parametrize("side", [-1, 1])
def test_turned_heads_end_at_their_far_cheek(side: int) -> None:
    """The planted fault: heads drawn up to their landmarks looked farther turned than they were."""
    outline = load_outline(bundled_pack() / "outline.npz")
    gains = []
    for yaw_deg in (0, 15, 30, 45):
        face = turned_face(side * yaw_deg)
        read = face[:, OVAL_SLICE, :2]
        drawn = outline.with_cheeks(face, read)
        away = (drawn - read)[0, :, 0] / EYES_APART
        far, near = (away.max(), away.min()) if side < 0 else (away.min(), away.max())
        gains.append(abs(float(far)))
        assert abs(near) < 0.02, "the near side ends at landmarks"
    assert gains[0] < 0.03
    assert gains[1] < gains[2] < gains[3]
    assert 0.08 < gains[2] < 0.4


def test_cheeks_turn_move_and_grow_with_the_face() -> None:
    weights = load_outline(bundled_pack() / "outline.npz").cheeks
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-4)


def test_landmarks_unlike_all_known_ones_do_not_throw_an_outline_far_off() -> None:
    model = read_pack(bundled_pack())
    outline = load_outline(model.path("outline.npz"))
    wild = points(1) * np.array([9, 1, 5], np.float32)
    away = outline.of_points(wild) - wild[:, OVAL_SLICE, :2]
    _, turn = levelled_points(wild)
    assert np.linalg.norm(away @ np.linalg.inv(turn), axis=2).max() < 1.5


def test_chin_of_a_long_face_is_found_lower_than_it_is_read_and_hidden() -> None:
    swapper, _ = swapper_from_pack(OpenVino())
    look = long_face(swapper)
    read = points_in_frame(look)[None]
    outline = load_outline(read_pack(bundled_pack()).path("outline.npz"))
    chin, as_read = outline.of_points(read)[0, :, 1].max(), read[0, OVAL_SLICE, 1].max()
    assert as_read + 1.5 < chin < LONGER * CHIN_PX + 2
    seen = painted_points(look.shape)[None]
    control = Control(seen, look.light[None], np.array([look.doubt], np.float32))
    painted = swapper.paint(control, donor_latents(read_pack(bundled_pack()), 1))
    size = painted.alpha.shape[1]
    low = outline.of_points(seen)[0]
    column, row = low[low[:, 1].argmax()] * size
    assert painted.alpha[0, round(float(row)) - 4, round(float(column))] == 1
    assert painted.identity[0, :, 1].max() >= low[:, 1].max() - 0.02, "it must be hidden"


def test_damaged_models_are_refused(tmp_path: Path) -> None:
    good = lower(0.1)
    whole = replace(good, cheeks=np.zeros((len(CHEEKS), MESH_POINTS), np.float32))
    names = ("mean", "components", "offset", "slope", "cheeks")
    nothing = np.zeros((0, POINTS * 3), np.float32)
    for number, bad in enumerate(
        (
            replace(whole, mean=np.full_like(good.mean, np.nan)),
            replace(whole, offset=good.offset[:-1]),
            good,
            replace(whole, components=nothing, slope=np.zeros((0, CORNERS * 2), np.float32)),
        )
    ):
        path = tmp_path / f"{number}.npz"
        np.savez(path, allow_pickle=False, **{name: getattr(bad, name) for name in names})
        with pytest.raises(ModelRejected, match=path.name):
            load_outline(path)
    path = tmp_path / "none.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(ModelRejected, match=r"none\.npz"):
        load_outline(path)
