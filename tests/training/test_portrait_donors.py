"""Curated portraits become donors whose mixtures can be told."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from engines.stylegan.details import DonorDetails
from gallery.donors import read_donors
from training.axes import axes
from training.portrait_donors import donor_arrays, told_apart

pytestmark = pytest.mark.unit


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
