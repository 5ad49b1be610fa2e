"""A whole evaluation on self-made people: table, verdict, record and page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation import method_runs
from evaluation.attacks.attack import Bench
from evaluation.errors import TooFewPeople
from evaluation.folder import cast_people
from evaluation.labels import TableLabeller
from evaluation.protocol import Evaluation, Laboratory, Plan, evaluate_folder
from evaluation.reports.folder_record import folder_record
from evaluation.reports.page import page_from_record
from evaluation.results import record_from_result
from evaluation.utility import UtilityProbe
from evaluation.verdict import controls_of, goals_of
from gallery.errors import PeopleFolderRejected
from gallery.pictures import people_in_folder, read_picture
from tests.evaluation.fakes import PORTRAIT_FACE, PixelJudge, ScriptedFinder, write_people

pytestmark = pytest.mark.unit

FINDER = ScriptedFinder((PORTRAIT_FACE,))
LABELLER = TableLabeller(
    "given by people.csv",
    {"side": ("left", "right")},
    {"side": {person: person % 2 for person in range(90)}},
)


def silent(stage: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    folder = write_people(tmp_path_factory.mktemp("faces"), people=90, pictures=3)
    plan = Plan(people=36, k=3, methods=("solid", "k-Same-Pixel", "kveil"), quick=True, workers=1)
    probe = UtilityProbe(FINDER, sample=10)
    laboratory = Laboratory([PixelJudge(threshold=0.7)], probe, labeller=LABELLER)
    return evaluate_folder(folder, FINDER, laboratory, plan, silent)


def test_every_method_and_control_is_in_one_table(evaluation: Evaluation) -> None:
    names = [result.name for result in evaluation.results]
    assert names == ["none", "random stranger", "solid", "k-Same-Pixel", "kveil"]
    assert all(not result.failure for result in evaluation.results)
    assert {name for name, _ in evaluation.trade_off} == {"k-Same-Pixel", "kveil"}


def test_the_controls_hold_on_sound_attacks(evaluation: Evaluation) -> None:
    controls = controls_of(evaluation)
    assert len(controls) >= 10
    assert [control for control in controls if not control.holds and control.attack != "A5"] == []


def test_an_attack_blind_to_the_leak_fails_its_control(evaluation: Evaluation) -> None:
    leak = evaluation.results[0]
    blind = [
        replace(finding, rate=replace(finding.rate, hits=0)) if finding.attack == "A1" else finding
        for finding in leak.findings
    ]
    broken = replace(evaluation, results=[replace(leak, findings=blind), *evaluation.results[1:]])
    assert not all(control.holds for control in controls_of(broken) if control.attack == "A1")
    assert folder_record(broken, "photographs")["verdict"] == "failed"


@pytest.mark.parametrize(("hits", "holds"), [(0, True), (5, True), (12, False)])
def test_hits_among_strangers_must_be_luck(evaluation: Evaluation, hits: int, holds: bool) -> None:
    """5 of 832 where one is expected come once in 300 controls, 12 never."""
    leak, strangers = evaluation.results[:2]
    found = [
        replace(one, rate=replace(one.rate, hits=hits, probes=832), chance=1 / 832)
        for one in strangers.findings
        if one.attack == "A2"
    ]
    changed = replace(evaluation, results=[leak, replace(strangers, findings=found)])
    controls = controls_of(changed)
    assert controls
    assert [control.holds for control in controls] == [holds] * len(controls)


def test_a_weak_learner_must_find_ten_times_what_a_guess_finds(evaluation: Evaluation) -> None:
    leak, strangers = evaluation.results[:2]
    one = next(found for found in leak.findings if found.attack == "A2")
    none = replace(one, attack="A5", variant="regression on pixels", chance=0.001)

    def holds(hits: int) -> bool:
        rates = (replace(one.rate, hits=found, probes=1000) for found in (hits, 0))
        both = [replace(none, rate=rate) for rate in rates]
        results = [replace(leak, findings=both[:1]), replace(strangers, findings=both[1:])]
        return all(control.holds for control in controls_of(replace(evaluation, results=results)))

    assert holds(60)
    assert not holds(15)


def test_a_run_without_kveil_passes_no_verdict_on_it(evaluation: Evaluation) -> None:
    others = replace(evaluation, results=evaluation.results[:3])
    record = folder_record(others, "photographs")
    if record["controls_hold"]:
        assert record["verdict"] == "incomplete"
    assert record["verdict"] != "passed"


def test_goals_tell_a_leak_from_a_replacement(evaluation: Evaluation) -> None:
    leak = {check.text: check for check in goals_of(evaluation.results[0])}
    assert not leak["matched at FMR 1e-3 (TAR)"].is_met
    assert leak["identities out ÷ in"].is_met
    mean = {check.text: check for check in goals_of(evaluation.results[3])}
    assert not mean["identities out ÷ in"].is_met


def test_the_record_is_plain_json_without_faces(evaluation: Evaluation) -> None:
    record = folder_record(evaluation, "photographs")
    assert record["deal"] == 0
    text = json.dumps(record, allow_nan=False)
    assert "person0" not in text
    assert "base64" not in text
    assert record["schema"] == "kveil.evaluation.folder/2"
    assert len(text) < 1_000_000


def test_the_page_is_one_file_that_says_the_verdict_first(evaluation: Evaluation) -> None:
    page = page_from_record(folder_record(evaluation, "photographs"))
    assert page.index('class="verdict') < page.index("<table")
    assert page.count("<svg") >= 4
    assert 'name="viewport"' in page
    for outside in ("http://", "https://cdn", "<script", '<link rel="stylesheet"'):
        assert outside not in page.replace("http://www.w3.org", "").replace(
            "http://purl.org", ""
        ).replace("http://creativecommons.org", "")


def test_every_surviving_figure_of_the_specification_is_in_the_record(
    evaluation: Evaluation,
) -> None:
    record = folder_record(evaluation, "photographs")
    mean = next(m for m in record["methods"] if m["name"] == "k-Same-Pixel")  # type: ignore[attr-defined]
    assert {"entropy", "homogeneous", "least_values"} <= set(mean["homogeneity"][0])
    assert {"balanced", "kappa", "guess"} <= set(mean["downstream"][0])
    assert {"same", "kappa", "shift"} <= set(mean["attributes"][0])
    assert mean["information_loss"]
    assert mean["utility"]["protected"]["probes"] == 10
    attacks = {finding["attack"] for finding in mean["findings"]}
    assert attacks >= {f"A{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13)}


def test_the_page_explains_its_words_and_the_attacks_it_did_not_make(
    evaluation: Evaluation,
) -> None:
    page = page_from_record(folder_record(evaluation, "photographs"))
    for words in ("What the words mean", "Residual risk", "A14", "Where does it leak", "κ"):
        assert words in page


def test_methods_side_by_side_give_what_one_after_the_other_gives(tmp_path: Path) -> None:
    folder = write_people(tmp_path, people=60)
    records = []
    for workers in (1, 3):
        plan = Plan(24, 3, ("solid", "k-Same-Pixel"), ("A1", "A9"), workers=workers)
        laboratory = Laboratory([PixelJudge(threshold=0.7)], UtilityProbe(FINDER, sample=5))
        results = evaluate_folder(folder, FINDER, laboratory, plan, silent).results
        records.append([record_from_result(replace(own, seconds=0.0)) for own in results])
    assert records[0] == records[1]


def test_another_deal_deals_by_another_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_people(tmp_path, people=60)
    secrets: list[set[bytes]] = []

    def noted(*args: Any) -> Bench:
        secrets[-1].add(args[4])
        return Bench(*args)

    monkeypatch.setattr(method_runs, "Bench", noted)
    for deal in (0, 0, 1, 2):
        secrets.append(set())
        plan = Plan(24, 3, ("kveil",), ("A1",), workers=1, deal=deal)
        laboratory = Laboratory([PixelJudge(threshold=0.7)], UtilityProbe(FINDER, sample=5))
        evaluate_folder(folder, FINDER, laboratory, plan, silent)
    assert all(len(one) == 1 for one in secrets)
    assert secrets[0] == secrets[1]
    assert len(secrets[1] | secrets[2] | secrets[3]) == 3


def test_people_are_cast_into_one_part_each(tmp_path: Path) -> None:
    people = people_in_folder(write_people(tmp_path, people=50, pictures=1))
    casting = cast_people(people, 1000)
    parts = [*casting.tested, *casting.donors, *casting.outsiders]
    assert len(parts) == len(set(parts)) == 50
    assert len(casting.tested) == 30


def test_too_few_people_are_refused(tmp_path: Path) -> None:
    people = people_in_folder(write_people(tmp_path, people=5, pictures=1))
    with pytest.raises(TooFewPeople, match="40 are needed"):
        cast_people(people, 100)


def test_an_empty_folder_or_a_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PeopleFolderRejected, match="one folder per person"):
        people_in_folder(tmp_path)
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(PeopleFolderRejected, match="not a picture"):
        read_picture(tmp_path / "a.png")


def test_a_csv_without_its_columns_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("name,picture\n")
    with pytest.raises(PeopleFolderRejected, match="`file` and `person`"):
        people_in_folder(tmp_path, table)
