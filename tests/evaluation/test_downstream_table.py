"""The table of downstream use on pictures with known labels."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from evaluation.downstream_table import labelled_faces, table_rows
from evaluation.errors import LabelsUnreadable

pytestmark = pytest.mark.unit
pytest.importorskip("sklearn", reason="the extra `evaluate` is not installed")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("crops")
    random = np.random.default_rng(1)
    lines = ["name,age,stripes"]
    for number in range(150):
        wave = (np.sin(np.arange(128) / 3) * 60 + 128)[None, :].repeat(128, axis=0)
        is_lying = number % 2 == 1
        noisy = (wave.T if is_lying else wave)[..., None] + random.normal(0, 25, (128, 128, 3))
        cv2.imwrite(str(folder / f"{number}.png"), np.clip(noisy, 0, 255).astype(np.uint8))
        lines.append(f"{number}.png,{number % 80},{'lying' if is_lying else 'upright'}")
    table = folder.parent / "labels.csv"
    table.write_text("\n".join(lines) + "\n")
    return folder, table


def test_untouched_faces_teach_what_covered_ones_do_not(labelled: tuple[Path, Path]) -> None:
    faces, attributes = labelled_faces(*labelled, 150)
    assert [own.name for own in attributes] == ["age", "stripes"]
    assert attributes[0].names == ("adult", "child", "old", "young")
    rows = table_rows(faces, attributes, ["none", "solid"], k=3)
    learnt = {name: uses[-1].balanced for name, uses in rows.items()}
    assert learnt["none"] > 0.95
    assert learnt["solid"] < 0.8


def test_a_table_that_names_no_picture_is_refused(labelled: tuple[Path, Path]) -> None:
    crops, table = labelled
    with pytest.raises(LabelsUnreadable, match="extract the pictures"):
        labelled_faces(crops / "nothing", table, 10)
    other = table.with_name("other.csv")
    other.write_text("file,age\na.png,3\n")
    with pytest.raises(LabelsUnreadable, match="a column `name`"):
        labelled_faces(crops, other, 10)
