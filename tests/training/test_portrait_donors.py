"""Curated portraits become donors whose mixtures can be told."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.stylegan.details import DonorDetails
from engines.stylegan.pack import bundled_pack, read_pack
from engines.stylegan.warp import load_texture_frame
from gallery.donors import read_donors
from training.axes import axes
from training.portrait_donors import donor_arrays, evened, told_apart

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]


def test_donors_are_read_as_they_were_written(tmp_path: Path) -> None:
    latents = np.random.default_rng(0).standard_normal((4, 512)).astype(np.float16)
    bins = {"gender": np.array(["female", "male", "male", "female"])}
    arrays = donor_arrays(latents.astype(np.float32), bins, 12)
    arrays["alike"] = np.array([[0, 3]], np.int32)
    np.savez_compressed(tmp_path / "donors.npz", allow_pickle=False, **arrays)
    population = read_donors(tmp_path / "donors.npz")
    assert population.latents.shape == (4, 12, 512)
    assert np.array_equal(population.latents[:, 7], latents.astype(np.float32))
    assert population.attributes["gender"].tolist() == bins["gender"].tolist()
    assert population.alike.tolist() == [[0, 3]]


def test_people_of_few_directions_are_told_apart_where_no_network_looks() -> None:
    """60 donors that the encoder describes by 20 numbers: any could be made of the others."""
    used = axes(20)
    codes = np.random.default_rng(1).standard_normal((60, 20)).astype(np.float32)
    told = told_apart(codes @ used.T)
    assert np.abs(told @ used - codes).max() < 0.02, "what networks see of them stays"
    picture = cv2.imencode(".webp", np.full((8, 8, 3), 128, np.uint8))[1].tobytes()
    details = DonorDetails(told, (picture,) * 60, 8)
    weights = details.weights_of(0.7 * told[5] + 0.3 * told[40])
    assert np.allclose(weights[[5, 40]], [0.7, 0.3], atol=0.01)
    assert np.count_nonzero(weights) == 2


SIDE = 128


def with_spot(*places: tuple[int, int], level: float = -0.6, radius: int = 8) -> Float32:
    """A plain texture with dark spots, softened."""
    texture = np.zeros((SIDE, SIDE, 3), np.float32)
    for place in places:
        cv2.circle(texture, place, radius, (level,) * 3, -1)
    return np.asarray(cv2.GaussianBlur(texture, (0, 0), 3), np.float32)


def even(texture: Float32) -> Float32:
    frame = load_texture_frame(read_pack(bundled_pack()).path("shape.npz"))
    return evened(texture, frame.points)


def test_what_is_dark_on_one_cheek_alone_is_taken_for_shade() -> None:
    """The planted fault: a portrait's shadow would be a blotch on another head."""
    assert even(with_spot((36, 74)))[74, 36].min() > -0.2


def test_what_is_dark_on_both_sides_stays_near_the_features() -> None:
    beard = with_spot((52, 108), (SIDE - 53, 108))
    assert even(beard)[108, [52, SIDE - 53]].max() < 0.5 * beard[108, 52].max()


def test_features_stay_although_they_are_fine_and_on_one_side() -> None:
    mole = np.zeros((SIDE, SIDE, 3), np.float32)
    mole[70:72, 50:52] = -0.8
    assert even(mole)[70:72, 50:52].max() < -0.5


def test_ears_and_hair_at_the_outline_are_left_out() -> None:
    ears = with_spot((4, 64), (SIDE - 5, 64))
    ears[40:90:4, [3, 6, SIDE - 7, SIDE - 4]] = 0.9
    made = even(ears)
    assert np.abs(made[:, :5]).max() < 0.25
    assert np.abs(made[:, -5:]).max() < 0.25
