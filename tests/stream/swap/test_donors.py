"""Faces are swapped with a pack of the user's own donors, or the pack is refused with one line."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from config.loading import load_settings
from engines.backends.openvino import OpenVino
from engines.donors.casting import Wanted, cast_donors
from engines.donors.making import donor_entries
from engines.errors import KveilError, ModelRejected
from engines.models.catalogue import catalogue
from engines.stylegan.details import write_details
from engines.stylegan.pack import MANIFEST, swapper_from_pack
from gallery.errors import DonorPackRejected, TooFewDonors
from stream.files.file_runs import run_files
from stream.pipeline.engine_set import open_engines, open_painter
from stream.swap.donors import open_donors
from tests.engines.donors.painted import painting_network, portraits
from tests.engines.models.packs import write_pack

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A donor pack of nine people."""
    folder = tmp_path_factory.mktemp("made")
    write_pack(folder / "models" / "people", painting_network(portraits(20)))
    network = list(catalogue(folder / "models"))[-1]
    wanted = Wanted(9, 1, 0.7, 0, 80)
    cast_donors(network, folder / "pack", wanted, OpenVino(threads=1), lambda _: None)
    return folder / "pack"


def changed(made: Path, folder: Path, **arrays: NDArray[np.generic] | None) -> Path:
    """The pack with other arrays, under hashes that are right."""
    folder.mkdir()
    with np.load(made / "donors.npz") as file:
        held = {name: file[name] for name in file.files} | arrays
    kept = {name: array for name, array in held.items() if array is not None}
    np.savez(folder / "donors.npz", allow_pickle=False, **kept)
    (folder / "details.npz").write_bytes((made / "details.npz").read_bytes())
    return signed(made, folder)


def signed(made: Path, folder: Path) -> Path:
    said = json.loads((made / MANIFEST).read_text()) | {"files": donor_entries(folder)}
    (folder / MANIFEST).write_text(json.dumps(said))
    return folder


def test_pack_is_opened_with_its_bank(made: Path) -> None:
    donors = open_donors(str(made))
    assert len(donors.population) == 9
    assert donors.details is not None
    latent = donors.population.latents[4, 0]
    assert donors.details.weights_of(latent).argmax() == 4


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"latents": np.full((9, 1, 512), np.nan, np.float16)}, "NaN"),
        ({"latents": np.ones((9, 1, 64), np.float16), "mean": np.ones((12, 64))}, "latents of"),
        ({"mean": np.zeros((3, 512), np.float32)}, "latents of"),
        ({"attribute.tone": None, "values.tone": None}, "no bins of tone"),
        ({"attribute.age": np.full(9, -1, np.int16)}, "other bins of age"),
        ({"values.gender": np.array(["left", "right"])}, "other bins of gender"),
    ],
)
def test_pack_that_does_not_fit_is_refused(
    made: Path, tmp_path: Path, arrays: dict[str, NDArray[np.generic] | None], words: str
) -> None:
    folder = changed(made, tmp_path / "mine", **arrays)
    with pytest.raises(DonorPackRejected, match=words) as refused:
        open_donors(str(folder))
    assert "\n" not in str(refused.value)


def test_bank_of_other_donors_is_refused(made: Path, tmp_path: Path) -> None:
    folder = changed(made, tmp_path / "mine")
    write_details(folder / "details.npz", np.zeros((3, 3, 256, 256), np.float32))
    with pytest.raises(ModelRejected, match="does not fit the donors"):
        open_donors(str(signed(made, folder)))


def test_too_few_donors_for_a_cluster_are_refused_before_a_network_is_loaded(made: Path) -> None:
    settings = load_settings(flags={"models.donors": str(made), "privacy.k": 6})
    with pytest.raises(TooFewDonors, match="the 11 different faces"), open_engines(settings):
        pass


def test_processes_that_draw_faces_paint_the_same_people(made: Path) -> None:
    donors = open_donors(str(made))
    first, _ = swapper_from_pack(OpenVino(threads=1), details=donors.details)
    other = open_painter("openvino", "cpu", "fp32", str(made))
    bundled = open_painter("openvino", "cpu", "fp32")
    control = other.read(portraits(20)[0][64:320, 64:320][None])
    latents = np.ascontiguousarray(donors.population.latents[:1])
    wanted, made_so, without = (
        painter.paint(control, latents).pixels for painter in (first, other, bundled)
    )
    assert np.abs(made_so - wanted).max() < 1
    assert np.abs(without - wanted).mean() > 1


def run(folder: Path, donors: Path) -> dict[str, object]:
    """Anonymizes a picture of one face."""
    source, target = folder / "in.png", folder / "out.png"
    cv2.imwrite(str(source), portraits(20)[7])
    flags = {"models.donors": str(donors), "limits.threads": 1, "limits.drawing_processes": 1}
    flags["limits.engine_deadline_s"] = 200  # however busy the machine is
    settings = load_settings(flags=flags)
    (report,) = run_files(
        [source],
        target,
        settings,
        overwrite=False,
        resume=False,
        report_path=None,
    )
    return report.model_dump()


def test_face_is_swapped_with_donors_of_the_pack(made: Path, tmp_path: Path) -> None:
    report = run(tmp_path, made)
    faces = report["faces"]
    assert isinstance(faces, dict)
    assert (faces["swapped"], faces["covered"]) == (1, 0)
    before, after = (cv2.imread(str(tmp_path / name)) for name in ("in.png", "out.png"))
    assert before is not None
    assert after is not None
    assert np.abs(after.astype(int) - before)[150:250, 130:250].mean() > 5


def test_nothing_is_swapped_with_a_pack_of_another_frame(made: Path, tmp_path: Path) -> None:
    folder = changed(made, tmp_path / "mine")
    said = json.loads((folder / MANIFEST).read_text())
    said["frame"]["shape.npz"] = "0" * 64
    (folder / MANIFEST).write_text(json.dumps(said))
    with pytest.raises(KveilError, match="another frame") as refused:
        run(tmp_path, folder)
    assert refused.value.exit_code == 5
    assert not (tmp_path / "out.png").exists()
