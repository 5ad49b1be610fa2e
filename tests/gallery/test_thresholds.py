"""Shares of newcomers and returning people, on sets whose answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from gallery import thresholds
from gallery.errors import PeopleFolderRejected, TooFewPeople
from gallery.faces import FaceSet
from gallery.settings import Thresholds

pytestmark = pytest.mark.unit


def set_of(cosine: float, people: int = 10) -> FaceSet:
    """Orthogonal people with two pictures each, at this cosine of each other."""
    first = np.eye(2 * people, dtype=np.float32)[:people]
    other = np.roll(np.eye(2 * people, dtype=np.float32), people, axis=1)[:people]
    second = cosine * first + np.sqrt(1 - cosine**2) * other
    persons = np.concatenate([np.arange(people)] * 2)
    return FaceSet(np.concatenate([first, second]).astype(np.float32), persons)


@pytest.mark.parametrize(
    ("cosine", "known", "doubt", "new"),
    [(0.9, 1.0, 0.0, 0.0), (0.5, 0.0, 1.0, 0.0), (0.2, 0.0, 0.0, 1.0)],
)
def test_returning_people_fall_where_their_cosine_says(
    cosine: float, known: float, doubt: float, new: float
) -> None:
    row = thresholds.threshold_row(set_of(cosine), Thresholds(0.6, 0.4), people=10)
    assert (row.return_known, row.return_doubt, row.return_new) == (known, doubt, new)
    assert (row.newcomer_taken, row.newcomer_doubt, row.return_other) == (0.0, 0.0, 0.0)


def test_lookalikes_are_taken_for_each_other() -> None:
    faces = FaceSet(np.array([[1, 0], [0.9, 0.43], [0, 1]], np.float32), np.arange(3))
    row = thresholds.threshold_row(faces, Thresholds(0.8, 0.4), people=3)
    assert row.newcomer_taken == pytest.approx(2 / 3)
    assert row.newcomer_doubt == pytest.approx(1 / 3)
    assert np.isnan(row.return_known)


def test_returning_person_nearer_to_another_is_told() -> None:
    faces = FaceSet(np.array([[1, 0], [0, 1], [0.1, 0.99]], np.float32), np.array([0, 1, 0]))
    assert thresholds.threshold_row(faces, Thresholds(0.8, 0.4), people=2).return_other == 1.0


@pytest.mark.parametrize("people", [1, 11])
def test_gallery_larger_than_the_set_is_refused(people: int) -> None:
    with pytest.raises(TooFewPeople):
        thresholds.threshold_row(set_of(0.9), Thresholds(), people)


def test_command_prints_a_row_per_size_and_choice(tmp_path: Path) -> None:
    faces = set_of(0.9, people=30)
    np.savez(tmp_path / "f.npz", embeddings=faces.embeddings, persons=faces.persons)
    app = typer.Typer()
    app.command()(thresholds.main)
    result = CliRunner().invoke(app, [str(tmp_path / "f.npz")])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) == 14


def test_visit_of_several_pictures_is_their_mean() -> None:
    noisy = np.array([[1, 0.5], [1, -0.5], [1, 0.6], [1, -0.6], [0, 1]], np.float32)
    visits = thresholds.visits_from_pictures(FaceSet(noisy, np.array([0, 0, 0, 0, 1])), 2)
    assert visits.persons.tolist() == [0, 0, 1]
    assert np.allclose(visits.embeddings, [[1, 0], [1, 0], [0, 1]])


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(thresholds.main)
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(result.exception, PeopleFolderRejected)
