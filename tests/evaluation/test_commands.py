"""The commands as users call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from engines.errors import KveilError
from evaluation import commands
from evaluation.errors import CommandMisused, EvaluationError, RecogniserRejected
from evaluation.faces import CROP, MARGIN
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, write_people
from tests.evaluation.test_clips import write_clip

pytestmark = pytest.mark.unit


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The commands with a judge and a finder that need no networks."""
    finder = ScriptedFinder((face_at(10, 8, 30),))
    monkeypatch.setattr(commands, "_judges", lambda names, models: [PixelJudge(threshold=0.7)])
    monkeypatch.setattr(commands, "_finders", lambda models: (finder, finder))
    app = typer.Typer()
    app.command("evaluate")(commands.evaluate)
    app.command("dataset")(commands.dataset)
    return app


def test_a_clip_left_as_it_was_fails_with_its_reason(app: typer.Typer, tmp_path: Path) -> None:
    clip, copy = write_clip(tmp_path / "a.mp4", 6), write_clip(tmp_path / "b.mp4", 6)
    report = tmp_path / "r.json"
    result = CliRunner().invoke(
        app, ["evaluate", str(clip), str(copy), "--report", str(report), "--strict"]
    )
    assert result.exit_code == 6
    assert "face-frames are bare" in result.output
    record = json.loads(report.read_text())
    assert record["verdict"] == "failed"
    assert record["A12"]["bare"]["hits"] == 6
    assert "viewport" in report.with_suffix(".html").read_text()


def test_clips_of_other_lengths_are_a_failed_verdict(app: typer.Typer, tmp_path: Path) -> None:
    clip, short = write_clip(tmp_path / "a.mp4", 6), write_clip(tmp_path / "b.mp4", 5)
    report = tmp_path / "r.json"
    result = CliRunner().invoke(app, ["evaluate", str(clip), str(short), "--report", str(report)])
    assert result.exit_code == 0
    record = json.loads(report.read_text())
    assert record["verdict"] == "failed"
    assert "ends at frame 5" in record["reasons"][0]
    assert "A12" not in record
    assert "ends at frame 5" in report.with_suffix(".html").read_text()


@pytest.mark.parametrize("option", ["--report", "--sheet"])
def test_a_clip_named_as_report_or_sheet_is_kept_as_it_was(
    app: typer.Typer, tmp_path: Path, option: str
) -> None:
    clip, copy = write_clip(tmp_path / "a.mp4", 3), write_clip(tmp_path / "b.mp4", 3)
    before = clip.read_bytes()
    rest = [] if option == "--report" else ["--report", str(tmp_path / "r.json")]
    result = CliRunner().invoke(app, ["evaluate", str(clip), str(copy), option, str(clip), *rest])
    assert isinstance(result.exception, CommandMisused)
    assert result.exception.exit_code == 2
    assert clip.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "b.mp4"]


def test_a_sheet_is_written_only_when_asked_for(app: typer.Typer, tmp_path: Path) -> None:
    clip, copy = write_clip(tmp_path / "a.mp4", 3), write_clip(tmp_path / "b.mp4", 3)
    report, sheet = tmp_path / "r.json", tmp_path / "sheet.png"
    plain = ["evaluate", str(clip), str(copy), "--report", str(report)]
    CliRunner().invoke(app, plain)
    assert not list(tmp_path.glob("*.png"))
    CliRunner().invoke(app, [*plain, "--sheet", str(sheet)])
    assert sheet.read_bytes().startswith(b"\x89PNG")


def test_attacks_that_came_to_nothing_are_told_once_and_strict_is_not_met(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {
        "verdict": "incomplete",
        "reasons": ["A4 was not made: too few; not measured: x"],
        "not_made": ["A4 was not made: too few", "A5 was not made: too few"],
    }
    monkeypatch.setattr(commands, "_evaluate_folder", lambda *_: record)
    monkeypatch.setattr(commands, "_write", lambda *_: None)
    arguments = ["evaluate", str(tmp_path), "--report", str(tmp_path / "r.json"), "--strict"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 6
    assert result.output.startswith("incomplete:")
    assert result.output.count("A4 was not made") == result.output.count("A5 was not made") == 1


def test_a_dataset_with_its_own_donors_is_written(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ScriptedFinder((face_at(MARGIN, MARGIN, CROP),))
    monkeypatch.setattr("evaluation.finders.product_finder", lambda backend: whole)
    write_people(tmp_path / "in", people=6, pictures=1)
    write_people(tmp_path / "donors", people=8, pictures=1, first=50)
    arguments = ["dataset", str(tmp_path / "in"), str(tmp_path / "out"), "--k", "3"]
    result = CliRunner().invoke(app, [*arguments, "--donors", str(tmp_path / "donors")])
    assert result.exit_code == 0, result.output
    assert "6 images of 6 people" in result.output
    assert len(list((tmp_path / "out").rglob("*.png"))) == 6


def test_no_recogniser_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RecogniserRejected, match="KVEIL_EVALUATION_MODELS"):
        commands._judges([], tmp_path)


def test_one_person_and_an_empty_folder_are_told_in_a_line(
    app: typer.Typer, tmp_path: Path
) -> None:
    write_people(tmp_path / "one", people=1)
    (tmp_path / "empty").mkdir()
    for name, words in (("one", "1 people are too few"), ("empty", "no pictures")):
        report = tmp_path / "r.json"
        result = CliRunner().invoke(
            app, ["evaluate", str(tmp_path / name), "--report", str(report)]
        )
        assert isinstance(result.exception, KveilError)
        assert result.exception.exit_code == 3
        assert words in str(result.exception)
        assert "\n" not in str(result.exception)
        assert not report.exists()


def test_an_unknown_method_or_attack_is_told_before_the_work(
    app: typer.Typer, tmp_path: Path
) -> None:
    faces = write_people(tmp_path / "faces", people=50)
    for option, value, words in (
        ("--method", "magic", "no method is called 'magic'"),
        ("--attack", "A99", "no attack on faces is called A99"),
    ):
        arguments = ["evaluate", str(faces), option, value, "--report", str(tmp_path / "r.json")]
        result = CliRunner().invoke(app, arguments)
        assert isinstance(result.exception, EvaluationError)
        assert words in str(result.exception)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("network = ", "not a readable TOML"),
        ('network = "x.onnx"', "missing"),
        (
            'network = "x.onnx"\nalignment = "arcface"\nsize = 112\ncolour = "rgb"\n'
            "mean = 127.5\nscale = 128.0\nthreshold = 0.3\n",
            "x.onnx",
        ),
    ],
)
def test_a_wrong_recogniser_is_told_with_its_file(tmp_path: Path, text: str, words: str) -> None:
    toml = tmp_path / "mine.toml"
    toml.write_text(text)
    with pytest.raises(KveilError, match=words) as refused:
        commands._judges([str(toml)], tmp_path)
    assert refused.value.exit_code == 5
    assert "\n" not in str(refused.value)
