"""The papers' experiments on self-made pictures: the shape of their results must come out."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from evaluation.errors import FacesUnreadable
from evaluation.reproduction.cluster_tables import centroid_rows, clustering_rows, collapse_rows
from evaluation.reproduction.ksame_tables import (
    ad_hoc_rows,
    ksame_rows,
    orl_faces,
    threshold_rows,
)
from evaluation.reproduction.markdown import put_figures
from tests.evaluation.fakes import painted_portrait

pytestmark = pytest.mark.unit


def write_orl(folder: Path, people: int = 12) -> Path:
    for person in range(people):
        place = folder / "faces" / f"s{person + 1}"
        place.mkdir(parents=True)
        for number in (1, 2):
            grey = cv2.cvtColor(painted_portrait(person, number), cv2.COLOR_BGR2GRAY)
            cv2.imwrite(str(place / f"{number}.pgm"), cv2.resize(grey, (46, 56)))
    return folder


def test_covers_fall_to_the_parrot_and_means_do_not(tmp_path: Path) -> None:
    sets = orl_faces(write_orl(tmp_path))
    assert [len(faces) for faces in sets] == [12, 12]
    rows = {row.name: row for row in ad_hoc_rows(sets)}
    assert rows["original"].naive.rate == 1.0
    assert rows["mosaic"].parrot.rate > 0.99
    assert rows["bar-mask"].parrot.rate > 0.99
    assert rows["blackout"].parrot.rate < 0.5
    for row in ksame_rows(sets, (2, 3, 6)):
        assert row.pixel.rate <= 1 / row.k + 1e-9
        assert row.eigen.rate <= 1 / row.k + 1e-9


def test_a_threshold_in_the_middle_leaves_most(tmp_path: Path) -> None:
    low, middle = threshold_rows(orl_faces(write_orl(tmp_path)), (1, 128))
    assert middle.parrot.rate > low.parrot.rate


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FacesUnreadable, match="unpack"):
        orl_faces(tmp_path)


def test_centroids_are_as_near_as_expected_and_sets_collapse() -> None:
    vectors = np.random.default_rng(0).normal(size=(60, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for row in centroid_rows(vectors, (2, 5), 0.3):
        assert row.measured == pytest.approx(row.expected, abs=0.01)
    collapse = collapse_rows(vectors, 5, 3)
    assert collapse["random, anew"][2] < 2
    assert collapse["sticky"] == [5.0, 5.0, 5.0]
    names = [name for name, _ in clustering_rows(vectors, 5)]
    assert "hierarchical-ward" in names
    assert len(names) == len(set(names))


def test_figures_replace_those_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->old<!-- /a --> text\n", "utf-8")
    put_figures(page, {"a": "new"})
    assert page.read_text("utf-8") == "<!-- a -->\nnew\n<!-- /a --> text\n"
    with pytest.raises(ValueError, match="substring"):
        put_figures(page, {"b": "new"})
