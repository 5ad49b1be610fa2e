"""Portraits become donors whose mixtures can be told, and who are painted as they are."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.openvino import OpenVino
from engines.donors.making import (
    DonorPeople,
    DonorReader,
    donor_entries,
    told_apart,
    write_donor_files,
    write_donors,
)
from engines.errors import ModelRejected
from engines.face.embedder import embedder_from_pack
from engines.stylegan.axes import axes
from engines.stylegan.details import DonorDetails, load_details, write_details
from engines.stylegan.pack import bundled_pack, load_role, read_pack, swapper_from_pack
from gallery.donors import read_donors
from tests.engines.donors.painted import portraits

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]


def test_donors_are_read_as_they_were_written(tmp_path: Path) -> None:
    latents = np.random.default_rng(0).standard_normal((4, 512)).astype(np.float16)
    bins = {"gender": np.array(["female", "male", "male", "female"])}
    path, faces = tmp_path / "donors.npz", np.eye(4, dtype=np.float32)
    faces[3] = faces[0]
    write_donors(path, latents.astype(np.float32), 12, bins, faces)
    population = read_donors(path)
    assert population.latents.shape == (4, 12, 512)
    assert np.array_equal(population.latents[:, 7], latents.astype(np.float32))
    assert population.attributes["gender"].tolist() == bins["gender"].tolist()
    assert population.alike.tolist() == [[0, 3]]
    assert np.array_equal(population.faces, faces)


def weights_of(told: Float32, latent: Float32) -> Float32:
    picture = cv2.imencode(".webp", np.full((8, 8, 3), 128, np.uint8))[1].tobytes()
    return DonorDetails(told, (picture,) * len(told), 8).weights_of(latent)


def test_people_of_few_directions_are_told_apart_where_no_network_looks() -> None:
    """60 donors that the encoder describes by 20 numbers: any could be made of the others."""
    used = axes(20)
    codes = np.random.default_rng(1).standard_normal((60, 20)).astype(np.float32)
    told = told_apart(codes @ used.T)
    assert np.abs(told @ used - codes).max() < 0.02, "what networks see of them stays"
    weights = weights_of(told, 0.7 * told[5] + 0.3 * told[40])
    assert np.allclose(weights[[5, 40]], [0.7, 0.3], atol=0.01)
    assert np.count_nonzero(weights) == 2


@pytest.mark.parametrize("count", [1, 9, 400])
def test_what_networks_see_of_people_stays_however_many_there_are(count: int) -> None:
    """The planted fault: nine people span nine directions, and networks look at 432."""
    used = axes(432)
    codes = np.random.default_rng(2).standard_normal((count, 432)).astype(np.float32)
    told = told_apart(codes @ used.T)
    assert np.abs(told @ used - codes).max() < 0.02
    assert np.allclose(weights_of(told, told[-1])[-1], 1, atol=0.01)


def test_donors_are_painted_as_their_portraits_are(tmp_path: Path) -> None:
    backend, pack = OpenVino(threads=1), read_pack(bundled_pack())
    swapper, _ = swapper_from_pack(backend)
    reader = DonorReader(backend, pack, swapper)
    read = [reader.read(one) for one in portraits(20)[:3]]
    latents, textures = (np.stack(part) for part in zip(*read, strict=True))
    people = DonorPeople(latents, textures, {"age": np.array(["adult"] * 3)})
    embedder, _ = embedder_from_pack(backend)
    write_donor_files(tmp_path, backend, pack, people, embedder)
    assert sorted(donor_entries(tmp_path)) == ["details.npz", "donors.npz"]
    population = read_donors(tmp_path / "donors.npz")
    assert len(population.alike) == 1
    details = load_details(tmp_path / "details.npz", population.latents[:, 0])
    generator = load_role(backend, pack, "generator")
    alone = generator.run({"latents": np.ascontiguousarray(population.latents)})["texture"]
    whole = alone + np.stack([details.of_latent(one[0]) for one in population.latents])
    assert np.abs(whole - textures).mean() < 0.25 * np.abs(alone - textures).mean()


def test_mirrored_portrait_gives_a_donor_of_the_same_shape() -> None:
    """The planted fault: a lamp on one side gave donors a cheek that no head has."""
    backend, pack = OpenVino(threads=1), read_pack(bundled_pack())
    reader = DonorReader(backend, pack, swapper_from_pack(backend)[0])
    portrait = portraits(20)[0].copy()
    portrait[:, :100] //= 2
    (one, _), (other, _) = (reader.read(seen) for seen in (portrait, portrait[:, ::-1]))
    assert np.allclose(one, other, atol=1e-3)


def test_details_of_another_size_are_refused(tmp_path: Path) -> None:
    latents = np.eye(2, 512, dtype=np.float32)
    write_details(tmp_path / "details.npz", np.zeros((2, 3, 64, 64), np.float32))
    details = load_details(tmp_path / "details.npz", latents)
    with pytest.raises(ModelRejected, match="another size"):
        swapper_from_pack(OpenVino(threads=1), details=details)
