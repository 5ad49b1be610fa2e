"""The measurement of memory, on a handful of pictures."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest
import typer
from typer.testing import CliRunner

from evaluation.dataset_memory import copied_pictures, measure_dataset
from gallery.pictures import people_in_folder
from tests.evaluation.fakes import write_people

pytestmark = pytest.mark.unit


def test_copies_are_small_two_per_person_and_all_different(tmp_path: Path) -> None:
    faces = write_people(tmp_path / "faces", people=2, pictures=2)
    assert copied_pictures(faces, tmp_path / "copies", 21, side=96) == 11
    people = people_in_folder(tmp_path / "copies")
    files = [path for paths in people.values() for path in paths]
    assert (len(people), len(files)) == (11, 21)
    picture = cv2.imread(str(files[0]))
    assert picture is not None
    assert picture.shape == (96, 96, 3)
    assert len({path.read_bytes() for path in files}) > 15


def test_a_failing_run_is_told(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(measure_dataset)
    faces = write_people(tmp_path / "faces", people=2, pictures=2)
    arguments = [str(faces), "--pictures", "20", "--method", "none"]
    result = CliRunner().invoke(app, arguments)
    assert "ended with exit" in str(result.exception)
