"""A stopped run goes on; another run does not go on in its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.attacks.attack import Finding
from evaluation.folder import Progress
from evaluation.methods.registry import fitted_maker
from evaluation.metrics.intervals import clustered
from evaluation.protocol import Evaluation, Laboratory, Plan, evaluate_folder
from evaluation.results import MethodResult, record_from_result, result_from_record
from evaluation.run_journal import RunJournal
from evaluation.utility import UtilityProbe
from tests.evaluation.fakes import PORTRAIT_FACE, PixelJudge, ScriptedFinder, write_people

pytestmark = pytest.mark.unit

FINDER = ScriptedFinder((PORTRAIT_FACE,))
PLAN = Plan(people=24, k=3, methods=("solid", "k-Same-Pixel"), attacks=("A1", "A11"), workers=1)


def silent(stage: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


def evaluated(folder: Path, journal: RunJournal, told: Progress = silent) -> Evaluation:
    probe = UtilityProbe(FINDER, sample=5)
    laboratory = Laboratory([PixelJudge(threshold=0.7)], probe, journal=journal)
    return evaluate_folder(folder, FINDER, laboratory, PLAN, told)


def test_a_stopped_run_goes_on_with_the_next_method_to_the_same_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_people(tmp_path / "people", people=60)
    whole = evaluated(folder, RunJournal())

    def stop_after_two(stage: str, done: int, of: int) -> None:
        if stage == "methods" and done == 2:
            raise KeyboardInterrupt

    path = tmp_path / "report.json.unfinished.jsonl"
    with pytest.raises(KeyboardInterrupt):
        evaluated(folder, RunJournal.opened(path, "same run"), stop_after_two)
    going_on = RunJournal.opened(path, "same run")
    assert {"none", "random stranger"} <= set(going_on.finished)
    fitted: list[str] = []
    make = fitted_maker

    def counted(name: str, *rest: object) -> object:
        fitted.append(name)
        return make(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("evaluation.method_runs.fitted_maker", counted)
    resumed = evaluated(folder, going_on)
    assert "none" not in fitted
    again = [replace(result, seconds=0.0) for result in resumed.results]
    first = [replace(result, seconds=0.0) for result in whole.results]
    assert list(map(record_from_result, again)) == list(map(record_from_result, first))


def test_another_run_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    RunJournal.opened(path, "one").note("none", MethodResult("none", "control"), 1.0)
    assert RunJournal.opened(path, "one").finished.keys() == {"none"}
    assert not RunJournal.opened(path, "two").finished


def test_a_line_cut_by_a_kill_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = RunJournal.opened(path, "one")
    journal.note("none", MethodResult("none", "control"), 1.0)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "solid", "resu')
    assert RunJournal.opened(path, "one").finished.keys() == {"none"}


def test_the_journal_goes_when_the_report_is_written(tmp_path: Path) -> None:
    journal = RunJournal.opened(tmp_path / "journal.jsonl", "one")
    journal.close()
    assert not list(tmp_path.iterdir())


def test_a_result_comes_back_from_its_record() -> None:
    finding = Finding("A8", "presence known", "", clustered([True, False], [1, 2]), 0.0)
    result = MethodResult("m", "mean", [finding], 2, information_loss={"judge": 0.5})
    assert record_from_result(result_from_record(record_from_result(result))) == (
        record_from_result(result)
    )
