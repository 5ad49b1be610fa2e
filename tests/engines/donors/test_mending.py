"""Strands of hair and frown lines of a portrait are no part of a donor; moles and furrows are."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.donors.mending import mended
from engines.stylegan.pack import bundled_pack, read_pack
from engines.stylegan.topology import BROW_LEFT_SLICE
from engines.stylegan.warp import load_texture_frame

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
SIDE = 256
POINTS = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points


def with_line(start: tuple[int, int], end: tuple[int, int], level: float) -> Float32:
    texture = np.zeros((SIDE, SIDE, 3), np.float32)
    cv2.line(texture, start, end, (level,) * 3, 2, cv2.LINE_AA)
    return texture


@pytest.mark.parametrize("level", [-0.5, 0.5], ids=["hair", "glint"])
@pytest.mark.parametrize(
    ("start", "end"),
    [((210, 110), (214, 160)), ((70, 20), (90, 50)), ((128, 40), (129, 60))],
    ids=["down a cheek", "of a fringe", "between the brows"],
)
def test_planted_strand_is_gone(start: tuple[int, int], end: tuple[int, int], level: float) -> None:
    worn = with_line(start, end, level)
    assert np.abs(mended(worn, POINTS)).max() < 0.2 * np.abs(worn).max()


def test_furrows_across_the_forehead_stay() -> None:
    furrow = with_line((60, 40), (196, 40), -0.2)
    assert np.abs(mended(furrow, POINTS) - furrow).max() < 0.02


def test_moles_and_features_stay() -> None:
    face = np.zeros((SIDE, SIDE, 3), np.float32)
    cv2.circle(face, (215, 130), 2, (-0.6,) * 3, -1)
    brow = (POINTS[BROW_LEFT_SLICE, :2] * SIDE).astype(np.int32)
    cv2.fillConvexPoly(face, cv2.convexHull(brow[1:9]), (-0.5,) * 3)
    assert np.abs(mended(face, POINTS) - face).max() < 0.05


def test_hair_at_the_end_of_one_brow_is_gone() -> None:
    hair = np.zeros((SIDE, SIDE, 3), np.float32)
    cv2.circle(hair, (226, 68), 7, (-0.7,) * 3, -1)
    assert np.abs(mended(hair, POINTS)).max() < 0.25


def test_skin_keeps_its_pores() -> None:
    """The other side's come where a strand was."""
    pores = 0.03 * np.random.default_rng(0).standard_normal((SIDE, SIDE, 1)).astype(np.float32)
    face = np.repeat(pores, 3, axis=2)
    worn = face + with_line((210, 110), (214, 160), -0.5)
    whole = mended(worn, POINTS)
    there = with_line((210, 110), (214, 160), 1.0)[..., 0] > 0.5
    assert whole[there].std() > 0.4 * face[there].std()
    assert np.abs(whole - face).max() < 0.25
