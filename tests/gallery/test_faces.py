"""Folders of pictures and archives of embeddings, sound and unsound."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.pictures import BgrImage
from gallery.errors import PeopleFolderRejected
from gallery.faces import (
    faces_from_archive,
    faces_from_pictures,
    pictures_in_folder,
    values_from_csv,
)
from gallery.pictures import people_in_folder

pytestmark = pytest.mark.unit


class BlueEmbedder:
    """The mean blue of a picture; black pictures show nobody, white ones break it."""

    def embed(self, image_bgr: BgrImage) -> NDArray[np.float32] | None:
        blue = float(image_bgr[..., 0].mean())
        if blue == 255:
            raise EngineFault("landmarks coincide")
        return np.array([blue, 1.0], np.float32) if blue else None


def picture(path: Path, blue: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.full((8, 8, 3), blue, np.uint8))


def test_folder_per_person_is_read_in_order_of_names(tmp_path: Path) -> None:
    for name in ("b/2.png", "b/1.png", "a/1.png"):
        picture(tmp_path / name, 9)
    (tmp_path / "a" / "notes.txt").write_text("not a picture")
    found = pictures_in_folder(tmp_path)
    assert [(p.person, p.path.name) for p in found] == [
        ("a", "1.png"),
        ("b", "1.png"),
        ("b", "2.png"),
    ]
    assert len(pictures_in_folder(tmp_path, one_each=True)) == 2
    assert {p.person for p in pictures_in_folder(tmp_path, most_people=1)} == {"a"}


def test_flat_folder_holds_one_person_per_picture(tmp_path: Path) -> None:
    for name in ("x.png", "y.JPG"):
        picture(tmp_path / name, 9)
    assert [p.person for p in pictures_in_folder(tmp_path)] == ["x", "y"]


@pytest.mark.parametrize("exists", [False, True])
def test_absent_and_empty_folders_are_refused(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "faces"
    if exists:
        folder.mkdir()
    with pytest.raises(PeopleFolderRejected):
        pictures_in_folder(folder)


def test_table_says_who_is_on_which_picture(tmp_path: Path) -> None:
    for name in ("x.png", "y.png", "z.png"):
        picture(tmp_path / name, 9)
    table = tmp_path / "people.csv"
    table.write_text("file,person\nz.png,ann\nx.png,ann\ny.png,bob\n")
    people = people_in_folder(tmp_path, table)
    assert {name: [path.name for path in paths] for name, paths in people.items()} == {
        "ann": ["x.png", "z.png"],
        "bob": ["y.png"],
    }
    table.write_text("name,picture\n")
    with pytest.raises(PeopleFolderRejected, match="`file` and `person`"):
        people_in_folder(tmp_path, table)
    with pytest.raises(PeopleFolderRejected, match="no such table"):
        people_in_folder(tmp_path, tmp_path / "none.csv")


def test_flat_folder_is_no_folder_of_people_unless_allowed(tmp_path: Path) -> None:
    picture(tmp_path / "x.png", 9)
    with pytest.raises(PeopleFolderRejected, match="one folder per person"):
        people_in_folder(tmp_path)


def test_unusable_pictures_are_counted_not_guessed(tmp_path: Path) -> None:
    for name, blue in (("a/1.png", 10), ("b/1.png", 0), ("c/1.png", 255), ("d/1.png", 20)):
        picture(tmp_path / name, blue)
    (tmp_path / "d" / "2.png").write_bytes(b"cut short")
    seen: list[tuple[int, int]] = []
    faces = faces_from_pictures(
        pictures_in_folder(tmp_path), BlueEmbedder(), on_progress=lambda d, t: seen.append((d, t))
    )
    assert faces.embeddings[:, 0].tolist() == [10, 20]
    assert faces.persons.tolist() == [0, 1]
    assert faces.skipped == 3
    assert seen[-1] == (5, 5)


def test_folder_without_a_single_face_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a/1.png", 0)
    with pytest.raises(PeopleFolderRejected, match="no picture shows a face"):
        faces_from_pictures(pictures_in_folder(tmp_path), BlueEmbedder())


def test_attributes_follow_the_pictures_and_are_empty_where_unknown(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        picture(tmp_path / name, 30)
    (tmp_path / "people.csv").write_text("file,age,gender\nsub/b.png,old,f\n")
    values = values_from_csv(tmp_path / "people.csv")
    faces = faces_from_pictures(pictures_in_folder(tmp_path), BlueEmbedder(), values)
    assert {name: list(column) for name, column in faces.attributes.items()} == {
        "age": ["", "old"],
        "gender": ["", "f"],
    }


@pytest.mark.parametrize("content", [b"age,gender\nold,f\n", b"", b"\xff\xfe\x00bad"])
def test_csv_without_file_names_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(PeopleFolderRejected):
        values_from_csv(tmp_path / "people.csv")


def test_archive_is_read_with_persons_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "faces.npz"
    columns: dict[str, NDArray[np.generic]] = {
        "embeddings": np.ones((3, 2)),
        "persons": np.array([4, 4, 1]),
        "attribute.age": np.array(["old", "old", "young"]),
    }
    np.savez(path, **columns, allow_pickle=False)
    faces = faces_from_archive(path)
    assert faces.n_people == 2
    assert list(faces.attributes) == ["age"]
    assert faces.first_pictures().persons.tolist() == [4, 1]
    assert list(faces.first_people(1).attributes["age"]) == ["young"]


@pytest.mark.parametrize(
    "columns",
    [
        {"vectors": np.ones((3, 2))},
        {"embeddings": np.ones(3)},
        {"embeddings": np.ones((3, 2)), "persons": np.arange(2)},
        {"embeddings": np.array([{}], dtype=object)},
    ],
)
def test_unusable_archive_is_refused(
    tmp_path: Path, columns: dict[str, NDArray[np.generic]]
) -> None:
    np.savez(tmp_path / "faces.npz", **columns, allow_pickle=True)
    with pytest.raises(PeopleFolderRejected):
        faces_from_archive(tmp_path / "faces.npz")
