"""The measured tables: what they set side by side, and that their parts can be timed here."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path

import pytest

from benchmarks import clips
from benchmarks.clips import ClipMeasure, measure_clip, table_of
from benchmarks.face import FaceCost, StepTimes, cost_table, measure_faces
from benchmarks.networks import BatchSpeed, batch_speeds, batch_table, gates_told
from config.loading import load_settings
from engines.backends.openvino import OpenVino
from engines.errors import EngineFault
from stream.files.report import FaceCounts, FileIdentity, FrameCounts, RunReport
from stream.network_speeds import NetworkSpeed, network_speeds

pytestmark = pytest.mark.unit


def measure(method: str = "solid", deface_fps: float | None = 10.0) -> ClipMeasure:
    return ClipMeasure("a.mp4", method, (360, 640), 100, 55.0, 300, deface_fps, 200, 110.0)


def test_table_sets_ratios_beside_speeds() -> None:
    row = table_of([measure()]).splitlines()[-1]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        *("a.mp4", "640×360", "100", "solid", "55.0", "solid", "10.0", "5.5", "110.0"),
        *("50%", "300 · 200"),
    ]


def test_swap_is_set_against_blur_and_a_missing_rival_left_out() -> None:
    assert "| swap | 55.0 | blur |" in table_of([measure("swap")])
    assert "| – | – |" in table_of([measure(deface_fps=None)])


def test_rows_have_as_many_cells_as_the_head() -> None:
    lines = table_of([measure(), measure("swap")]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    clock = StepTimes(20.0, 4.0, 1.0, 18.0, 8.0, 2.0, 2.0, 3.0)
    processor = StepTimes(30.0, 4.0, 1.0, 18.0, 8.0, 2.0, 2.0, 3.0)
    lines = cost_table([FaceCost(1, (720, 1280), 128, clock, processor)]).splitlines()
    assert len({line.count("|") for line in lines}) == 1


def test_medians_of_the_rounds_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = iter([40.0, 60.0, 50.0])
    asked: list[tuple[str, ...]] = []

    def kveil(clip: Path, folder: Path, method: str) -> RunReport:
        report = RunReport(fps=next(speeds))
        report.output = FileIdentity(name="a", sha256="", size_bytes=1, height=2, width=4)
        report.frames = FrameCounts(written=10)
        report.faces = FaceCounts(swapped=1, covered=2)
        return report

    def child(module: str, clip: Path, target: Path, *words: str) -> dict[str, float]:
        asked.append((module, *words))
        return {"frames": 10, "seconds": 0.5, "faces": 4}

    monkeypatch.setattr(clips, "_kveil", kveil)
    monkeypatch.setattr(clips, "_child", child)
    found = measure_clip(Path("a.mp4"), method="swap", rounds=3)
    assert (found.kveil_fps, found.kveil_faces, found.floor_fps) == (50.0, 3, 20.0)
    assert ("benchmarks.deface_run", "blur") in asked


def test_tool_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineFault, match="codec_floor failed"):
        clips._child("benchmarks.codec_floor", tmp_path / "none.mp4", tmp_path / "x.mp4")


def test_cost_of_a_face_is_that_of_its_steps() -> None:
    clock = StepTimes(
        detect=20.0,
        read=8.0,
        steady=4.0,
        first=80.0,
        paint=40.0,
        blend=12.0,
        hand_steady=8.0,
        hand_blend=16.0,
    )
    slow = replace(clock, detect=32.0)
    cost = FaceCost(faces=4, frame=(720, 1280), size=128, clock=clock, processor=slow)
    assert cost.face_ms == 16.0
    assert cost.hand_ms == 2.0
    assert cost.ratio == 0.8
    assert cost.ratio_unsmoothed == 0.75
    assert cost.processor_ratio == 0.5


@pytest.mark.slow
def test_steps_of_the_swap_are_timed() -> None:
    costs = measure_faces(load_settings(environment={}))
    assert [cost.faces for cost in costs] == [1, 4, 8] * 2
    assert [cost.size for cost in costs] == [128] * 3 + [256] * 3
    assert costs[2].frame == (1080, 1920)
    for spent in (times for cost in costs for times in (cost.clock, cost.processor)):
        assert min(astuple(spent)) > 0


@pytest.mark.slow
def test_every_network_is_timed_with_its_gate() -> None:
    found = list(network_speeds(OpenVino()))
    names = [one.name for one in found]
    assert names == [
        "detector",
        "generator",
        "landmarker",
        "lids",
        "embedder",
    ]
    assert all(one.fp32_ms > 0 and one.gate for one in found)


def test_processor_without_bf16_has_one_time() -> None:
    told = NetworkSpeed("embedder", "one face", 3.0, None, "no bf16").told()
    assert told == "embedder one face: fp32 3.0 ms; no bf16"


def test_batches_have_a_row_for_every_network_and_precision() -> None:
    rows = [
        BatchSpeed("lids", "fp32", (1.0, 0.5, 0.25, 0.125)),
        BatchSpeed("lids", "bf16", fault="no such arithmetic"),
    ]
    lines = batch_table(rows).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].endswith("| 1.00 | 0.50 | 0.25 | 0.12 |")
    assert "no such arithmetic" in lines[3]


@pytest.mark.slow
def test_networks_are_timed_in_batches() -> None:
    backend = OpenVino()
    speeds = list(batch_speeds(backend))
    assert len(speeds) == 4 * (1 + len(backend.reduced))
    assert all(min(one.ms) > 0 for one in speeds)
    assert len(list(gates_told(backend))) == 2 * len(backend.reduced)
