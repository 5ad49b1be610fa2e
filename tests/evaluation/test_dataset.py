"""Anonymizing a folder: what comes out, what it says of itself, and how it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from evaluation.dataset import DatasetJob, anonymize_dataset
from evaluation.errors import EvaluationError, ReportNotWritable, TooFewPeople
from evaluation.faces import Faces
from evaluation.methods import surrogate
from gallery.errors import SecretMissing
from gallery.secrets import SecretRing
from tests.evaluation.fakes import PORTRAIT_FACE, ScriptedFinder, write_people

pytestmark = pytest.mark.unit

FINDER = ScriptedFinder((PORTRAIT_FACE,))
SEED = "07" * 32


def silent(stage: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


def job_in(folder: Path, method: str, **changes: object) -> DatasetJob:
    source, donors = folder / "in", folder / "donors"
    if not source.is_dir():
        write_people(source, people=12)
        write_people(donors, people=15, pictures=1, first=100)
    settings = {"k": 5, "seed": SEED, "donors": donors} | changes
    target = settings.pop("target", folder / "out")
    return DatasetJob(source, target, method, **settings)  # type: ignore[arg-type]


def outputs(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.png")
    }


@pytest.mark.parametrize("method", ["kveil", "k-Same-Pixel", "AnonFACES", "solid"])
def test_every_picture_comes_out_once_and_the_manifest_tells_how(
    tmp_path: Path, method: str
) -> None:
    job = job_in(tmp_path, method)
    manifest = anonymize_dataset(job, FINDER, silent)
    assert manifest["images_out"] == len(outputs(job.target)) == 24
    assert manifest["people"] == 12
    assert json.loads((job.target / "manifest.json").read_text()) == manifest
    assert not (job.target / ".kveil-dataset.jsonl").exists()
    if method != "solid":
        assert manifest["k_real"] == 5
        assert manifest["cluster_sizes"] == {"5": 1, "7": 1}


def test_a_mean_is_shared_by_whole_people_of_its_cluster(tmp_path: Path) -> None:
    job = job_in(tmp_path, "k-Same-Pixel")
    anonymize_dataset(job, FINDER, silent)
    people: dict[bytes, set[str]] = {}
    for name, content in outputs(job.target).items():
        people.setdefault(content, set()).add(name.split("/")[0])
    assert sorted(len(names) for names in people.values()) == [5, 7]


@pytest.mark.parametrize("method", ["kveil", "k-Same-Pixel"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, method: str) -> None:
    first = job_in(tmp_path, method, target=tmp_path / "a")
    second = job_in(tmp_path, method, target=tmp_path / "b")
    anonymize_dataset(first, FINDER, silent)
    anonymize_dataset(second, FINDER, silent)
    assert outputs(first.target) == outputs(second.target)


def test_without_a_seed_two_runs_differ(tmp_path: Path) -> None:
    runs = [job_in(tmp_path, "kveil", seed=None, target=tmp_path / name) for name in "ab"]
    for job in runs:
        anonymize_dataset(job, FINDER, silent)
    assert outputs(runs[0].target) != outputs(runs[1].target)


@pytest.mark.parametrize("method", ["kveil", "k-Same-Pixel"])
def test_an_interrupted_run_goes_on_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    whole = job_in(tmp_path, method, target=tmp_path / "whole")
    anonymize_dataset(whole, FINDER, silent)
    broken = job_in(tmp_path, method, target=tmp_path / "broken")

    def stop_at_second_group(stage: str, done: int, of: int) -> None:
        if stage == "anonymizing" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize_dataset(broken, FINDER, stop_at_second_group)
    assert 0 < len(outputs(broken.target)) < 24
    anonymize_dataset(broken, FINDER, silent)
    assert outputs(broken.target) == outputs(whole.target)


def test_another_job_does_not_go_on_in_an_interrupted_folder(tmp_path: Path) -> None:
    def stop(stage: str, done: int, of: int) -> None:
        if stage == "anonymizing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize_dataset(job_in(tmp_path, "kveil"), FINDER, stop)
    with pytest.raises(EvaluationError, match="another interrupted run"):
        anonymize_dataset(job_in(tmp_path, "kveil", k=4), FINDER, silent)


def test_a_full_folder_is_not_written_to(tmp_path: Path) -> None:
    job = job_in(tmp_path, "kveil")
    job.target.mkdir()
    (job.target / "mine.txt").write_text("keep")
    with pytest.raises(EvaluationError, match="not empty"):
        anonymize_dataset(job, FINDER, silent)


def test_names_of_people_and_files_do_not_come_out(tmp_path: Path) -> None:
    job = job_in(tmp_path, "kveil")
    anonymize_dataset(job, FINDER, silent)
    text = (job.target / "manifest.json").read_text() + " ".join(outputs(job.target))
    assert "person0" not in text
    assert SEED not in text


def test_a_mapping_is_written_only_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_in(tmp_path, "kveil", mapping=tmp_path / "mapping.sealed")
    monkeypatch.delenv("KVEIL_GALLERY_KEYS", raising=False)
    with pytest.raises(SecretMissing):
        anonymize_dataset(job, FINDER, silent)
    monkeypatch.setenv("KVEIL_GALLERY_KEYS", "B" * 43 + "=")
    anonymize_dataset(job, FINDER, silent)
    sealed = (tmp_path / "mapping.sealed").read_bytes()
    assert b"person0" not in sealed
    origins = json.loads(SecretRing.from_environment().unseal(sealed, "dataset mapping"))
    assert set(origins) == set(outputs(job.target))
    assert set(origins.values()) == {f"person{p:03d}/{n}.png" for p in range(12) for n in range(2)}


def test_identities_come_from_a_csv(tmp_path: Path) -> None:
    job = job_in(tmp_path, "k-Same-Pixel")
    table = tmp_path / "people.csv"
    rows = [f"person{p:03d}/{n}.png,human {p // 2}" for p in range(12) for n in range(2)]
    table.write_text("file,person\n" + "\n".join(rows) + "\n")
    named = job_in(tmp_path, "k-Same-Pixel", identities=table)
    assert anonymize_dataset(named, FINDER, silent)["people"] == 6
    assert job.target.is_dir()


def test_too_few_people_are_refused_and_fewer_may_hide_there(tmp_path: Path) -> None:
    with pytest.raises(TooFewPeople, match="add people"):
        anonymize_dataset(job_in(tmp_path, "kveil", k=13), FINDER, silent)
    assert anonymize_dataset(job_in(tmp_path, "kveil", k=6), FINDER, silent)["k_real"] == 6


@pytest.mark.parametrize("seed", ["zz", "07"])
def test_seed_that_is_none_is_told_in_one_line(tmp_path: Path, seed: str) -> None:
    with pytest.raises(EvaluationError, match="--seed"):
        anonymize_dataset(job_in(tmp_path, "kveil", seed=seed), FINDER, silent)


def test_mapping_that_cannot_be_written_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVEIL_GALLERY_KEYS", "B" * 43 + "=")
    job = job_in(tmp_path, "kveil", mapping=tmp_path / "none" / "mapping")
    with pytest.raises(ReportNotWritable, match="mapping"):
        anonymize_dataset(job, FINDER, silent)
    assert not job.target.exists()


@pytest.mark.parametrize("method", ["none", "random stranger", "surroundings", "FPSP morph"])
def test_methods_that_protect_nobody_are_refused(tmp_path: Path, method: str) -> None:
    with pytest.raises(EvaluationError, match="choose another method"):
        anonymize_dataset(job_in(tmp_path, method), FINDER, silent)


def test_a_picture_without_a_face_is_left_out_and_counted(tmp_path: Path) -> None:
    job = job_in(tmp_path, "solid")
    cv2.imwrite(str(job.source / "person000" / "0.png"), np.zeros((192, 192, 3), np.uint8))

    class Choosy:
        name = "choosy"

        def find(
            self, image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
        ) -> tuple[object, ...]:
            return (PORTRAIT_FACE,) if image.any() else ()

    manifest = anonymize_dataset(job, Choosy(), silent)  # type: ignore[arg-type]
    assert manifest["images_out"] == 23
    assert manifest["images_without_a_face"] == 1


def test_memory_holds_one_group_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    largest: list[int] = []
    original: Callable[..., object] = surrogate.DonorSurrogate.anonymize

    def counted(self: object, faces: Faces, secret: bytes) -> object:
        largest.append(len(faces))
        return original(self, faces, secret)

    monkeypatch.setattr(surrogate.DonorSurrogate, "anonymize", counted)
    anonymize_dataset(job_in(tmp_path, "kveil"), FINDER, silent)
    assert max(largest) <= 9 * 2
