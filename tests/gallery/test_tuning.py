"""A sweep over k, what is recommended, and the plots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.mdav import MdavClustering
from gallery.errors import EmbeddingsRejected, TooFewPeople
from gallery.faces import FaceSet
from gallery.tuning import Judge, TuningPoint, recommend, sweep
from gallery.tuning_plots import (
    dendrogram_figure,
    homogeneity_figure,
    save,
    tradeoff_figure,
    tree_cuts,
)
from gallery.tuning_table import tuning_table

pytestmark = pytest.mark.unit


def families(count: int = 12, size: int = 5, dimensions: int = 16) -> FaceSet:
    """Families of five look-alikes: the loss has its knee at k = 5."""
    random = np.random.default_rng(0)
    centres = np.repeat(random.normal(size=(count, dimensions)), size, axis=0)
    rows = centres + 0.15 * random.normal(size=centres.shape)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    people = count * size
    attributes = {
        "family": np.repeat(np.arange(count), size),
        "hand": np.array((["left"] + ["right"] * 4) * count),
    }
    return FaceSet(rows.astype(np.float32), np.arange(people, dtype=np.intp), attributes)


def points(**losses: float) -> list[TuningPoint]:
    return [
        TuningPoint(int(k[1:]), 1, loss, 0.0, 0.0, {"all": 1 / int(k[1:])})
        for k, loss in losses.items()
    ]


def test_sweep_measures_every_k_that_there_are_people_for() -> None:
    faces = families(count=2)
    found = sweep(faces, range(2, 99), MdavClustering(), 0, Judge(faces.embeddings, 0.5))
    assert [point.k for point in found] == list(range(2, 11))
    assert all(point.n_clusters >= 1 for point in found)


def test_loss_is_least_where_clusters_are_families() -> None:
    faces = families()
    found = sweep(faces, (2, 5, 20), HierarchicalClustering(), 0, Judge(faces.embeddings, 0.5))
    losses = [point.information_loss for point in found]
    assert losses[1] < losses[0] < losses[2]
    assert found[1].homogeneity["family"] == 1.0
    assert found[2].homogeneity["family"] == 0.0
    assert found[1].homogeneity["all"] == 0.0


def test_rank_one_never_exceeds_one_in_k_while_membership_is_open() -> None:
    faces = families()
    found = sweep(faces, range(2, 21), HierarchicalClustering(), 0, Judge(faces.embeddings, 0.5))
    assert all(point.rank_one_rate <= 1 / point.k + 1e-12 for point in found)
    assert found[3].k == 5
    assert found[3].match_rate == 1.0


def test_judge_with_its_own_embeddings_is_asked_for_re_identification() -> None:
    faces = families()
    random = np.random.default_rng(1).normal(size=(60, 64)).astype(np.float32)
    found = sweep(faces, (5,), MdavClustering(), 0, Judge(random, 0.9))
    assert found[0].match_rate == 0.0


def test_pictures_of_one_person_stay_together_in_the_sweep() -> None:
    rows = np.repeat(np.eye(6, dtype=np.float32), 2, axis=0)
    faces = FaceSet(rows, np.repeat(np.arange(6), 2))
    (found,) = sweep(faces, (3,), MdavClustering(), 0, Judge(rows, 0.99))
    assert found.n_clusters == 2
    assert found.rank_one_rate <= 1 / 3


def test_judge_with_other_rows_is_refused() -> None:
    faces = families()
    with pytest.raises(EmbeddingsRejected):
        sweep(faces, (5,), MdavClustering(), 0, Judge(faces.embeddings[1:], 0.5))


def test_fewer_people_than_every_k_are_refused() -> None:
    faces = families(count=1)
    with pytest.raises(TooFewPeople):
        sweep(faces, (6, 7), MdavClustering(), 0, Judge(faces.embeddings, 0.5))


PLATEAU = points(k2=1.0, k3=2.0, k4=3.0, k5=3.01, k6=3.02, k7=3.2, k8=3.4, k9=3.6)


def test_recommendation_goes_to_the_end_of_the_plateau() -> None:
    advice = recommend(PLATEAU)
    assert advice.knee_ks == (4,)
    assert advice.k == 6
    assert "flattens at k = 4" in advice.reason


def test_no_slack_stops_at_the_knee() -> None:
    assert recommend(PLATEAU, slack=0.0).k == 4


def test_curve_without_a_knee_gives_the_least_k_allowed() -> None:
    straight = points(k2=1.0, k3=2.0, k4=3.0, k5=4.0)
    assert recommend(straight, k_min=3).k == 3
    assert recommend(straight, k_min=3).knee_ks == ()


def test_knee_below_the_least_k_is_not_recommended() -> None:
    assert recommend(PLATEAU, k_min=7).k == 7


def test_homogeneity_wanted_bounds_k_from_above() -> None:
    assert recommend(PLATEAU, homogeneity_min=0.33).k == 3
    with pytest.raises(TooFewPeople, match="homogeneous"):
        recommend(PLATEAU, homogeneity_min=0.9)


def test_family_size_is_recommended_for_families() -> None:
    faces = families()
    found = sweep(faces, range(2, 13), HierarchicalClustering(), 0, Judge(faces.embeddings, 0.5))
    advice = recommend(found)
    assert advice.k == 5
    assert 5 in advice.plateau_ks
    assert "above k = 5 the loss rises steeply" in advice.reason


def test_table_holds_one_line_per_row() -> None:
    faces = families(count=4)
    found = sweep(faces, (2, 3), MdavClustering(), 0, Judge(faces.embeddings, 0.5))
    text = tuning_table(found).splitlines()
    assert len(text) == 3
    assert len({len(line) for line in text}) == 1


def test_cuts_lie_where_people_find_companions() -> None:
    # Pairs at 1 and 2, a triple at 3, all at 9.
    merges = np.array(
        [[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 6, 3.0, 3], [5, 7, 8.0, 3], [8, 9, 9.0, 6]]
    )
    low, high = tree_cuts(merges)
    assert (low.height, low.smallest, low.largest) == (2.0, 2, 2)
    assert (high.height, high.merged, high.largest) == (8.0, 1.0, 3)


def test_plots_are_written_without_a_trace_of_the_maker(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    faces = families()
    found = sweep(faces, range(2, 9), MdavClustering(), 0, Judge(faces.embeddings, 0.5))
    figures = {
        "tradeoff": tradeoff_figure(found, recommend(found)),
        "homogeneity": homogeneity_figure(found),
        "dendrogram": dendrogram_figure(faces),
    }
    for name, figure in figures.items():
        save(figure, tmp_path / f"{name}.png")
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(figures)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert b"matplotlib" not in content.lower()
