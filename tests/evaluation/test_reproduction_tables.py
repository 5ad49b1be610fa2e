"""Tables of the page from mixed pixels and from a report; other reports are refused."""

from __future__ import annotations

import pytest

from evaluation.errors import EvaluationError
from evaluation.reports.clip_record import Record
from evaluation.reproduction.anonfaces_tables import anonfaces_section, mix_rows
from evaluation.reproduction.record_sections import record_section
from tests.evaluation.fakes import PixelJudge, painted_people

pytestmark = pytest.mark.unit

FACES = painted_people(0, people=24)
CLUSTERS, JUDGES = PixelJudge("first", 0.9), PixelJudge("second", 0.9, share=0.8)


def test_a_mean_is_nearest_to_one_of_its_members_at_most() -> None:
    rows = mix_rows(FACES, CLUSTERS, JUDGES, (2, 6))
    assert len(rows) == 14
    for row in rows:
        assert row.found.rate <= 1 / row.k + 1e-9, row.form
    losses = [row.loss for row in rows if row.form.startswith("Ward, recogniser")]
    assert losses[0] < losses[1]


def test_the_section_has_a_row_per_form_in_each_of_three_tables() -> None:
    faces = painted_people(0, people=44)
    text = anonfaces_section(faces, [CLUSTERS, JUDGES])
    assert text.count("| random clusters |") == 3
    assert "first clusters and adjusts, second judges" in text


def finding(variant: str, rate: float) -> Record:
    measures = {"auc": 0.75, "mean_rank_over_chance": 0.5}
    return {
        "attack": "A1",
        "variant": variant,
        "judge": "pixels",
        "rate": rate,
        "measures": measures,
        "curves": {"roc": [[0.0, 0.0], [0.2, 0.8], [1.0, 1.0]]},
    }


def method(name: str) -> Record:
    return {
        "name": name,
        "failure": "",
        "findings": [finding("other photograph", 0.4), finding("same photograph", 0.3)],
        "diversity": {"pixels": {"ratio": 0.2}},
        "information_loss": {"pixels": 0.9},
        "attributes": [{"attribute": "age", "same": {"rate": 0.6}, "shift": 0.1}],
    }


def test_a_report_becomes_the_tables_of_recognition_attributes_and_k() -> None:
    record: Record = {
        "schema": "kveil.evaluation.folder/2",
        "subjects": {"released_people": 9, "gallery_people": 11},
        "judges": [{"name": "pixels"}],
        "labels": "given",
        "methods": [method("none"), method("kveil")],
        "trade_off": [method("kveil") | {"method": "kveil", "k": 5}],
    }
    text = record_section(record)
    assert "| kveil | – | 0.7500 | – | 0.800 | – | 3.0 | – | 20.0% |" in text
    heads, rules = (line for line in text.splitlines()[4:6])
    assert heads.count("|") == rules.count("|") == 10
    assert "| kveil | 60.0% | 10.0% |" in text
    assert "| kveil | 5 | 20.0% | 40.0% | 30.0% | 0.900 |" in text


def test_a_report_of_clips_is_refused() -> None:
    with pytest.raises(EvaluationError, match="kveil evaluate FOLDER"):
        record_section({"schema": "kveil.evaluation.clip/1"})
