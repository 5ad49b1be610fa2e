"""Masks hide all that tells who somebody is, and end on skin."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.blending.patches import Patch, identity_mask_of
from engines.stylegan.masks import (
    alpha_from_outlines,
    carried_along,
    identity_outlines,
    oval_from_points,
    share_outside,
)
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    OVAL_SLICE,
)
from tests.engines.stylegan.faces import drawn_face, turned

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
FEATURES = (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
)
TOP, MIDDLE = 0.07, 0.5
"""Where the drawn face ends above, and its middle."""


def mask_of(points: Float32, size: int) -> tuple[Float32, Float32]:
    """Alpha float32[size, size] of a face, and what of it must be hidden, float32[K, 2].

    Args:
        points: of the subject.
        size: of the mask.
    """
    outlines = points[None, OVAL_SLICE, :2]
    must = identity_outlines(points[None], outlines)[0]
    return alpha_from_outlines(points, must, outlines[0], size), must


def hidden(identity: Float32, size: int) -> npt.NDArray[np.bool_]:
    """Where a patch with this outline must be opaque, as the compositor sees it."""
    pixels = np.zeros((size, size, 3), np.float32)
    place = np.eye(2, 3, dtype=np.float32)
    return identity_mask_of(Patch(pixels, pixels[..., 0], place, identity), size)


@st.composite
def faces(draw: st.DrawFn) -> Float32:
    """Faces turned aside, moved, drawn out, and read with errors."""
    points = turned(drawn_face(), draw(st.floats(-40, 40)))
    middle = points.mean(axis=0)
    scale = [draw(st.floats(0.5, 1.3)), draw(st.floats(0.5, 1.3)), 1.0]
    shift = [draw(st.floats(-0.3, 0.3)), draw(st.floats(-0.3, 0.3)), 0.0]
    error = np.random.default_rng(draw(st.integers(0, 999))).normal(0, 0.01, points.shape)
    return np.asarray((points - middle) * scale + middle + shift + error, np.float32)


@given(faces(), st.sampled_from([64, 128, 192]))
@settings(max_examples=100)
def test_whatever_face_is_read_its_identity_is_hidden_wholly(points: Float32, size: int) -> None:
    alpha, must = mask_of(points, size)
    assert alpha.shape == (size, size)
    assert alpha.dtype == np.float32
    assert np.isfinite(alpha).all()
    assert ((alpha >= 0) & (alpha <= 1)).all()
    assert (alpha[hidden(must, size)] == 1).all()


@pytest.mark.parametrize("yaw_deg", [-30, 0, 30])
def test_brows_eyes_nose_and_mouth_are_identity(yaw_deg: float) -> None:
    points = turned(drawn_face(), yaw_deg)
    alpha, _ = mask_of(points, 128)
    for part in FEATURES:
        columns, rows = np.floor(points[part, :2] * 128).astype(int).T
        assert (alpha[rows, columns] == 1).all()


def test_lips_that_reach_below_the_chin_of_a_bowed_head_are_hidden() -> None:
    points = drawn_face()
    points[:, 1] -= 0.2
    chin = points[OVAL_SLICE, 1].max()
    points[LIPS_OUTER_SLICE, 1] += chin + 0.04 - points[LIPS_OUTER_SLICE, 1].max()
    alpha, must = mask_of(points, 128)
    columns, rows = np.round(points[LIPS_OUTER_SLICE, :2] * 128 - 0.5).astype(int).T
    assert (alpha[rows, columns] == 1).all()
    assert hidden(must, 128)[rows, columns].all()


def test_forehead_fades_into_the_subjects_own() -> None:
    points = drawn_face()
    alpha, must = mask_of(points, 128)
    column = alpha[:, round(MIDDLE * 128)]
    brow, top = int(must[:, 1].min() * 128), int(TOP * 128)
    assert (np.diff(column[:brow]) >= -1e-6).all(), "less and less upwards"
    assert column[brow + 2] == 1
    assert column[top] < 0.1
    assert 0.1 < column[(brow + top) // 2] < 0.9
    assert not alpha[: top - 4].any()


def test_chin_is_opaque_nearly_to_its_end_and_jaws_go_over_on_skin_below() -> None:
    points = drawn_face()
    points[:, 1] -= 0.06
    alpha, _ = mask_of(points, 128)
    chin = int((points[OVAL_SLICE, 1].max()) * 128)
    column = alpha[:, round(MIDDLE * 128)]
    assert (column[70:chin] == 1).all()
    assert (np.diff(column[chin:]) <= 1e-6).all()
    assert ((column[chin:] > 0) & (column[chin:] < 1)).any()


def test_features_near_a_drawn_in_outline_go_along_and_the_nose_stays() -> None:
    points = drawn_face()
    narrow = points[None, OVAL_SLICE, :2].copy()
    narrow[..., 0] = np.minimum(narrow[..., 0], MIDDLE + 0.2)
    moved = carried_along(points[None], narrow)[0]
    drawn_in = (points - moved)[:, 0]
    assert drawn_in[EYE_RIGHT_SLICE].max() > 5 * np.abs(drawn_in[NOSE_BRIDGE_SLICE]).max()
    assert np.abs(drawn_in[EYE_LEFT_SLICE]).max() < 0.1 * drawn_in[EYE_RIGHT_SLICE].max()
    assert np.array_equal(moved[OVAL_SLICE, :2], narrow[0])
    assert np.array_equal(moved[:, 2], points[:, 2])


@pytest.mark.parametrize("yaw_deg", [-38, -20, 0, 20, 38])
def test_room_around_brows_ends_at_the_silhouette(yaw_deg: float) -> None:
    """Else a turned head would bulge beside its far brow."""
    points = turned(drawn_face(), yaw_deg)
    outline = np.ascontiguousarray(points[OVAL_SLICE, :2])
    must = identity_outlines(points[None], outline[None])[0]
    hull = cv2.convexHull(np.concatenate([outline, *(points[part, :2] for part in FEATURES)]))
    assert min(cv2.pointPolygonTest(hull, one.tolist(), True) for one in must) > -2e-3


def test_points_far_outside_are_drawn_without_error() -> None:
    assert oval_from_points(drawn_face() * 50 - 20, 64).dtype == np.float32


def test_oval_covers_the_face_and_no_corner() -> None:
    oval = oval_from_points(drawn_face(), 64)
    assert oval[32, 32] == 1.0
    assert oval[0, 0] == 0.0


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.0), (0.5, 0.5), (3.0, 1.0), (1e6, 1.0)])
def test_what_lies_beyond_the_crop_is_told(shift: float, share: float) -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]], np.float32)
    assert share_outside(square + np.array([shift, 0], np.float32)) == pytest.approx(
        share, abs=1e-4
    )
