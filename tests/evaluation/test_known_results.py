"""Known results on real pictures: kept short, the whole page is made by its command."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from engines.backends.openvino import OpenVino
from evaluation.finders import finder_from_models, largest_central
from evaluation.recognisers import recognisers_from_names
from evaluation.reproduction.ksame_tables import ad_hoc_rows, ksame_rows, orl_faces
from gallery.pictures import read_picture
from tests.archives import unpack

pytestmark = pytest.mark.data


def unpacked(archive: Path, target: Path, most: int) -> Path:
    """The first `most` pictures of an archive."""
    with tarfile.open(archive) as file:
        members = sorted((m for m in file.getmembers() if m.isfile()), key=lambda m: m.name)
        unpack(file, members[:most], target)
    return target


def test_pixelation_falls_on_orl_where_k_same_holds(shared_data: Path, tmp_path: Path) -> None:
    sets = orl_faces(unpacked(shared_data / "orl" / "orl.tar", tmp_path, 1000))[:2]
    assert len(sets[0]) == 40
    rows = {row.name: row for row in ad_hoc_rows(sets)}
    assert rows["mosaic"].naive.rate > 0.95
    assert rows["mosaic"].parrot.rate > 0.99
    assert rows["blackout"].naive.rate < 0.1
    for row in ksame_rows(sets, (5,)):
        assert row.pixel.rate <= 1 / 5 + 1e-9


def test_the_presets_tell_people_of_lfw_apart(shared_data: Path, tmp_path: Path) -> None:
    folder = unpacked(shared_data / "lfw" / "lfw.tar", tmp_path, 90)
    backend, models = OpenVino(threads=1), shared_data / "models"
    _, finder = finder_from_models(backend, models)
    images, points, people = [], [], []
    for path in sorted(folder.rglob("*.webp")):
        image = read_picture(path)
        face = largest_central(finder.find(image), *image.shape[:2])
        if face is not None:
            images.append(image)
            points.append(face.landmarks_px)
            people.append(path.parent.name)
    names = np.array(people)
    same = (names[:, None] == names[None]) & ~np.eye(len(names), dtype=bool)
    assert len(names) >= 88
    for judge in recognisers_from_names([], backend, models):
        rows = judge.embed(images, points)
        scores = rows @ rows.T
        assert (scores[same] > judge.threshold).mean() > 0.9
        assert (scores[names[:, None] != names[None]] > judge.threshold).mean() < 0.01
