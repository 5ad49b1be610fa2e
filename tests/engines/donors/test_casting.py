"""An imported network's people become a donor pack, or nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from onnx import helper

from engines.backends.openvino import OpenVino
from engines.donors.casting import SHEET, Cast, Wanted, cast_donors
from engines.donors.packs import read_donor_pack
from engines.errors import EngineFault, ModelRejected
from engines.models.catalogue import Listed, catalogue
from engines.models.importing import import_model
from engines.stylegan.pack import MANIFEST, bundled_pack, read_pack
from gallery.donors import read_donors
from tests.engines.donors.painted import painting_network, portraits
from tests.engines.models.packs import network as small_network
from tests.engines.models.packs import write_pack
from tests.engines.stylegan.imports.generators import stylegan2
from tests.engines.stylegan.pickle_writing import network_pickle

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Listed:
    folder = tmp_path_factory.mktemp("models")
    write_pack(folder / "people", painting_network(portraits(20)))
    return list(catalogue(folder))[-1]


def cast(network: Listed, target: Path, *, count: int = 9, seed: int = 0, tries: int = 80) -> Cast:
    wanted = Wanted(count, 2, 0.7, seed, tries)
    return cast_donors(network, target, wanted, OpenVino(threads=1), lambda _: None)


def test_pack_holds_donors_with_bins_and_a_sheet_of_them(network: Listed, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    done = cast(network, target)
    assert len(done.taken) == 9
    assert done.painted == 9 + done.refused.total()
    networks = read_pack(bundled_pack())
    pack = read_donor_pack(target, networks)
    population = read_donors(pack.path("donors.npz"))
    assert len(population) == 9
    assert sorted(population.attributes) == ["age", "gender", "tone"]
    said = json.loads((target / MANIFEST).read_text())
    assert said["source"]["network"] == "people"
    assert said["source"]["mix"] == 2
    assert said["licence"] == "unknown"
    sheet = cv2.imread(str(target / SHEET))
    assert sheet is not None
    assert sheet.shape == (96, 9 * 96, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_small_random_network_paints_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tiny.pkl"
    path.write_bytes(network_pickle(stylegan2()))
    import_model(path, folder=tmp_path / "models")
    tiny = list(catalogue(tmp_path / "models"))[-1]
    with pytest.raises(
        ModelRejected, match="0 of 9 donors: 0 of 12 portraits show one face; refused: no face 12"
    ):
        cast(tiny, tmp_path / "out" / "mine", tries=12)
    assert not (tmp_path / "out").exists()


def test_too_few_usable_portraits_are_told_with_why(network: Listed, tmp_path: Path) -> None:
    with pytest.raises(ModelRejected, match=r"of 40 donors: 45 of 45 .*like another donor \d+"):
        cast(network, tmp_path / "mine", count=40, tries=45)
    assert not list(tmp_path.iterdir())


def test_interruption_leaves_the_old_pack_as_it_was(network: Listed, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "old").touch()

    def interrupted(taken: int) -> None:
        if taken == 3:
            raise KeyboardInterrupt

    wanted = Wanted(9, 2, 0.7, 0, 80)
    with pytest.raises(KeyboardInterrupt):
        cast_donors(network, target, wanted, OpenVino(threads=1), interrupted)
    assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_detector_is_no_network_of_portraits(tmp_path: Path) -> None:
    files = painting_network((np.zeros((8, 8, 3), np.uint8),) * 2)
    pack = read_pack(write_pack(tmp_path / "it", files))
    with pytest.raises(ModelRejected, match="not a generator"):
        cast(Listed("it", "detector", "imported", "", pack), tmp_path / "mine")


def test_network_that_paints_no_numbers_is_told(tmp_path: Path) -> None:
    files = painting_network((np.zeros((8, 8, 3), np.uint8),) * 2)
    weight = {"nan": np.array([np.nan], np.float32)}
    nodes = [helper.make_node("Mul", ["latents", "nan"], ["image"])]
    files["synthesis.onnx"] = small_network(
        nodes, {"latents": ["n", 2, 2]}, {"image": ["n", 2, 2]}, weight
    )
    pack = read_pack(write_pack(tmp_path / "it", files))
    with pytest.raises(EngineFault, match=r"no numbers|not finite|NaN"):
        cast(Listed("it", "generator", "imported", "", pack), tmp_path / "mine")
    assert not (tmp_path / "mine").exists()
