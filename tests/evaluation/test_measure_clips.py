"""What `scripts/measure_clips.py` takes from its folder, and what it measures anew."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.clip_exposure import ClipExposure
from evaluation.finders import FrameFinder
from evaluation.recognisers import recognisers_from_names
from scripts import measure_clips, measure_swap
from tests.engines.backends.fake import Fake
from tests.evaluation.test_finding_cache import Sees
from tests.evaluation.test_recognisers import write_recogniser

pytestmark = pytest.mark.unit


@dataclass(slots=True)
class Work:
    """A folder of results, with tools and attacks that are only noted."""

    lab: measure_clips.Laboratory
    clips: Path
    anonymized: list[tuple[str, str, str]] = field(default_factory=list)
    attacked: list[tuple[str, int]] = field(default_factory=list)

    def measured(
        self,
        name: str,
        tool: str = "kveil",
        every: int = 1,
        sparse: Sequence[str] = (),
        **rest: str,
    ) -> ClipExposure:
        """The figures of one clip."""
        chosen = Namespace(method=rest.get("method", "muted"), every=every, sparse=sparse)
        return measure_clips.measured(self.lab, self.clips / name, tool, chosen)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    made = tmp_path / "work"
    made.mkdir()
    finder = FrameFinder(Sees(1), "net", network_sha256="a")
    judges = recognisers_from_names([str(write_recogniser(tmp_path))], Fake(), tmp_path)
    work = Work(measure_clips.Laboratory(made, finder, judges), tmp_path)

    def anonymize(clip: Path, target: Path, run: Path, tool: str, method: str) -> None:
        work.anonymized.append((clip.name, tool, method))
        target.write_text(f"{clip.read_text()} by {tool} {method}")
        run.write_text('{"frames": {"read": 1, "written": 1}}')

    def attack(clip: Path, target: Path, *_: object, every: int, **__: object) -> ClipExposure:
        work.attacked.append((target.read_text(), every))
        return ClipExposure(clip.name, 1, [], {}, {}, True, every)

    monkeypatch.setattr(measure_clips, "anonymize", anonymize)
    monkeypatch.setattr(measure_clips, "measure_clip_exposure", attack)
    for name, text in (("a.mp4", "first"), ("a.mkv", "second")):
        (tmp_path / name).write_text(text)
    return work


def test_the_same_trial_is_made_once(work: Work) -> None:
    first, again = work.measured("a.mp4"), work.measured("a.mp4")
    assert again == first
    assert len(work.anonymized) == len(work.attacked) == 1


def test_another_method_step_suffix_or_tool_is_another_trial(work: Work) -> None:
    assert work.measured("a.mp4").every == 1
    assert work.measured("a.mp4", every=5).every == 5
    work.measured("a.mp4", method="blur")
    assert work.measured("a.mkv").clip == "a.mkv"
    work.measured("a.mp4", "deface")
    assert work.attacked == [
        ("first by kveil muted", 1),
        ("first by kveil muted", 5),
        ("first by kveil blur", 1),
        ("second by kveil muted", 1),
        ("first by deface muted", 1),
    ]
    assert len(work.anonymized) == 4


def test_a_clip_replaced_by_another_is_measured_anew(work: Work) -> None:
    work.measured("a.mp4")
    (work.clips / "a.mp4").write_text("third")
    work.measured("a.mp4")
    assert work.attacked[1] == ("third by kveil muted", 1)


def test_other_networks_of_the_attacker_attack_anew(work: Work) -> None:
    work.measured("a.mp4")
    lab = work.lab
    work.lab = replace(lab, finder=replace(lab.finder, network_sha256="b"))
    work.measured("a.mp4")
    work.lab = replace(lab, judges=[])
    work.measured("a.mp4")
    assert len(work.attacked) == 3
    assert len(work.anonymized) == 1


def test_figures_that_were_counted_otherwise_are_not_taken_over(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.measured("a.mp4")
    monkeypatch.setattr(measure_clips, "EXPOSURE_SCHEMA", "kveil.evaluation.exposure/0")
    work.measured("a.mp4")
    assert len(work.attacked) == 2
    assert len(work.anonymized) == 1


def test_the_step_is_for_the_sparse_clips_alone(work: Work) -> None:
    assert work.measured("a.mp4", every=5, sparse=["a.mp4"]).every == 5
    assert work.measured("a.mkv", every=5, sparse=["a.mp4"]).every == 1


def test_thresholds_are_fixed_anew_on_other_originals(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []

    def no_frames(clip: Path) -> list[object]:
        decoded.append(clip.read_text())
        return []

    monkeypatch.setattr(measure_clips, "decoded", no_frames)
    clip = work.clips / "a.mp4"
    first = measure_clips.thresholds(work.lab, [clip])
    assert measure_clips.thresholds(work.lab, [clip]) == first
    clip.write_text("third")
    measure_clips.thresholds(work.lab, [clip])
    assert decoded == ["first", "third"]


def test_a_swap_of_another_cut_or_clip_is_another_trial(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts: list[tuple[str, float, int]] = []

    def cut(clip: Path, target: Path, seconds: float, first: int) -> None:
        cuts.append((clip.name, seconds, first))
        target.write_text("cut")

    def run(command: Sequence[str], **_: Any) -> None:
        Path(command[-1]).write_text("{}")

    monkeypatch.setattr(measure_swap, "cut", cut)
    monkeypatch.setattr("subprocess.run", run)
    for name, seconds, first in (
        ("a.mp4", 4, 0),
        ("a.mp4", 4, 0),
        ("a.mp4", 8, 0),
        ("a.mp4", 4, 9),
        ("a.mkv", 4, 0),
    ):
        part = measure_swap.Part(work.clips / name, first, seconds)
        measure_swap.measured(part, work.lab.work, 0)
    assert cuts == [("a.mp4", 4, 0), ("a.mp4", 8, 0), ("a.mp4", 4, 9), ("a.mkv", 4, 0)]


def test_listed_parts_are_measured_and_other_clips_where_asked_for(tmp_path: Path) -> None:
    for name in ("a.mkv", "a.mp4"):
        (tmp_path / name).write_text("a clip")
    start = [(part.name, part.first) for part in measure_swap.parts_of_folder(tmp_path, [], 2)]
    assert start == [("a.mkv", 0), ("a.mp4", 0)]
    (tmp_path / "d10.mp4").write_text("a listed one")
    listed = measure_swap.parts_of_folder(tmp_path, [], 2)
    assert {part.clip.name for part in listed} == {"d10.mp4"}
    assert all(part.first > 0 for part in listed)
    asked = measure_swap.parts_of_folder(tmp_path, ["a.mp4"], 2)
    assert [(part.name, part.first) for part in asked] == [("a.mp4", 0)]
