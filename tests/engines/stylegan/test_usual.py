"""Textures are held within what is usual, and ordinary ones stay as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engines.errors import ModelRejected
from engines.stylegan.pack import bundled_pack
from engines.stylegan.usual import (
    HUE_LIMIT,
    LIGHT_LIMIT,
    SIDE,
    UsualTexture,
    load_usual,
    usual_from_textures,
)

pytestmark = pytest.mark.unit

SIZE = 128
SPREAD = 0.1

Float32 = npt.NDArray[np.float32]


def usual() -> UsualTexture:
    return UsualTexture(
        np.zeros((SIDE, SIDE, 3), np.float32), np.full((SIDE, SIDE, 2), SPREAD, np.float32)
    )


def bounded(colour: tuple[float, float, float], share: float = 1.0) -> Float32:
    """What a plain texture of a colour becomes, float32[3]."""
    picture = np.broadcast_to(np.array(colour, np.float32), (SIZE, SIZE, 3)).copy()
    found = usual().bounded(picture, np.full((SIDE, SIDE), share, np.float32))
    return np.asarray(found.mean(axis=(0, 1)), np.float32)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_what_is_very_dark_or_bright_is_bent_to_the_limit(sign: float) -> None:
    assert bounded((sign, sign, sign)) == pytest.approx(sign * LIGHT_LIMIT * SPREAD, abs=1e-3)
    halved = bounded((sign, sign, sign), 0.5)
    assert halved == pytest.approx(sign * LIGHT_LIMIT * SPREAD / 2, abs=1e-3)


def test_what_is_usual_stays() -> None:
    assert bounded((0.05, 0.05, 0.05)) == pytest.approx(0.05, rel=0.01)


def test_a_strange_hue_is_bounded_and_brightness_kept() -> None:
    luma = np.array([0.299, 0.587, 0.114], np.float32)
    found = bounded((0.701, -0.299, -0.299))
    assert np.linalg.norm(found) == pytest.approx(HUE_LIMIT * SPREAD, rel=0.02)
    assert float(found @ luma) == pytest.approx(0, abs=1e-3)


def test_fine_detail_stays() -> None:
    stripes = np.zeros((SIZE, SIZE, 3), np.float32)
    stripes[:, ::2], stripes[:, 1::2] = 0.9, -0.9
    found = usual().bounded(stripes, np.ones((SIDE, SIDE), np.float32))
    assert np.allclose(found, stripes, atol=1e-5)


def test_both_sides_have_the_same_mean_and_spread() -> None:
    textures = np.random.default_rng(1).normal(0, 0.3, (6, 3, SIZE, SIZE)).astype(np.float32)
    found = usual_from_textures(textures)
    assert np.allclose(found.mean, found.mean[:, ::-1], atol=1e-6)
    assert np.allclose(found.spread, found.spread[:, ::-1], atol=1e-6)


def test_the_bundled_pack_tells_what_is_usual() -> None:
    found = load_usual(bundled_pack() / "shape.npz")
    assert found is not None
    assert 0.05 < float(np.median(found.spread[..., 0])) < 0.6


def test_packs_without_it_are_read_and_damaged_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "shape.npz"
    np.savez(path, other=np.zeros(3))
    assert load_usual(path) is None
    np.savez(path, usual_mean=np.zeros((SIDE, SIDE, 3)), usual_spread=np.zeros((SIDE, SIDE)))
    with pytest.raises(ModelRejected):
        load_usual(path)
    np.savez(path, usual_mean=np.zeros((SIDE, SIDE, 3)))
    with pytest.raises(ModelRejected):
        load_usual(path)
