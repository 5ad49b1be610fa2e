"""Attributes from a table or from latents, and what is learnt from them downstream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.stylegan.attributes import AttributeModel
from evaluation.errors import LabelsUnreadable
from evaluation.labels import PackLabeller, labeller_from_table
from tests.evaluation.fakes import painted_people

pytestmark = pytest.mark.unit

FACES = painted_people(0, people=4, pictures=2)
NAMES = ["ann", "bob", "cy", "di"]


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_text(text, "utf-8")
    return path


def test_a_table_gives_every_face_of_a_person_his_value(tmp_path: Path) -> None:
    path = written(tmp_path, "person,gender,age\nann,f,young\nbob,m,old\ncy,m,\nzoe,f,old\n")
    gender, age = labeller_from_table(path, NAMES).label(FACES)
    assert (gender.name, gender.names) == ("gender", ("f", "m"))
    assert gender.values.tolist() == [0, 0, 1, 1, 1, 1, -1, -1]
    assert age.values.tolist() == [1, 1, 0, 0, -1, -1, -1, -1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a column `person`"),
        ("name,gender\nann,f\n", "a column `person`"),
        ("person\nann\n", "one column per attribute"),
        ("person,gender\nzoe,f\n", "none of the people"),
        ("person,gender\nann,f\nbob,f\n", "different values"),
    ],
)
def test_a_table_that_says_nothing_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(LabelsUnreadable, match=words):
        labeller_from_table(written(tmp_path, text), NAMES)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"\xff\xfe\x00 no text")
    with pytest.raises(LabelsUnreadable, match="not a readable CSV"):
        labeller_from_table(path, NAMES)


def test_what_the_model_is_not_sure_of_stays_unknown() -> None:
    class Encoder:
        def encode(self, crops: NDArray[np.uint8], /) -> NDArray[np.float32]:
            latents = np.zeros((len(crops), 2, 512), np.float32)
            latents[::2, :, 0] = 9.0
            return latents

    weights = np.zeros((513, 2), np.float32)
    weights[0, 1] = 1.0
    model = AttributeModel({"gender": weights}, {"gender": ("female", "male")})
    (gender,) = PackLabeller(Encoder(), model).label(FACES)
    assert gender.values.tolist() == [1, -1] * 4
