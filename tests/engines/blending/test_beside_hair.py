"""Hair over the sides of a face goes on over the painted one, as a colour and nothing else."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending import beside_hair
from engines.blending.patches import Patch, identity_mask_of
from tests.engines.stylegan.faces import identities

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SIZE, SIDE = 128, 96
SKIN = np.array([120, 140, 190], np.float32)
HAIR = np.array([30, 28, 34], np.float32)
PATCH = Patch(
    np.full((SIZE, SIZE, 3), 1, np.float32) * SKIN,
    np.ones((SIZE, SIZE), np.float32),
    np.eye(2, 3, dtype=np.float32),
    identities(1, 1.0)[0],
)


def distances() -> Float32:
    """How far within the identity outline places of the patch are, shares of the side."""
    must = identity_mask_of(PATCH, SIZE).astype(np.uint8)
    return np.asarray(cv2.distanceTransform(must, cv2.DIST_L2, 3) / SIZE, np.float32)


def seen_behind(deep: float, rough: float = 0.0) -> tuple[NDArray[np.uint8], Float32]:
    """A head with hair around its face and `deep` within, and where it is skin."""
    is_hair = distances() < deep
    head = np.where(is_hair[..., None], HAIR, SKIN)
    head = head + np.random.default_rng(0).normal(0, 1, head.shape) * rough
    skin = cv2.resize(1 - is_hair.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.clip(head, 0, 255).astype(np.uint8), np.asarray(skin, np.float32)


def side_strip(upto: float) -> NDArray[np.bool_]:
    """A strip along the sides of the face, at the height of the eyes."""
    rows = np.arange(SIZE)[:, None] / SIZE
    return (distances() > 0) & (distances() < upto) & (rows > 0.4) & (rows < 0.5)


def with_hair_over(patch: Patch, head: NDArray[np.uint8], bare: Float32) -> Float32:
    """The patch's pixels with the hair that a head has over the sides of its face."""
    small = cv2.resize(head, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    must = identity_mask_of(patch, SIDE)
    fringe = beside_hair.fringe_over(must, bare)
    strands = beside_hair.strands_beside(must, np.asarray(small, np.float32), bare, fringe)
    return (
        patch.pixels if strands is None else beside_hair.with_hair_over(patch.pixels, head, strands)
    )


def test_hair_over_the_sides_is_drawn_over_the_painted_face() -> None:
    """The planted fault: skin lies over hair with the corners of the outline."""
    drawn = with_hair_over(PATCH, *seen_behind(0.06))
    assert drawn[side_strip(0.015)].mean() < 0.5 * SKIN.mean()
    assert np.abs(drawn[distances() > 0.12] - SKIN).max() < 2


def test_a_face_that_is_skin_up_to_its_rim_stays_as_it_is() -> None:
    assert np.abs(with_hair_over(PATCH, *seen_behind(0.0)) - SKIN).max() < 2


def test_what_is_no_skin_within_the_face_alone_is_not_drawn() -> None:
    """Brows and eyes of the subject: around them is skin."""
    head, skin = seen_behind(0.0)
    hidden = (distances() > 0.01) & (distances() < 0.05)
    head[hidden] = HAIR.astype(np.uint8)
    skin = np.where(cv2.resize(hidden.astype(np.uint8), (SIDE, SIDE)) > 0, 0, skin)
    assert np.abs(with_hair_over(PATCH, head, skin.astype(np.float32)) - SKIN).max() < 2


def test_nothing_fine_of_what_is_hidden_comes_through() -> None:
    head, skin = seen_behind(0.06, rough=12.0)
    drawn = with_hair_over(PATCH, head, skin)
    plain = with_hair_over(PATCH, seen_behind(0.06)[0], skin)
    changed = drawn - plain
    fine = changed - cv2.GaussianBlur(changed, (0, 0), 4)
    assert float(fine[side_strip(0.05)].std()) < 3


def test_a_beard_or_collar_below_the_jaw_is_not_drawn() -> None:
    drawn = with_hair_over(PATCH, *seen_behind(0.06))
    rows = np.flatnonzero((distances() > 0).any(axis=1))
    assert np.abs(drawn[rows[-1] - 6 : rows[-1] + 1] - SKIN).max() < 2


def test_a_face_without_an_outline_in_its_crop_is_left_as_it_is() -> None:
    assert PATCH.identity is not None
    away = replace(PATCH, identity=PATCH.identity + np.float32(5))
    assert (with_hair_over(away, *seen_behind(0.06)) == PATCH.pixels).all()


FACE = replace(
    PATCH,
    identity=np.array([[0.2, 0.3], [0.8, 0.3], [0.8, 0.6], [0.5, 0.9], [0.2, 0.6]], np.float32),
)
"""With an upper edge above the brows, as landmarks tell it."""


def fringe_seen(share: float) -> tuple[NDArray[np.uint8], Float32]:
    """A head whose hair hangs over so much of its forehead, and where it is skin."""
    must = identity_mask_of(FACE, SIZE)
    columns, top = np.flatnonzero(must.any(axis=0)), int(must.any(axis=1).argmax())
    is_hair = np.zeros((SIZE, SIZE), np.bool_)
    is_hair[: top + 8, columns[0] - 4 : columns[0] + round(share * len(columns))] = True
    head = np.where(is_hair[..., None], HAIR, SKIN).astype(np.uint8)
    skin = cv2.resize(1 - is_hair.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return head, np.asarray(skin, np.float32)


def test_fringe_hangs_over_the_painted_brow_without_a_gap() -> None:
    """The planted fault: painted skin lies between a fringe and what goes on of it."""
    head, skin = fringe_seen(0.3)
    drawn = with_hair_over(FACE, head, skin)
    must = identity_mask_of(FACE, SIZE)
    column = int(np.flatnonzero(must.any(axis=0))[0]) + 10
    rows = np.flatnonzero(must[:, column])
    assert drawn[rows[1] : rows[0] + 5, column].mean() < 0.6 * SKIN.mean()
    assert np.abs(drawn[rows[0] + 24 :, column] - SKIN).max() < 2


def test_forehead_that_is_dark_all_over_is_no_fringe() -> None:
    must = identity_mask_of(FACE, SIDE)
    assert not beside_hair.fringe_over(must, fringe_seen(0.9)[1]).any()


def test_hair_that_begins_within_the_face_is_no_fringe() -> None:
    """The planted fault: the subject's own brows are drawn."""
    must, skin = identity_mask_of(FACE, SIDE), np.ones((SIDE, SIDE), np.float32)
    top = int(must.any(axis=1).argmax())
    skin[top + 2 : top + 6, 36:44] = 0
    assert not beside_hair.fringe_over(must, skin).any()
