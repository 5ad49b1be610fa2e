"""`kveil tune`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from gallery.commands import tune
from gallery.errors import EmbeddingsRejected, GalleryError, PeopleFolderRejected, UnknownAlgorithm
from gallery.faces import FaceSet

pytestmark = pytest.mark.unit

app = typer.Typer()
app.command()(tune)
run = CliRunner()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = np.repeat(random.normal(size=(8, 16)), 5, axis=0) + 0.1 * random.normal(size=(40, 16))
    path = tmp_path / "faces.npz"
    genders = np.array(["f", "m"] * 20)
    np.savez(path, allow_pickle=False, **{"embeddings": rows, "attribute.gender": genders})
    return path


def test_tune_prints_every_k_and_writes_json_and_plots(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run.invoke(app, [str(archive), "--k-max", "8", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "recommended k = 5" in result.output
    assert "--judge" in result.output
    record = json.loads((out / "tuning.json").read_text())
    assert record["recommended"]["k"] == 5
    assert [point["k"] for point in record["points"]] == list(range(2, 9))
    assert record["people"] == 40
    names = {path.name for path in out.iterdir()}
    assert names == {"tuning.json", "tradeoff.png", "dendrogram.png", "homogeneity.png"}


def test_tune_without_matplotlib_still_recommends(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gallery.commands.find_spec", lambda name: None)
    result = run.invoke(app, [str(archive), "--k-max", "6", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "no plots without matplotlib" in result.output
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tuning.json"]


def test_tune_report_holds_no_embedding(archive: Path, tmp_path: Path) -> None:
    run.invoke(app, [str(archive), "--k-max", "4", "--out", str(tmp_path / "out")])
    record = json.loads((tmp_path / "out" / "tuning.json").read_text())
    assert set(record) == {"recommended", "people", "pictures", "pictures_skipped", "points"}


def test_judge_of_other_people_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter((40, 39))

    def changing(*arguments: object, **settings: object) -> FaceSet:
        count = next(counts)
        return FaceSet(np.ones((count, 2), np.float32), np.arange(count))

    monkeypatch.setattr("gallery.commands._faces", changing)
    result = run.invoke(app, [str(archive), "--judge", "judge.npz"])
    assert isinstance(result.exception, EmbeddingsRejected)


def test_second_archive_judges_the_first(archive: Path, tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(40, 64)) + np.array([9.0] + [0] * 63)
    np.savez(tmp_path / "judge.npz", allow_pickle=False, embeddings=rows)
    words = [str(archive), "--k-max", "4", "--threshold", "0.999"]
    result = run.invoke(app, [*words, "--judge", str(tmp_path / "judge.npz")])
    assert result.exit_code == 0, result.output
    assert "judged itself" not in result.output
    assert result.output.splitlines()[1].split()[5] == "0.000"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["{archive}", "--judge", "{folder}"], PeopleFolderRejected),
        (["{archive}", "--attributes", "{folder}/a.csv"], PeopleFolderRejected),
        (["{folder}"], PeopleFolderRejected),
        (["{archive}", "--algorithm", "dbscan"], UnknownAlgorithm),
        (["{folder}/absent.npz"], PeopleFolderRejected),
    ],
)
def test_unusable_call_says_what_to_do(
    archive: Path, tmp_path: Path, arguments: list[str], fault: type[GalleryError]
) -> None:
    filled = [word.format(archive=archive, folder=tmp_path) for word in arguments]
    result = run.invoke(app, filled)
    assert isinstance(result.exception, fault)
    assert any(
        word in str(result.exception)
        for word in ("--recogniser", "choose", "cannot read", "attribute.<name>", "judged by")
    )
